/** The growth bench as its users run it: a process, its output, its results and its exit code. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder, thisProcess } from '../harness/owner.ts';
import { Program } from '../harness/program.ts';
import type { Snapshot } from './growth/snapshot.ts';
import type { BurstSample } from './measure/bursts.ts';
import type { Result } from './measure/experiments.ts';

const start = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): Program =>
  new Program(thisProcess, [process.execPath, '--import', 'tsx', 'bench/growth.ts', ...args], environment);

test('a run: exit 0, the tables, the results, and nothing left behind', async (t) => {
  const [temporary, results] = [temporaryFolder(t), temporaryFolder(t)];
  const { code, stdout, stderr } = await start(['--animals', '2000', '--quick'], {
    TMPDIR: temporary,
    BENCH_RESULTS: results,
  }).ended;
  assert.equal(code, 0, stdout + stderr);
  for (const page of ['page', 'page by status', 'get', 'create'])
    for (const animals of ['1,000', '2,000']) assert.ok(stdout.includes(`| ${page}: ${animals} animals `), stdout);
  assert.match(stdout, /\| +start, ms \| +start, CPU ms \| +memory after the start, MB \|\n/);
  assert.doesNotMatch(stdout, /NaN/);
  assert.match(stdout, /\n\| snapshot: \S+ animals +\| +\d+\.\d \(\S+\) \| +\d+\.\d \(\S+\) \|/);
  assert.match(stderr, /^ {2}filling data folders with 1,000 and 2,000 animals\n/);
  assert.deepEqual(readdirSync(results), ['growth.json']);
  const growth = JSON.parse(readFileSync(join(results, 'growth.json'), 'utf8')) as {
    readonly results: readonly Result<keyof BurstSample>[];
    readonly snapshots: readonly Snapshot[];
  };
  assert.deepEqual([growth.results.length, growth.snapshots.length], [8, 1]);
  assert.ok(
    growth.results.every(({ samples }) => samples.length === 1 && samples[0]!.cpu > 0 && samples[0]!.resident > 1e6),
    stdout,
  );
  // The server writes no snapshot before its journal has 32 MiB, whatever the number of animals.
  const [, animals = ''] = /\n\| snapshot: (\S+) animals /.exec(stdout) ?? [];
  assert.ok(Number(animals.replaceAll(',', '')) > 160_000, stdout);
  assert.deepEqual(
    readdirSync(temporary).filter((name) => name.startsWith('petstore-')),
    [],
  );
});

test('Ctrl-C: the servers are stopped and the folders removed', async (t) => {
  const temporary = temporaryFolder(t);
  const run = start(['--animals', '2000', '--quick'], { TMPDIR: temporary });
  const servers = () =>
    readdirSync(temporary).filter(
      (name) => name.startsWith('petstore-') && existsSync(join(temporary, name, 'lock.1')),
    );
  while (servers().length === 0) await sleep(5);
  run.child.kill('SIGINT');
  assert.equal((await run.ended).code, 130);
  assert.deepEqual(
    readdirSync(temporary).filter((name) => name.startsWith('petstore-')),
    [],
  );
});

test('an error: exit 2, and one line', async () => {
  const { code, stdout, stderr } = await start(['--animals', 'many']).ended;
  assert.deepEqual(
    [code, stdout, stderr],
    [2, '', 'bench:growth: --animals must be an integer from 2000 to 5000000, not many\n'],
  );
});
