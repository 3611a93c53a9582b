/** limits.html in a browser. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { assertFits, openReport, withBrowser } from '../../conformance/testing/browser.ts';
import { limitsHtml } from './html.ts';
import { reportOf } from './testing/runs.ts';

test('nothing is wider than the screen, and plots fill their column', withBrowser, async (t) => {
  const { page, problems } = await openReport(t, limitsHtml(await reportOf(t, { fault: 'limits-one-more' })));
  await assertFits(page);
  const widths = `[...new Set([...document.querySelectorAll('#strangers .plotted:last-of-type svg')]
    .map((one) => one.getBoundingClientRect().width))]`;
  for (const width of [390, 1280]) {
    await page.send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: false });
    const found = await page.evaluate(widths) as number[];
    assert.ok(found.length === 1 && found[0]! > 250, `one scale needs one width: ${found} at ${width} px`);
  }
  assert.deepEqual(problems, []);
});
