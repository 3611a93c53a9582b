/** The rate-limit bench as its users run it: a process, its output, its reports and its exit code. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { systemClock } from '../conformance/client/clock.ts';
import { mutants } from '../conformance/mutants/mutants.ts';
import { startSmallServer } from '../conformance/mutants/server/small-server.ts';
import { variants } from '../conformance/mutants/variants.ts';
import { assertNoKey, processesOn, steppingClock } from '../conformance/testing/kit.ts';
import { apiKey, proxy, smallServer, type Server } from '../conformance/testing/servers.ts';
import { temporaryFolder, thisProcess } from '../harness/owner.ts';
import { Program, type Ended } from '../harness/program.ts';
import type { LimitsReport } from './limits/report.ts';

const start = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): Program =>
  new Program(thisProcess, [process.execPath, '--import', 'tsx', 'bench/limits.ts', ...args], environment);

const bench = ({ baseUrl }: Server, ...args: string[]): Promise<Ended> =>
  start(args, { BASE_URL: baseUrl, API_KEY: apiKey }).ended;

const reportIn = (folder: string): LimitsReport =>
  JSON.parse(readFileSync(join(folder, 'limits.json'), 'utf8')) as LimitsReport;

const leftBehind = (folder: string): string[] => readdirSync(folder).filter((name) => name.startsWith('petstore-'));

/** A server whose windows begin with the first request, so that no test waits for a clock minute. */
async function server(t: TestContext, fault?: string): Promise<Server> {
  const { baseUrl, close } = await startSmallServer({
    clock: systemClock,
    keys: [{ secret: apiKey, plan: 'free' }],
    hooks: {
      ...variants.find(({ id }) => id === 'first request')!.hooks,
      ...mutants.find(({ id }) => id === fault)?.hooks,
    },
  });
  t.after(close);
  return { baseUrl, apiKey };
}

test('every demand met: exit 0, the results, both reports, and no key in any of it', async (t) => {
  const folder = join(temporaryFolder(t), 'new', 'folder');
  const { code, stdout, stderr } = await bench(
    await server(t),
    'latency',
    '--plan',
    'free',
    '--report',
    folder,
  );
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /^One request to http:\S+\/v1, to see what remains of the key\.\n/);
  assert.match(stdout, /At most \d+ requests in all, [^]* Of its day they take \d+ at most\./);
  assert.match(
    stdout,
    /\n✓ passed latency\n  demanded  every response [^]*\n  200       p50 .*, p90 .* of \d+ responses\n/,
  );
  assert.match(stdout, /\nALL DEMANDS MET: 1 passed, 0 failed, .*\n\nReports: /);
  assert.match(stderr, /^ {2}latency: begins, about \d+\.\d s left\n/);
  assert.deepEqual(readdirSync(folder).sort(), ['limits-junit.xml', 'limits.html', 'limits.json']);
  const report = reportIn(folder);
  assert.deepEqual([report.format, report.exitCode, report.scenarios[0]!.refused], [3, 0, 2]);
  const [, announced] = /At most (\d+) requests in all/.exec(stdout)!;
  assert.deepEqual([report.sent.most, report.sent.withKey <= Number(announced)], [Number(announced), true]);
  assertNoKey([stdout, stderr, ...readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'))]);
});

describe("the system's clock is set every two seconds: no verdict and no duration changes", { concurrency: 2 }, () => {
  for (const ms of [20_000, -600_000]) {
    test(`by ${ms} ms`, async (t) => {
      const [{ baseUrl }, folder] = [await smallServer(t, { plan: 'free' }), temporaryFolder(t)];
      const environment = { BASE_URL: baseUrl, API_KEY: apiKey, ...steppingClock(ms) };
      const { code, stdout, stderr } = await start(['latency', 'boundary', '--report', folder], environment).ended;
      assert.equal(code, 0, stdout + stderr);
      assert.match(stdout, /\nALL DEMANDS MET: 2 passed/);
      assert.doesNotMatch(readFileSync(join(folder, 'limits-junit.xml'), 'utf8'), /time="-/);
      const { seconds, scenarios } = reportIn(folder);
      assert.ok(Math.abs(scenarios.reduce((sum, scenario) => sum + scenario.seconds, 0) - seconds) < 5, `${seconds}`);
    });
  }
});

test('a demand that is not met: exit 1', async (t) => {
  const { code, stdout } = await bench(await server(t, 'limits-403'), 'latency');
  assert.equal(code, 1, stdout);
  assert.match(stdout, /✗ failed latency\n  demanded  [^]*\n  seen      2 × 403/);
  assert.match(stdout, /\nNOT ALL DEMANDS MET: 0 passed, 1 failed/);
});

test('what cannot be tested: exit 2, in one line, without the key', async () => {
  const nowhere = { baseUrl: 'http://127.0.0.1:1/v1', apiKey };
  const proxied = { BASE_URL: 'https://pets.example/v1', API_KEY: apiKey };
  const runs: readonly (readonly [Promise<Ended>, RegExp])[] = [
    [bench(nowhere, 'latency'), /^bench:limits: no response from http:\/\/127\.0\.0\.1:1\/v1: .*ECONNREFUSED/],
    [bench(nowhere, '--compare', '/nowhere/limits.json'), /^bench:limits: --compare \/nowhere\/limits\.json: ENOENT: /],
    [start(['--remote'], { ...proxied, HTTPS_PROXY: 'socks5://p:1' }).ended, /^bench:limits: HTTPS_PROXY must be the /],
    [start(['--remote'], { ...proxied, HTTPS_PROXY: 'http://127.0.0.1:1' }).ended,
      /^bench:limits: no response from .* through the proxy http:\/\/127\.0\.0\.1:1 \(HTTPS_PROXY\): .*ECONNREFUSED/],
    [bench(nowhere, '--rate', apiKey), /^bench:limits: --rate must be an integer .*\[key\]/],
  ];
  for (const [ended, line] of runs) {
    const { code, stderr, stdout } = await ended;
    assert.equal(code, 2, stderr);
    assert.match(stderr, line);
    assert.equal(stderr.trimEnd().split('\n').length, 1, stderr);
    assertNoKey([stdout, stderr]);
  }
});

test('a server on another machine: only with --remote, and then no more requests than announced', async (t) => {
  const address = Object.values(networkInterfaces())
    .flatMap((all) => all ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  if (address === undefined) return t.skip('this machine has no address but those of its loopback');
  const local = await proxy(t, await server(t), undefined, '0.0.0.0');
  const remote = { baseUrl: `http://${address}:${local.port}/v1`, apiKey };
  const refused = await bench(remote, 'latency');
  assert.deepEqual([refused.code, local.received.length], [2, 0]);
  assert.match(refused.stderr, /^bench:limits: \S+ is not this machine: --remote allows/);
  const allowed = await bench(remote, 'latency', '--remote');
  assert.equal(allowed.code, 0, allowed.stdout + allowed.stderr);
  const [, most] = /At most (\d+) requests in all/.exec(allowed.stdout)!;
  assert.ok(local.received.length > 60 && local.received.length <= Number(most), `${local.received.length} of ${most}`);
});

test('Ctrl-C: a report, exit 130, and nothing left behind, even if npm repeats the signal', async (t) => {
  const [folder, report] = [temporaryFolder(t), temporaryFolder(t)];
  const again = encodeURIComponent('process.once("SIGINT", () => process.kill(process.pid, "SIGINT"))');
  const run = start(['boundary', 'ban', '--until-ban', '--report', report], {
    TMPDIR: folder,
    NODE_OPTIONS: `--import=data:text/javascript,${again}`,
  });
  await run.printed(/boundary: .*waiting \d+ s/, 'stderr');
  assert.equal(leftBehind(folder).length, 1);
  run.child.kill('SIGINT');
  const { code, stdout, stderr } = await run.ended;
  assert.equal(code, 130, stdout + stderr);
  assert.match(
    stdout,
    /\n\? inconclusive boundary\n.*\n  seen      it was interrupted\n[^]*\n– skipped ban\n[^]*\n  seen      it was int/,
  );
  assert.match(stdout, /\nNOT TESTED TO THE END: .*; it was interrupted\n\nReports: /);
  assert.equal(reportIn(report).aborted, 'it was interrupted');
  assert.match(
    readFileSync(join(report, 'limits.html'), 'utf8'),
    /Not tested to the end<\/h1>[^]*<p>it was interrupted<\/p>/,
  );
  assert.deepEqual(leftBehind(folder), []);
});

test('a second Ctrl-C kills our own server if it does not stop after the first one', async (t) => {
  if (!existsSync('/proc/self/cmdline')) return t.skip('it needs /proc to see processes');
  const folder = temporaryFolder(t);
  const run = start(['boundary'], { TMPDIR: folder });
  await run.printed(/boundary: .*waiting \d+ s/, 'stderr');
  const servers = processesOn(folder);
  assert.equal(servers.length, 1);
  process.kill(servers[0]!, 'SIGSTOP');
  while (run.child.exitCode === null) {
    run.child.kill('SIGINT');
    await systemClock.sleep(100);
  }
  assert.equal((await run.ended).code, 130);
  assert.match(
    run.stdout,
    /\n\? inconclusive boundary\n.*\n  seen      it was interrupted\n/,
    'the first one had an effect',
  );
  assert.deepEqual(leftBehind(folder), []);
});

test('stdout is closed: stderr names no error, and the reports and the exit code are the same', async (t) => {
  const [folder, report] = [temporaryFolder(t), temporaryFolder(t)];
  const run = start(['latency', '--report', report], { TMPDIR: folder });
  await run.printed(/One request to/);
  run.child.stdout.destroy();
  const { code, stderr } = await run.ended;
  assert.equal(code, 0, stderr);
  assert.doesNotMatch(stderr, /EPIPE|failed|\n +at /);
  assert.equal(reportIn(report).totals.passed, 1);
  assert.equal(readdirSync(report).length, 3);
  assert.deepEqual(leftBehind(folder), []);
});
