/** The kit as a process whose system clock is set while it waits: no verdict and no duration changes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder, thisProcess } from '../harness/owner.ts';
import { Program } from '../harness/program.ts';
import { loader, reportIn, startKit, steppingClock } from './testing/kit.ts';
import { proxy, smallServer } from './testing/servers.ts';

describe("the system's clock is set every two seconds", { concurrency: 2 }, () => {
  for (const ms of [20_000, -600_000]) {
    test(`by ${ms} ms`, async (t) => {
      const [server, folder] = [await smallServer(t, { plan: 'free' }), temporaryFolder(t)];
      const startedAt = performance.now();
      const only = ['--exhaust', '--only', 'limits.recovers,limits.resets', '--report', folder];
      const environment = { BASE_URL: server.baseUrl, API_KEY: server.apiKey, ...steppingClock(ms) };
      const { code, stdout, stderr } = await startKit(only, environment).ended;
      const seconds = (performance.now() - startedAt) / 1000;
      assert.equal(code, 0, stdout + stderr);
      const report = reportIn(folder);
      assert.deepEqual([report.totals.passed, report.totals.inconclusive], [2, 0], stdout + stderr);
      assert.ok(report.seconds > 10 && report.seconds <= seconds, `${report.seconds} of ${seconds} s`);
      assert.doesNotMatch(readFileSync(join(folder, 'junit.xml'), 'utf8'), /time="-/);
    });
  }
});

describe('the process is stopped for 8 s during a request whose time limit is 5 s', { concurrency: 3 }, () => {
  /** Runs some checks, and prints what failed and why the run ended early. */
  const script = (server: { readonly baseUrl: string; readonly apiKey: string }) => `
    import { run, session } from './conformance/testing/sessions.ts';
    const of = session(${JSON.stringify(server)}, { only: ['list.', 'create.name'], runs: 2, timeoutMs: 5_000 });
    const failed = (await run(of)).filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
    console.log(JSON.stringify([failed, of.lost?.message ?? null, of.halted ?? null]));`;
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  /** What happens to the request while the process is stopped. */
  const ends: readonly (readonly [name: string, (stopped: Promise<unknown>) => 'cut' | undefined | Promise<void>])[] = [
    ['it has a response at once', () => undefined],
    ['it has a response after the stop', (stopped) => stopped.then(() => {})],
    ['its connection breaks', () => 'cut'],
  ];
  for (const [name, end] of ends) {
    test(name, async (t) => {
      let program: Program | undefined;
      const server = await proxy(t, await smallServer(t), () => {
        if (![5, 25].includes(server.received.length)) return undefined;
        program!.child.kill('SIGSTOP');
        return end(pause(8_000).then(() => program!.child.kill('SIGCONT')));
      });
      const command = ['--import', loader, '--input-type=module', '--eval', script(server)];
      program = new Program(thisProcess, [process.execPath, ...command]);
      const { stdout, stderr } = await program.ended;
      assert.equal(stdout, '[[],null,null]\n', stderr);
      assert.ok(server.received.length > 30);
    });
  }
});
