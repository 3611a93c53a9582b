/** report.html in a browser, with and without its script. */
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

test('the button copies the whole line, even if only a part is visible', withBrowser, async (t) => {
  const { page } = await openReport(t, html);
  await page.send('Browser.grantPermissions', { permissions: ['clipboardReadWrite', 'clipboardSanitizedWrite'] });
  const block = `[...document.querySelectorAll('.card dt')].find((one) => one.textContent === 'Reproduce')
    .nextElementSibling`;
  await page.evaluate(`${block}.querySelector('button').click()`);
  await page.until(`${block}.querySelector('button').textContent === 'Copied'`);
  assert.equal(await page.evaluate('navigator.clipboard.readText()'), curl);
});

for (const scripts of [true, false]) {
  test(`${scripts ? 'with' : 'without'} scripts: blocks are cut, and filters work`, withBrowser, async (t) => {
    const { page } = await openReport(t, scripts ? html : html.replace(/<script>[^]*<\/script>/, ''));
    assert.equal(await page.evaluate('document.querySelectorAll("button").length > 0'), scripts);

    const height = 'document.querySelector(".cut + pre").clientHeight';
    const line = 'parseFloat(getComputedStyle(document.querySelector(".cut + pre")).lineHeight)';
    const cut = await page.evaluate(`${height} / ${line}`) as number;
    assert.ok(cut >= 6 && cut < 7, `${cut} lines`);
    await page.evaluate('document.querySelector(".cut summary").click()');
    assert.ok(await page.evaluate('document.querySelector(".cut + pre").scrollHeight') as number > cut * 15);
    assert.ok(await page.evaluate(`${height} === document.querySelector(".cut + pre").scrollHeight`), 'all is shown');

    const shown = `[...document.querySelectorAll('.results tbody tr')].filter((one) => one.offsetParent)`;
    const verdicts = `${shown}.map((one) => one.querySelector('.verdict').lastChild.textContent)`;
    assert.equal(await page.evaluate(`${shown}.length`), fixture.requirements.length);
    await page.evaluate('document.querySelector("[value=failed]").click()');
    assert.deepEqual(await page.evaluate(verdicts), ['failed', 'failed', 'failed']);
    const groups = '[...document.querySelectorAll(".group")].filter((one) => one.offsetHeight > 0)';
    assert.ok(await page.evaluate(`${groups}.every((one) => one.innerText.includes("✗"))`), 'an empty section');
    await page.evaluate('location.hash = "requirement-list.default-limit"');
    const withTarget = (await page.evaluate(verdicts) as string[]).toSorted();
    assert.deepEqual(withTarget, ['failed', 'failed', 'failed', 'inconclusive']);
  });
}
