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
import { malformed } from '../conformance/testing/wellformed.ts';
import type { BarGroup } from './chart.ts';
import type { Machine } from './results.ts';
import type { Outcome } from './speed/contest.ts';

const program = fileURLToPath(new URL('speed.ts', import.meta.url));

/** The bench as a process, with folders of its own for what is temporary and for the results. */
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
  return processes.map((line) => line.trim().split(/ +/).map(Number)).flatMap(([of, pid]) => (of === parent ? [pid!] : []));
}

function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

describe('npm run bench', () => {
  it('measures, prints a table, and writes its figures and a chart', async (t) => {
    const { results, left, exit, stdout, stderr } = start(t, '--quick');
    assert.deepEqual(await exit, [0, null], await stderr);

    const written = JSON.parse(readFileSync(join(results, 'speed.json'), 'utf8')) as {
      readonly machine: Machine;
      readonly settings: { readonly quick: boolean };
      readonly outcomes: readonly Outcome[];
      readonly ratios: readonly BarGroup[];
    };
    const measured = written.outcomes.map(({ row, contestant, rounds }) => `${row} ${contestant} ${rounds.length}`);
    const expected = ['list', 'get', 'create-64', '401', '429'].flatMap((row) => [`${row} node:http 1`, `${row} petstore 1`]);
    assert.deepEqual([...measured].sort(), [...expected, 'create-64 petstore without sync 1'].sort(), JSON.stringify(written.outcomes));
    assert.ok(written.outcomes.every(({ rounds }) => rounds.every(({ requests, resident }) => requests > 0 && resident > 1e6)));
    assert.deepEqual(written.ratios.map(({ bars }) => bars.length), [5, 2, 1]);
    assert.equal(written.machine.node, process.version);
    assert.equal(malformed(readFileSync(join(results, 'speed.svg'), 'utf8')), undefined);

    assert.equal(written.settings.quick, true);
    const printed = await stdout;
    assert.match(printed, /^p50 and p99 are of all rounds together, without each one's first tenth; memory is/m);
    assert.match(printed, /^A quick run: its figures only show that the bench works\.$/m);
    assert.doesNotMatch(printed, /NaN/);
    assert.match(printed, /^\| list of 20: petstore +\|/m);
    assert.ok(printed.includes(join(results, 'speed.json')) && printed.includes(join(results, 'speed.svg')));
    assert.match(await stderr, /starting, checking and warming up petstore: list\n[^]*round 1 of 1/);
    assert.deepEqual(left(), []);
  });

  it('leaves nothing behind when it is interrupted', async (t) => {
    const { child, results, left, exit } = start(t, '--quick');
    await new Promise<void>((resolve) => child.stderr.on('data', (piece) => String(piece).includes('warming up node:http') && resolve()));
    assert.ok(left().length > 0);
    const servers = childrenOf(child.pid!);
    assert.ok(servers.length >= 3, 'our own two, and the one without sync');
    child.kill('SIGINT');
    assert.deepEqual(await exit, [130, null]);
    assert.deepEqual(left(), []);
    for (let i = 0; i < 100 && servers.some(runs); i++) await sleep(20);
    assert.deepEqual(servers.filter(runs), []);
    assert.deepEqual(readdirSync(results), [], 'no results of half a run');
  });

  it('that cannot write its results says so before it measures', async (t) => {
    const { results, exit, stderr } = start(t, '--quick');
    writeFileSync(results, '');
    assert.deepEqual(await exit, [2, null]);
    assert.match(await stderr, /^bench: the results cannot be written to [^\n]*\n$/);
  });

  it('tells of a flag that it does not know in one line', async (t) => {
    const { exit, stderr } = start(t, '--fast');
    assert.deepEqual(await exit, [2, null]);
    assert.match(await stderr, /^bench: [^\n]*--fast[^\n]*\n$/);
  });
});
