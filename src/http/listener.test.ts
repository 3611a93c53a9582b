/** The listener: its address, the maximum number of connections, timeouts, and how it stops. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import {
  assertEchoed, assertRefused, blockUntilReleased, chunkedPost, echo, get, json, kib, post, respond401, settle,
  startServer, test, testOnce, testOverTls, waitForEvent, type TestServer,
} from '../testing/wire.ts';

test('has an address once it is open, and fails to open on an address in use', async (t) => {
  const server = await startServer(t);
  const { address } = server.listener;
  assert.match(address, /^https?:\/\/127\.0\.0\.1:[1-9]\d*$/);
  await assert.rejects(startServer(t, echo, { port: Number(new URL(address).port) }), { code: 'EADDRINUSE' });
  const ipv6 = await startServer(t, echo, { host: '::1' }).catch((error: NodeJS.ErrnoException) => {
    assert.match(String(error.code), /^(EADDRNOTAVAIL|EAFNOSUPPORT)$/);
    return error;
  });
  if (ipv6 instanceof Error) t.diagnostic(`this machine has no IPv6: ${ipv6.message}`);
  else assert.match(ipv6.listener.address, /^https?:\/\/\[::1\]:[1-9]\d*$/);
});

// Limits of connections.

test('responds with 503 to connections over the maximum, and serves the next when one has closed', async (t) => {
  const server = await startServer(t, echo, { maxServed: 2 });
  const [first, second] = [await server.connect().send(get('/1')), await server.connect().send(get('/2'))];
  await assertEchoed(first, '/1');
  await assertEchoed(second, '/2');
  const third = server.connect();
  assert.equal((await assertRefused(third, '503 too_many_connections')).headers.get('retry-after'), '1');
  await third.send(get('/3'));
  const fourth = await server.connect().send(get('/4'));
  await assertRefused(fourth, '503 too_many_connections');
  await first.send(get('/1'));
  await assertEchoed(first, '/1');
  first.socket.destroy();
  await first.serverSocketClosed();
  // The third and the fourth connection are still half open. Refused connections do not count.
  const fifth = await server.connect().send(get('/5'));
  await assertEchoed(fifth, '/5');
  // Nor does the maximum grow when they close.
  for (const client of [third, fourth]) await client.finish().serverSocketClosed();
  await assertRefused(server.connect(), '503 too_many_connections');
  assert.deepEqual(server.calls, ['GET /1', 'GET /2', 'GET /1', 'GET /5']);
});

test('closes a connection without a response if enough connections are being refused, and counts it', async (t) => {
  const server = await startServer(t, echo, { maxServed: 0, maxRefused: 2 });
  for (let i = 0; i < 2; i += 1) await assertRefused(server.connect(), '503 too_many_connections');
  assert.equal(server.listener.counts.dropped, 0);
  await server.connect().dropped();
  assert.deepEqual(server.listener.counts, { accepted: 2, refused: 2, dropped: 1, failedHandshakes: 0 });
});

test('closes a connection that is idle for longer than the idle timeout', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler, { idleTimeoutMs: 40 });
  const busy = await server.connect().send(get('/busy'));
  await called;
  const idle = await server.connect().send(get('/idle'));
  const silent = server.connect();
  await silent.ended();
  release();
  const { headers } = await idle.response();
  assert.equal(headers.get('keep-alive'), 'timeout=0.04');
  await idle.ended();
  await assertEchoed(busy, '/busy');
  await busy.ended();
  const last = await server.connect().send(get('/', 'Connection: close'));
  assert.equal((await last.response()).headers.get('keep-alive'), undefined);
});

test('does not handle the next request if the client resets the connection during a response', async (t) => {
  const server = await startServer(t, async () => ({ ...json(null), body: [Buffer.alloc(32 * 1024 * 1024, ' ')] }));
  const client = await server.connect().send(get('/'), get('/never'));
  await waitForEvent(client.socket, 'data');
  await client.reset();
  await client.serverSocketClosed();
  await settle(server);
  assert.deepEqual(server.calls, ['GET /']);
});

/** More than the kernel buffers. */
const large = { ...json(null), body: [Buffer.alloc(30_000_000, ' ')] };

test('destroys a connection whose client does not read its response', async (t) => {
  const server = await startServer(t, async () => large, { idleTimeoutMs: 400 });
  const stalled = await server.connect().send(get('/'));
  await waitForEvent(stalled.socket, 'data');
  stalled.socket.pause();
  const chatty = await server.connect().send(get('/'));
  await waitForEvent(chatty.socket, 'data');
  chatty.socket.pause();
  const chatter = setInterval(() => chatty.socket.write('\r\n'), 20); // sending does not postpone the timeout
  t.after(() => clearInterval(chatter));
  // After CONNECT, Node removes its own listeners from the socket.
  const withConnect = await server.connect().send(get('/'), 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n');
  await waitForEvent(withConnect.socket, 'data');
  withConnect.socket.pause();
  const second = await server.connect().send(get('/'), get('/'));
  await second.response();
  await waitForEvent(second.socket, 'data'); // of the second response
  second.socket.pause();
  const secondChatter = setInterval(() => second.socket.write('\r\n'), 20);
  t.after(() => clearInterval(secondChatter));
  await second.serverSocketClosed();
  await stalled.serverSocketClosed();
  await withConnect.serverSocketClosed();
  await chatty.serverSocketClosed();
});

test('keeps a connection whose client reads its response slowly', async (t) => {
  const idleTimeoutMs = 400;
  const bytesPerMs = 25_000; // the response takes three times as long as the timeout
  const server = await startServer(t, async () => large, { idleTimeoutMs });
  for (;;) {
    const { socket } = await server.connect().send(get('/'));
    const start = performance.now();
    let longestPauseMs = 0;
    let lastRead = start;
    const measure = (): void => {
      longestPauseMs = Math.max(longestPauseMs, performance.now() - lastRead);
      lastRead = performance.now();
    };
    socket.on('data', () => {
      measure();
      if (socket.bytesRead < (lastRead - start) * bytesPerMs) return;
      socket.pause();
      setTimeout(() => socket.resume(), 5);
    });
    const isComplete = await new Promise<boolean>((resolve) => {
      socket.on('data', () => socket.bytesRead > large.body[0]!.length && resolve(true));
      for (const event of ['end', 'close']) socket.on(event, () => resolve(false));
    });
    measure();
    if (isComplete) return;
    // On a busy machine, this process may not have read in time.
    const isSlower = socket.bytesRead < ((lastRead - start) * bytesPerMs) / 2;
    assert(longestPauseMs > idleTimeoutMs / 2 || isSlower, 'the server destroyed the connection of a slow client');
  }
});

// Stopping.

test('stop() closes idle, silent and refused connections, and ends listening', async (t) => {
  const server = await startServer(t, echo, { maxServed: 2 });
  const idle = await server.connect().send(get('/'));
  await assertEchoed(idle, '/');
  const silent = server.connect();
  await silent.serverSocket();
  const refusedOne = server.connect();
  await assertRefused(refusedOne, '503 too_many_connections');
  const stop = server.listener.stop(60_000);
  assert.equal((await refusedOne.serverSocket()).destroyed, false, 'it is kept until its client has closed it');
  refusedOne.finish();
  assert.equal(await stop, true);
  await idle.ended();
  await silent.serverSocketClosed();
  const late = server.connect();
  await waitForEvent(late.socket, 'close');
  assert.equal(late.error?.code, 'ECONNREFUSED');
});

test('stop() leaves the client the usual time to read its last response', async (t) => {
  const server = await startServer(t);
  const client = await server.connect().send(get('/', 'Connection: close'));
  await client.response();
  await client.ended();
  const stop = server.listener.stop(60_000);
  await client.send(kib(100));
  assert.equal((await client.serverSocket()).destroyed, false);
  await client.finish().serverSocketClosed();
  assert.equal(client.error, null);
  assert.equal(await stop, true);
});

test('stop() waits for the requests being handled, and closes their connections after the responses', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const handled = await server.connect().send(get('/handled'), get('/never'));
  await called;
  const arriving = await server.connect().send(post('/arriving', 'Content-Length: 3'), 'a');
  await arriving.serverSocket();
  while (server.calls.length < 2) await new Promise((resolve) => setImmediate(resolve));
  let stopped = false;
  const stop = server.listener.stop(60_000).finally(() => (stopped = true));
  release();
  for (const [client, path] of [[handled, '/handled'], [arriving, '/arriving']] as const) {
    assert.equal(stopped, false);
    if (client === arriving) await client.send('bc');
    const { status, headers, body } = await client.response();
    const echoed = JSON.parse(body) as { path: string };
    assert.deepEqual([status, headers.get('connection'), echoed.path], [200, 'close', path]);
    await client.ended();
    client.finish();
  }
  assert.equal(await stop, true);
  assert.deepEqual(server.calls, ['GET /handled', 'POST /arriving']);
});

test('serves a head that becomes complete after stop() was called, with Connection: close', async (t) => {
  const server = await startServer(t);
  const fresh = await server.connect().send('GET /fresh HT');
  const known = await server.connect().send(get('/known'));
  await assertEchoed(known, '/known');
  await known.send('GET /again HT');
  await settle(server);
  const stop = server.listener.stop(60_000);
  for (const client of [fresh, known]) {
    await client.send('TP/1.1\r\nHost: x\r\n\r\n');
    const { status, headers } = await client.response();
    assert.deepEqual([status, headers.get('connection')], [200, 'close']);
    await client.ended();
    client.finish();
  }
  assert.equal(await stop, true);
  assert.deepEqual(server.calls, ['GET /known', 'GET /fresh', 'GET /again']);
});

test('stop() waits until a slow client has read its response', async (t) => {
  const length = 30_000_000; // more than the kernel buffers
  const server = await startServer(t, async () => ({ ...json(null), body: [Buffer.alloc(length, ' ')] }));
  const client = await server.connect().send(get('/'));
  await waitForEvent(client.socket, 'data');
  client.socket.pause();
  const stop = server.listener.stop(60_000);
  client.socket.resume();
  assert.equal((await client.response()).body.length, length);
  await client.ended(); // although its head, which was sent before, has Connection: keep-alive
  client.finish();
  assert.equal(await stop, true);
});

test('stop() waits for a slow client but not for a discarded body, and accepts no connections meanwhile', async (t) => {
  const body = [Buffer.alloc(30_000_000, ' ')]; // more than the kernel buffers
  const server = await startServer(t, async (request, waitedMs) =>
    request.path === '/slow' ? { ...json(null), body } : respond401(request, waitedMs));
  const discarded = await server.connect().send(post('/', 'Content-Length: 50'), 'abc');
  assert.equal((await discarded.response()).headers.get('connection'), 'keep-alive');
  const slow = await server.connect().send(get('/slow'));
  await waitForEvent(slow.socket, 'data');
  slow.socket.pause();
  const stop = server.listener.stop(60_000);
  await server.connect().dropped();
  slow.socket.resume();
  assert.equal((await slow.response()).body.length, body[0]!.length);
  await slow.finish().ended();
  await discarded.ended();
  assert.equal(await stop, true);
  assert.equal(server.calls.length, 2);
});

test('stop() returns false if a request is unanswered when the time is up, and closes its connection', async (t) => {
  const { called, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = await server.connect().send(get('/'));
  await called;
  assert.equal(await server.listener.stop(20), false);
  await client.ended();
});

test('stop() returns true if no complete request is unanswered, even if connections are still open', async (t) => {
  const server = await startServer(t);
  for (const head of ['junk\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\n\r\n']) {
    const client = await server.connect().send(head);
    await client.response();
    await client.ended();
  }
  const half = await server.connect().send('GET / HT');
  await settle(server);
  assert.equal(await server.listener.stop(20), true);
  await half.ended();
});

// TLS handshakes.

/** Opens a TCP connection to a server with TLS, and sends these bytes. */
async function begin(t: TestContext, { listener }: TestServer, bytes: string | Buffer = ''): Promise<Socket> {
  const socket = connect(Number(new URL(listener.address).port), '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => {}); // the server may reset the connection
  await waitForEvent(socket, 'connect');
  socket.write(bytes);
  return socket;
}

/** The beginning of a ClientHello of 16 KB. */
const hello = Buffer.from([0x16, 3, 1, 0x3f, 0xf0, 1, 0, 0x3f, 0xec, 3, 3]);

testOverTls('closes a connection whose TLS handshake is not complete after the head timeout', async (t) => {
  const server = await startServer(t, echo, { headTimeoutMs: 300 });
  const slow = await begin(t, server, hello);
  const trickle = setInterval(() => slow.write(Buffer.alloc(1)), 20); // sending does not postpone the timeout
  t.after(() => clearInterval(trickle));
  const sockets = [slow, await begin(t, server), await begin(t, server, '\r\n'), await begin(t, server, hello)];
  await Promise.all(sockets.map((socket) => waitForEvent(socket.resume(), 'close')));
  while (server.listener.connections > 0) await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(server.listener.counts, { accepted: 0, refused: 0, dropped: 0, failedHandshakes: 4 });
});

testOverTls('stop() does not wait for TLS handshakes', async (t) => {
  const longerThanTest = { headTimeoutMs: 600_000, requestTimeoutMs: 600_000 };
  const server = await startServer(t, echo, longerThanTest);
  const sockets = [await begin(t, server), await begin(t, server, hello)];
  while (server.listener.connections < 2) await new Promise((resolve) => setImmediate(resolve));
  const closed = sockets.map((socket) => waitForEvent(socket.resume(), 'close'));
  assert.equal(await server.listener.stop(60_000), true);
  await Promise.all(closed);
});

testOverTls('connections in a TLS handshake count against the maximum of all connections only', async (t) => {
  const server = await startServer(t, echo, { maxServed: 0, maxRefused: 3 });
  const sockets = [await begin(t, server), await begin(t, server, hello), await begin(t, server)];
  while (server.listener.connections < 3) await new Promise((resolve) => setImmediate(resolve));
  await waitForEvent((await begin(t, server)).resume(), 'close');
  const gone = waitForEvent(sockets[0]!, 'close');
  sockets[0]!.destroy();
  await gone;
  while (server.listener.connections > 2) await new Promise((resolve) => setImmediate(resolve));
  await assertRefused(server.connect(), '503 too_many_connections');
});

testOverTls('a connection that its client resets before it is accepted does not count', async (t) => {
  if (process.platform !== 'linux') return t.skip('other systems may not accept such a connection');
  const server = await startServer(t);
  const { port } = new URL(server.listener.address);
  const reset = `const socket = require('net').connect(${port}, '127.0.0.1', () => socket.resetAndDestroy())`;
  // Meanwhile, this process accepts nothing.
  for (let i = 0; i < 2; i++) assert.equal(spawnSync(process.execPath, ['-e', reset]).status, 0);
  let most = 0;
  while (server.listener.counts.failedHandshakes < 2) {
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, server.listener.connections);
  }
  assert.equal(most, 0);
});

test('serves clients with a key while requests without one rest, and these afterwards, in their order', async (t) => {
  let now = 0;
  const about = { operation: null, key: 'k1', unauthenticated: null, refusedBy: null };
  const server = await startServer(t, ({ path }) => {
    if (path === '/slow') now += 5;
    return path === '/key' ? { ...json(path), about } : json(path);
  }, { monotonic: () => now });
  const trusted = await server.connect().send(get('/key'));
  await trusted.response();
  const first = await server.connect().send(get('/first')); // over TLS, its handshake is followed by a short rest
  assert.equal((await first.response()).body, '"/first"');
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await first.send(get('/slow'), get('/next'));
  assert.equal((await first.response()).body, '"/slow"');
  const second = server.connect();
  void second.send(get('/new')); // over TLS, it is sent after the handshake, which does not begin yet
  for (let i = 0; i < 20; i += 1) {
    await trusted.send(get('/key'));
    assert.equal((await trusted.response()).body, '"/key"');
  }
  assert.deepEqual(server.calls.filter((call) => call !== 'GET /key'), ['GET /first', 'GET /slow']);
  assert.deepEqual([first.unreadBytes, second.unreadBytes], [0, 0]);
  t.mock.timers.tick(49);
  assert.deepEqual([first.unreadBytes, second.unreadBytes], [0, 0]);
  while (first.unreadBytes === 0 || second.unreadBytes === 0) {
    t.mock.timers.tick(1); // over TLS, the handshake of the second one is followed by a rest too
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal((await first.response()).body, '"/next"');
  assert.equal((await second.response()).body, '"/new"');
  t.mock.timers.reset();
});

testOnce('counts the body of a request without a key that follows one with a key', async (t) => {
  let [now, step] = [0, 0];
  const about = { operation: null, key: 'k1', unauthenticated: null, refusedBy: null };
  const server = await startServer(t, async ({ path }) => (path === '/key' ? { ...json(path), about } : json(path)), {
    monotonic: () => (now += step),
  });
  const [client, trusted] = [server.connect(), server.connect()];
  for (const each of [client, trusted]) await (await each.send(get('/key'))).response();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  step = 1;
  await client.send(chunkedPost, '1\r\na\r\n'.repeat(20));
  assert.equal((await client.response()).status, 200);
  const other = await server.connect().send(get('/other'));
  for (let i = 0; i < 5; i += 1) await (await trusted.send(get('/key'))).response();
  assert.equal(other.unreadBytes, 0, 'it is held');
  t.mock.timers.tick(10_000);
  assert.equal((await other.response()).body, '"/other"');
  t.mock.timers.reset();
});

testOnce('does not prefer a client whose key has used up its limit', async (t) => {
  let now = 0;
  const server = await startServer(t, ({ path }) => {
    if (path === '/slow') now += 5;
    const refusedBy = path === '/limited' ? 'minute' : null;
    const about = { operation: null, key: 'k1', unauthenticated: null, refusedBy } as const;
    return path === '/slow' ? json(path) : { ...json(path), about };
  }, { monotonic: () => now });
  const limited = server.connect();
  for (const path of ['/key', '/limited']) await (await limited.send(get(path))).response();
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const slow = await server.connect().send(get('/slow'), get('/slow'));
  await slow.response();
  await limited.send(get('/key'));
  for (let i = 0; i < 5; i += 1) await new Promise((resolve) => setImmediate(resolve));
  assert.equal(limited.unreadBytes, 0, 'it is held');
  t.mock.timers.tick(10_000);
  assert.equal((await limited.response()).body, '"/key"');
  t.mock.timers.reset();
});

testOnce('closes a held connection whose client closes it without a request', async (t) => {
  let now = 0;
  const server = await startServer(t, async () => json((now += 5)), { monotonic: () => now });
  t.mock.timers.enable({ apis: ['setTimeout'] }); // a rest does not end
  await (await server.connect().send(get('/slow'), get('/next'))).response();
  await server.connect().finish().ended();
  t.mock.timers.reset();
});

testOverTls('closes a held connection whose client closes it without a request, over TLS', async (t) => {
  const server = await startServer(t);
  t.mock.timers.enable({ apis: ['setTimeout'] }); // the rest after the handshake does not end
  await server.connect().finish().ended();
  t.mock.timers.reset();
});
