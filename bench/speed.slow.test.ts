/** The speed bench as its users run it: a process, its output, its results and its exit code. */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Machine } from './measure/command.ts';
import type { Result } from './measure/experiments.ts';

const program = fileURLToPath(new URL('speed.ts', import.meta.url));

/** Starts the bench with folders of its own for temporary files and for the results. */
function start(t: TestContext, ...flags: readonly string[]) {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-test-'));
  const [temporary, results] = [join(folder, 'temporary'), join(folder, 'results')];
  mkdirSync(temporary);
  const child = spawn(process.execPath, ['--import', 'tsx', program, ...flags], {
    env: { ...process.env, TMPDIR: temporary, BENCH_RESULTS: results },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
  const left = () => readdirSync(temporary).filter((name) => name.startsWith('petstore-'));
  return { child, results, left, exit: once(child, 'exit'), stdout: text(child.stdout), stderr: text(child.stderr) };
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
    const { results, left, exit, stdout, stderr } = start(t, '--quick');
    assert.deepEqual(await exit, [0, null], await stderr);
    const written = JSON.parse(readFileSync(join(results, 'speed.json'), 'utf8')) as {
      readonly machine: Machine;
      readonly settings: { readonly quick: boolean };
      readonly results: readonly Result[];
    };
    const measured = written.results.map(({ workload, target, samples }) => `${workload} ${target} ${samples.length}`);
    const expected = ['list of 20', 'get', '401', '429', 'create, 64 connections'].flatMap((title) => [
      `${title} node:http 1`,
      `${title} petstore 1`,
    ]);
    assert.deepEqual([...measured].sort(), expected.sort(), JSON.stringify(written.results));
    assert.ok(
      written.results.every(({ samples }) => samples.every(({ requests, resident }) => requests > 0 && resident > 1e6)),
    );
    assert.deepEqual([written.machine.node, written.settings.quick], [process.version, true]);
    const printed = await stdout;
    assert.match(printed, /^Median \(minimum–maximum\) of fresh processes of each target: 1\./m);
    assert.match(printed, /^A quick run: its figures only show that the bench works\.$/m);
    assert.doesNotMatch(printed, /NaN/);
    assert.match(printed, /^\| list of 20: petstore +\|/m);
    assert.ok(printed.includes(join(results, 'speed.json')));
    assert.match(await stderr, /filling a data folder for petstore\n[^]*process 1 of 1/);
    assert.deepEqual(left(), []);
  });

  it('leaves nothing behind when it is interrupted', async (t) => {
    const { child, results, left, exit } = start(t, '--quick');
    // A server runs on a copy of the data folder.
    while (childrenOf(child.pid!).length === 0 || left().length < 2) await sleep(20);
    const servers = childrenOf(child.pid!);
    child.kill('SIGINT');
    assert.deepEqual(await exit, [130, null]);
    assert.deepEqual(left(), []);
    while (servers.some(runs)) await sleep(20);
    assert.deepEqual(readdirSync(results), [], 'no results of half a run');
  });

  it('reports before it measures that it cannot write its results', async (t) => {
    const { results, exit, stderr } = start(t, '--quick');
    writeFileSync(results, '');
    assert.deepEqual(await exit, [2, null]);
    assert.match(await stderr, /^bench: cannot write results to [^\n]*: BENCH_RESULTS=DIR names another folder\n$/);
  });

  it('reports an unknown flag in one line', async (t) => {
    const { exit, stderr } = start(t, '--fast');
    assert.deepEqual(await exit, [2, null]);
    assert.match(await stderr, /^bench: [^\n]*--fast[^\n]*\n$/);
  });
});
