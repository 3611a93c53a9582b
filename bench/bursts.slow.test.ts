/** The bench of bursts as its users run it: a process, its output, its results and its exit code. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { Program } from '../harness/program.ts';
import type { BurstSample } from './measure/bursts.ts';
import type { Result } from './measure/experiments.ts';

test('a run compares the server with bare node:http and another build, and leaves nothing behind', async (t) => {
  const [temporary, results] = [temporaryFolder(t), temporaryFolder(t)];
  const flags = ['--quick', '--workload', 'get', '--workload', 'create-64', '--build', 'dist'];
  const command = [process.execPath, '--import', 'tsx', 'bench/bursts.ts', ...flags];
  const { code, stdout, stderr } = await new Program(t, command, { TMPDIR: temporary, BENCH_RESULTS: results }).ended;
  assert.equal(code, 0, stderr);
  const written = JSON.parse(readFileSync(join(results, 'bursts.json'), 'utf8')) as {
    readonly results: readonly Result<keyof BurstSample>[];
  };
  assert.deepEqual(
    written.results.map(({ workload, target, samples }) => `${workload}: ${target} ${samples.length}`),
    [
      ...['node:http', 'petstore', 'plain handler', 'dist'].map((target) => `get: ${target} 1`),
      ...['node:http', 'petstore', 'dist'].map((target) => `create, 64 connections: ${target} 1`),
    ],
  );
  for (const { samples: [sample] } of written.results) {
    assert.ok(sample!.cpu > 0);
  }
  assert.match(stdout, /^\| get: dist +\| +\d/m);
  assert.deepEqual(readdirSync(temporary).filter((name) => name.startsWith('petstore-')), []);
});

test('an unknown workload and a folder without a build are reported in one line', async (t) => {
  const results = temporaryFolder(t);
  for (const [flags, message] of [
    [['--workload', 'all'], /^bench:bursts: --workload must be list or status or get[^\n]*\n$/],
    [
      ['--quick', '--build', '/nowhere'],
      /\nbench:bursts: nothing was measured: \/nowhere\/server\.js does not exist[^\n]*\n$/,
    ],
  ] as const) {
    const command = [process.execPath, '--import', 'tsx', 'bench/bursts.ts', ...flags];
    const { code, stderr } = await new Program(t, command, { BENCH_RESULTS: results }).ended;
    assert.equal(code, 2);
    assert.match(stderr, message);
  }
});
