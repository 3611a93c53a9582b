import assert from 'node:assert/strict';
import test from 'node:test';
import { FileAccounts } from '../file-engine/accounts/file-accounts.ts';
import { limitsOf } from '../limits/plans.ts';
import { codeOf, type HttpResponse } from '../testing/http-response.ts';
import { openService, send } from '../testing/service.ts';

/** Asserts that a response is this error, with a complete Error body. */
function assertError(response: HttpResponse, status: number, code: string, about = ''): void {
  assert.equal(response.status, status, `${about} ${response.body}`);
  const body = JSON.parse(response.body) as Record<string, unknown>;
  assert.deepEqual(Object.keys(body), ['code', 'message', 'status'], about);
  assert.equal(body['code'], code, about);
  assert.equal(body['status'], status, about);
  assert.equal(response.headers.get('content-type'), 'application/json');
}

test('every response has a unique X-Request-Id, no-store, nosniff, and each X-RateLimit header once', async (t) => {
  const { call } = await openService(t);
  const responses = await Promise.all([
    call('GET', '/v1/pets'),
    call('POST', '/v1/pets', { body: '{"name":"a","categoryId":1}' }),
    call('OPTIONS', '/v1/pets'),
    call('GET', '/v1/pets', { key: null }),
    call('GET', '/nowhere'),
    call('DELETE', '/v1/pets'),
    call('HEAD', '/healthz'),
  ]);
  assert.deepEqual(responses.map(({ status }) => status), [200, 201, 204, 401, 404, 405, 200]);
  for (const { headers } of responses) {
    assert.equal(headers.get('cache-control'), 'no-store');
    assert.equal(headers.get('x-content-type-options'), 'nosniff');
    const names = [...headers.keys()].filter((name) => name.startsWith('x-ratelimit'));
    assert.deepEqual(names, ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']);
    assert.ok(headers.has('date'));
  }
  assert.equal(new Set(responses.map(({ headers }) => headers.get('x-request-id'))).size, responses.length);
});

test('order of checks, step 2: without a valid key, every path and method under the base path is 401', async (t) => {
  const opened = await openService(t);
  const { call, secret, keys, now } = opened;
  for (const path of [
    '/v1', '/v1/', '/v1/pets', '/v1/pets/1', '/v1/store/orders', '/v1/nowhere', '/v1/%zz', '/%76%31/pets',
    '/v1/pets?limit=x',
  ]) {
    for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS', 'PATCH']) {
      assertError(await call(method, path, { key: null }), 401, 'missing_api_key', `${method} ${path}`);
    }
    assert.equal((await call('HEAD', path, { key: null })).status, 401);
    opened.now += 60_000; // otherwise the limit of the address would be reached
  }
  const last = secret.slice(-12, -11) === 'a' ? 'b' : 'a';
  const missing = [
    {}, { authorization: '' }, { authorization: 'Bearer' }, { authorization: secret },
    { authorization: `Basic ${secret}` },
  ];
  const invalid = [
    `${secret}x`, secret.slice(0, -1), `${secret.slice(0, -12)}${last}${secret.slice(-11)}`, secret.toUpperCase(),
    `x ${secret}`, `${secret} x`, 'é',
  ].map((token) => ({ authorization: `Bearer ${token}` }));
  for (const headers of missing) {
    const response = await call('GET', '/v1/pets', { key: null, headers });
    assertError(response, 401, 'missing_api_key', JSON.stringify(headers));
    assert.equal(response.headers.get('www-authenticate'), 'Bearer realm="petstore"');
  }
  for (const headers of [...invalid, { authorization: [`Bearer ${secret}`, `Bearer ${secret}`] }]) {
    const response = await call('GET', '/v1/pets', { key: null, headers });
    assertError(response, 401, 'invalid_api_key', JSON.stringify(headers));
    assert.equal(response.headers.get('www-authenticate'), 'Bearer realm="petstore", error="invalid_token"');
  }
  assertError(await call('GET', `/v1/pets?access_token=${secret}`, { key: null }), 401, 'missing_api_key');
  for (const scheme of ['bearer', 'BEARER', 'bEaReR  ']) {
    const headers = { authorization: `${scheme} ${secret}` };
    assert.equal((await call('GET', '/v1/pets', { key: null, headers })).status, 200, scheme);
  }
  const { key } = await keys.create('other', { name: 'free' }, null, now);
  await keys.revoke(key.id, now);
  assert.equal((await call('GET', '/v1/pets')).status, 200);
});

test('refuses a key from the millisecond of its expiry on', async (t) => {
  const opened = await openService(t);
  const { secret } = await opened.keys.create('short', { name: 'free' }, opened.now + 1000, opened.now);
  opened.now += 999;
  assert.equal((await opened.call('GET', '/v1/pets', { key: secret })).status, 200);
  opened.now += 1;
  assertError(await opened.call('GET', '/v1/pets', { key: secret }), 401, 'invalid_api_key');
});

test('order of checks, step 4: path, method, expectation, content type, parameters, body', async (t) => {
  const { call } = await openService(t);
  const wrong = { headers: { expect: 'a miracle', 'content-type': 'text/plain' }, body: '{' };
  assertError(await call('PUT', '/v1/nowhere?%zz', wrong), 404, 'not_found');
  const refused = await call('PUT', '/v1/pets?%zz', wrong);
  assertError(refused, 405, 'method_not_allowed');
  assert.equal(refused.headers.get('allow'), 'GET, HEAD, POST, OPTIONS');
  assertError(await call('POST', '/v1/pets?%zz', wrong), 417, 'expectation_failed');
  const wrongType = { ...wrong, headers: { 'content-type': 'text/plain' } };
  assertError(await call('POST', '/v1/pets?%zz', wrongType), 415, 'unsupported_media_type');
  assertError(await call('POST', '/v1/pets?%zz', { body: '{' }), 400, 'invalid_parameter');
  assertError(await call('POST', '/v1/pets', { body: '{' }), 400, 'malformed_json');
  assertError(await call('POST', '/v1/pets', { body: '{}' }), 400, 'invalid_body');
});

test('decodes a path once, collapses nothing; a broken escape or a trailing slash is 404', async (t) => {
  const { call, pets } = await openService(t);
  await pets.create({ name: 'a', categoryId: 1n, status: 'sold' });
  for (const path of [
    '/v1/pets/', '/v1//pets', '/v1', '/v1/', '/v1/pets/1/', '/v1/./pets', '/v1/store', '/v1/store/orders/',
    '/v1/store%2Forders', '/v1/%zz', '/v1/Pets',
  ]) {
    assertError(await call('GET', path), 404, 'not_found', path);
  }
  for (const path of ['/', '//v1/pets', '/v2/pets', '/v10', '/%zz/pets', '/healthz/', '/pets', '/V1/pets']) {
    assertError(await call('GET', path, { key: null }), 404, 'not_found', path);
  }
  for (const path of ['/v1/pets/%zz', '/v1/pets/%ff']) assertError(await call('GET', path), 404, 'not_found', path);
  for (const path of [
    '/v1/pets/abc', '/v1/pets/05', '/v1/pets/+1', '/v1/pets/1.0', '/v1/pets/-1', '/v1/pets/0', '/v1/pets/2',
    '/v1/pets/1%2F2', '/v1/pets/%2531', '/v1/pets/9223372036854775807', '/v1/pets/9223372036854775808',
    '/v1/pets/9007199254740993', '/v1/pets/%00',
  ]) {
    assertError(await call('GET', path), 404, 'pet_not_found', path);
  }
  for (const path of [
    '/v1/pets/%31', '/%76%31/p%65ts/1', '/v1/pets/1?anything=goes&limit=x', 'http://elsewhere.example/v1/pets/1',
  ]) {
    assert.equal((await call('GET', path)).status, 200, path);
  }
});

test('HEAD is GET without the body, OPTIONS is 204 with Allow, and other methods are 405', async (t) => {
  const { call, pets } = await openService(t);
  await pets.create({ name: 'é', categoryId: 1n, status: 'sold' });
  for (const [path, allow] of [
    ['/v1/pets', 'GET, HEAD, POST, OPTIONS'], ['/v1/pets/1', 'GET, HEAD, OPTIONS'],
    ['/v1/pets/x', 'GET, HEAD, OPTIONS'], ['/v1/store/orders', 'GET, HEAD, OPTIONS'],
    ['/healthz', 'GET, HEAD, OPTIONS'], ['/readyz', 'GET, HEAD, OPTIONS'], ['/openapi.json', 'GET, HEAD, OPTIONS'],
    ['/docs', 'GET, HEAD, OPTIONS'], ['/', 'GET, HEAD, OPTIONS'],
  ] as const) {
    const options = await call('OPTIONS', path);
    assert.deepEqual([options.status, options.headers.get('allow'), options.body], [204, allow, ''], path);
    assert.equal(options.headers.has('content-length'), false);
    const [get, head] = [await call('GET', path), await call('HEAD', path)];
    assert.deepEqual([head.status, head.body], [get.status, '']);
    for (const name of ['content-length', 'content-type', 'deprecation', 'sunset', 'link', 'vary']) {
      assert.equal(head.headers.get(name), get.headers.get(name), `${path} ${name}`);
    }
    assert.equal(get.headers.get('content-length'), String(Buffer.byteLength(get.body)));
    for (const method of ['PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND']) {
      const refused = await call(method, path);
      assertError(refused, 405, 'method_not_allowed', `${method} ${path}`);
      assert.equal(refused.headers.get('allow'), allow);
    }
  }
  const asterisk = await call('OPTIONS', '*', { key: null });
  assert.deepEqual([asterisk.status, asterisk.headers.get('allow')], [204, 'GET, HEAD, POST, OPTIONS']);
});

test('discards a body that the operation does not take, if it has at most 64 KiB', async (t) => {
  const { call } = await openService(t);
  for (const method of ['GET', 'OPTIONS']) {
    for (const path of ['/v1/pets', '/healthz']) {
      const headers = { 'content-type': 'text/plain', connection: 'keep-alive' };
      const fits = await call(method, path, { body: 'x'.repeat(65_536), headers });
      assert.deepEqual([fits.status < 300, fits.headers.get('connection')], [true, 'keep-alive']);
      const response = await call(method, path, { body: 'x'.repeat(65_537) });
      assertError(response, 413, 'payload_too_large');
      assert.equal(response.headers.get('connection'), 'close');
    }
  }
});

test('accepts a body of application/json in UTF-8 without a content encoding, and no other', async (t) => {
  const { call } = await openService(t);
  const body = '{"name":"a","categoryId":1}';
  for (const type of [
    'application/json', 'Application/JSON', 'application/json; charset=utf-8', 'application/json;charset="UTF-8"',
    'application/json; a=b;; charset=Utf-8 ;',
  ]) {
    assert.equal((await call('POST', '/v1/pets', { body, headers: { 'content-type': type } })).status, 201, type);
  }
  for (const type of [
    '', 'text/json', 'application/json-patch+json', 'application/json; charset=latin1',
    'application/json charset=utf-8', 'application/json, application/json', ['application/json', 'application/json'],
  ]) {
    const response = await call('POST', '/v1/pets', { body, headers: { 'content-type': type } });
    assertError(response, 415, 'unsupported_media_type', String(type));
  }
  const { address } = await openService(t);
  assertError(await send(address, 'POST', '/v1/pets', { key: null, body }), 401, 'missing_api_key');
  for (const coding of ['gzip', 'identity, gzip', 'x']) {
    const response = await call('POST', '/v1/pets', { body, headers: { 'content-encoding': coding } });
    assertError(response, 415, 'unsupported_media_type', coding);
  }
  for (const coding of ['identity', 'Identity', 'identity, identity']) {
    const response = await call('POST', '/v1/pets', { body, headers: { 'content-encoding': coding } });
    assert.equal(response.status, 201, coding);
  }
  const missing = await call('POST', '/v1/pets', { headers: { 'content-length': '0' } });
  assertError(missing, 415, 'unsupported_media_type');
});

test('accepts Expect: 100-continue, and responds with 417 to any other expectation', async (t) => {
  const { call } = await openService(t);
  for (const expect of ['100-Continue', '100-continue']) {
    const body = '{"name":"a","categoryId":1}';
    assert.equal((await call('POST', '/v1/pets', { body, headers: { expect } })).status, 201);
    assert.equal((await call('GET', '/v1/pets', { headers: { expect } })).status, 200);
  }
  for (const expect of ['200-ok', '100-continue, x', 'x100-continue']) {
    assertError(await call('GET', '/v1/pets', { headers: { expect } }), 417, 'expectation_failed', expect);
  }
});

test('serves the operations under another base path, and uses it in links', async (t) => {
  const { call, pets } = await openService(t, { basePath: '/shop/v1' });
  for (const name of ['a', 'b']) await pets.create({ name, categoryId: 1n, status: 'sold' });
  const list = await call('GET', '/shop/v1/pets?limit=1');
  assert.equal(list.headers.get('link'), '</shop/v1/pets?limit=1&after=1>; rel="next"');
  const create = await call('POST', '/shop/v1/pets', { body: '{"name":"a","categoryId":1}' });
  assert.equal(create.headers.get('location'), '/shop/v1/pets/3');
  assert.equal((await call('GET', '/shop/v1/pets/1')).headers.get('link'), '</shop/v1/pets>; rel="successor-version"');
  assertError(await call('GET', '/v1/pets'), 404, 'not_found');
  assertError(await call('GET', '/shop/v1/nowhere', { key: null }), 401, 'missing_api_key');
  const description = JSON.parse((await call('GET', '/openapi.json')).body) as { servers: unknown };
  assert.deepEqual(description.servers, [{ url: '/shop/v1' }]);
});

test('responds to a bug with a 500 without details, and logs the error with the request id', async (t) => {
  const { call, pets, logged } = await openService(t);
  t.mock.method(pets.table, 'page', () => {
    throw new Error('the secret inside');
  });
  const response = await call('GET', '/v1/pets');
  assertError(response, 500, 'internal_error');
  assert.doesNotMatch(response.body, /secret inside/);
  assert.equal(logged.length, 1);
  assert.match(logged[0]!, /the secret inside/);
  assert.ok(logged[0]!.includes(response.headers.get('x-request-id')!));
});

test('a response to a key that cannot be looked up shows the limit of the address, and is not counted', async (t) => {
  const { call } = await openService(t);
  const admit = t.mock.method(FileAccounts.prototype, 'admit', () => {
    throw new Error('a bug');
  });
  for (let sent = 0; sent < 2; sent++) {
    const response = await call('GET', '/v1/pets');
    assertError(response, 500, 'internal_error');
    const limits = ['limit', 'remaining'].map((name) => response.headers.get(`x-ratelimit-${name}`));
    assert.deepEqual(limits, ['60', '60']);
  }
  admit.mock.restore();
  const { headers } = await call('GET', '/v1/pets');
  assert.deepEqual([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')], ['1000', '999']);
});

test('while stopping, requests with a key and /readyz are 503 shutting_down, and /healthz is 200', async (t) => {
  const { call, service } = await openService(t);
  assert.equal((await call('GET', '/readyz')).body, '{"status":"ready"}');
  service.stop();
  for (const path of ['/v1/pets', '/v1/nowhere', '/readyz']) {
    const response = await call('GET', path);
    assertError(response, 503, 'shutting_down', path);
    assert.ok(Number(response.headers.get('retry-after')) >= 1);
  }
  assertError(await call('GET', '/v1/pets', { key: null }), 401, 'missing_api_key');
  assert.equal((await call('GET', '/healthz')).body, '{"status":"ok"}');
  assert.equal(codeOf(await call('GET', '/nowhere')), 'not_found');
});

test('until the animals are read, requests with a key are 503 not_ready and are not counted', async (t) => {
  const { call, pets, service, usage, keys, now } = await openService(t, { starting: true });
  const { perMinute } = limitsOf({ name: 'business' });
  for (const path of ['/v1/pets', '/v1/pets/1', '/v1/store/orders', '/v1/nowhere']) {
    const response = await call('GET', path);
    assertError(response, 503, 'not_ready', path);
    assert.equal(response.headers.get('retry-after'), '5');
    assert.equal(response.headers.get('x-ratelimit-remaining'), String(perMinute));
    assert.equal(response.headers.has('deprecation'), path === '/v1/pets/1');
  }
  assertError(await call('POST', '/v1/pets', { body: '{"name":"Rex","categoryId":1}' }), 503, 'not_ready');
  assert.equal(usage.limiter.usageOf('k1', now).day.used, 0);
  for (let left = 59; left >= 0; left--) {
    const response = await call('GET', '/v1/pets', { key: null });
    assertError(response, 401, 'missing_api_key');
    assert.equal(response.headers.get('x-ratelimit-remaining'), String(left));
  }
  assertError(await call('GET', '/v1/pets', { key: null }), 429, 'rate_limited');

  assert.equal((await call('GET', '/healthz')).body, '{"status":"ok"}');
  assert.equal((await call('GET', '/openapi.json')).status, 200);
  t.mock.getter(pets, 'progress', () => 42);
  const readiness = await call('GET', '/readyz', { key: null });
  assert.deepEqual([readiness.status, readiness.headers.get('retry-after')], [503, '5']);
  assert.equal(
    readiness.body, '{"code":"not_ready","message":"The server is starting.","status":503,"percent":42}',
  );
  t.mock.restoreAll();

  const other = await keys.create('made meanwhile', { name: 'pro' }, null, now);
  assertError(await call('GET', '/v1/pets', { key: other.secret }), 503, 'not_ready');
  await pets.load();
  assert.equal((await call('GET', '/readyz')).body, '{"status":"ready"}');
  const response = await call('GET', '/v1/pets');
  assert.deepEqual([response.status, response.headers.get('x-ratelimit-remaining')], [200, String(perMinute - 1)]);

  t.mock.getter(pets, 'progress', () => 42);
  service.stop();
  for (const path of ['/v1/pets', '/readyz']) assertError(await call('GET', path), 503, 'shutting_down', path);
  assert.equal(usage.limiter.usageOf('k1', now).day.used, 1);
});
