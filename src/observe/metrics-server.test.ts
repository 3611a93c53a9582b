/** The address of the metrics, with clients that mean no good. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import test, { type TestContext } from 'node:test';
import { text } from 'node:stream/consumers';
import { serveMetrics } from './metrics-server.ts';

/** Starts a server, which ends with the test. `calls` is how often its text was made. */
async function start(
  t: TestContext, host = '127.0.0.1', metrics: string | (() => Promise<string>) = 'petstore_ready 1\n',
) {
  const started = {
    calls: 0,
    port: 0,
    onCall: () => {},
    connect: (): Socket => connect(started.port, '127.0.0.1').on('error', () => {}),
  };
  const server = await serveMetrics(host, 0, () => {
    started.calls++;
    started.onCall();
    return typeof metrics === 'string' ? metrics : metrics();
  });
  t.after(() => server.close());
  started.port = Number(new URL(server.address).port);
  return started;
}

const request = (host: string, line = 'GET /metrics HTTP/1.1'): string => `${line}\r\nHost: ${host}\r\n\r\n`;

/** Sends bytes on a connection, and returns everything that it receives. */
async function exchange(socket: Socket, bytes: string): Promise<string> {
  socket.write(bytes);
  return text(socket);
}

test('responds once on each connection, with the headers of every response, and closes it', async (t) => {
  const server = await start(t);
  const response = await exchange(server.connect(), request('localhost'));
  assert.match(response, /^HTTP\/1\.1 200 OK\r\n/);
  for (const line of [
    'Connection: close', 'Cache-Control: no-store', 'X-Content-Type-Options: nosniff', 'Content-Length: 17',
    'Content-Type: text/plain; version=0.0.4; charset=utf-8',
  ]) assert.ok(response.includes(`\r\n${line}\r\n`), response);
  assert.ok(response.endsWith('\r\n\r\npetstore_ready 1\n'));
  const head = await exchange(server.connect(), request('localhost', 'HEAD /metrics HTTP/1.0'));
  assert.ok(head.endsWith('\r\n\r\n') && head.includes('Content-Length: 17'), head);
});

test('refuses what is not a scrape', async (t) => {
  const server = await start(t);
  const cases: [status: number, bytes: string][] = [
    [404, request('localhost', 'GET / HTTP/1.1')],
    [404, request('localhost', 'GET /metricsx HTTP/1.1')],
    [200, request('localhost', 'GET /metrics?a=b HTTP/1.1')],
    [405, request('localhost', 'POST /metrics HTTP/1.1')],
    [400, 'GET /metrics HTTP/1.1\r\n\r\n'],
    [400, `GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n`],
    [400, 'nothing\r\n\r\n'],
    [431, `GET /metrics HTTP/1.1\r\nHost: ${'a'.repeat(20_000)}`],
  ];
  for (const [status, bytes] of cases) {
    const response = await exchange(server.connect(), bytes);
    assert.equal(Number(response.split(' ')[1]), status, bytes.slice(0, 60));
  }
  assert.equal(server.calls, 1);
});

test('makes the text for the first request of a connection only', async (t) => {
  const server = await start(t, '127.0.0.1', '#\n'.repeat(10_000));
  const socket = server.connect();
  socket.write(request('localhost').repeat(1_500)); // 62 KB, of whose responses nothing is read
  await once(socket.resume(), 'close');
  assert.equal(server.calls, 1);
});

test('makes the text in at most a twentieth of the time', async (t) => {
  const server = await start(t);
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const scrape = async (): Promise<number> => {
    const { calls } = server;
    server.onCall = () => void (now += 3);
    assert.match(await exchange(server.connect(), request('localhost')), /^HTTP\/1\.1 200 /);
    return server.calls - calls;
  };
  assert.deepEqual([await scrape(), await scrape(), await scrape()], [1, 0, 0]);
  now = 59;
  assert.equal(await scrape(), 0);
  now = 60;
  assert.deepEqual([await scrape(), await scrape()], [1, 0]);
});

test('closes the oldest connection in favour of a new one', async (t) => {
  const server = await start(t);
  const idle = Array.from({ length: 50 }, () => server.connect().resume());
  t.after(() => idle.forEach((socket) => socket.destroy()));
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  const oldest = once(idle[0]!, 'close');
  for (let i = 0; i < 3; i++) {
    assert.match(await exchange(server.connect(), request('localhost')), /^HTTP\/1\.1 200 /);
  }
  await oldest;
  assert.equal(idle[49]!.destroyed, false);
});

test('closes connections that send no whole request, or do not read the response, after a time', async (t) => {
  const server = await start(t, '127.0.0.1', '#\n'.repeat(5_000_000));
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [silent, slow, deaf] = [server.connect().resume(), server.connect().resume(), server.connect()];
  await once(silent, 'connect');
  for (const byte of 'GET /met') await new Promise((resolve) => slow.write(byte, resolve));
  await new Promise((resolve) => deaf.write(request('localhost'), resolve));
  while (server.calls === 0) await new Promise(setImmediate);
  const closed = Promise.all([once(silent, 'close'), once(slow, 'close')]);
  t.mock.timers.tick(2_000);
  await closed;
  assert.equal(deaf.destroyed, false);
  t.mock.timers.tick(8_000);
  const received = await exchange(deaf, '');
  assert.ok(received.length < 10_000_000, `${received.length} bytes, although it was closed before they were read`);
});

test('on a loopback address, a browser cannot read it by a name of a foreign site', async (t) => {
  const local = await start(t);
  for (const [host, status] of [
    ['localhost', 200], ['localhost.', 200], ['a.localhost:9100', 200], ['127.0.0.1', 200], ['[::1]:1', 200],
    ['example.org', 421], ['example.org:9100', 421], ['127.0.0.1.example.org', 421], ['', 421],
  ] as const) {
    assert.match(await exchange(local.connect(), request(host)), new RegExp(`^HTTP/1\\.1 ${status} `), host);
  }
  const old = await exchange(local.connect(), 'GET /metrics HTTP/1.0\r\n\r\n');
  assert.match(old, /^HTTP\/1\.1 200 /);
  const everywhere = await start(t, '0.0.0.0');
  assert.match(await exchange(everywhere.connect(), request('example.org')), /^HTTP\/1\.1 200 /);
});

test('waits for a text that is late, and responds with 503 if it cannot be made', async (t) => {
  let settle: { resolve: (text: string) => void; reject: (error: Error) => void } | undefined;
  const server = await start(t, '127.0.0.1', () => new Promise((resolve, reject) => (settle = { resolve, reject })));
  const requested = (): Promise<string> => exchange(server.connect(), request('localhost'));
  const late = requested();
  while (settle === undefined) await new Promise((resolve) => setImmediate(resolve));
  settle.resolve('late 1\n');
  assert.match(await late, /^HTTP\/1\.1 200 OK\r\n[^]*\r\n\r\nlate 1\n$/);
  settle = undefined;
  const failed = requested();
  while (settle === undefined) await new Promise((resolve) => setImmediate(resolve));
  (settle as { reject: (error: Error) => void }).reject(new Error('no connection'));
  assert.match(await failed, /^HTTP\/1\.1 503 [^]*\r\n\r\nThe metrics cannot be read at the moment\.\n$/);
});
