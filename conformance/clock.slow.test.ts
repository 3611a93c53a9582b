/** The kit as a process whose system clock is set while it waits: no verdict and no duration changes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { reportIn, startKit, steppingClock } from './testing/kit.ts';
import { quickServer } from './testing/servers.ts';

describe("the system's clock is set every two seconds", { concurrency: 2 }, () => {
  for (const ms of [20_000, -600_000]) {
    test(`by ${ms} ms`, async (t) => {
      const [server, folder] = [await quickServer(t), temporaryFolder(t)];
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
