/** report.html in a browser. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { assertFits, openReport, withBrowser } from '../testing/browser.ts';
import { fixture } from '../testing/report.ts';
import { reportHtml } from './html.ts';

const curl = `printf '%s\\n' "Authorization: Bearer $API_KEY" | curl -i -H @- '${'x'.repeat(700)}'`;
const report = {
  ...fixture,
  requirements: fixture.requirements.map((result) =>
    ({ ...result, failures: result.failures.map((failure) => ({ ...failure, curl })) })),
};
const html = reportHtml(report);

test('nothing is wider than the screen, and the policy is not violated', withBrowser, async (t) => {
  const { page, problems } = await openReport(t, html);
  await assertFits(page);
  await page.evaluate('document.querySelectorAll("details").forEach((one) => (one.open = true))');
  await assertFits(page);
  assert.deepEqual(problems, []);
});
