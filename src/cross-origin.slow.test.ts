/** Scripts in pages from other origins, which send requests to the built server, in headless Chromium. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { Page } from '../harness/browser.ts';
import { temporaryFolder } from '../harness/owner.ts';
import { scriptedServer } from '../harness/proxy.ts';
import { makeKey, startServer } from '../harness/server.ts';
import { openBrowser, options } from './testing/reference-page.ts';

/** Starts another site, whose pages are empty. */
const startSite = (t: TestContext) => scriptedServer(t, (_, response) => {
  response.setHeader('Content-Type', 'text/html').end('<!doctype html><title>shop</title>');
});

/** A response as a script sees it; a string if the browser does not let it read the response. */
type Seen = string | { readonly status: number; readonly headers: Record<string, string>; readonly body: string };

/** Evaluates a `fetch` in a page. */
const sendFrom = (page: Page, url: string, init: object = {}): Promise<Seen> =>
  page.evaluate(`fetch(${JSON.stringify(url)}, ${JSON.stringify(init)}).then(
    async (response) => ({
      status: response.status, headers: Object.fromEntries(response.headers), body: await response.text(),
    }),
    (error) => error.name)`) as Promise<Seen>;

function assertSeen(seen: Seen, status: number, ...headers: string[]): void {
  assert.ok(typeof seen === 'object', `${String(seen)} instead of a response with ${status}`);
  assert.equal(seen.status, status, seen.body);
  for (const name of ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'x-request-id', ...headers]) {
    assert.match(seen.headers[name] ?? '', /./, name);
  }
}

test('a page from an allowed origin can read all responses, and other pages none', options, async (t) => {
  const site = await startSite(t);
  const folder = temporaryFolder(t);
  const origin = `http://127.0.0.1:${site.port}`;
  const flags = ['--demo', '--access-log', '--cors-origin', 'https://other.example', '--cors-origin', origin];
  const server = await startServer(t, folder, flags);
  const pets = `${server.address}/v1/pets`;
  const withKey = (key: string) => ({ headers: { Authorization: `Bearer ${key}` } });
  const key = withKey(await makeKey(t, folder));
  const limited = withKey(await makeKey(t, folder, 'enterprise', '--per-minute', '1', '--per-day', '1'));
  const body = '{"name":"Rex","categoryId":9007199254740993}';
  const created = { method: 'POST', body, headers: { ...key.headers, 'Content-Type': 'application/json' } };
  const { page } = await openBrowser(t);

  await page.go(origin);
  for (let i = 0; i < 3; i++) assertSeen(await sendFrom(page, `${pets}?limit=1`, key), 200, 'link');
  await server.printed(/(GET "\/v1\/pets" 200[^]*){3}/, 'stderr');
  assert.equal(server.stderr.match(/OPTIONS "\/v1\/pets" 204/g)?.length, 1, 'the browser keeps the permission');
  assertSeen(await sendFrom(page, pets, created), 201, 'location');
  assertSeen(await sendFrom(page, `${pets}?limit=0`, key), 400);
  assertSeen(await sendFrom(page, pets), 401, 'www-authenticate');
  assertSeen(await sendFrom(page, `${pets}/4711`, key), 404, 'deprecation', 'sunset', 'link');
  assertSeen(await sendFrom(page, `${server.address}/nowhere`, key), 404);
  assertSeen(await sendFrom(page, pets, { ...created, body: `"${'x'.repeat(70_000)}"` }), 413);
  assertSeen(await sendFrom(page, pets, limited), 200);
  assertSeen(await sendFrom(page, pets, limited), 429, 'retry-after');
  assertSeen(await sendFrom(page, pets, { ...key, method: 'OPTIONS' }), 204, 'allow');
  assert.equal(await sendFrom(page, pets, { ...key, credentials: 'include' }), 'TypeError');
  assert.equal(await sendFrom(page, pets, { headers: { ...key.headers, 'X-Other': 'x' } }), 'TypeError');
  // A sandboxed frame has the origin null, wherever it comes from.
  const script = `fetch("${pets}").then(() => "read", () => "hidden").then((text) => parent.postMessage(text, "*"))`;
  assert.deepEqual(await page.evaluate(`new Promise((resolve) => {
    onmessage = ({ data, origin }) => resolve([data, origin]);
    const frame = document.createElement('iframe');
    frame.sandbox = 'allow-scripts';
    frame.srcdoc = '<script>${script}</' + 'script>';
    document.body.append(frame);
  })`), ['hidden', 'null']);

  await page.go(`http://localhost:${site.port}`);
  for (const init of [key, {}, created]) assert.equal(await sendFrom(page, pets, init), 'TypeError');
  const description = await sendFrom(page, `${server.address}/openapi.json`);
  assert.ok(typeof description === 'object' && description.body.includes('"openapi"'), String(description));
});

test('a page can read the refusal of a head that is too large', options, async (t) => {
  const site = await startSite(t);
  const origin = `http://127.0.0.1:${site.port}`;
  const server = await startServer(t, temporaryFolder(t), ['--cors-origin', origin]);
  const { page } = await openBrowser(t);
  await page.go(origin);
  const headers = { Authorization: `Bearer ${'x'.repeat(20_000)}` };
  assertSeen(await sendFrom(page, `${server.address}/v1/pets`, { headers }), 431);
  assertSeen(await sendFrom(page, `${server.address}/v1/pets?${'x'.repeat(20_000)}`), 431);
});
