import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UsageError } from '../../conformance/options.ts';
import { help, readOptions } from './options.ts';

test('flags -> options', () => {
  assert.deepEqual(readOptions([]), { animals: 1_000_000, quick: false });
  assert.deepEqual(readOptions(['--animals', '2000', '--quick']), { animals: 2_000, quick: true });
  assert.equal(readOptions(['--quick', '-h']), 'help');
  for (const flag of ['--animals', '--quick', '--help']) assert.ok(help.includes(`  ${flag}`), flag);
  assert.match(help, /bench\/results\/growth\.json and growth\.svg \(BENCH_RESULTS=DIR/);
});

test('one line names the flag and the rule', () => {
  const wrong = (...args: string[]) => {
    try {
      return JSON.stringify(readOptions(args));
    } catch (error) {
      assert.ok(error instanceof UsageError);
      return error.message;
    }
  };
  assert.equal(wrong('--animals', '1999'), '--animals must be an integer from 2000 to 5000000, not 1999');
  assert.match(wrong('--slow'), /^Unknown option '--slow'; --help shows all options$/);
  assert.match(wrong('million'), /^Unexpected argument 'million'[^\n]*; --help shows all options$/);
});
