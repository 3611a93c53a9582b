/** How much memory a connection can take: clients that send more than they read, and messages that are expensive. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { temporaryFolder } from '../../harness/owner.ts';
import { runServer, serverPath } from '../../harness/server.ts';
import { openShop } from '../testing/shop.ts';
import {
  assertEchoed, blockUntilReleased, chunkedPost, echo, get, json, post, settle, startServer, test, testOnce,
} from '../testing/wire.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function usedBytes(): number {
  collectGarbage();
  collectGarbage(); // a buffer is freed one collection after the object that holds it
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/**
 * Sends `bytes` on 50 connections whose clients do not read, and returns how much memory each connection retains, the
 * client's side included. `letServerRead` resolves when the server has read as much of the bytes as it will. A result
 * that is not below `limit` is measured again, because Node may free what it has read a little later.
 *
 * The memory of the process changes by up to 0.7 MB for other reasons: code that V8 compiles or discards, and what it
 * frees late. So there are many connections, and the smallest of several measurements is what they are compared with.
 */
async function retainedBytes(
  t: TestContext, limit: number, address: string, letServerRead: () => Promise<void>, bytes: string,
): Promise<number> {
  const connections = 50;
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  let before = Infinity;
  for (let round = 0; round < 5; round += 1) {
    await letServerRead();
    before = Math.min(before, usedBytes());
  }
  for (let i = 0; i < connections; i += 1) {
    const socket = connect(Number(new URL(address).port), '127.0.0.1').pause();
    socket.on('error', () => {}); // the server may destroy it
    await new Promise((resolve) => socket.write(bytes, 'latin1', resolve));
    sockets.push(socket);
  }
  let retained = Infinity;
  for (let attempt = 0; attempt < 10 && retained >= limit; attempt += 1) {
    await letServerRead();
    retained = Math.min(retained, (usedBytes() - before) / connections);
  }
  return retained;
}

const tiny = 'GET / HTTP/1.1\r\nHost:\r\n\r\n';
const ordinary = get(
  '/v1/pets', 'Authorization: Bearer 0123456789', 'Accept: */*', 'User-Agent: a', 'X-Forwarded-For: 127.0.0.1',
);
const lines = (count: number): string[] => Array.from({ length: count }, (_, i) => `${i.toString(36)}:`);
/** The head of a POST with this many lines of one header. */
const headOf = (count: number, bytes: number): string =>
  post('/', `Content-Length: ${bytes}`, ...Array<string>(count).fill('ab:cd'));

const afterFirstRequest: readonly [what: string, bytes: string][] = [
  ['127 tiny requests', tiny.repeat(127)],
  ['100 ordinary requests', ordinary.repeat(100)],
  ['a large head', get('/', `A: ${'a'.repeat(16_000)}`)],
  ['heads of 99 lines', get('/', ...lines(98)).repeat(20)],
  ['heads with one name on 98 lines', get('/', ...Array<string>(98).fill('a:b')).repeat(22)],
  ['heads with one name and longer values', get('/', ...Array<string>(98).fill(`a:${'b'.repeat(20)}`)).repeat(14)],
  ['heads with one name on 7 lines', get('/', ...Array<string>(7).fill('a:b')).repeat(100)],
  ['a head of 98 lines with one name, and a body', `${headOf(96, 65_000)}${'a'.repeat(64_000)}`],
  ['a large body', `${post('/', 'Content-Length: 65536')}${'a'.repeat(65_000)}`],
  ['a body in chunks of one byte', chunkedPost + '1\r\na\r\n'.repeat(10_000)],
  ['tiny requests and a large body', `${tiny.repeat(110)}${chunkedPost}ee00\r\n${'a'.repeat(0xee00)}`],
  ['bodies with trailers', `${chunkedPost}0\r\n${'ab:cd\r\n'.repeat(95)}\r\n`.repeat(60)],
  ['requests with small bodies', `${post('/', 'Content-Length: 400')}${'a'.repeat(400)}`.repeat(60)],
];

for (const [what, bytes] of afterFirstRequest) {
  testOnce(`a connection retains at most 300 KB while a request is handled: ${what}`, async (t) => {
    const { handler, called, release } = blockUntilReleased(echo);
    t.after(release); // otherwise the waiting handlers would keep all requests in memory during the next tests
    const server = await startServer(t, handler);
    const settled = (): Promise<void> => settle(server, 20);
    const retained = await retainedBytes(t, 300_000, server.listener.address, settled, get('/') + bytes);
    await called;
    assert(retained < 300_000, `${retained} bytes`);
    assert(retained > 10_000, `${retained} bytes: too little for a valid measurement`);
  });
}

/** More than the kernel buffers. All connections share it. */
const body = [Buffer.alloc(30_000_000, ' ')];
const floods: readonly [what: string, bytes: string][] = [
  ...afterFirstRequest,
  ['2,500 tiny requests', tiny.repeat(2_500)],
  ['heads of 2,200 lines', get('/', ...lines(2_200)).repeat(4)], // of which Node 20 parses some, and others none
  ['heads of 100 lines', get('/', ...lines(100)).repeat(150)],
  ['1,000 requests with small bodies', `${post('/', 'Content-Length: 1')}a`.repeat(1_000)],
];

for (const [what, bytes] of floods) {
  testOnce(`retains at most 300 KB besides a response that its client does not read: ${what}`, async (t) => {
    const server = await startServer(t, (request) => (request.path === '*' ? echo(request) : { ...json(null), body }));
    const settled = (): Promise<void> => settle(server, 20);
    const retained = await retainedBytes(t, 300_000, server.listener.address, settled, get('/') + bytes);
    assert(retained < 300_000, `${retained} bytes`);
  });
}

testOnce('does not retain a body that no operation reads', async (t) => {
  const shop = await openShop(t, { listener: { monotonic: () => 0 } }); // holds no connection
  const settleService = async (): Promise<void> => {
    for (let i = 0; i < 20; i += 1) await shop.call('OPTIONS', '*', { key: null });
  };
  const sent = 'a'.repeat(60_000);
  for (const [what, head] of [
    ['GET of a public path', get('/healthz', 'Content-Length: 65000')],
    ['HEAD of a public path', get('/healthz', 'Content-Length: 65000').replace('GET', 'HEAD')],
    ['GET with a chunked body', `${get('/openapi.json', 'Transfer-Encoding: chunked')}ffff\r\n`],
    ['GET with a key', get('/v1/pets', `Authorization: Bearer ${shop.secret}`, 'Content-Length: 65000')],
    ['POST without a key', post('/v1/pets', 'Content-Length: 65000')],
    ['a path that does not exist', post('/nowhere', 'Content-Length: 65000')],
  ] as const) {
    const retained = await retainedBytes(t, 40_000, shop.address, settleService, head + sent);
    assert(retained < 40_000, `${what}: ${retained} bytes`);
  }
});

test('retains less than 2 MB for a body of 60,000 chunks of one byte', async (t) => {
  const server = await startServer(t);
  const client = server.connect();
  await settle(server);
  const before = usedBytes();
  client.socket.write(chunkedPost + '1\r\na\r\n'.repeat(60_000));
  const socket = await client.serverSocket();
  while (socket.bytesRead < chunkedPost.length + 360_000) await settle(server);
  const more = usedBytes() - before;
  assert(more < 2_000_000, `${more} bytes more`);
  await client.send('0\r\n\r\n');
  await assertEchoed(client, '/', 60_000);
});

testOnce('does not retain a connection that its client has closed after the last response', async (t) => {
  const server = await startServer(t);
  const port = Number(new URL(server.listener.address).port);
  const exchange = async (): Promise<void> => {
    const socket = connect(port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\n\r\n');
    await once(socket, 'data');
    socket.destroy();
  };
  for (let i = 0; i < 100; i += 1) await exchange();
  await settle(server, 20);
  const before = usedBytes();
  for (let i = 0; i < 500; i += 1) await exchange();
  await settle(server, 20);
  const more = usedBytes() - before;
  assert(more < 1_000_000, `${more} bytes more`);
});

testOnce('does not retain the last request of an idle connection', async (t) => {
  const server = await startServer(t);
  const settled = (): Promise<void> => settle(server, 20);
  const head = get('/', ...lines(98).map((line) => line + 'a'.repeat(150)));
  const retained = await retainedBytes(t, 30_000, server.listener.address, settled, head);
  assert(retained < 30_000, `${retained} bytes`);
});

test('destroys a connection with more than 128 unanswered requests', async (t) => {
  const { handler, called, release } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const full = server.connect();
  await full.send(tiny.repeat(128));
  await called;
  const over = server.connect();
  await over.send(tiny.repeat(129));
  await over.serverSocketClosed();
  assert.equal(over.unreadBytes, 0);
  await settle(server);
  assert.equal((await full.serverSocket()).destroyed, false);
  release();
  for (let i = 0; i < 128; i += 1) await assertEchoed(full, '/');
  await full.send(tiny);
  await assertEchoed(full, '/');
});

test('destroys a connection if the requests after its last response take too much memory', async (t) => {
  const server = await startServer(t);
  const client = await server.connect().send(get('/'));
  await assertEchoed(client, '/'); // a TLS handshake holds the connection, and a timer ends that
  t.mock.timers.enable({ apis: ['setTimeout'] }); // it is not destroyed because its time is up
  await client.send('GET / HTTP/1.1\r\n\r\n', get('/', ...lines(98)).repeat(60));
  await client.serverSocketClosed();
  t.mock.timers.reset();
});

test('destroys a connection whose waiting requests take too much memory', async (t) => {
  const { handler, called, release } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const large = get('/', ...lines(98));
  const one = server.connect();
  await one.send(get('/'), large.repeat(20));
  await called;
  await settle(server, 10);
  const two = server.connect();
  await two.send(get('/'), large.repeat(60));
  await two.serverSocketClosed();
  assert.equal(two.unreadBytes, 0);
  release();
  for (let i = 0; i < 21; i += 1) await assertEchoed(one, '/');
});

testOnce('a process with a heap of 256 MB survives 120 clients that send without a key and never read', async (t) => {
  const command = [process.execPath, '--max-old-space-size=256', serverPath];
  const server = runServer(t, temporaryFolder(t), [], command);
  const [, address] = await server.printed(/petstore listening on (http:\S+)\n/);
  const port = Number(new URL(address!).port);
  const sockets: Socket[] = [];
  t.after(() => sockets.forEach((socket) => socket.destroy()));
  for (let i = 0; i < 120; i += 1) {
    const socket = connect(port, '127.0.0.1').pause();
    socket.on('error', () => {}); // the server may destroy it
    sockets.push(socket);
    await once(socket, 'connect');
    socket.write('GET /openapi.json HTTP/1.1\r\nHost:\r\n\r\n'.repeat(400), 'latin1');
    for (let sent = 0; sent < 3; sent += 1) socket.write(tiny.repeat(2_500), 'latin1');
  }
  // After 200 further requests, the server has read most of what it will read from those clients.
  for (let i = 0; i < 200; i += 1) assert.equal((await fetch(`${address}/healthz`)).status, 200);
  const { code } = await server.stop();
  assert.equal(code, 0, server.stderr);
});
