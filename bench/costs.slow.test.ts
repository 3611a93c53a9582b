/** The bench of costs as its users run it: a process, its output, its results and its exit code. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { Program } from '../harness/program.ts';
import type { Measured } from './costs/experiment.ts';
import { kinds, logged, maxRatios } from './costs/requests.ts';

test('a quick run measures every kind of requests, judges none, and leaves nothing behind', async (t) => {
  const [temporary, results] = [temporaryFolder(t), temporaryFolder(t)];
  const command = [process.execPath, '--import', 'tsx', 'bench/costs.ts', '--quick'];
  const { code, stdout, stderr } = await new Program(t, command, { TMPDIR: temporary, BENCH_RESULTS: results }).ended;
  assert.equal(code, 0, stderr);
  const written = JSON.parse(readFileSync(join(results, 'costs.json'), 'utf8')) as { readonly results: Measured[] };
  const names = [...kinds.map(({ name }) => name), ...logged.map(({ name }) => `${name}, logged`)];
  assert.deepEqual(written.results.map(({ name }) => name), names);
  for (const { name, status, cpu, compared } of written.results) {
    assert.ok(status >= 200 && status < 600 && Number.isFinite(cpu) && compared > 0, name);
  }
  for (const [baseline, max] of Object.entries(maxRatios)) {
    const count = written.results.filter((one) => one.baseline === baseline).length;
    const head = `^\\| the most expensive of ${count} kinds .* ${baseline}, µs \\| ratio \\(at most ${max}\\) \\|`;
    assert.match(stdout, new RegExp(head, 'm'));
  }
  assert.deepEqual(readdirSync(temporary).filter((name) => name.startsWith('petstore-')), []);
});

test('the kinds fit into a request: 16 KiB without a key, 64 KiB of a body without chunks with one', () => {
  for (const { name, withKey, baseline, head, body } of kinds) {
    const headBytes = head.reduce((sum, line) => sum + line.length + 2, 0);
    const bodyBytes = withKey && baseline !== 'bare node:http' ? 0 : body.length;
    const maxBytes = (baseline === 'bare node:http' ? 65 : 64) * 1024;
    assert.ok(headBytes + (withKey ? 0 : bodyBytes) <= 16 * 1024 && body.length <= maxBytes, name);
  }
});
