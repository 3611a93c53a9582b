/** The reference page over HTTP. page/page.slow.test.ts tests it in a browser. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import test from 'node:test';
import { Exposition } from '../observe/exposition.ts';
import { codeOf } from '../testing/http-response.ts';
import { openService, send, shortPage } from '../testing/service.ts';

const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8';
const sha256 = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;

test('/docs is the page for every client, under a policy that allows only its own script and style', async (t) => {
  const { address, secret } = await openService(t, { basePath: '/shop/v1' });
  for (const headers of [{}, { accept: browser }, { accept: 'application/json' }, { authorization: 'Bearer x' }]) {
    const { status, headers: received, body } = await send(address, 'GET', '/docs?x=1', { headers });
    assert.deepEqual([status, body], [200, shortPage]);
    assert.equal(received.get('content-type'), 'text/html; charset=utf-8');
    assert.equal(received.get('content-length'), String(Buffer.byteLength(shortPage)));
    assert.equal(received.get('content-security-policy'), "default-src 'none'; "
      + `script-src ${sha256('\nvoid 0;')}; style-src ${sha256('p{margin:0}')}; img-src data:; connect-src 'self'; `
      + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
      + "require-trusted-types-for 'script'; trusted-types 'none'");
    assert.equal(received.get('x-content-type-options'), 'nosniff');
    assert.equal(received.get('referrer-policy'), 'no-referrer');
    assert.equal(received.get('cache-control'), 'no-store');
    assert.deepEqual([received.get('x-ratelimit-limit'), received.get('x-ratelimit-remaining')], ['60', '60']);
    assert.ok(received.has('x-ratelimit-reset') && received.has('x-request-id'));
    assert.equal(received.has('vary'), false);
  }
  const head = await send(address, 'HEAD', '/docs', { key: secret });
  assert.deepEqual([head.status, head.body], [200, '']);
  assert.equal(head.headers.get('content-length'), String(Buffer.byteLength(shortPage)));
  for (const path of ['/docs/', '/docs/x', '/Docs', '/shop/docs']) {
    assert.equal((await send(address, 'GET', path, { headers: { accept: browser } })).status, 404, path);
  }
});

test('/ is the page for a client that names text/html in Accept, and 404 for others', async (t) => {
  const { address, call } = await openService(t);
  const at = (path: string, accept?: string | string[]) =>
    send(address, 'GET', path, { headers: accept === undefined ? {} : { accept } });
  for (const accept of [
    browser, 'text/html', 'TEXT/HTML', '*/*, text/html ;q=0.1', 'text/html;level=1', ['text/plain', 'text/html'],
  ]) {
    const { status, headers, body } = await at('/', accept);
    assert.deepEqual([status, headers.get('vary'), body], [200, 'Accept', shortPage], String(accept));
    assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none'; /);
  }
  for (const accept of [
    undefined, '', '*/*', 'text/*', 'application/json', 'text/htmlx', 'xtext/html', 'text/html;q=0',
    'text/html; q=0.00, */*',
  ]) {
    const response = await call('GET', '/', { headers: accept === undefined ? {} : { accept }, key: null });
    assert.deepEqual([response.status, codeOf(response)], [404, 'not_found'], accept);
    assert.equal(response.headers.get('vary'), 'Accept', accept);
    assert.equal(response.headers.has('content-security-policy'), false);
  }
  const head = await send(address, 'HEAD', '/', { headers: { accept: browser } });
  assert.deepEqual([head.status, head.headers.get('vary'), head.body], [200, 'Accept', '']);
  assert.equal((await send(address, 'HEAD', '/')).status, 404);
  // Neither a broken escape nor an empty segment is the path /.
  for (const path of ['/%zz', '/x%', '//', '/%2F', '/%zz?x']) assert.equal((await at(path, browser)).status, 404, path);
  assert.equal((await at('http://elsewhere', browser)).status, 200);
  assert.equal((await at('/?%zz', browser)).status, 400);
});

test('requests for the page count against no limit, and succeed while the server starts and stops', async (t) => {
  const { address, service, metrics } = await openService(t, { starting: true });
  for (let i = 0; i < 60; i++) assert.equal((await send(address, 'GET', '/v1/pets')).status, 401);
  assert.equal((await send(address, 'GET', '/v1/pets')).status, 429);
  service.stop();
  assert.equal((await send(address, 'GET', '/docs')).status, 200);
  assert.equal((await send(address, 'GET', '/', { headers: { accept: browser } })).status, 200);
  assert.equal((await send(address, 'GET', '/')).status, 404);
  assert.ok(service.operations.includes('docs'));
  const exposition = new Exposition();
  metrics.writeTo(exposition);
  assert.match(exposition.text, /^petstore_http_requests_total\{operation="docs",status="200"\} 2$/m);
  assert.match(exposition.text, /^petstore_http_requests_total\{operation="docs",status="404"\} 1$/m);
});

test('--no-docs removes both paths', async (t) => {
  const { call, service } = await openService(t, { page: null });
  for (const path of ['/docs', '/']) {
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'POST']) {
      const { status, headers } = await call(method, path, { headers: { accept: browser }, key: null });
      assert.deepEqual([status, headers.has('vary')], [404, false], `${method} ${path}`);
    }
  }
  assert.equal(service.operations.includes('docs'), false);
});
