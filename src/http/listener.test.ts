/** The listener itself: its address, how many connections it takes, and how it stops. */
import assert from 'node:assert/strict';
import { early, echo, echoed, get, happened, held, json, kib, post, refused, serve, test, turns } from '../testing/wire.ts';

test('opening fails on an address that is taken, and tells its address otherwise', async (t) => {
  const site = await serve(t);
  const { address } = site.listener;
  assert.match(address, /^http:\/\/127\.0\.0\.1:[1-9]\d*$/);
  await assert.rejects(serve(t, echo, { port: Number(new URL(address).port) }), { code: 'EADDRINUSE' });
  const six = await serve(t, echo, { host: '::1' }).catch((error: NodeJS.ErrnoException) => {
    assert.match(String(error.code), /^(EADDRNOTAVAIL|EAFNOSUPPORT)$/);
    return error;
  });
  if (six instanceof Error) t.diagnostic(`no IPv6 here: ${six.message}`);
  else assert.match(six.listener.address, /^http:\/\/\[::1\]:[1-9]\d*$/);
});

// Too many.

test('a connection too many is told so, and the next is served once one has gone', async (t) => {
  const site = await serve(t, echo, { maxConnections: 2 });
  const [first, second] = [await site.connect().send(get('/1')), await site.connect().send(get('/2'))];
  await echoed(first, '/1');
  await echoed(second, '/2');
  const third = site.connect();
  assert.equal((await refused(third, '503 too_many_connections')).headers.get('retry-after'), '1');
  await third.send(get('/3'));
  const fourth = await site.connect().send(get('/4'));
  await refused(fourth, '503 too_many_connections');
  await first.send(get('/1'));
  await echoed(first, '/1');
  first.socket.destroy();
  await first.forgotten();
  // The third and the fourth have not closed their sides yet; they take nobody's place.
  const fifth = await site.connect().send(get('/5'));
  await echoed(fifth, '/5');
  // Nor is there a place more when they have.
  for (const client of [third, fourth]) await client.finish().forgotten();
  await refused(site.connect(), '503 too_many_connections');
  assert.deepEqual(site.calls, ['GET /1', 'GET /2', 'GET /1', 'GET /5']);
});

test('beyond 1,000 refused connections nothing is said any more', async (t) => {
  const site = await serve(t, echo, { maxConnections: -998 });
  for (let i = 0; i < 2; i += 1) await refused(site.connect(), '503 too_many_connections');
  await site.connect().end();
});

test('a connection that is idle is kept for a while, and closed', async (t) => {
  const { called, release, handler } = held(echo);
  const site = await serve(t, handler, { idleTimeoutMs: 40 });
  const busy = await site.connect().send(get('/busy'));
  await called;
  const idle = await site.connect().send(get('/idle'));
  const silent = site.connect();
  await silent.end();
  release();
  const { headers } = await idle.answer();
  assert.equal(headers.get('keep-alive'), 'timeout=0.04');
  await idle.end();
  await echoed(busy, '/busy');
  await busy.end();
  const last = await site.connect().send(get('/', 'Connection: close'));
  assert.equal((await last.answer()).headers.get('keep-alive'), undefined);
});

test('what waits behind an answer that its client no longer takes is never handled', async (t) => {
  const site = await serve(t, async () => ({ ...json(null), body: [Buffer.alloc(32 * 1024 * 1024, ' ')] }));
  const client = await site.connect().send(get('/'), get('/never'));
  await happened(client.socket, 'data');
  client.socket.resetAndDestroy();
  await client.forgotten();
  await turns(site);
  assert.deepEqual(site.calls, ['GET /']);
});

test('a client that takes nothing of its answer is dropped, and one that is slow is not', async (t) => {
  const length = 30_000_000; // more than the kernel keeps between the two
  const site = await serve(t, async () => ({ ...json(null), body: [Buffer.alloc(length, ' ')] }), { idleTimeoutMs: 400 });
  const stalled = await site.connect().send(get('/'));
  await happened(stalled.socket, 'data');
  stalled.socket.pause();
  const slow = await site.connect().send(get('/'));
  slow.socket.on('data', () => {
    slow.socket.pause();
    setTimeout(() => slow.socket.resume(), 1);
  });
  const chatty = await site.connect().send(get('/'));
  await happened(chatty.socket, 'data');
  chatty.socket.pause();
  const chatter = setInterval(() => chatty.socket.write('\r\n'), 20); // what it sends does not put off its end
  t.after(() => clearInterval(chatter));
  const withConnect = await site.connect().send(get('/'), 'CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n'); // Node drops its own listeners
  await happened(withConnect.socket, 'data');
  withConnect.socket.pause();
  await stalled.forgotten();
  await withConnect.forgotten();
  await chatty.forgotten();
  assert.equal((await slow.answer()).body.length, length);
});

// The end.

test('a stop closes what is idle, silent or refused, and nobody can connect any more', async (t) => {
  const site = await serve(t, echo, { maxConnections: 2 });
  const idle = await site.connect().send(get('/'));
  await echoed(idle, '/');
  const silent = site.connect();
  await silent.accepted();
  const refusedOne = site.connect();
  await refused(refusedOne, '503 too_many_connections');
  const stop = site.listener.stop(60_000);
  assert.equal((await refusedOne.accepted()).destroyed, false, 'it lingers as ever');
  refusedOne.finish();
  assert.equal(await stop, true);
  await idle.end();
  await silent.forgotten();
  const late = site.connect();
  await happened(late.socket, 'close');
  assert.equal(late.error?.code, 'ECONNREFUSED');
});

test('a stop does not shorten the linger behind a last answer', async (t) => {
  const site = await serve(t);
  const client = await site.connect().send(get('/', 'Connection: close'));
  await client.answer();
  await client.end();
  const stop = site.listener.stop(60_000);
  await client.send(kib(100));
  assert.equal((await client.accepted()).destroyed, false);
  await client.finish().forgotten();
  assert.equal(client.error, null);
  assert.equal(await stop, true);
});

test('a stop waits for the requests under way, and their answers end their connections', async (t) => {
  const { called, release, handler } = held(echo);
  const site = await serve(t, handler);
  const handled = await site.connect().send(get('/handled'), get('/behind'));
  await called;
  const arriving = await site.connect().send(post('/arriving', 'Content-Length: 3'), 'a');
  await arriving.accepted();
  while (site.calls.length < 2) await new Promise((resolve) => setImmediate(resolve));
  let stopped = false;
  const stop = site.listener.stop(60_000).finally(() => (stopped = true));
  release();
  for (const [client, path] of [[handled, '/handled'], [arriving, '/arriving']] as const) {
    assert.equal(stopped, false);
    if (client === arriving) await client.send('bc');
    const { status, headers, body } = await client.answer();
    assert.deepEqual([status, headers.get('connection'), (JSON.parse(body) as { path: string }).path], [200, 'close', path]);
    await client.end();
    client.finish();
  }
  assert.equal(await stop, true);
  assert.deepEqual(site.calls, ['GET /handled', 'POST /arriving']);
});

test('a head that is complete only after the stop began is still handled, and answered with Connection: close', async (t) => {
  const site = await serve(t);
  const fresh = await site.connect().send('GET /fresh HT');
  const known = await site.connect().send(get('/known'));
  await echoed(known, '/known');
  await known.send('GET /again HT');
  await turns(site);
  const stop = site.listener.stop(60_000);
  for (const client of [fresh, known]) {
    await client.send('TP/1.1\r\nHost: x\r\n\r\n');
    const { status, headers } = await client.answer();
    assert.deepEqual([status, headers.get('connection')], [200, 'close']);
    await client.end();
    client.finish();
  }
  assert.equal(await stop, true);
  assert.deepEqual(site.calls, ['GET /known', 'GET /fresh', 'GET /again']);
});

test('an answer that a slow reader has not read yet survives the stop', async (t) => {
  const length = 30_000_000; // more than the kernel keeps between the two
  const site = await serve(t, async () => ({ ...json(null), body: [Buffer.alloc(length, ' ')] }));
  const client = await site.connect().send(get('/'));
  await happened(client.socket, 'data');
  client.socket.pause();
  const stop = site.listener.stop(60_000);
  client.socket.resume();
  assert.equal((await client.answer()).body.length, length);
  await client.end(); // closed although its head could not say so any more
  client.finish();
  assert.equal(await stop, true);
});

test('a stop neither waits for a body that is only discarded, nor serves who connects while a slow reader takes its answer', async (t) => {
  const body = [Buffer.alloc(30_000_000, ' ')]; // more than the kernel keeps between the two
  const site = await serve(t, async (request, waitedMs) => (request.path === '/slow' ? { ...json(null), body } : early(request, waitedMs)));
  const discarded = await site.connect().send(post('/', 'Content-Length: 50'), 'abc');
  assert.equal((await discarded.answer()).headers.get('connection'), 'keep-alive');
  const slow = await site.connect().send(get('/slow'));
  await happened(slow.socket, 'data');
  slow.socket.pause();
  const stop = site.listener.stop(60_000);
  await site.connect().end();
  slow.socket.resume();
  assert.equal((await slow.answer()).body.length, body[0]!.length);
  await slow.finish().end();
  await discarded.end();
  assert.equal(await stop, true);
  assert.equal(site.calls.length, 2);
});

test('a stop whose time runs out says so, and cuts what is left', async (t) => {
  const { called, handler } = held(echo);
  const site = await serve(t, handler);
  const client = await site.connect().send(get('/'));
  await called;
  assert.equal(await site.listener.stop(20), false);
  await client.end();
});

test('a stop does not count as unanswered who only has not hung up, or has sent half a head', async (t) => {
  const site = await serve(t);
  for (const head of ['junk\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\n\r\n']) {
    const client = await site.connect().send(head);
    await client.answer();
    await client.end();
  }
  const half = await site.connect().send('GET / HT');
  await turns(site);
  assert.equal(await site.listener.stop(20), true);
  await half.end();
});
