/** The listener itself: its address, how many connections it takes, and how it stops. */
import assert from 'node:assert/strict';
import {
  assertEchoed, assertRefused, blockUntilReleased, echo, get, json, kib, post, respond401, settle, startServer, test,
  waitForEvent,
} from '../testing/wire.ts';

test('opening fails on an address that is taken, and tells its address otherwise', async (t) => {
  const server = await startServer(t);
  const { address } = server.listener;
  assert.match(address, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  await assert.rejects(startServer(t, echo, { port: Number(new URL(address).port) }), { code: 'EADDRINUSE' });
  const six = await startServer(t, echo, { host: '::1' }).catch((error: NodeJS.ErrnoException) => {
    assert.match(String(error.code), /^(EADDRNOTAVAIL|EAFNOSUPPORT)$/);
    return error;
  });
  if (six instanceof Error) t.diagnostic(`no IPv6 here: ${six.message}`);
  else assert.match(six.listener.address, /^http:\/\/\[::1\]:[1-9]\d*$/);
});

// Too many.

test('a connection too many is told so, and the next is served once one has gone', async (t) => {
  const server = await startServer(t, echo, { maxConnections: 2 });
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
  // The third and the fourth have not closed their sides yet; they take nobody's place.
  const fifth = await server.connect().send(get('/5'));
  await assertEchoed(fifth, '/5');
  // Nor is there a place more when they have.
  for (const client of [third, fourth]) await client.finish().serverSocketClosed();
  await assertRefused(server.connect(), '503 too_many_connections');
  assert.deepEqual(server.calls, ['GET /1', 'GET /2', 'GET /1', 'GET /5']);
});

test('beyond 1,000 refused connections nothing is said any more', async (t) => {
  const server = await startServer(t, echo, { maxConnections: -998 });
  for (let i = 0; i < 2; i += 1) await assertRefused(server.connect(), '503 too_many_connections');
  await server.connect().ended();
});

test('a connection that is idle is kept for a while, and closed', async (t) => {
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

test('what waits behind an answer that its client no longer takes is never handled', async (t) => {
  const server = await startServer(t, async () => ({ ...json(null), body: [Buffer.alloc(32 * 1024 * 1024, ' ')] }));
  const client = await server.connect().send(get('/'), get('/never'));
  await waitForEvent(client.socket, 'data');
  client.socket.resetAndDestroy();
  await client.serverSocketClosed();
  await settle(server);
  assert.deepEqual(server.calls, ['GET /']);
});

test('a client that takes nothing of its answer is dropped, and one that is slow is not', async (t) => {
  const length = 30_000_000; // more than the kernel keeps between the two
  const server = await startServer(t, async () => ({ ...json(null), body: [Buffer.alloc(length, ' ')] }), { idleTimeoutMs: 400 });
  const stalled = await server.connect().send(get('/'));
  await waitForEvent(stalled.socket, 'data');
  stalled.socket.pause();
  const slow = await server.connect().send(get('/'));
  slow.socket.on('data', () => {
    slow.socket.pause();
    setTimeout(() => slow.socket.resume(), 1);
  });
  const chatty = await server.connect().send(get('/'));
  await waitForEvent(chatty.socket, 'data');
  chatty.socket.pause();
  const chatter = setInterval(() => chatty.socket.write('\r\n'), 20); // what it sends does not put off its end
  t.after(() => clearInterval(chatter));
  const withConnect = await server.connect().send(get('/'), 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'); // Node drops its own listeners
  await waitForEvent(withConnect.socket, 'data');
  withConnect.socket.pause();
  await stalled.serverSocketClosed();
  await withConnect.serverSocketClosed();
  await chatty.serverSocketClosed();
  assert.equal((await slow.response()).body.length, length);
});

// The end.

test('a stop closes what is idle, silent or refused, and nobody can connect any more', async (t) => {
  const server = await startServer(t, echo, { maxConnections: 2 });
  const idle = await server.connect().send(get('/'));
  await assertEchoed(idle, '/');
  const silent = server.connect();
  await silent.serverSocket();
  const refusedOne = server.connect();
  await assertRefused(refusedOne, '503 too_many_connections');
  const stop = server.listener.stop(60_000);
  assert.equal((await refusedOne.serverSocket()).destroyed, false, 'it lingers as ever');
  refusedOne.finish();
  assert.equal(await stop, true);
  await idle.ended();
  await silent.serverSocketClosed();
  const late = server.connect();
  await waitForEvent(late.socket, 'close');
  assert.equal(late.error?.code, 'ECONNREFUSED');
});

test('a stop does not shorten the linger behind a last answer', async (t) => {
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

test('a stop waits for the requests under way, and their answers end their connections', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const handled = await server.connect().send(get('/handled'), get('/behind'));
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
    assert.deepEqual([status, headers.get('connection'), (JSON.parse(body) as { path: string }).path], [200, 'close', path]);
    await client.ended();
    client.finish();
  }
  assert.equal(await stop, true);
  assert.deepEqual(server.calls, ['GET /handled', 'POST /arriving']);
});

test('a head that is complete only after the stop began is still handled, and answered with Connection: close', async (t) => {
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

test('an answer that a slow reader has not read yet survives the stop', async (t) => {
  const length = 30_000_000; // more than the kernel keeps between the two
  const server = await startServer(t, async () => ({ ...json(null), body: [Buffer.alloc(length, ' ')] }));
  const client = await server.connect().send(get('/'));
  await waitForEvent(client.socket, 'data');
  client.socket.pause();
  const stop = server.listener.stop(60_000);
  client.socket.resume();
  assert.equal((await client.response()).body.length, length);
  await client.ended(); // closed although its head could not say so any more
  client.finish();
  assert.equal(await stop, true);
});

test('a stop neither waits for a body that is only discarded, nor serves who connects while a slow reader takes its answer', async (t) => {
  const body = [Buffer.alloc(30_000_000, ' ')]; // more than the kernel keeps between the two
  const server = await startServer(t, async (request, waitedMs) => (request.path === '/slow' ? { ...json(null), body } : respond401(request, waitedMs)));
  const discarded = await server.connect().send(post('/', 'Content-Length: 50'), 'abc');
  assert.equal((await discarded.response()).headers.get('connection'), 'keep-alive');
  const slow = await server.connect().send(get('/slow'));
  await waitForEvent(slow.socket, 'data');
  slow.socket.pause();
  const stop = server.listener.stop(60_000);
  await server.connect().ended();
  slow.socket.resume();
  assert.equal((await slow.response()).body.length, body[0]!.length);
  await slow.finish().ended();
  await discarded.ended();
  assert.equal(await stop, true);
  assert.equal(server.calls.length, 2);
});

test('a stop whose time runs out says so, and cuts what is left', async (t) => {
  const { called, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = await server.connect().send(get('/'));
  await called;
  assert.equal(await server.listener.stop(20), false);
  await client.ended();
});

test('a stop does not count as unanswered who only has not hung up, or has sent half a head', async (t) => {
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
