import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { UsageError } from '../conformance/options.ts';
import { machineLine, resultsFolder, writeResults } from './results.ts';

/** Names a folder for results. */
function name(t: TestContext, ...path: readonly string[]): string {
  const parent = mkdtempSync(join(tmpdir(), 'petstore-bench-test-'));
  process.env['BENCH_RESULTS'] = join(parent, ...path);
  t.after(() => {
    delete process.env['BENCH_RESULTS'];
    rmSync(parent, { recursive: true, force: true });
  });
  return parent;
}

describe('the results', () => {
  it('have a folder made for them', (t) => {
    const parent = name(t, 'a', 'b');
    const folder = resultsFolder();
    assert.equal(folder, join(parent, 'a', 'b'));
    const [json] = writeResults(folder, 'speed', { format: 1 }, '<svg/>');
    assert.deepEqual(readdirSync(folder).sort(), ['speed.json', 'speed.svg']);
    assert.equal(readFileSync(json!, 'utf8'), '{\n  "format": 1\n}\n');
  });

  it('that cannot be written are told of in one line: where, why, and what to do', (t) => {
    const parent = name(t, 'file');
    writeFileSync(join(parent, 'file'), '');
    const said = (error: unknown) => error instanceof UsageError && /^[^\n]* to \/\S+ \(E[A-Z]+: [^\n]*\): BENCH_RESULTS=DIR names another folder$/.test(error.message);
    assert.throws(resultsFolder, said);
    mkdirSync(join(parent, 'speed.json'));
    assert.throws(() => writeResults(parent, 'speed', {}, ''), said);
  });
});

describe('the machine', () => {
  it('is one line', () => {
    const machine = { cpu: 'Fast One', cores: 2, memory: 8 * 2 ** 30, os: 'Linux 6.1', node: 'v20.1.0', date: '2026-11-21T10:00:00.000Z', command: 'npm run bench' };
    assert.equal(machineLine(machine), 'npm run bench: Fast One, 2 cores, 8.0 GiB, Linux 6.1, Node v20.1.0, 2026-11-21');
  });
});
