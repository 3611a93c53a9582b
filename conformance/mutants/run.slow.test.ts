/** `npm run test:mutants` with a few mutants, because all of them take minutes. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { familiesOf } from './families/split.ts';

const program = fileURLToPath(new URL('run.ts', import.meta.url));

/** Returns the exit code and the output. */
async function testMutants(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, ['--import', 'tsx', program, ...args], (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr });
    });
  });
}

test('two mutants are caught, one of them also by a default run, and a variant passes', async () => {
  const { code, stdout } = await testMutants(
    '--seeds',
    '1',
    '--only',
    'auth-missing-after-404,limits-one-more,replica',
  );
  assert.match(stdout, /\| all \| 2 \| 2 \| 1 \|/);
  assert.equal(code, 0, stdout);
});

test('an unknown mutant is an error', async () => {
  const { code, stderr } = await testMutants('--only', 'no-such-mutant');
  assert.equal(code, 2);
  assert.match(stderr, /--only no-such-mutant: no mutant and no variant has this id/);
});

test('faults of a family are counted by group, and those of the unseen half are not named', async () => {
  const [{ name: seen } = { name: '' }] = familiesOf('seen');
  const [{ name: unseen } = { name: '' }] = familiesOf('unseen');
  const count = (...args: string[]) => testMutants('--draws', '1', ...args);
  assert.match((await count('--families', 'seen', '--only', seen)).stdout, /^\| seen \| 1 \| [01] \|/m);
  const [{ name: later } = { name: '' }] = familiesOf('later');
  assert.match((await count('--families', 'later', '--only', later)).stdout, /^\| later \| 1 \| [01] \|/m);
  const { stdout } = await count('--families', 'unseen', '--only', unseen);
  assert.match(stdout, /^\| unseen \| 1 \| [01] \|/m);
  assert.doesNotMatch(stdout, /×/);
});

test('an unknown group is an error', async () => {
  const { code, stderr } = await testMutants('--families', 'other');
  assert.equal(code, 2);
  assert.match(stderr, /--families other: give seen, unseen, later or all/);
});
