/** No server crashes or hangs the bench: whatever it sends, all reports can be made. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { anyServer, hooksOf } from '../../conformance/testing/any-response.ts';
import { fakeClock } from '../../conformance/testing/responses.ts';
import { malformed } from '../../conformance/testing/wellformed.ts';
import { Untestable } from '../../conformance/session/session.ts';
import { limitsHtml } from './html.ts';
import { limitsJunit } from './junit.ts';
import type { LimitsReport } from './report.ts';
import { about, mainSecret, runAgainst } from './testing/runs.ts';

/** How long a run takes at most, by its clock. With a Free key, all scenarios take about ten minutes. */
const maxMinutes = 120;

test('no server crashes or hangs the bench', async (t) => {
  await fc.assert(
    fc.asyncProperty(anyServer, fc.boolean(), async (server, unpromised) => {
      const clock = fakeClock();
      const started = clock.now();
      const settings = { untilBan: true };
      const options = { fault: hooksOf(server), plan: server.plan, clock, unpromised, settings, timeoutMs: 50 };
      const run = await runAgainst(t, options);
      let report: LimitsReport;
      try {
        await run.run(await run.open());
        report = run.report(about);
      } catch (error) {
        if (error instanceof Untestable) return;
        throw error;
      }
      const minutes = (clock.now() - started) / 60_000;
      assert.ok(minutes <= maxMinutes, `${Math.round(minutes)} minutes of waiting`);
      assert.doesNotMatch(report.aborted ?? '', /error in the bench/);
      assert.ok(report.sent.withKey + report.sent.withoutKey <= report.sent.most);
      const html = limitsHtml(report);
      assert.equal(malformed(html.replace(/<style>[^<]*<\/style>/, ''), ['meta']), undefined);
      assert.equal(malformed(limitsJunit(report)), undefined);
      assert.ok(!JSON.stringify(report).includes(mainSecret) && !html.includes(mainSecret));
    }),
    { numRuns: 60 },
  );
});
