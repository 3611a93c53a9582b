/** Message heads: malformed, too large, or of another HTTP version; and what a valid head may contain. */
import assert from 'node:assert/strict';
import {
  assertEchoed, assertRefused, blockUntilReleased, echo, get, json, post, startServer, test,
} from '../testing/wire.ts';

const malformedHeads: [what: string, bytes: string][] = [
  ['no Host', 'GET / HTTP/1.1\r\n\r\n'],
  ['a second Host', 'GET / HTTP/1.1\r\nHost: x\r\nHost: x\r\n\r\n'],
  ['a second Host, where the first is empty', 'GET / HTTP/1.1\r\nhost:\r\nA: b\r\nHOST: x\r\n\r\n'],
  ['a second Host in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: x\r\nHost: x\r\n\r\n'],
  ...['a b', 'a/b', 'http://a', 'user@a', 'a:b', 'a:80:80', '[::1', '::1', '[::g]', '%zz', '%4', 'a?b', '\xe4'].map(
    (host): [string, string] => [`Host: ${host}`, `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`],
  ),
  ['an invalid Host in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a b\r\n\r\n'],
  ['an unknown method', 'FOO / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a method in lower case', 'get / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a method with an invalid character', 'G(T / HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
  ['a header without a colon', get('/', 'Nothing')],
  ['a header with a space in its name', get('/', 'A b: c')],
  ['a header with a space before its colon', get('/', 'A : c')],
  ['a header without a name', get('/', ': c')],
  ['a first header that begins with a space', 'GET / HTTP/1.1\r\n Host: x\r\n\r\n'],
  ['NUL in a header', get('/', 'A: \0')],
  ['a bare CR in a header', get('/', 'A: b\rc')],
  ['another protocol', 'GET / FTP/1.1\r\nHost: x\r\n\r\n'],
  ['Transfer-Encoding in HTTP/1.0', 'POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n'],
  ...['gzip', 'gzip, chunked', 'chunked, gzip', 'chunked, chunked', 'identity', 'chunked;a=b', 'xchunked'].map(
    (coding): [string, string] => [`Transfer-Encoding: ${coding}`, post('/', `Transfer-Encoding: ${coding}`)],
  ),
  ['two Transfer-Encodings', post('/', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
  ['a Transfer-Encoding, then a Content-Length', post('/', 'Transfer-Encoding: chunked', 'Content-Length: 3')],
  ['a Content-Length, then a Transfer-Encoding', post('/', 'Content-Length: 3', 'Transfer-Encoding: chunked')],
  ['two Content-Lengths', post('/', 'Content-Length: 3', 'Content-Length: 4')],
  ['the same Content-Length twice', post('/', 'Content-Length: 3', 'Content-Length: 3')],
  ...['3, 3', '-1', '+1', 'a', '3a', '0x3', '1.0', '99999999999999999999999'].map(
    (length): [string, string] => [`Content-Length: ${length}`, post('/', `Content-Length: ${length}`)],
  ),
  ['GET *', 'GET * HTTP/1.1\r\nHost: x\r\n\r\n'],
  ['a target without a slash', get('pets')],
  ['a URL without slashes', get('http:pets')],
  ['a target with a space', get('/a b')],
];

test('responds with 400 to a malformed head, and closes the connection', async (t) => {
  const server = await startServer(t);
  for (const [what, bytes] of malformedHeads) {
    await assertRefused(await server.connect().send(bytes), '400 malformed_request', what);
  }
  assert.deepEqual(server.calls, [], 'the handler is not called');
});

test('responds with 400 if the client closes its side within a head', async (t) => {
  const server = await startServer(t);
  const line = 'GET / HTTP/1.1\r\n';
  for (const head of ['G', 'GET / HT', line, `${line}Host: x\r\n`, `${line}Host: x\r\n\r`]) {
    await assertRefused((await server.connect().send(head)).finish(), '400 malformed_request', head);
  }
  const client = await server.connect().send(get('/a'), 'GET /');
  await assertEchoed(client, '/a');
  await assertRefused(client.finish(), '400 malformed_request');
  assert.deepEqual(server.calls, ['GET /a']);
});

test('accepts any host of RFC 3986 as Host, and an empty one', async (t) => {
  const server = await startServer(t);
  const client = server.connect();
  const names = ['', 'a', 'localhost:8080', 'a:', ':80', '127.0.0.1', "a_b~c.d-e!$&'()*+,;=", '%C3%A4'];
  for (const host of [...names, '[::1]', '[::FFFF:1.2.3.4]:80', '[v1.a:b]']) {
    await client.send(`GET /${host.length} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    await assertEchoed(client, `/${host.length}`);
  }
});

test('accepts a path, a URL whose authority is ignored, and the asterisk of OPTIONS as request target', async (t) => {
  const server = await startServer(t);
  const client = server.connect();
  const cases: [target: string, path: string, query: string][] = [
    ['/', '/', ''], ['/a%2Fb//c/?d=/e?f', '/a%2Fb//c/', 'd=/e?f'], ['//a/b', '//a/b', ''], ['/?', '/', ''],
    ['http://a', '/', ''], ['http://a/', '/', ''], ['HTTPS://user@a:80/b?c', '/b', 'c'],
    ['http://[::1]:80/b//', '/b//', ''],
    ['http://a?b=/c', '/', 'b=/c'], ['http://a/http://b', '/http://b', ''],
  ];
  for (const [target, path, query] of cases) {
    await client.send(get(target));
    assert.deepEqual(JSON.parse((await client.response()).body), { method: 'GET', path, query, length: 0 });
  }
  await client.send('OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n');
  await assertEchoed(client, '*');
});

test('responds with 431 to a head over 16 KiB', async (t) => {
  const server = await startServer(t);
  const long = 'a'.repeat(17_000);
  for (const head of [
    get('/', `A: ${long}`),
    get('/', `${long}: a`),
    get('/', ...Array<string>(2_800).fill('abc: def')),
    get(`/${long}`),
    get('/', 'A: ').trimEnd() + 'a'.repeat(300_000),
    `GET /${'a'.repeat(300_000)}`,
  ]) {
    await assertRefused(await server.connect().send(head), '431 headers_too_large', head.slice(0, 30));
  }
  assert.deepEqual(server.calls, []);
  const under = 'a'.repeat(15_900);
  const client = await server.connect().send(get('/b', `A: ${under}`), get(`/${under}`));
  await assertEchoed(client, '/b');
  await assertEchoed(client, `/${under}`);
});

test('drops no header, keeps their order, and refuses a head of more than 100 lines', async (t) => {
  const server = await startServer(t, async (request) =>
    json([request.headers['a'], request.headers['b']?.length ?? null, request.headers['c'] ?? null]));
  const head = (...lines: string[]): string => get('/', 'A: 1', 'a:2', ...lines, 'A: \t 3 \t');
  const client = server.connect();
  for (const lines of [4, 99, 100]) {
    await client.send(head(...Array<string>(lines - 4).fill('b:')));
    const { body } = await client.response();
    assert.deepEqual(JSON.parse(body), ['1, 2, 3', lines === 4 ? null : 2 * (lines - 5), null]);
  }
  for (const lines of [101, 102, 128, 129, 2_000, 4_000]) {
    const refused = server.connect();
    await assertRefused(await refused.send(head(...Array<string>(lines - 4).fill('b:'))), '431 headers_too_large');
  }
});

test('responds with 505 to every version except HTTP/1.0 and HTTP/1.1', async (t) => {
  const server = await startServer(t);
  const heads = [
    'GET /\r\n\r\n',
    ...['0.9', '1.2', '2.0', '3.0', '9.9'].map((version) => `GET / HTTP/${version}\r\nHost: x\r\n\r\n`),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
  ];
  for (const head of heads) {
    await assertRefused(await server.connect().send(head), '505 http_version_not_supported', head);
  }
  assert.deepEqual(server.calls, []);
});

// CONNECT and Upgrade.

test('responds to CONNECT in any form with 405 and an empty Allow', async (t) => {
  const server = await startServer(t);
  const heads = [
    'CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\n\r\n', 'CONNECT a:1 HTTP/1.0\r\n\r\n',
    'CONNECT [::1]:80 HTTP/1.1\r\nHost: x\r\nUpgrade: a\r\nConnection: upgrade\r\n\r\n',
    'CONNECT a:1 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc',
    'CONNECT a:1 HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03\x01 and more',
  ];
  for (const head of heads) {
    const { headers } = await assertRefused(await server.connect().send(head), '405 method_not_allowed', head);
    assert.equal(headers.get('allow'), '');
  }
  assert.deepEqual(server.calls, []);
});

test('continues to serve after a client resets its connection after CONNECT', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const answered = await server.connect().send('CONNECT a:1 HTTP/1.1\r\n\r\n');
  await answered.response();
  await answered.reset();
  await answered.serverSocketClosed();
  const waiting = await server.connect().send(get('/'), 'CONNECT a:1 HTTP/1.1\r\n\r\n');
  await called;
  await waiting.reset();
  release();
  await waiting.serverSocketClosed();
  await assertEchoed(await server.connect().send(get('/after')), '/after');
});

test('ignores Upgrade, and closes the connection after the response', async (t) => {
  const server = await startServer(t);
  const heads = [
    get('/', 'Upgrade: websocket', 'Connection: Upgrade'),
    `${post('/', 'Upgrade: h2c', 'Connection: upgrade', 'Content-Length: 3')}abc`,
  ];
  for (const head of heads) {
    const client = await server.connect().send(head, get('/never').slice(0, -2)); // Node's parser loses these bytes,
    await client.send('\r\n', get('/never')); // so the bytes after them must not be parsed as a message
    const { status, headers } = await client.response();
    assert.deepEqual([status, headers.get('connection')], [200, 'close']);
    await client.ended();
  }
  assert.deepEqual(server.calls, ['GET /', 'POST /']);
});
