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

const visibleHeadings = `[...document.querySelectorAll('main h2')].filter((one) => one.offsetParent !== null)
  .map((one) => one.id).join()`;

test('a link shows only the section of one verdict, and another shows all', withBrowser, async (t) => {
  const { page } = await openReport(t, html);
  const every = await page.evaluate(visibleHeadings);
  await page.evaluate(`document.querySelector('a[href="#skipped"]').click()`);
  await page.until(`${visibleHeadings} === 'skipped'`);
  await page.evaluate(`document.querySelector('a[href="#all"]').click()`);
  await page.until(`${visibleHeadings} === ${JSON.stringify(every)}`);
});

test('a long command is cut after six lines until the reader unfolds it, and can be copied', withBrowser, async (t) => {
  const { page } = await openReport(t, html);
  const cut = `document.querySelector('.cut + pre')`;
  assert.equal(await page.evaluate(`${cut}.clientHeight < ${cut}.scrollHeight`), true);
  await page.evaluate(`document.querySelector('.cut').open = true`);
  assert.equal(await page.evaluate(`${cut}.clientHeight < ${cut}.scrollHeight`), false);
  await page.evaluate(`Object.defineProperty(navigator, 'clipboard',
    { value: { writeText: async (text) => { globalThis.copied = text; } } })`);
  await page.evaluate(`${cut}.nextElementSibling.click()`);
  await page.until(`${cut}.nextElementSibling.textContent === 'Copied'`);
  assert.equal(await page.evaluate('globalThis.copied'), curl);
});

test('nothing is wider than the screen, and the policy is not violated', withBrowser, async (t) => {
  const { page, problems } = await openReport(t, html);
  await assertFits(page);
  await page.evaluate('document.querySelectorAll("details").forEach((one) => (one.open = true))');
  await assertFits(page);
  assert.deepEqual(problems, []);
});
