/** Request bodies: complete, malformed or too large; 100 Continue; heads and bodies that arrive too slowly. */
import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import {
  assertEchoed, assertRefused, blockUntilReleased, chunkedPost, echo, get, json, kib, post, respond401, settle,
  startServer, test,
} from '../testing/wire.ts';

// Complete bodies, and their size.

test('sends 100 Continue when the handler reads the body, and not before', async (t) => {
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

test('sends no 100 Continue if no body will be read, nor in HTTP/1.0', async (t) => {
  const server = await startServer(t, respond401);
  const refused = await server.connect().send(post('/', 'Expect: 100-continue', 'Content-Length: 3'));
  await assertRefused(refused, '401 missing_api_key');
  const reading = await startServer(t);
  const tooLarge = await reading.connect().send(post('/', 'Expect: 100-continue', 'Content-Length: 65537'));
  await assertRefused(tooLarge, '413 payload_too_large');
  const empty = await reading.connect().send(get('/', 'Expect: 100-continue'));
  assert.equal((await empty.response()).status, 200, 'there is no body');
  const old = await reading.connect().send('POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n');
  await settle(reading);
  assert.equal((await (await old.send('abc')).response()).status, 200, 'HTTP/1.0 has no 100 Continue');
});

test('accepts a body of 64 KiB, and responds with 413 to a larger one', async (t) => {
  const server = await startServer(t);
  const client = server.connect();
  await client.send(
    post('/a', 'Content-Length: 65536'), kib(64), post('/b', 'Content-Length: 0'), post('/c'), get('/d'),
  );
  await assertEchoed(client, '/a', 65_536);
  await assertEchoed(client, '/b');
  await assertEchoed(client, '/c');
  await assertEchoed(client, '/d');
  const chunks = ['8000;a=b\r\n', kib(32), '\r\n8000\r\n', kib(32), '\r\n0\r\nA: b\r\n\r\n'];
  await client.send(post('/', 'Transfer-Encoding: Chunked'), ...chunks);
  await assertEchoed(client, '/', 65_536);
  // A Content-Length over 64 KiB is refused before the body is sent, a chunked body as soon as it exceeds 64 KiB.
  await assertRefused(await server.connect().send(post('/', 'Content-Length: 65537')), '413 payload_too_large');
  const tooLarge = ['8000\r\n', kib(32), '\r\n8001\r\n', kib(32), 'a'];
  await assertRefused(await server.connect().send(chunkedPost, ...tooLarge), '413 payload_too_large');
  await assertRefused(await server.connect().send(get('/', 'Content-Length: 999999999')), '413 payload_too_large');
});

test('reads less than 300 KB ahead while a request is handled, and receives the next bodies completely', async (t) => {
  const { called, release, handler } = blockUntilReleased(echo);
  const server = await startServer(t, handler);
  const client = server.connect();
  const chunks = Array<string>(150).fill(`8000\r\n${kib(32)}\r\n`);
  client.socket.write([get('/'), post('/a', 'Content-Length: 65536'), kib(64), chunkedPost, ...chunks].join(''));
  await called;
  await settle(server, 150); // enough to read everything, 64 KiB at a time
  const { bytesRead } = await client.serverSocket();
  assert(bytesRead < 300_000, `${bytesRead} bytes were read`);
  release();
  await assertEchoed(client, '/');
  await assertEchoed(client, '/a', 65_536);
  await assertRefused(client, '413 payload_too_large');
});

test('responds with 413 to chunk extensions over 16 KiB', async (t) => {
  const server = await startServer(t);
  await assertRefused(await server.connect().send(chunkedPost, '1;a=', 'a'.repeat(17_000)), '413 payload_too_large');
});

test('receives a body as it was sent, however it is split', async (t) => {
  const server = await startServer(t, async (request) =>
    json((await request.body?.read(true))?.toString('latin1') ?? ''));
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

// Malformed bodies.

const malformedBodies: [what: string, bytes: string, fin?: true][] = [
  ['an invalid chunk size', `${chunkedPost}zz\r\n`],
  ['a negative chunk size', `${chunkedPost}-1\r\n`],
  ['an empty chunk size', `${chunkedPost}\r\n`],
  ['a chunk longer than its size', `${chunkedPost}3\r\nabcd\r\n`],
  ['a chunk size that overflows', `${chunkedPost}fffffffffffffffff\r\n`],
  ['an invalid second chunk', `${chunkedPost}3\r\nabc\r\nq\r\n`],
  ['an invalid trailer', `${chunkedPost}3\r\nabc\r\n0\r\nA b: c\r\n\r\n`],
  ['FIN within a body with Content-Length', `${post('/', 'Content-Length: 3')}ab`, true],
  ['FIN before the body', post('/', 'Content-Length: 3'), true],
  ['FIN within a chunk', `${chunkedPost}3\r\nab`, true],
  ['FIN before the last chunk', `${chunkedPost}3\r\nabc\r\n`, true],
  ['FIN within the last chunk', `${chunkedPost}3\r\nabc\r\n0\r\n`, true],
];

test('responds with 400 to a malformed body that the handler reads, and closes the connection', async (t) => {
  const server = await startServer(t);
  for (const [what, bytes, fin] of malformedBodies) {
    const together = await server.connect().send(bytes);
    await assertRefused(fin ? together.finish() : together, '400 malformed_request', what);
    const headEnd = bytes.indexOf('\r\n\r\n') + 4;
    const apart = await server.connect().send(bytes.slice(0, headEnd));
    await settle(server); // the handler is waiting for the body
    await apart.send(bytes.slice(headEnd));
    await assertRefused(fin ? apart.finish() : apart, '400 malformed_request', `${what}, after its head`);
  }
  assert.equal(server.calls.filter((call) => call === 'POST /').length, 2 * malformedBodies.length);
});

test('sends the response of a handler that does not read the body, even if the body is malformed', async (t) => {
  const { called, release, handler } = blockUntilReleased(respond401);
  const server = await startServer(t, handler);
  const clients = malformedBodies.map(async ([what, bytes, fin]) => {
    const client = await server.connect().send(bytes);
    if (fin) client.finish();
    await assertRefused(client, '401 missing_api_key', what);
  });
  await called;
  await settle(server); // Node has reported the malformed bodies
  release();
  await Promise.all(clients);
});

// Timeouts.

test('responds with 408 to a head that does not arrive in time', async (t) => {
  const server = await startServer(t, echo, { headTimeoutMs: 1_200 });
  const second = server.connect();
  const trickle = await server.connect().send('GET / HTTP/1.1\r\nHost: ');
  const timer = setInterval(() => trickle.socket.write('a'), 20);
  await Promise.all([
    assertRefused(server.connect(), '408 request_timeout', 'no head'),
    assertRefused(await server.connect().send('GET / HTTP/1.1\r\nHost: '), '408 request_timeout', 'half a head'),
    assertRefused(trickle, '408 request_timeout', 'byte by byte'),
    second.send(get('/second'), 'GET').then(async () => {
      await assertEchoed(second, '/second');
      await assertRefused(second, '408 request_timeout', 'the second head');
    }),
  ]).finally(() => clearInterval(timer));
  assert.deepEqual(server.calls, ['GET /second']);
});

test('responds with 408 to a body that does not arrive in time and that the handler reads', async (t) => {
  const server = await startServer(t, echo, { headTimeoutMs: 300, requestTimeoutMs: 300 });
  await Promise.all([
    assertRefused(await server.connect().send(post('/', 'Content-Length: 3'), 'ab'), '408 request_timeout'),
    assertRefused(await server.connect().send(chunkedPost, '3\r\nabc\r\n'), '408 request_timeout'),
  ]);
});

test('sends the response of a handler that does not read the body, even if the body is too slow', async (t) => {
  const { called, release, handler } = blockUntilReleased(respond401);
  const server = await startServer(t, handler, { headTimeoutMs: 300, requestTimeoutMs: 300 });
  const client = await server.connect().send(post('/', 'Content-Length: 3'));
  await called;
  const silent = server.connect(); // later than the request, so the body has timed out too when this one does
  await assertRefused(silent, '408 request_timeout');
  release();
  await assertRefused(client, '401 missing_api_key');
});
