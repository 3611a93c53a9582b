/** Requests on the wire: their bodies, whole, broken or too large; 100 Continue; and what does not arrive in time. */
import assert from 'node:assert/strict';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as fc from 'fast-check';
import {
  assertEchoed, assertRefused, blockUntilReleased, chunkedPost, echo, get, json, kib, post, respond401, settle,
  startServer, test,
} from '../testing/wire.ts';

// Good bodies, and how much of them.

test('100 Continue is sent when the body is about to be read, and not before', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = await server.connect().send(post('/a', 'Expect: 100-continue', 'Content-Length: 3'));
  await called;
  assert.equal(client.unreadBytes, 0);
  release();
  assert.equal((await client.response()).status, 100);
  await client.send('abc', post('/b', 'Expect: 100-Continue', 'Transfer-Encoding: chunked'));
  await assertEchoed(client, '/a', 3);
  assert.equal((await client.response()).status, 100);
  await client.send('2\r\nab\r\n0\r\n\r\n');
  await assertEchoed(client, '/b', 2);
});

test('100 Continue is not sent where nothing is read', async (t) => {
  const server = await startServer(t, respond401);
  await assertRefused(await server.connect().send(post('/', 'Expect: 100-continue', 'Content-Length: 3')), '401 missing_api_key');
  const reading = await startServer(t);
  const tooLarge = await reading.connect().send(post('/', 'Expect: 100-continue', 'Content-Length: 65537'));
  await assertRefused(tooLarge, '413 payload_too_large');
  const empty = await reading.connect().send(get('/', 'Expect: 100-continue'));
  assert.equal((await empty.response()).status, 200, 'there is nothing to wait for');
  const old = await reading.connect().send('POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n');
  await settle(reading);
  assert.equal((await (await old.send('abc')).response()).status, 200, 'HTTP/1.0 knows no 100');
});

test('a body has at most 64 KiB', async (t) => {
  const server = await startServer(t);
  const client = server.connect();
  await client.send(post('/a', 'Content-Length: 65536'), kib(64), post('/b', 'Content-Length: 0'), post('/c'), get('/d'));
  await assertEchoed(client, '/a', 65_536);
  await assertEchoed(client, '/b');
  await assertEchoed(client, '/c');
  await assertEchoed(client, '/d');
  await client.send(post('/', 'Transfer-Encoding: Chunked'), '8000;a=b\r\n', kib(32), '\r\n8000\r\n', kib(32), '\r\n0\r\nA: b\r\n\r\n');
  await assertEchoed(client, '/', 65_536);
  // By its Content-Length it is refused before any of it was sent, in chunks as soon as it is over.
  await assertRefused(await server.connect().send(post('/', 'Content-Length: 65537')), '413 payload_too_large');
  await assertRefused(await server.connect().send(chunkedPost, '8000\r\n', kib(32), '\r\n8001\r\n', kib(32), 'a'), '413 payload_too_large');
  await assertRefused(await server.connect().send(get('/', 'Content-Length: 999999999')), '413 payload_too_large');
});

test('a body that nobody has asked for yet waits in the socket, and is whole when it is asked for', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = server.connect();
  client.socket.write([get('/'), post('/a', 'Content-Length: 65536'), kib(64), chunkedPost, ...Array<string>(150).fill(`8000\r\n${kib(32)}\r\n`)].join(''));
  await called;
  await settle(server, 150); // enough to read 64 KiB at a time what there is
  const { bytesRead } = await client.serverSocket();
  assert(bytesRead < 300_000, `${bytesRead} bytes were read`);
  release();
  await assertEchoed(client, '/');
  await assertEchoed(client, '/a', 65_536);
  await assertRefused(client, '413 payload_too_large');
});

test('a body in pieces of a byte takes no more memory than a body', async (t) => {
  const server = await startServer(t);
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  const used = (): number => {
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const client = server.connect();
  await settle(server);
  const before = used();
  client.socket.write(chunkedPost + '1\r\na\r\n'.repeat(60_000));
  const socket = await client.serverSocket();
  while (socket.bytesRead < chunkedPost.length + 360_000) await settle(server);
  const more = used() - before;
  assert(more < 2_000_000, `${more} bytes more`);
  await client.send('0\r\n\r\n');
  await assertEchoed(client, '/', 60_000);
});

test('chunk extensions have at most 16 KiB', async (t) => {
  const server = await startServer(t);
  await assertRefused(await server.connect().send(chunkedPost, '1;a=', 'a'.repeat(17_000)), '413 payload_too_large');
});

test('a body comes as it was sent, however it is cut', async (t) => {
  const server = await startServer(t, async (request) => json((await request.body?.read(true))?.toString('latin1') ?? ''));
  const byte = fc.nat({ max: 255 }).map((code) => String.fromCharCode(code));
  const pieces = fc.array(fc.string({ unit: byte, minLength: 1, maxLength: 20 }), { maxLength: 5 });
  const client = server.connect();
  await fc.assert(fc.asyncProperty(pieces, fc.boolean(), fc.nat({ max: 200 }), async (parts, inChunks, cut) => {
    const body = inChunks
      ? [...parts, ''].map((part) => `${part.length.toString(16)}\r\n${part}\r\n`).join('')
      : parts.join('');
    const message = post('/', inChunks ? 'Transfer-Encoding: chunked' : `Content-Length: ${body.length}`) + body;
    await client.send(message.slice(0, cut));
    await client.send(message.slice(cut));
    const response = await client.response();
    assert.equal(JSON.parse(Buffer.from(response.body, 'latin1').toString()), parts.join(''));
  }), { numRuns: 100 });
});

// Broken bodies.

const brokenBodies: [what: string, bytes: string, eof?: true][] = [
  ['a chunk size that is none', `${chunkedPost}zz\r\n`],
  ['a negative chunk size', `${chunkedPost}-1\r\n`],
  ['an empty chunk size', `${chunkedPost}\r\n`],
  ['a chunk longer than it says', `${chunkedPost}3\r\nabcd\r\n`],
  ['an endless chunk size', `${chunkedPost}fffffffffffffffff\r\n`],
  ['a bad second chunk', `${chunkedPost}3\r\nabc\r\nq\r\n`],
  ['a bad trailer', `${chunkedPost}3\r\nabc\r\n0\r\nA b: c\r\n\r\n`],
  ['the end within Content-Length', `${post('/', 'Content-Length: 3')}ab`, true],
  ['the end before any body', post('/', 'Content-Length: 3'), true],
  ['the end within a chunk', `${chunkedPost}3\r\nab`, true],
  ['the end before the last chunk', `${chunkedPost}3\r\nabc\r\n`, true],
  ['the end within the last chunk', `${chunkedPost}3\r\nabc\r\n0\r\n`, true],
];

test('a broken body is a 400 for whoever reads it, and the end of its connection', async (t) => {
  const server = await startServer(t);
  for (const [what, bytes, eof] of brokenBodies) {
    const together = await server.connect().send(bytes);
    await assertRefused(eof ? together.finish() : together, '400 malformed_request', what);
    const headEnd = bytes.indexOf('\r\n\r\n') + 4;
    const apart = await server.connect().send(bytes.slice(0, headEnd));
    await settle(server); // the handler is reading the body already
    await apart.send(bytes.slice(headEnd));
    await assertRefused(eof ? apart.finish() : apart, '400 malformed_request', `${what}, behind its head`);
  }
  assert.equal(server.calls.filter((call) => call === 'POST /').length, 2 * brokenBodies.length);
});

test('a broken body does not change the answer of a handler that does not read it', async (t) => {
  const { called, release, handler } = blockUntilReleased(respond401);
  const server = await startServer(t, handler);
  const clients = brokenBodies.map(async ([what, bytes, eof]) => {
    const client = await server.connect().send(bytes);
    if (eof) client.finish();
    await assertRefused(client, '401 missing_api_key', what);
  });
  await called;
  await settle(server); // the bodies are known to be broken
  release();
  await Promise.all(clients);
});

// Too slow.

test('a head that does not arrive in time is a 408', async (t) => {
  const server = await startServer(t, echo, { headTimeoutMs: 1_200 });
  const second = server.connect();
  const trickle = server.connect();
  const timer = setInterval(() => trickle.socket.write('a'), 20);
  await Promise.all([
    assertRefused(server.connect(), '408 request_timeout', 'nothing at all'),
    assertRefused(await server.connect().send('GET / HTTP/1.1\r\nHost: '), '408 request_timeout', 'half a head'),
    assertRefused(await trickle.send('GET / HTTP/1.1\r\nHost: '), '408 request_timeout', 'byte by byte'),
    second.send(get('/second'), 'GET').then(async () => {
      await assertEchoed(second, '/second');
      await assertRefused(second, '408 request_timeout', 'the second head');
    }),
  ]).finally(() => clearInterval(timer));
  assert.deepEqual(server.calls, ['GET /second']);
});

test('a body that does not arrive in time is a 408 for whoever reads it', async (t) => {
  const server = await startServer(t, echo, { headTimeoutMs: 300, requestTimeoutMs: 300 });
  await Promise.all([
    assertRefused(await server.connect().send(post('/', 'Content-Length: 3'), 'ab'), '408 request_timeout'),
    assertRefused(await server.connect().send(chunkedPost, '3\r\nabc\r\n'), '408 request_timeout'),
  ]);
});

test('a body that does not arrive in time does not change the answer of a handler that does not read it', async (t) => {
  const { called, release, handler } = blockUntilReleased(respond401);
  const server = await startServer(t, handler, { headTimeoutMs: 300, requestTimeoutMs: 300 });
  const client = await server.connect().send(post('/', 'Content-Length: 3'));
  const silent = server.connect();
  await called;
  await assertRefused(silent, '408 request_timeout'); // opened later, so the other's time is over as well
  release();
  await assertRefused(client, '401 missing_api_key');
});
