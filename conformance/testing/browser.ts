/** Test support: opens a report in a browser. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { findBrowser, Page } from '../../harness/browser.ts';
import { temporaryFolder } from '../../harness/owner.ts';

const browser = findBrowser();

/** The options of a test that needs a browser. It is skipped if there is none. */
export const withBrowser = {
  skip: browser === null && 'no Chromium is installed (Debian: apt-get install chromium)',
  timeout: 120_000,
};

/** Opens a report from a file. Returns its page and the messages of the console, such as violations of its policy. */
export async function openReport(
  t: TestContext, html: string,
): Promise<{ readonly page: Page; readonly problems: readonly string[] }> {
  const file = join(temporaryFolder(t), 'report.html');
  writeFileSync(file, html);
  const page = await Page.open(t, browser!);
  const problems: string[] = [];
  page.listen((method, params) => {
    if (/^Log\.entryAdded|^Runtime\.(exception|console)/.test(method)) problems.push(JSON.stringify(params));
  });
  await page.go(`file://${file}`);
  return { page, problems };
}

/** Asserts that nothing is wider than the screen, from a monitor to a phone, and leaves the page at the last width. */
export async function assertFits(page: Page): Promise<void> {
  for (const width of [1280, 704, 390]) {
    await page.send('Emulation.setDeviceMetricsOverride', { width, height: 900, deviceScaleFactor: 1, mobile: false });
    const wide = `[...document.querySelectorAll('body *')].filter((one) =>
      one.getBoundingClientRect().right > document.documentElement.clientWidth && !one.closest('.hidden'))`;
    assert.deepEqual(await page.evaluate(`${wide}.map((one) => one.outerHTML.slice(0, 200))`), [], `${width} px`);
    assert.ok(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), `${width} px`);
  }
}
