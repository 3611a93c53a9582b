/** The bench as its users meet it: a process, its output, its results and its exit code. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Kit } from '../../conformance/testing/kit.ts';
import { temporaryFolder } from '../../conformance/testing/servers.ts';
import type { GrowthResults } from './report.ts';

const start = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): Kit =>
  new Kit(['--import', 'tsx', 'bench/growth.ts', ...args], environment);

test('a run: exit 0, the tables, JSON and chart, and nothing left behind', async (t) => {
  const [temporary, results] = [temporaryFolder(t), temporaryFolder(t)];
  const { code, stdout, stderr } = await start(['--animals', '2000', '--quick'], { TMPDIR: temporary, BENCH_RESULTS: results }).ended;
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /\n\| +\| 1,000 animals \| +2,000 animals \| +ratio \|\n/);
  assert.match(stdout, /\n\| start, time \(JSON\.parse: \d+ ms\) .* \(\S+\), whole [\d.]+ \|\n/);
  assert.match(stdout, /\n\| create, user CPU +\| +[\d.]+ µs \| +[\d.]+ µs \| +\S+ \(\S+\) \|\n/);
  assert.match(stderr, /^ {2}filling folders with 1,000 animals and 2,000 animals\n/);
  assert.deepEqual(readdirSync(results).sort(), ['growth.json', 'growth.svg']);
  const growth = JSON.parse(readFileSync(join(results, 'growth.json'), 'utf8')) as GrowthResults;
  assert.deepEqual([growth.format, growth.bench, growth.quick], [1, 'growth', true]);
  assert.deepEqual(growth.requests.map(({ name }) => name), ['first page', 'random page', 'filtered page', 'last page', 'create']);
  // Not the CPU time: in rounds as short as these the kernel may find none.
  assert.ok(growth.requests.every(({ small, large }) => small.perSecond > 0 && large.perSecond > 0 && large.p99 > 0), stdout);
  const fold = growth.folds[0]!;
  // The server writes no snapshot before its journal has 32 MiB, whatever the number of animals.
  assert.ok(fold.animals > 160_000 && fold.writing.stall > 0 && fold.quiet.requests > 100, stdout);
  assert.match(readFileSync(join(results, 'growth.svg'), 'utf8'), /^<svg .*>2,000 animals against 1,000</s);
  assert.deepEqual(readdirSync(temporary).filter((name) => name.startsWith('petstore-')), []);
});

test('Ctrl-C: servers stopped, folders gone', async (t) => {
  const temporary = temporaryFolder(t);
  const run = start(['--animals', '2000', '--quick'], { TMPDIR: temporary });
  let doing = '';
  run.child.stderr!.on('data', (text: string) => (doing += text));
  while (!doing.includes('starting')) await once(run.child.stderr!, 'data');
  const servers = () => readdirSync(temporary).filter((name) => name.startsWith('petstore-') && existsSync(join(temporary, name, 'lock.1')));
  while (servers().length === 0) await sleep(5);
  run.child.kill('SIGINT');
  assert.equal((await run.ended).code, 130);
  assert.deepEqual(readdirSync(temporary).filter((name) => name.startsWith('petstore-')), []);
});

test('what cannot be measured: exit 2, in one line', async () => {
  const { code, stdout, stderr } = await start(['--animals', 'many']).ended;
  assert.deepEqual([code, stdout, stderr], [2, '', 'bench:growth: --animals must be an integer from 2000 to 5000000, not many\n']);
});
