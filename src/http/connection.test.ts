/** One connection: pipelined requests, the last response, and clients that disconnect. */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { HttpResponse } from '../testing/http-response.ts';
import {
  assertEchoed, assertRefused, blockUntilReleased, chunkedPost, echo, get, json, kib, post, respond401, settle,
  startServer, test, testOnce, waitForEvent,
} from '../testing/wire.ts';
import type { Reply } from './reply.ts';

const statusAndConnection = ({ status, headers }: HttpResponse) => [status, headers.get('connection')];

// Several requests on one connection.

test('handles pipelined requests one at a time, and responds in order', async (t) => {
  let underWay = 0;
  const server = await startServer(t, async (request) => {
    underWay += 1;
    assert.equal(underWay, 1);
    for (let i = Number(request.query); i > 0; i -= 1) await new Promise((resolve) => setImmediate(resolve));
    const reply = await echo(request);
    underWay -= 1;
    return reply;
  });
  const client = server.connect();
  let messages = '';
  for (let i = 0; i < 80; i += 1) {
    messages += i % 3 === 0 ? `${post(`/${i}?${i % 7}`, 'Content-Length: 2')}ab` : get(`/${i}?${i % 5}`);
  }
  await client.send(messages);
  for (let i = 0; i < 80; i += 1) await assertEchoed(client, `/${i}`, i % 3 === 0 ? 2 : 0);
});

test('serves 10,000 pipelined requests if at most 128 are unanswered at a time', async (t) => {
  const server = await startServer(t);
  const client = server.connect();
  const batch = Array.from({ length: 128 }, (_, i) => `GET /${i} HTTP/1.1\r\nHost:\r\n\r\n`).join('');
  for (let sent = 0; sent < 10_000; sent += 128) {
    await client.send(batch);
    for (let i = 0; i < 128; i += 1) await assertEchoed(client, `/${i}`);
  }
});

test('reads only some of the pipelined requests while one is handled', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = server.connect();
  client.socket.write(get('/', `A: ${'a'.repeat(10_000)}`).repeat(500));
  await called;
  await settle(server, 150); // enough to read everything, 64 KiB at a time
  const { bytesRead } = await client.serverSocket();
  assert(bytesRead < 1_500_000, `${bytesRead} bytes were read`);
  release();
  for (let i = 0; i < 500; i += 1) await assertEchoed(client, '/');
});

test('responds to an invalid message after the responses to the requests before it', async (t) => {
  const invalidMessages: [expected: string, bytes: string][] = [
    ['400 malformed_request', 'FOO / HTTP/1.1\r\n\r\n'],
    ['400 malformed_request', 'GET / HTTP/1.1\r\n\r\n'],
    ['400 malformed_request', `${chunkedPost}zz\r\n`],
    ['405 method_not_allowed', 'CONNECT a:1 HTTP/1.1\r\n\r\n'],
    ['431 headers_too_large', get('/', `A: ${'a'.repeat(17_000)}`)],
    ['505 http_version_not_supported', 'GET / HTTP/2.0\r\n\r\n'],
  ];
  for (const [expected, bytes] of invalidMessages) {
    const { called, release, handler } = blockUntilReleased(echo);
    const server = await startServer(t, handler);
    const client = await server.connect().send(get('/a'), post('/b', 'Content-Length: 1'), 'a', bytes, get('/never'));
    await called;
    await settle(server);
    await client.send(get('/never')); // the parser has stopped
    await settle(server);
    assert.equal(client.unreadBytes, 0);
    release();
    await assertEchoed(client, '/a');
    await assertEchoed(client, '/b', 1);
    await assertRefused(client, expected);
    assert.equal(server.calls.includes('GET /never'), false);
  }
});

test('responds to a head that is too slow or cut off after the response to the request before it', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler, { headTimeoutMs: 300, requestTimeoutMs: 300 });
  const slow = await server.connect().send(get('/a'), 'GET /b');
  const cut = (await server.connect().send(get('/a'), 'GET /b')).finish();
  await called;
  await assertRefused(server.connect(), '408 request_timeout'); // opened last: the head on `slow` has timed out too
  release();
  await assertEchoed(slow, '/a');
  await assertRefused(slow, '408 request_timeout');
  await assertEchoed(cut, '/a');
  await assertRefused(cut, '400 malformed_request');
});

test('ignores everything after a request with Connection: close', async (t) => {
  for (const following of [get('/never'), 'junk \0 junk\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\n\r\n']) {
    const { called, release, handler } = blockUntilReleased(echo);
    const server = await startServer(t, handler);
    const client = await server.connect().send(get('/last', 'Connection: close'), following);
    await called;
    await client.send(following);
    await settle(server);
    release();
    const { status, headers } = await client.response();
    assert.deepEqual([status, headers.get('connection')], [200, 'close']);
    await client.ended();
    assert.deepEqual(server.calls, ['GET /last']);
  }
});

test('handles no request after a response with Connection: close', async (t) => {
  const server = await startServer(t, respond401);
  const tooLarge = post('/', 'Content-Length: 70000');
  await assertRefused(await server.connect().send(tooLarge, 'abc', get('/never')), '401 missing_api_key');
  await assertRefused(await server.connect().send(tooLarge, 'abc', 'junk'), '401 missing_api_key');
  const client = await server.connect().send(tooLarge);
  await assertRefused(client, '401 missing_api_key');
  await client.send('abc', get('/never'));
  await assertRefused(await server.connect().send('GET / HTTP/1.1\r\n\r\n', get('/never')), '400 malformed_request');
  // Without a 100 Continue, the server cannot know whether the client sends the body, whatever it expects.
  const expectations = ['100-continue', 'other', '100-continue, other', 'a="b, c"', ''];
  for (const expected of expectations) {
    for (const framing of ['Content-Length: 33', 'Transfer-Encoding: chunked']) {
      const waiting = post('/', `Expect: ${expected}`, framing);
      await assertRefused(await server.connect().send(waiting, get('/never')), '401 missing_api_key', expected);
    }
  }
  await settle(server);
  assert.deepEqual(server.calls, Array(3 + 2 * expectations.length).fill('POST /'));
});

test('keeps the connection if at most 64 KiB of the body are outstanding when the response is sent', async (t) => {
  const server = await startServer(t, (request, waitedMs) =>
    request.method === 'POST' ? respond401(request, waitedMs) : echo(request));
  for (const [head, body] of [
    [post('/', 'Content-Length: 3'), 'abc'],
    [post('/', 'Content-Length: 65536'), kib(64)],
    [chunkedPost, '3\r\nabc\r\n0\r\n\r\n'],
    [chunkedPost, `8000\r\n${kib(32)}\r\n8000\r\n${kib(32)}\r\n0\r\n\r\n`],
  ] as const) {
    const together = await server.connect().send(head, body, get('/next'));
    assert.deepEqual(statusAndConnection(await together.response()), [401, 'keep-alive'], head);
    await assertEchoed(together, '/next');
    const apart = await server.connect().send(head);
    assert.deepEqual(statusAndConnection(await apart.response()), [401, 'keep-alive'], head);
    await apart.send(body, get('/next'));
    await assertEchoed(apart, '/next');
  }
});

test('discards a body over 64 KiB if at most 64 KiB of it are outstanding when the response is sent', async (t) => {
  const { called, release, handler } = blockUntilReleased(respond401);
  const server = await startServer(t, (request, waitedMs) =>
    request.method === 'POST' ? handler(request, waitedMs) : echo(request));
  const head = post('/', 'Content-Length: 100000');
  const client = await server.connect().send(head, Buffer.alloc(50_000, 'a'));
  await called;
  const serverSocket = await client.serverSocket();
  while (serverSocket.bytesRead < head.length + 50_000) await settle(server);
  release();
  assert.deepEqual(statusAndConnection(await client.response()), [401, 'keep-alive']);
  await client.send(Buffer.alloc(50_000, 'a'), get('/next'));
  await assertEchoed(client, '/next');
});

test('sends Connection: keep-alive to a request with Expect that a malformed message follows', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = await server.connect().send(get('/a'), get('/b', 'Expect: 100-continue'), 'junk\r\n\r\n');
  await called;
  release();
  await assertEchoed(client, '/a');
  await assertEchoed(client, '/b');
  await assertRefused(client, '400 malformed_request');
});

test('treats Proxy-Connection: close as Connection: close', async (t) => {
  const server = await startServer(t);
  const client = await server.connect().send(get('/last', 'Proxy-Connection: close'));
  const { headers } = await client.response();
  assert.deepEqual([headers.get('connection'), headers.get('keep-alive')], ['close', undefined]);
  await client.ended();
});

test('destroys the connection after 64 KiB of a chunked body that arrives after the response', async (t) => {
  const server = await startServer(t, respond401);
  const client = await server.connect().send(chunkedPost);
  assert.deepEqual(statusAndConnection(await client.response()), [401, 'keep-alive']);
  client.socket.write(`100000\r\n${kib(1_024)}\r\n0\r\n\r\n${get('/never')}`);
  await client.serverSocketClosed();
  assert.deepEqual(server.calls, ['POST /']);
});

test('closes the connection without a second response if the body proves malformed or is cut off', async (t) => {
  const server = await startServer(t, respond401);
  for (const [head, following] of [
    [chunkedPost, 'zz\r\n'], [chunkedPost, null], [post('/', 'Content-Length: 3'), null],
  ] as const) {
    const client = await server.connect().send(head);
    assert.deepEqual(statusAndConnection(await client.response()), [401, 'keep-alive']);
    if (following === null) client.finish();
    else await client.send(following);
    await client.ended();
  }
});

test('keeps the connection after it has refused requests without a body', async (t) => {
  const server = await startServer(t, respond401);
  const client = await server.connect().send(
    get('/'), post('/', 'Content-Length: 0'), post('/', 'Expect: 100-continue', 'Content-Length: 0'), get('/'),
  );
  for (let i = 0; i < 4; i += 1) assert.equal((await client.response()).headers.get('connection'), 'keep-alive');
});

test('serves HTTP/1.0 without a Host, one request per connection', async (t) => {
  const server = await startServer(t);
  for (const more of ['', 'Connection: keep-alive\r\n', 'Host: x\r\n']) {
    const client = await server.connect().send(`GET /old HTTP/1.0\r\n${more}\r\nGET /second HTTP/1.0\r\n\r\n`);
    const { status, headers } = await client.response();
    assert.deepEqual([status, headers.get('connection')], [200, 'close']);
    await client.ended();
  }
  assert.deepEqual(server.calls, ['GET /old', 'GET /old', 'GET /old']);
});

// After the last response.

test('delivers the whole response although the client continues to send the body', async (t) => {
  const server = await startServer(t, respond401);
  const chunkSize = (200 * 1024).toString(16);
  for (const head of [
    post('/', `Content-Length: ${200 * 1024}`),
    `${post('/', 'Transfer-Encoding: chunked', 'Connection: close')}${chunkSize}\r\n`,
  ]) {
    await assertRefused(await server.connect().send(head, kib(200)), '401 missing_api_key', 'sent at once');
    const client = await server.connect().send(head);
    await assertRefused(client, '401 missing_api_key');
    await client.send(kib(100)); // the server has closed its side; it must not respond to these bytes with a reset
    await client.send(kib(100));
    client.finish();
    await client.serverSocketClosed();
    assert.equal(client.error, null);
    assert.equal((await client.serverSocket()).bytesRead, head.length + 200 * 1024);
  }
});

test('delivers the whole response to an invalid message although the client continues to send', async (t) => {
  const server = await startServer(t);
  const heads = ['junk\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n', 'GET / HTTP/2.0\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\n\r\n'];
  for (const head of [...heads, `GET /${'a'.repeat(17_000)}`]) {
    const client = await server.connect().send(head);
    await client.response();
    await client.ended();
    await client.send(kib(100));
    await client.send(kib(100));
    await client.finish().serverSocketClosed();
    assert.equal(client.error, null);
    assert.equal((await client.serverSocket()).bytesRead, head.length + 200 * 1024);
  }
});

test('reads a little more than 256 KiB after the last response, then destroys the connection', async (t) => {
  const server = await startServer(t, respond401);
  const client = await server.connect().send(post('/', 'Content-Length: 5000000'));
  await assertRefused(client, '401 missing_api_key');
  client.socket.write(Buffer.alloc(5_000_000));
  await client.serverSocketClosed();
  const { bytesRead } = await client.serverSocket();
  assert(bytesRead > 256 * 1024 && bytesRead < 400 * 1024, `${bytesRead} bytes were read`);
});

test('waits 2 s after the last response for the client to close the connection', async (t) => {
  const timers: (() => void)[] = [];
  const setRealTimeout = setTimeout;
  t.mock.method(globalThis, 'setTimeout', (work: () => void, ms?: number) => {
    if (ms === 2_000) timers.push(work);
    return setRealTimeout(work, ms === 2_000 ? 60_000 : ms).unref();
  });
  const server = await startServer(t, respond401);
  const client = await server.connect().send(post('/', 'Content-Length: 65537'));
  await assertRefused(client, '401 missing_api_key');
  await settle(server);
  assert.equal((await client.serverSocket()).destroyed, false);
  timers[0]!();
  await client.serverSocketClosed();
});

// Clients that disconnect.

test('responds to the request being handled after the client has closed its side', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = (await server.connect().send(get('/a'))).finish();
  await called;
  const serverSocket = await client.serverSocket();
  // No request waits, so the server continues to read.
  if (!serverSocket.readableEnded) await waitForEvent(serverSocket, 'end');
  release();
  await client.response();
  await client.ended();
  await client.serverSocketClosed();
});

test('responds to all pipelined requests after the client has closed its side', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = (await server.connect().send(get('/a'), post('/b', 'Content-Length: 1'), 'a', get('/c'))).finish();
  await called;
  await settle(server);
  release();
  for (const path of ['/a', '/b', '/c']) {
    assert.equal((JSON.parse((await client.response()).body) as { path: string }).path, path);
  }
  await client.ended();
  await client.serverSocketClosed();

  const idle = await server.connect().send(get('/a'));
  await assertEchoed(idle, '/a');
  await idle.finish().ended();
  await server.connect().finish().ended();
});

test('stops waiting for a body when the client resets the connection', async (t) => {
  for (const before of ['', 'ab']) {
    const { called, release, handler } = blockUntilReleased(echo);
    let reply: Reply | Promise<Reply> | null = null;
    const server = await startServer(t, (request, waitedMs) => (reply = handler(request, waitedMs)));
    const client = await server.connect().send(post('/', 'Content-Length: 3'), before);
    await called;
    if (before !== '') release(); // the handler reads the body before the reset, or after it
    await client.reset();
    await client.serverSocketClosed();
    release();
    const { status, body } = await reply!;
    assert.equal(status, 400, String(body));
  }
});

test('drops the waiting requests when the client resets the connection', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = await server.connect().send(get('/a'), get('/b').repeat(10), 'junk');
  await called;
  await client.reset();
  await settle(server);
  release();
  await client.serverSocketClosed();
  await settle(server);
  assert.equal(server.calls.includes('GET /b'), false);
  await assertEchoed(await server.connect().send(get('/after')), '/after');
});

test('continues to serve after clients disconnect at any point, and closes their sockets', async (t) => {
  const big = { ...json(null), body: [Buffer.alloc(3_000_000, ' ')] };
  const server = await startServer(t, async (request, waitedMs) => {
    if (request.path === '/big') return big;
    return request.path === '/early' ? respond401(request, waitedMs) : echo(request);
  });
  const pieces = [
    get('/'), get('/big'), get('/early'), get('/').repeat(100), get('/', 'Connection: close'), 'GET / HTTP/1.0\r\n\r\n',
    post('/', 'Content-Length: 70000'), `${post('/', 'Content-Length: 3')}abc`, post('/early', 'Content-Length: 5'),
    post('/', 'Content-Length: 3', 'Expect: 100-continue'), chunkedPost, '3\r\nabc\r\n', '0\r\n\r\n', 'zz\r\n',
    'CONNECT a:1 HTTP/1.1\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'a'.repeat(20_000),
  ];
  const write = fc.tuple(fc.constantFrom(...pieces), fc.boolean(), fc.nat({ max: 3 }));
  const session = fc.record({
    sent: fc.array(write, { minLength: 1, maxLength: 5 }),
    reading: fc.boolean(),
    disconnect: fc.constantFrom('reset', 'destroy', 'end'),
  });
  await fc.assert(fc.asyncProperty(fc.array(session, { minLength: 4, maxLength: 4 }), async (sessions) => {
    await Promise.all(sessions.map(async ({ sent, reading, disconnect }) => {
      const client = server.connect();
      const serverSocket = await client.serverSocket();
      if (!reading) client.socket.pause();
      for (const [piece, whole, pauses] of sent) {
        if (!client.socket.writable) break;
        client.socket.write(whole ? piece : piece.slice(0, piece.length / 2));
        for (let i = 0; i < pauses; i += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      if (disconnect === 'reset') await client.reset();
      else if (disconnect === 'destroy') client.socket.destroy();
      else client.finish().socket.resume().once('end', () => client.socket.destroy());
      if (!serverSocket.closed) await waitForEvent(serverSocket, 'close');
    }));
  }), { numRuns: 60 });
  await assertEchoed(await server.connect().send(get('/after')), '/after');
});

test('responds to an invalid message after a request although the client has closed its side', async (t) => {
  for (const [message, expected] of [
    ['FOO / HTTP/1.1\r\n\r\n', '400 malformed_request'],
    ['GET / HTTP/1.1\r\n\r\n', '400 malformed_request'],
    ['GET / HT', '400 malformed_request'],
    [get('/', `X: ${'x'.repeat(20_000)}`), '431 headers_too_large'],
    [get('/').replace('1.1', '1.2'), '505 http_version_not_supported'],
  ] as const) {
    const { called, release, handler } = blockUntilReleased(echo);
    const server = await startServer(t, handler);
    const client = await server.connect().send(get('/a'), message);
    client.finish();
    await called;
    await settle(server);
    release();
    const first = await client.response();
    assert.equal(first.status, 200, message.slice(0, 30));
    await assertRefused(client, expected, message.slice(0, 30));
  }
});

// Over TLS, Node parses all that it has read before the first response: the last body is complete when it is its turn.
testOnce('responds with Connection: close to a pipelined request by what has arrived when it is its turn', async (t) => {
  const server = await startServer(t, respond401);
  const chunk = '1\r\na\r\n0\r\n\r\n';
  for (const last of [
    `${post('/', 'Content-Length: 65600')}${'a'.repeat(50)}`,
    `${post('/', 'Transfer-Encoding: chunked', 'Expect: 100-continue')}${chunk}`,
  ]) {
    const client = await server.connect().send(get('/') + last);
    assert.equal((await client.response()).headers.get('connection'), 'keep-alive');
    assert.equal((await client.response()).headers.get('connection'), 'close', last.slice(0, 100));
  }
});
