/** The speed bench as its users run it: a process, its output, its results and its exit code. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { temporaryFolder } from '../harness/owner.ts';
import { Program } from '../harness/program.ts';
import type { Machine } from './measure/command.ts';
import type { Result } from './measure/experiments.ts';

/** Starts the bench with folders of its own for temporary files and for the results. */
function start(t: TestContext, ...flags: readonly string[]) {
  const [temporary, results] = [temporaryFolder(t), join(temporaryFolder(t), 'results')];
  const command = [process.execPath, '--import', 'tsx', 'bench/speed.ts', ...flags];
  const run = new Program(t, command, { TMPDIR: temporary, BENCH_RESULTS: results });
  const left = () => readdirSync(temporary).filter((name) => name.startsWith('petstore-'));
  return { run, results, left };
}

function childrenOf(parent: number): readonly number[] {
  const processes = execFileSync('ps', ['-A', '-o', 'ppid=,pid='], { encoding: 'utf8' }).trim().split('\n');
  return processes
    .map((line) => line.trim().split(/ +/).map(Number))
    .flatMap(([of, pid]) => (of === parent ? [pid!] : []));
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('npm run bench', () => {
  it('measures, prints a table and writes its figures', async (t) => {
    const { run, results, left } = start(t, '--quick');
    const { code, stdout, stderr } = await run.ended;
    assert.equal(code, 0, stderr);
    const written = JSON.parse(readFileSync(join(results, 'speed.json'), 'utf8')) as {
      readonly machine: Machine;
      readonly results: readonly Result[];
    };
    const measured = written.results.map(({ workload, target, samples }) => `${workload} ${target} ${samples.length}`);
    const expected = ['list', 'list by status', 'get', '401', '429', 'create, 64 connections'].flatMap((title) => [
      `${title} node:http 1`,
      `${title} petstore 1`,
      ...(title.startsWith('create') ? [] : [`${title} plain handler 1`]),
    ]);
    expected.push('list petstore with access log 1', 'list petstore with metrics 1');
    assert.deepEqual([...measured].sort(), expected.sort(), JSON.stringify(written.results));
    assert.ok(
      written.results.every(({ samples }) => samples.every(({ requests, resident }) => requests > 0 && resident > 1e6)),
    );
    assert.deepEqual([written.machine.node, written.machine.command], [process.version, 'npm run bench -- --quick']);
    assert.match(stdout, /^Median \(minimum–maximum\) of fresh processes of each target: 1\./m);
    assert.match(stdout, /^A quick run: its figures only show that the bench works\.$/m);
    assert.doesNotMatch(stdout, /NaN/);
    assert.match(stdout, /^\| list: petstore +\|/m);
    assert.ok(stdout.includes(join(results, 'speed.json')));
    assert.match(stderr, /filling a data folder for petstore\n[^]*process 1 of 1/);
    assert.deepEqual(left(), []);
  });

  it('leaves nothing behind when it is interrupted', async (t) => {
    const { run, results, left } = start(t, '--quick');
    // A server runs on a copy of the data folder.
    while (childrenOf(run.child.pid!).length === 0 || left().length < 2) await sleep(20);
    const servers = childrenOf(run.child.pid!);
    assert.equal((await run.stop('SIGINT')).code, 130);
    assert.deepEqual(left(), []);
    while (servers.some(runs)) await sleep(20);
    assert.deepEqual(readdirSync(results), [], 'no results of half a run');
  });

  it('reports before it measures that it cannot write its results', async (t) => {
    const { run, results } = start(t, '--quick');
    writeFileSync(results, '');
    const { code, stderr } = await run.ended;
    assert.equal(code, 2);
    assert.match(stderr, /^bench: cannot write results to [^\n]*: BENCH_RESULTS=DIR names another folder\n$/);
  });

  it('reports an unknown flag in one line', async (t) => {
    const { code, stderr } = await start(t, '--fast').run.ended;
    assert.equal(code, 2);
    assert.match(stderr, /^bench: [^\n]*--fast[^\n]*\n$/);
  });
});
