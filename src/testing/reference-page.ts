/** Opens the reference page of a server in a browser, for tests. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { findBrowser, Page } from '../../harness/browser.ts';
import { temporaryFolder } from '../../harness/owner.ts';
import { startServer, type RunningServer } from '../../harness/server.ts';

const browser = findBrowser();

/** The options of a test that needs a browser. It is skipped if there is none. */
export const options = {
  skip: browser === null && 'no Chromium is installed (Debian: apt-get install chromium)',
  timeout: 120_000,
};

export interface Watched {
  readonly page: Page;
  /** What the console shows besides the statuses of responses, and every URL that was requested. */
  readonly problems: string[];
  readonly requested: string[];
}

export interface Opened extends Watched {
  readonly server: RunningServer;
  readonly address: string;
  readonly folder: string;
}

/** Starts a server, and opens its page. */
export async function open(
  t: TestContext, path = '/docs', flags: readonly string[] = ['--demo'],
): Promise<Opened> {
  const folder = temporaryFolder(t);
  const server = await startServer(t, folder, flags);
  const { address } = server;
  const watched = await openBrowser(t);
  const { page } = watched;
  if (address.startsWith('https:')) await page.send('Security.setIgnoreCertificateErrors', { ignore: true });
  await page.go(address + path);
  await rendered(page);
  return { ...watched, server, address, folder };
}

/** Starts a browser with an empty page. */
export async function openBrowser(t: TestContext): Promise<Watched> {
  const page = await Page.open(t, browser!);
  const problems: string[] = [];
  const requested: string[] = [];
  page.listen((method, params) => {
    if (method === 'Network.requestWillBeSent') requested.push((params['request'] as { readonly url: string }).url);
    const { level, source } = (params['entry'] ?? {}) as { readonly level?: string; readonly source?: string };
    const isEntry = method === 'Log.entryAdded' && level !== 'verbose' && source !== 'network';
    if (isEntry || /Runtime\.(exceptionThrown|consoleAPICalled)/.test(method)) problems.push(JSON.stringify(params));
  });
  return { page, problems, requested };
}

/** Waits until the page shows the description. */
export async function rendered(page: Page): Promise<void> {
  assert.equal(await alertOf(page), undefined);
}

/** Waits until the page shows the description or says why it cannot, and returns what it says. */
export function alertOf(page: Page): Promise<string | undefined> {
  const alert = 'document.querySelector("[role=alert]")';
  return page.until(`document.querySelector("#schemas") ?? ${alert}`)
    .then(() => page.evaluate(`${alert}?.textContent`) as Promise<string | undefined>);
}

/** Returns the value of an expression in the page, which is a string. */
export const valueOf = (page: Page, expression: string) => page.evaluate(expression) as Promise<string>;

/** Sends the request of an operation, and waits until the response is shown. */
export async function sendFrom(page: Page, operation: string, key: string): Promise<void> {
  await submit(page, operation, key);
  assert.match(await statusOf(page, operation), /^\d{3} .*ms$/);
}

/** Submits the form of an operation. */
export async function submit(page: Page, operation: string, key: string): Promise<void> {
  await page.evaluate(`document.getElementById('key').value = ${JSON.stringify(key)};
    document.querySelector('#${operation} form').requestSubmit()`);
}

/** Waits until the request of an operation has ended, and returns what the page says about it. */
export async function statusOf(page: Page, operation: string): Promise<string> {
  const status = `document.querySelector('#${operation} form [role=status]').textContent`;
  await page.until(`!['', 'Sending …'].includes(${status})`);
  return valueOf(page, status);
}

/** Unfolds everything in the form of an operation, and returns its text. */
export function formText(page: Page, operation: string): Promise<string> {
  const form = `document.querySelector('#${operation} form')`;
  return valueOf(page, `${form}.querySelectorAll('details').forEach((one) => (one.open = true)), ${form}.innerText`);
}

/** Makes the window of the page another size, and opens its address again. */
export async function resize(page: Page, width: number, height = 800): Promise<void> {
  const metrics = { width, height, deviceScaleFactor: 1, mobile: width < 600 };
  await page.send('Emulation.setDeviceMetricsOverride', metrics);
  await page.go(await valueOf(page, 'location.href'));
  await rendered(page);
}

/** Makes the browser prefer a theme. */
export async function prefer(page: Page, value: 'light' | 'dark'): Promise<void> {
  await page.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-color-scheme', value }] });
}
