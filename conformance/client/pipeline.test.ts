/** Pipelined requests, to servers that are programmed to respond in all ways that HTTP permits. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import type { HttpResponse } from './http.ts';
import { exchangePipelined } from './pipeline.ts';

/** A server that calls a function when all of the requests have arrived. Returns its URL and what it has received. */
async function server(t: TestContext, requests: number, respond: (socket: Socket) => void) {
  const received = { text: '' };
  const listening = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', (chunk) => {
      received.text += chunk.toString('latin1');
      if (received.text.split(' HTTP/1.1\r\n').length === requests + 1) respond(socket);
    });
  });
  t.after(() => listening.close());
  await once(listening.listen(0, '127.0.0.1'), 'listening');
  return { url: `http://127.0.0.1:${(listening.address() as AddressInfo).port}`, received };
}

async function send(t: TestContext, url: string, paths: readonly string[], body?: string, timeoutMs?: number) {
  const agent = url.startsWith('https:') ? new TlsAgent() : new Agent();
  t.after(() => agent.destroy());
  const message = body === undefined ? { method: 'GET' } : { method: 'POST', body: Buffer.from(body) };
  const responses: HttpResponse[] = [];
  const requests = paths.map((path) => ({ ...message, url: url + path, headers: [], agent, timeoutMs }));
  await exchangePipelined(requests, (response) => void responses.push(response));
  return responses;
}

function sendWithoutEnd(socket: Socket, first: string, more: string) {
  const send = () => {
    while (!socket.destroyed && socket.write(more));
  };
  socket.on('drain', send).write(first);
  send();
}

const shown = (responses: Awaited<ReturnType<typeof send>>) =>
  responses.map(({ status, body }) => [status, Buffer.from(body).toString()]);

test('all are sent at once, and their responses are read whatever their framing is', async (t) => {
  const { url, received } = await server(t, 5, (socket) => {
    const text =
      'HTTP/1.1 103 Early Hints\r\nLink: </>\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\none' +
      'HTTP/1.1 201 \r\nTransfer-Encoding: chunked\r\n\r\n2\r\ntw\r\n1;a=b\r\no\r\n0\r\nTrailer: x\r\n\r\n' +
      'HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\nHTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n' +
      'HTTP/1.1 404 Not Found\r\nX: 1\r\nX: 2\r\nContent-Length: 4\r\n\r\nlast';
    for (const byte of text) socket.write(byte);
  });
  const responses = await send(t, url, ['/a', '/b', '/c', '/d', '/e'], 'body');
  assert.deepEqual(shown(responses), [[200, 'one'], [201, 'two'], [304, ''], [200, ''], [404, 'last']]);
  assert.deepEqual(responses[4]!.headers.slice(0, 2), [['X', '1'], ['X', '2']]);
  assert.match(received.text, /^POST \/a HTTP\/1\.1\r\nHost: .*Content-Length: 4\r\n\r\nbodyPOST \/b /s);
});

for (const [what, last] of [
  ['closes the connection', ''],
  ['closes it within a head', 'HTTP/1.1 200 O'],
  ['closes it within a body', 'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfo'],
  ['closes it within a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfo'],
] as const)
  test(`a server that ${what} has sent the responses before`, async (t) => {
    const { url } = await server(t, 2, (socket) => {
      socket.end(`HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\none${last}`);
    });
    assert.deepEqual(shown(await send(t, url, ['/a', '/b'])), [[200, 'one']]);
  });

for (const [what, more] of [
  ['a head without end', 'X-Any: any\r\n'],
  ['interim responses without end', '\r\nHTTP/1.1 103 Early Hints\r\n'],
  ['a line without end', 'x'.repeat(100)],
  ['a body without end', `Content-Length: ${Number.MAX_SAFE_INTEGER}\r\n\r\n`],
  ['a body of chunks without end', 'Transfer-Encoding: chunked\r\n\r\n1\r\n'],
] as const)
  test(`${what} is not a response`, async (t) => {
    const one = 'HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\noneHTTP/1.1 103 Early Hints\r\n';
    const { url } = await server(t, 2, (socket) => sendWithoutEnd(socket, one, more.repeat(1_000)));
    assert.deepEqual(shown(await send(t, url, ['/a', '/b'])), [[200, 'one']]);
  });

for (const [what, wrong] of [
  ['an invalid status', 'HTTP/1.1 2000 OK\r\n'],
  ['the status 000', 'HTTP/1.1 000 None\r\n'],
  ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -2\r\n'],
  ['a length of 400 digits', `HTTP/1.1 200 OK\r\nContent-Length: ${'9'.repeat(400)}\r\n`],
  ['two lengths', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nContent-Length: 2\r\n'],
  ['a control character', 'HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \0\r\n'],
  ['a negative length of a chunk', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-2\r\n'],
  ['a line without a colon', 'HTTP/1.1 200 OK\r\nX\r\n'],
] as const)
  test(`a response with ${what} is not HTTP`, async (t) => {
    const { url } = await server(t, 2, (socket) => void socket.end(`${wrong}\r\n`.repeat(5)));
    assert.deepEqual(await send(t, url, ['/a', '/b']), []);
  });

for (const scheme of ['http:', 'https:'])
  test(`a silent server has the usual time limit, ${scheme}`, async (t) => {
    const { url } = await server(t, 2, () => {});
    assert.deepEqual(await send(t, url.replace('http:', scheme), ['/a', '/b'], undefined, 50), []);
  });

test('each response is shown when it has arrived', async (t) => {
  const sockets: Socket[] = [];
  const { url } = await server(t, 2, (socket) => {
    sockets.push(socket);
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  });
  const agent = new Agent();
  t.after(() => agent.destroy());
  const requests = ['/a', '/b'].map((path) => ({ url: url + path, method: 'GET', headers: [], agent }));
  let count = 0;
  await exchangePipelined(requests, () => {
    // Only now does the server send the next one.
    if (++count === 1) sockets[0]!.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
  });
  assert.equal(count, 2);
});

test('a server that does not listen sends no response', async (t) => {
  const closed = createServer();
  await once(closed.listen(0, '127.0.0.1'), 'listening');
  const { port } = closed.address() as AddressInfo;
  await once(closed.close(), 'close');
  assert.deepEqual(await send(t, `http://127.0.0.1:${port}`, ['/a', '/b']), []);
});
