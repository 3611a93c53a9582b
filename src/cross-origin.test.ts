/** "Pages from other origins" in decisions.md: what browsers receive, with and without a preflight request. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import nodeTest from 'node:test';
import { exposedHeaders } from './http/cross-origin.ts';
import type { HttpResponse } from './testing/http-response.ts';
import { send } from './testing/service.ts';
import { auth, freePerMinute, limits, openShop, type Shop } from './testing/shop.ts';
import { get, post, testOnce as test } from './testing/wire.ts';

const shopOrigin = 'https://shop.example';
const origins = [shopOrigin];
/** What a browser sends for a request of a page with this origin that has the key in a header. */
const preflight = (origin: string) => ({
  origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type',
});
const ask = ({ address }: Shop, path: string, headers: Record<string, string | string[]>, key: string | null = null) =>
  send(address, 'OPTIONS', path, { headers, key });

/** The headers of CORS in a response: names without the prefix, and values. */
const corsOf = ({ headers }: HttpResponse): Record<string, string> =>
  Object.fromEntries([...headers].filter(([name]) => /^(access-control-|vary$)/.test(name))
    .map(([name, value]) => [name.replace('access-control-', ''), value]));
const readable = { 'allow-origin': shopOrigin, 'expose-headers': exposedHeaders.join(', '), vary: 'Origin' };
const hidden = { vary: 'Origin' };

test('without allowed origins, only the description has a CORS header, and every page may read it', async (t) => {
  const shop = await openShop(t);
  for (const [method, path, key, status] of [
    ['GET', '/v1/pets', shop.secret, 200], ['GET', '/v1/pets', null, 401], ['OPTIONS', '/v1/pets', shop.secret, 204],
    ['OPTIONS', '/v1/pets', null, 401], ['GET', '/v1/nowhere', shop.secret, 404], ['GET', '/healthz', null, 200],
    ['OPTIONS', '/docs', null, 204],
  ] as const) {
    const headers = method === 'OPTIONS' ? preflight(shopOrigin) : { origin: shopOrigin };
    const response = await send(shop.address, method, path, { headers, key });
    assert.deepEqual([response.status, corsOf(response)], [status, {}], `${method} ${path}`);
  }
  for (const origin of [undefined, shopOrigin, 'null']) {
    for (const [method, path, status] of [
      ['GET', '/openapi.json', 200], ['HEAD', '/openapi.json', 200], ['GET', '/openapi.json?%zz', 400],
      ['OPTIONS', '/openapi.json', 204], ['POST', '/openapi.json', 405],
    ] as const) {
      const headers: Record<string, string> = origin === undefined ? {} : { origin };
      const response = await send(shop.address, method, path, { headers });
      assert.deepEqual([response.status, corsOf(response)], [status, { 'allow-origin': '*' }], `${method} ${origin}`);
    }
  }
  assert.deepEqual(corsOf(await ask(shop, '/openapi.json', preflight('https://anyone.example'))), {
    'allow-origin': '*',
    'allow-methods': 'GET, HEAD, POST, OPTIONS',
    'allow-headers': 'Authorization, Content-Type',
    'max-age': '7200',
  });
});

test('a preflight from an allowed origin needs no key and does not count; its path does not matter', async (t) => {
  const shop = await openShop(t, { origins });
  const expected = {
    ...readable,
    'allow-methods': 'GET, HEAD, POST, OPTIONS',
    'allow-headers': 'Authorization, Content-Type',
    'max-age': '7200',
  };
  for (const path of [
    '/v1/pets', '/v1/pets/1', '/v1/nowhere', '/v1/pets?limit=0', '/v1?%zz', '/nowhere', '/healthz', '/%zz',
  ]) {
    const response = await ask(shop, path, preflight(shopOrigin));
    assert.deepEqual([response.status, response.headers.get('allow'), response.body], [204, undefined, ''], path);
    assert.deepEqual(corsOf(response), expected, path);
    assert.equal(limits(response)[1], freePerMinute, 'of the address');
  }
  for (let i = 0; i < freePerMinute; i++) assert.equal((await shop.get(null)).status, 401);
  assert.equal((await shop.get(null)).status, 429);
  shop.service.stop();
  assert.equal((await ask(shop, '/v1/pets', preflight(shopOrigin))).status, 204);
  assert.deepEqual(shop.accesses.filter(({ method, key }) => method === 'OPTIONS' && key !== null), []);
});

test('any other OPTIONS request needs a key, and counts', async (t) => {
  const shop = await openShop(t, { origins });
  let left = freePerMinute;
  for (const headers of [
    {}, { origin: shopOrigin }, { 'access-control-request-method': 'POST' }, preflight('https://evil.example'),
  ]) {
    const response = await ask(shop, '/v1/pets', headers);
    assert.deepEqual([response.status, limits(response)[1]], [401, --left]);
    assert.deepEqual(corsOf(response), 'origin' in headers && headers.origin === shopOrigin ? readable : hidden);
  }
  const response = await ask(shop, '/v1/pets', { origin: shopOrigin }, shop.secret);
  assert.deepEqual([response.status, response.headers.get('allow')], [204, 'GET, HEAD, POST, OPTIONS']);
  assert.deepEqual(corsOf(response), readable);
  assert.equal((await ask(shop, '/v1/nowhere', { origin: shopOrigin }, shop.secret)).status, 404);
});

test('an origin may read only if it equals an allowed one', async (t) => {
  const shop = await openShop(t, { origins });
  for (const origin of [
    'null', '*', 'https://shop.example:444', 'https://shop.example:443', 'http://shop.example', 'https://shop.example/',
    'https://SHOP.example', 'HTTPS://shop.example', 'https://shop.example.evil.example', 'https://evil-shop.example',
    'https://shop.example.', 'https://shop.exampl', 'https://a.shop.example', 'https://user@shop.example',
    'shop.example', 'https://shop.example, https://shop.example', 'https://shop.example,https://evil.example', 'constructor', '',
  ]) {
    for (const response of [
      await send(shop.address, 'GET', '/v1/pets', { key: shop.secret, headers: { origin } }),
      await ask(shop, '/v1/pets', preflight(origin)),
    ]) assert.deepEqual(corsOf(response), hidden, origin);
  }
  for (const lines of [
    [`Origin: ${shopOrigin}`, `Origin: ${shopOrigin}`], [`Origin: ${shopOrigin}`, 'Origin: https://evil.example'],
    ['Origin: https://evil.example', `Origin: ${shopOrigin}`], [],
  ]) {
    const response = await (await shop.connect().send(get('/v1/pets', auth(shop.secret), ...lines))).response();
    assert.deepEqual([response.status, corsOf(response)], [200, hidden], lines.join());
  }
  const padded = get('/v1/pets', auth(shop.secret), `ORIGIN:\t ${shopOrigin} `);
  assert.deepEqual(corsOf(await (await shop.connect().send(padded)).response()), readable);
});

test('each of several origins may read, and receives only its own name', async (t) => {
  const several = [shopOrigin, 'http://localhost:5173', shopOrigin];
  const shop = await openShop(t, { origins: several });
  for (const origin of several) {
    const response = await send(shop.address, 'GET', '/v1/pets', { key: shop.secret, headers: { origin } });
    assert.deepEqual(corsOf(response), { ...readable, 'allow-origin': origin });
  }
  // It is not known which of them has sent a head that cannot be read.
  const long = get('/v1/pets', `Origin: ${shopOrigin}`, `X: ${'x'.repeat(20_000)}`);
  const response = await (await shop.connect().send(long)).response();
  assert.deepEqual([response.status, corsOf(response)], [431, hidden]);
});

test('a page may read every response, including errors', async (t) => {
  const shop = await openShop(t, { origins, listener: { headTimeoutMs: 300, requestTimeoutMs: 400, maxServed: 2 } });
  const { secret, pets } = shop;
  await pets.create({ name: 'a', categoryId: 1n, status: 'sold' });
  const exchange = async (status: number, message: string, method = 'GET', expected: object = readable) => {
    const client = shop.connect();
    if (message !== '') await client.send(message);
    const response = await client.response(method);
    assert.deepEqual([response.status, corsOf(response)], [status, expected], message.slice(0, 200));
    client.socket.destroy();
    await client.serverSocketClosed();
    return response;
  };
  const origin = `Origin: ${shopOrigin}`;
  const [key, json] = [auth(secret), 'Content-Type: application/json'];
  const body = '{"name":"a","categoryId":1}';
  const length = `Content-Length: ${body.length}`;
  const create = post('/v1/pets', origin, key, json, length) + body;
  await exchange(200, get('/v1/pets', origin, key));
  await exchange(200, get('/v1/pets/1', origin, key));
  await exchange(200, get('/v1/pets', origin, key).replace('GET', 'HEAD'), 'HEAD');
  await exchange(200, get('/healthz', origin));
  await exchange(201, create);
  await exchange(400, get('/v1/pets?%zz', origin, key));
  await exchange(400, get('/v1/pets', origin, key).replace('Host: x\r\n', ''));
  await exchange(400, get('/v1/pets', origin, key, 'Transfer-Encoding: chunked') + 'zz\r\n');
  await exchange(401, get('/v1/pets', origin));
  await exchange(401, get('/v1/pets', origin, auth('x')));
  await exchange(404, get('/v1/pets/9', origin, key));
  await exchange(404, get('/pets', origin, key));
  await exchange(405, get('/v1/pets', origin, key).replace('GET', 'DELETE'));
  await exchange(405, `CONNECT x:443 HTTP/1.1\r\nHost: x\r\n${origin}\r\n\r\n`);
  await exchange(408, post('/v1/pets', origin, key, json, 'Content-Length: 5') + '{');
  await exchange(408, `GET / HTTP/1.1\r\n${origin}\r\n`);
  await exchange(413, post('/v1/pets', origin, key, json, 'Content-Length: 65537'));
  await exchange(415, post('/v1/pets', origin, key, length) + body);
  await exchange(417, get('/v1/pets', origin, key, 'Expect: rain'));
  await exchange(431, get('/v1/pets', origin, `X: ${'x'.repeat(20_000)}`));
  await exchange(431, get('/v1/pets', origin, ...Array.from({ length: 99 }, () => 'X: x')));
  await exchange(505, get('/v1/pets', origin, key).replace('HTTP/1.1', 'HTTP/1.2'));
  t.mock.method(pets, 'create', () => Promise.reject(new Error('bug')), { times: 1 });
  await exchange(500, create);
  const limited = auth(await shop.key({ name: 'enterprise', perMinute: 1, perDay: 9 }));
  await exchange(200, get('/v1/pets', origin, limited));
  assert.equal((await exchange(429, get('/v1/pets', origin, limited))).headers.get('retry-after'), '60');
  while ((await shop.get(null)).status === 401);
  await exchange(429, get('/v1/pets', origin));
  const others = [shop.connect(), shop.connect()];
  for (const other of others) await (await other.send(get('/healthz'))).response();
  await exchange(503, '');
  for (const other of others) other.socket.destroy();
  for (const other of others) await other.serverSocketClosed();
  await exchange(204, `OPTIONS * HTTP/1.1\r\nHost: x\r\n${origin}\r\n\r\n`, 'OPTIONS');
  const page = await send(shop.address, 'GET', '/', { headers: { origin: shopOrigin, accept: 'text/html' } });
  assert.deepEqual([page.status, corsOf(page)], [200, { ...readable, vary: 'Accept, Origin' }]);
  shop.service.stop();
  await exchange(503, get('/v1/pets', origin, key));
});

test('while the server loads the animals, a page may read the response that tells it to wait', async (t) => {
  const shop = await openShop(t, { origins, starting: true });
  assert.equal((await ask(shop, '/v1/pets', preflight(shopOrigin))).status, 204);
  const response = await send(shop.address, 'GET', '/v1/pets', { key: shop.secret, headers: { origin: shopOrigin } });
  assert.deepEqual([response.status, corsOf(response)], [503, readable]);
});

nodeTest('a script may read all headers that the description names', () => {
  const text = readFileSync(new URL('operations/openapi.json', import.meta.url), 'utf8');
  const { paths, components } = JSON.parse(text) as Record<string, unknown>;
  const named = new Set<string>();
  const visit = (value: unknown): void => {
    if (!(value instanceof Object)) return;
    for (const [name, member] of Object.entries(value)) {
      if (name === 'headers') Object.keys(member as object).forEach((header) => named.add(header));
      visit(member);
    }
  };
  visit([paths, (components as { responses: unknown }).responses]);
  // Browsers always show the first (Fetch, section 2.2.2). The second is for browsers. 405 is not described.
  for (const name of ['Cache-Control', 'X-Content-Type-Options']) assert.ok(named.delete(name), name);
  assert.deepEqual([...named, 'Allow'].sort(), [...exposedHeaders].sort());
});
