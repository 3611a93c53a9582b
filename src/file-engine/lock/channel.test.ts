import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, lstatSync, writeFileSync } from 'node:fs';
import { connect, createServer, Server } from 'node:net';
import { join } from 'node:path';
import { mock, test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { temporaryFolder } from '../../../harness/owner.ts';
import { Channel, ConnectionClosedError, InvalidResponseError, sendMessage } from './channel.ts';

const patienceMs = 30_000;

/** Opens a channel that records its messages and responds with `respond`; by default each response is the message. */
async function openChannel(
  t: TestContext, respond = async (message: unknown): Promise<unknown> => message, timeoutMs?: number,
) {
  const path = join(temporaryFolder(t), 'socket');
  const messages: unknown[] = [];
  const channel = new Channel((message) => {
    messages.push(message);
    return respond(message);
  }, timeoutMs);
  await channel.listen(path);
  t.after(() => channel.close());
  return { path, channel, messages };
}

/** Sends exactly these bytes, and returns all that is received until the other side closes the connection. */
async function exchange(path: string, ...pieces: (string | Buffer)[]): Promise<string> {
  const socket = connect(path);
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.on('error', () => {}); // a connection may be reset with bytes unread
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  return received;
}

test('a message and its response can be any JSON value', async (t) => {
  const { path } = await openChannel(t);
  await fc.assert(fc.asyncProperty(fc.jsonValue(), async (value) => {
    const same = JSON.parse(JSON.stringify(value)) as unknown;
    assert.deepEqual(await sendMessage(path, value, patienceMs), same);
  }), { numRuns: 100 });
});

test('a response has at most 256 KiB, or what the sender of the message permits', async (t) => {
  const { path } = await openChannel(t, async (length) => 'x'.repeat(Number(length) - 2));
  for (const [length, most] of [[262_144, undefined], [100, 100]] as const) {
    assert.equal((await sendMessage(path, length, patienceMs, most) as string).length, length - 2);
    await assert.rejects(sendMessage(path, length + 1, patienceMs, most), InvalidResponseError);
  }
});

test('each of many concurrent messages receives its own response', async (t) => {
  const { path } = await openChannel(t);
  const numbers = Array.from({ length: 100 }, (_, i) => i);
  assert.deepEqual(await Promise.all(numbers.map((number) => sendMessage(path, number, patienceMs))), numbers);
});

test('a message can arrive in pieces, even split within a character', async (t) => {
  const { path, messages } = await openChannel(t);
  const bytes = Buffer.from('{"name":"Zoë 🐕"}\n');
  assert.equal(await exchange(path, ...[...bytes].map((byte) => Buffer.of(byte))), '{"name":"Zoë 🐕"}\n');
  assert.deepEqual(messages, [{ name: 'Zoë 🐕' }]);
});

test('a connection carries one message: the rest is ignored', async (t) => {
  const { path, messages } = await openChannel(t);
  assert.equal(await exchange(path, '1\n2\n3\n'), '1\n');
  assert.deepEqual(messages, [1]);
});

test('invalid JSON receives no response: its connection is closed, and the next one is served', async (t) => {
  const { path, messages } = await openChannel(t);
  for (const garbage of [
    '\n', 'x\n', '{"op":\n', '\u0000\n', Buffer.from([0xff, 0xfe, 0x0a]), 'GET / HTTP/1.1\r\n\r\n', '[1]]\n',
  ]) {
    assert.equal(await exchange(path, garbage), '', String(garbage));
  }
  assert.deepEqual(messages, []);
  assert.equal(await sendMessage(path, 'next', patienceMs), 'next');
});

test('a line without its line feed is not a message', async (t) => {
  const { path, messages } = await openChannel(t);
  const socket = connect(path);
  await once(socket, 'connect');
  socket.end('{"op":"create"}'); // all but the line feed
  await once(socket.resume(), 'close');
  assert.equal(await sendMessage(path, 1, patienceMs), 1);
  assert.deepEqual(messages, [1]);
});

test('a message that is too long is ignored, even if its end arrives', async (t) => {
  const { path, messages } = await openChannel(t);
  assert.equal(await exchange(path, `"${'x'.repeat(200_000)}"\n`), '');
  assert.equal(await exchange(path, `"${'x'.repeat(65_000)}`, `${'x'.repeat(65_000)}"\n`), '');
  assert.deepEqual(messages, []);
  assert.equal(await sendMessage(path, 'x'.repeat(60_000), patienceMs), 'x'.repeat(60_000));
});

test('a client that does not wait for the response does no harm', async (t) => {
  let respondNow = (): void => {};
  const waiting = new Promise<void>((resolve) => (respondNow = resolve));
  const { path, messages } = await openChannel(t, async (message) => (message === 'slow' ? waiting : message));
  const socket = connect(path);
  await once(socket, 'connect');
  socket.write('"slow"\n');
  while (messages.length === 0) await new Promise((resolve) => setImmediate(resolve));
  socket.destroy();
  await once(socket, 'close');
  respondNow();
  assert.equal(await sendMessage(path, 'next', patienceMs), 'next');
});

test('a late response, and none when the connection is closed, are errors of their own', async (t) => {
  const { path, channel } = await openChannel(t, () => new Promise(() => {}));
  const start = Date.now();
  await assert.rejects(sendMessage(path, 1, 20), /^Error: there was no response in time$/);
  assert.ok(Date.now() - start < 15_000, 'it was not the time that ended it');
  await channel.close();
  await assert.rejects(sendMessage(path, 1, patienceMs), { code: 'ENOENT' });

  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, '');
  await assert.rejects(sendMessage(file, 1, patienceMs), { code: /^ECONNREFUSED|ENOTSOCK$/ });

  for (const response of ['', 'half an response', '\u0000']) {
    const abrupt = join(temporaryFolder(t), 'abrupt');
    const server = createServer((socket) => socket.once('data', () => socket.end(response))).listen(abrupt);
    t.after(() => server.close());
    await once(server, 'listening');
    await assert.rejects(sendMessage(abrupt, 1, patienceMs), ConnectionClosedError, response);
  }
});

test('the socket has mode 0600 from the moment it is bound, whatever the umask; the umask is restored', async (t) => {
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  const path = join(temporaryFolder(t), 'socket');
  const modes: number[] = [];
  const listenOfNet = Server.prototype.listen;
  const listen = mock.method(
    Server.prototype,
    'listen',
    function (this: Server, ...args: Parameters<typeof listenOfNet>) {
      const server = listenOfNet.apply(this, args);
      modes.push(lstatSync(path).mode & 0o777); // it is bound, and no other code could run since
      return server;
    },
  );
  t.after(() => listen.mock.restore());
  const channel = new Channel(async () => null);
  await channel.listen(path);
  assert.deepEqual(modes, [0o600]);
  assert.equal(process.umask(), 0);
  await channel.close();
  assert.equal(existsSync(path), false);

  listen.mock.restore();
  await assert.rejects(channel.listen(join(path, 'no', 'such', 'folder')), { syscall: 'listen' });
  assert.equal(process.umask(), 0);
});

test('close() waits for responses under way, but not for idle connections', async (t) => {
  let respondNow = (_: string): void => {};
  const response = new Promise<string>((resolve) => (respondNow = resolve));
  const { path, channel, messages } = await openChannel(t, () => response);
  const idle = connect(path);
  await once(idle, 'connect');
  const sent = sendMessage(path, 'slow', patienceMs);
  while (messages.length === 0) await new Promise((resolve) => setImmediate(resolve));
  const start = Date.now();
  const closed = channel.close();
  await assert.rejects(sendMessage(path, 'late', patienceMs), { code: 'ENOENT' });
  respondNow('here');
  assert.equal(await sent, 'here');
  await closed;
  assert.ok(Date.now() - start < 15_000, 'it waited for the one that is connected, and silent');
  if (!idle.closed) await once(idle.resume(), 'close');
});

test('a peer that does not complete its response is waited for no longer than the limit', async (t) => {
  const path = join(temporaryFolder(t), 'slow');
  const dripping = createServer((socket) => {
    socket.on('error', () => {});
    const timer = setInterval(() => socket.write('x'), 5); // a timer restarted by each byte would never end
    socket.once('close', () => clearInterval(timer));
  }).listen(path);
  t.after(() => dripping.close());
  await once(dripping, 'listening');
  await assert.rejects(sendMessage(path, null, 200), /^Error: there was no response in time$/);
});

test('a client that does not complete its message is disconnected, however often it sends a byte', async (t) => {
  const { path, messages } = await openChannel(t, async () => null, 200);
  const socket = connect(path).on('error', () => {});
  const timer = setInterval(() => socket.write('x'), 5);
  await new Promise((resolve) => socket.resume().once('close', resolve)); // `once` would reject because of a write
  clearInterval(timer);
  assert.deepEqual(messages, []);
});

for (const [what, response, reads] of [
  ['whose response is not ready', () => new Promise<never>(() => {}), false],
  ['whose response is read', async () => null, true],
  ['whose response is not read', async () => 'x'.repeat(2_000_000), false],
] as const) {
  test(`a connection ${what} is closed, however often the client sends a byte`, { timeout: 20_000 }, async (t) => {
    const { path } = await openChannel(t, response, 200);
    const socket = connect({ path, allowHalfOpen: true }).on('error', () => {});
    t.after(() => socket.destroy());
    if (reads) socket.resume();
    socket.write('1\n');
    const isOpen = (): Promise<boolean> => {
      return new Promise((resolve) => socket.write('x', (error) => resolve(error == null)));
    };
    while (await isOpen()) await new Promise((resolve) => setTimeout(resolve, 5));
  });
}
