/** The reference page when something fails: the server, a proxy in front of it, or the order of responses. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { faultProxy, type ProxiedResponse } from '../../harness/proxy.ts';
import { makeKey, startServer } from '../../harness/server.ts';
import {
  alertOf, open, openBrowser, options, rendered, sendFrom, statusOf, submit, valueOf,
} from '../testing/reference-page.ts';

type Change = Parameters<typeof faultProxy>[2];

/** Starts a server, a proxy in front of it, and a browser, which opens no page yet. */
async function behindProxy(t: TestContext, change: Change) {
  const folder = temporaryFolder(t);
  const { address } = await startServer(t, folder, ['--demo']);
  const proxy = await faultProxy(t, `${address}/v1`, change);
  return { ...await openBrowser(t), proxy, docs: `http://127.0.0.1:${proxy.port}/docs`, key: await makeKey(t, folder) };
}

const formOf = (operation: string) => `document.querySelector('#${operation} form')`;

test('says why the description cannot be shown, and what to do', options, async (t) => {
  let fault: (response: ProxiedResponse) => void | 'cut' = () => {};
  const { page, docs, problems } = await behindProxy(t, ({ url }, response) =>
    url === '/openapi.json' ? fault(response) : undefined);
  const respondWith = (status: number, body: string) => (response: ProxiedResponse) => {
    Object.assign(response, { status, body: Buffer.from(body), headers: [['location', 'http://127.0.0.1:9/login']] });
  };
  const checkProxy = 'Check the proxy in front of the server';
  const other = (error: string) => `it is not the description of this server (${error}). ${checkProxy}`;
  for (const [change, reason] of [
    [() => 'cut' as const, 'no response was received. Check that the server is running'],
    [respondWith(503, '{}'), 'the status is 503 Service Unavailable. Wait until the server is ready'],
    [respondWith(404, '{}'), `the status is 404 Not Found. ${checkProxy}`],
    [respondWith(302, ''), `the response is a redirect, which this page does not follow. ${checkProxy}`],
    [respondWith(200, '<!doctype html>'), other('SyntaxError')],
    [respondWith(200, '{"info":{}}'), other('TypeError')],
  ] as const) {
    fault = change;
    await page.go(docs);
    assert.equal(await alertOf(page), `openapi.json cannot be shown: ${reason}, then reload the page.`);
  }
  fault = () => {};
  await page.go(docs);
  await rendered(page);
  assert.deepEqual(problems, []);
});

test('says that no response was received if the server has ended', options, async (t) => {
  const { page, server, folder, problems } = await open(t);
  const key = await makeKey(t, folder);
  await sendFrom(page, 'listPets', key);
  await server.stop();
  const message = 'The request failed: no response was received. Check that the server is running.';
  for (const [operation, more] of [['listPets', ''], ['createPet', ' The request may have taken effect.']] as const) {
    await submit(page, operation, key);
    assert.equal(await statusOf(page, operation), message + more);
  }
  assert.doesNotMatch(await valueOf(page, `${formOf('listPets')}.innerText`), /Mittens/);
  await submit(page, 'listPets', '€');
  assert.equal(await statusOf(page, 'listPets'),
    'Nothing was sent: the API key has a character that no header can contain.');
  assert.deepEqual(problems, []);
});

test('never says that there was no response if there was one', options, async (t) => {
  let change: (response: ProxiedResponse) => void = () => {};
  const { page, docs, key, problems } = await behindProxy(t, ({ url }, response) => {
    if (url.startsWith('/v1/')) change(response);
  });
  await page.go(docs);
  await rendered(page);
  for (const value of ['soon', '', '99999999999999', '-1', '1e3', '60, 60', '0x10', null]) {
    change = (response) => {
      response.headers = response.headers.filter(([name]) => name !== 'x-ratelimit-reset');
      if (value !== null) response.headers.push(['x-ratelimit-reset', value]);
    };
    await sendFrom(page, 'listPets', key);
    const result = await valueOf(page, `${formOf('listPets')}.innerText`);
    assert.match(result, /^200 OK · \d+ ms$[^]*^\d+ of 1000 requests remain\.$[^]*Mittens/m, String(value));
  }
  change = (response) => (response.headers = [['retry-after', 'Thu, 05 Dec 2030 00:00:00 GMT']]);
  await sendFrom(page, 'listPets', key);
  assert.doesNotMatch(await valueOf(page, `${formOf('listPets')}.innerText`), /null|NaN|Wait|remain/);

  change = (response) => Object.assign(response, { status: 302, headers: [['location', 'http://127.0.0.1:9/']] });
  await submit(page, 'createPet', key);
  assert.equal(await statusOf(page, 'createPet'), 'The request failed: the response is a redirect, which this '
    + 'page does not follow. Check the proxy in front of the server. The request may have taken effect.');
  change = (response) => response.headers.push(['content-encoding', 'gzip']);
  await submit(page, 'getPet', key);
  assert.equal(await statusOf(page, 'getPet'), 'The request failed: the body of the response 200 OK is '
    + 'incomplete. Check the connection to the server.');
  assert.deepEqual(problems, []);
});

test('sends one request of an operation at a time, and the focus stays on the button', options, async (t) => {
  let release = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const { page, docs, key, proxy } = await behindProxy(t, async ({ url }) => {
    if (url.startsWith('/v1/')) await released;
  });
  await page.go(docs);
  await rendered(page);
  const button = `${formOf('createPet')}.querySelector('[type=submit]')`;
  await page.evaluate(`document.getElementById('key').value = ${JSON.stringify(key)}; ${button}.focus()`);
  await page.press('Enter');
  await page.press('Enter');
  await page.evaluate(`${button}.click(); ${formOf('createPet')}.requestSubmit()`);
  const state = `[document.activeElement === ${button}, ${button}.getAttribute('aria-disabled')]`;
  assert.deepEqual(await page.evaluate(state), [true, 'true']);
  release();
  assert.match(await statusOf(page, 'createPet'), /^201/);
  assert.deepEqual(await page.evaluate(state), [true, null]);
  await page.press('Enter');
  assert.match(await statusOf(page, 'createPet'), /^201/);
  assert.equal(proxy.received.filter(({ method }) => method === 'POST').length, 2);
});
