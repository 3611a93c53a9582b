/** One connection on the wire: its requests in order, its last answer, and clients that leave. */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import type { HttpResponse } from '../testing/http-response.ts';
import {
  assertEchoed, assertRefused, blockUntilReleased, chunkedPost, echo, get, json, kib, post, respond401, settle,
  startServer, test, waitForEvent,
} from '../testing/wire.ts';
import type { Reply } from './reply.ts';

const statusAndConnection = ({ status, headers }: HttpResponse) => [status, headers.get('connection')];

// More than one request on a connection.

test('pipelined requests are handled one after the other, and answered in order', async (t) => {
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
  for (let i = 0; i < 80; i += 1) messages += i % 3 === 0 ? `${post(`/${i}?${i % 7}`, 'Content-Length: 2')}ab` : get(`/${i}?${i % 5}`);
  await client.send(messages);
  for (let i = 0; i < 80; i += 1) await assertEchoed(client, `/${i}`, i % 3 === 0 ? 2 : 0);
});

test('10,000 requests in a row are all answered if no more than 128 are unanswered', async (t) => {
  const server = await startServer(t);
  const client = server.connect();
  const batch = Array.from({ length: 128 }, (_, i) => `GET /${i} HTTP/1.1\r\nHost:\r\n\r\n`).join('');
  for (let sent = 0; sent < 10_000; sent += 128) {
    await client.send(batch);
    for (let i = 0; i < 128; i += 1) await assertEchoed(client, `/${i}`);
  }
});

test('while one request is handled, only some of those behind it are taken from the socket', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = server.connect();
  client.socket.write(get('/', `A: ${'a'.repeat(10_000)}`).repeat(500));
  await called;
  await settle(server, 150); // enough to read 64 KiB at a time what there is
  const { bytesRead } = await client.serverSocket();
  assert(bytesRead < 1_500_000, `${bytesRead} bytes were read`);
  release();
  for (let i = 0; i < 500; i += 1) await assertEchoed(client, '/');
});

test('a fault behind good requests neither overtakes nor replaces their answers', async (t) => {
  const faults: [expected: string, bytes: string][] = [
    ['400 malformed_request', 'FOO / HTTP/1.1\r\n\r\n'],
    ['400 malformed_request', 'GET / HTTP/1.1\r\n\r\n'],
    ['400 malformed_request', `${chunkedPost}zz\r\n`],
    ['405 method_not_allowed', 'CONNECT a:1 HTTP/1.1\r\n\r\n'],
    ['431 headers_too_large', get('/', `A: ${'a'.repeat(17_000)}`)],
    ['505 http_version_not_supported', 'GET / HTTP/2.0\r\n\r\n'],
  ];
  for (const [expected, bytes] of faults) {
    const { called, release, handler } = blockUntilReleased(echo);
    const server = await startServer(t, handler);
    const client = await server.connect().send(get('/a'), post('/b', 'Content-Length: 1'), 'a', bytes, get('/never'));
    await called;
    await settle(server);
    await client.send(get('/never')); // meets a parser that has given up
    await settle(server);
    assert.equal(client.unreadBytes, 0);
    release();
    await assertEchoed(client, '/a');
    await assertEchoed(client, '/b', 1);
    await assertRefused(client, expected);
    assert.equal(server.calls.includes('GET /never'), false);
  }
});

test('a head too slow, or cut off, behind a good request is answered after it', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler, { headTimeoutMs: 300, requestTimeoutMs: 300 });
  const slow = await server.connect().send(get('/a'), 'GET /b');
  const cut = (await server.connect().send(get('/a'), 'GET /b')).finish();
  await called;
  await assertRefused(server.connect(), '408 request_timeout'); // opened later, so the other's time is over as well
  release();
  await assertEchoed(slow, '/a');
  await assertRefused(slow, '408 request_timeout');
  await assertEchoed(cut, '/a');
  await assertRefused(cut, '400 malformed_request');
});

test('what comes behind Connection: close is ignored', async (t) => {
  for (const behind of [get('/never'), 'junk \0 junk\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\n\r\n']) {
    const { called, release, handler } = blockUntilReleased(echo);
    const server = await startServer(t, handler);
    const client = await server.connect().send(get('/last', 'Connection: close'), behind);
    await called;
    await client.send(behind);
    await settle(server);
    release();
    const { status, headers } = await client.response();
    assert.deepEqual([status, headers.get('connection')], [200, 'close']);
    await client.ended();
    assert.deepEqual(server.calls, ['GET /last']);
  }
});

test('what comes behind an answer with Connection: close is never handled', async (t) => {
  const server = await startServer(t, respond401);
  const tooLarge = post('/', 'Content-Length: 70000');
  await assertRefused(await server.connect().send(tooLarge, 'abc', get('/never')), '401 missing_api_key');
  await assertRefused(await server.connect().send(tooLarge, 'abc', 'junk'), '401 missing_api_key');
  const client = await server.connect().send(tooLarge);
  await assertRefused(client, '401 missing_api_key');
  await client.send('abc', get('/never'));
  await assertRefused(await server.connect().send('GET / HTTP/1.1\r\n\r\n', get('/never')), '400 malformed_request');
  // Nobody asked for that body; whether it comes, only its client knows.
  await assertRefused(await server.connect().send(post('/', 'Expect: 100-continue', 'Content-Length: 3'), get('/never')), '401 missing_api_key');
  await settle(server);
  assert.deepEqual(server.calls, Array(4).fill('POST /'));
});

test('an early answer keeps the connection if at most 64 KiB of the body are outstanding', async (t) => {
  const server = await startServer(t, (request, waitedMs) => (request.method === 'POST' ? respond401(request, waitedMs) : echo(request)));
  for (const [head, body] of [
    [post('/', 'Content-Length: 3'), 'abc'],
    [post('/', 'Content-Length: 65536'), kib(64)],
    [chunkedPost, '3\r\nabc\r\n0\r\n\r\n'],
    [chunkedPost, `8000\r\n${kib(32)}\r\n8000\r\n${kib(32)}\r\n0\r\n\r\n`],
    [post('/', 'Expect: other', 'Content-Length: 3'), 'abc'],
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

test('a body of more than 64 KiB of which less was outstanding at its answer is discarded to its end', async (t) => {
  const { called, release, handler } = blockUntilReleased(respond401);
  const server = await startServer(t, (request, waitedMs) => (request.method === 'POST' ? handler(request, waitedMs) : echo(request)));
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

test('a request with Expect before a broken message is not told that its connection closes', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = await server.connect().send(get('/a'), get('/b', 'Expect: 100-continue'), 'junk\r\n\r\n');
  await called;
  release();
  await assertEchoed(client, '/a');
  await assertEchoed(client, '/b');
  await assertRefused(client, '400 malformed_request');
});

test('Proxy-Connection: close counts as Connection: close', async (t) => {
  const server = await startServer(t);
  const client = await server.connect().send(get('/last', 'Proxy-Connection: close'));
  const { headers } = await client.response();
  assert.deepEqual([headers.get('connection'), headers.get('keep-alive')], ['close', undefined]);
  await client.ended();
});

test('a chunked body whose request was answered ends its connection after 64 KiB', async (t) => {
  const server = await startServer(t, respond401);
  const client = await server.connect().send(chunkedPost);
  assert.deepEqual(statusAndConnection(await client.response()), [401, 'keep-alive']);
  client.socket.write(`100000\r\n${kib(1_024)}\r\n0\r\n\r\n${get('/never')}`);
  await client.serverSocketClosed();
  assert.deepEqual(server.calls, ['POST /']);
});

test('a body that breaks, or ends, after its request was answered ends the connection without another answer', async (t) => {
  const server = await startServer(t, respond401);
  for (const [head, behind] of [[chunkedPost, 'zz\r\n'], [chunkedPost, null], [post('/', 'Content-Length: 3'), null]] as const) {
    const client = await server.connect().send(head);
    assert.deepEqual(statusAndConnection(await client.response()), [401, 'keep-alive']);
    if (behind === null) client.finish();
    else await client.send(behind);
    await client.ended();
  }
});

test('an answer to a request without a body leaves the connection open', async (t) => {
  const server = await startServer(t, respond401);
  const client = await server.connect().send(get('/'), post('/', 'Content-Length: 0'), post('/', 'Expect: 100-continue', 'Content-Length: 0'), get('/'));
  for (let i = 0; i < 4; i += 1) assert.equal((await client.response()).headers.get('connection'), 'keep-alive');
});

test('HTTP/1.0 is served without a Host, one request a connection', async (t) => {
  const server = await startServer(t);
  for (const more of ['', 'Connection: keep-alive\r\n', 'Host: x\r\n']) {
    const client = await server.connect().send(`GET /old HTTP/1.0\r\n${more}\r\nGET /second HTTP/1.0\r\n\r\n`);
    const { status, headers } = await client.response();
    assert.deepEqual([status, headers.get('connection')], [200, 'close']);
    await client.ended();
  }
  assert.deepEqual(server.calls, ['GET /old', 'GET /old', 'GET /old']);
});

// Behind the last answer.

test('an early answer is read whole, although the client goes on sending', async (t) => {
  const server = await startServer(t, respond401);
  for (const head of [post('/', `Content-Length: ${200 * 1024}`), `${post('/', 'Transfer-Encoding: chunked', 'Connection: close')}${(200 * 1024).toString(16)}\r\n`]) {
    await assertRefused(await server.connect().send(head, kib(200)), '401 missing_api_key', 'sent at once');
    const client = await server.connect().send(head);
    await assertRefused(client, '401 missing_api_key');
    await client.send(kib(100)); // the server has closed its side: what comes now must not be answered by a reset
    await client.send(kib(100));
    client.finish();
    await client.serverSocketClosed();
    assert.equal(client.error, null);
    assert.equal((await client.serverSocket()).bytesRead, head.length + 200 * 1024);
  }
});

test('the answer to a broken message, too, is read whole although the client goes on sending', async (t) => {
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

test('of what comes behind the last answer 256 KiB are read, and no 5 MB', async (t) => {
  const server = await startServer(t, respond401);
  const client = await server.connect().send(post('/', 'Content-Length: 5000000'));
  await assertRefused(client, '401 missing_api_key');
  client.socket.write(Buffer.alloc(5_000_000));
  await client.serverSocketClosed();
  const { bytesRead } = await client.serverSocket();
  assert(bytesRead > 256 * 1024 && bytesRead < 400 * 1024, `${bytesRead} bytes were read`);
});

test('behind the last answer the server waits 2 s for the client to close', async (t) => {
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

// Clients that leave.

test('a client that has closed its side still gets the answer to a request under way', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = (await server.connect().send(get('/a'))).finish();
  await called;
  const serverSocket = await client.serverSocket();
  if (!serverSocket.readableEnded) await waitForEvent(serverSocket, 'end'); // nothing waits, so that the server reads on
  release();
  await client.response();
  await client.ended();
  await client.serverSocketClosed();
});

test('a client that has closed its side still gets its answers', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = (await server.connect().send(get('/a'), post('/b', 'Content-Length: 1'), 'a', get('/c'))).finish();
  await called;
  await settle(server);
  release();
  for (const path of ['/a', '/b', '/c']) assert.equal((JSON.parse((await client.response()).body) as { path: string }).path, path);
  await client.ended();
  await client.serverSocketClosed();

  const idle = await server.connect().send(get('/a'));
  await assertEchoed(idle, '/a');
  await idle.finish().ended();
  await server.connect().finish().ended();
});

test('a reset within a body ends the wait for it', async (t) => {
  for (const before of ['', 'ab']) {
    const { called, release, handler } = blockUntilReleased(echo);
    let reply: Reply | Promise<Reply> | null = null;
    const server = await startServer(t, (request, waitedMs) => (reply = handler(request, waitedMs)));
    const client = await server.connect().send(post('/', 'Content-Length: 3'), before);
    await called;
    if (before !== '') release(); // reading already, or only after the reset
    client.socket.resetAndDestroy();
    await client.serverSocketClosed();
    release();
    const { status, body } = await reply!;
    assert.equal(status, 400, String(body));
  }
});

test('a reset drops what waits behind the request that is handled', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = await server.connect().send(get('/a'), get('/b').repeat(10), 'junk');
  await called;
  client.socket.resetAndDestroy();
  await settle(server);
  release();
  await client.serverSocketClosed();
  await settle(server);
  assert.equal(server.calls.includes('GET /b'), false);
  await assertEchoed(await server.connect().send(get('/after')), '/after');
});

test('clients may reset anywhere; the server goes on, and forgets them', async (t) => {
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
  const run = fc.record({
    sent: fc.array(fc.tuple(fc.constantFrom(...pieces), fc.boolean(), fc.nat({ max: 3 })), { minLength: 1, maxLength: 5 }),
    reading: fc.boolean(),
    leaves: fc.constantFrom('reset', 'destroy', 'end'),
  });
  await fc.assert(fc.asyncProperty(fc.array(run, { minLength: 4, maxLength: 4 }), async (runs) => {
    await Promise.all(runs.map(async ({ sent, reading, leaves }) => {
      const client = server.connect();
      const serverSocket = await client.serverSocket();
      if (!reading) client.socket.pause();
      for (const [piece, whole, pauses] of sent) {
        if (!client.socket.writable) break;
        client.socket.write(whole ? piece : piece.slice(0, piece.length / 2));
        for (let i = 0; i < pauses; i += 1) await new Promise((resolve) => setImmediate(resolve));
      }
      if (leaves === 'reset') client.socket.resetAndDestroy();
      else if (leaves === 'destroy') client.socket.destroy();
      else client.finish().socket.resume().once('end', () => client.socket.destroy());
      if (!serverSocket.closed) await waitForEvent(serverSocket, 'close');
    }));
  }), { numRuns: 60 });
  await assertEchoed(await server.connect().send(get('/after')), '/after');
});

test('a fault behind a request is answered though the client has closed its side meanwhile', async (t) => {
  for (const [fault, expected] of [
    ['FOO / HTTP/1.1\r\n\r\n', '400 malformed_request'], ['GET / HTTP/1.1\r\n\r\n', '400 malformed_request'], ['GET / HT', '400 malformed_request'],
    [get('/', `X: ${'x'.repeat(20_000)}`), '431 headers_too_large'], [get('/').replace('1.1', '1.2'), '505 http_version_not_supported'],
  ] as const) {
    const { called, release, handler } = blockUntilReleased(echo);
    const server = await startServer(t, handler);
    const client = await server.connect().send(get('/a'), fault);
    client.finish();
    await called;
    await settle(server);
    release();
    const first = await client.response();
    assert.equal(first.status, 200, fault.slice(0, 30));
    await assertRefused(client, expected, fault.slice(0, 30));
  }
});
