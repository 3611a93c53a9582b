import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, lstatSync, writeFileSync } from 'node:fs';
import { connect, createServer, Server } from 'node:net';
import { join } from 'node:path';
import { mock, test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { temporaryFolder } from '../testing/programs.ts';
import { Channel, ChannelClosedError, sendMessage } from './channel.ts';

const patienceMs = 30_000;

/** A channel that keeps the messages it gets and gives each back, or what `respond` makes of it. */
async function openChannel(t: TestContext, respond = async (message: unknown): Promise<unknown> => message) {
  const path = join(temporaryFolder(t), 'socket');
  const messages: unknown[] = [];
  const channel = new Channel((message) => {
    messages.push(message);
    return respond(message);
  });
  await channel.listen(path);
  t.after(() => channel.close());
  return { path, channel, messages };
}

/** What comes back until the other side closes, when exactly these bytes are sent. */
async function exchange(path: string, ...pieces: (string | Buffer)[]): Promise<string> {
  const socket = connect(path);
  let received = '';
  socket.setEncoding('utf8').on('data', (text: string) => (received += text));
  socket.on('error', () => {}); // a connection may be dropped with bytes unread
  const closed = new Promise((resolve) => socket.once('close', resolve));
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  await closed;
  return received;
}

test('a message gets its response, whatever JSON the two are', async (t) => {
  const { path } = await openChannel(t);
  await fc.assert(fc.asyncProperty(fc.jsonValue(), async (value) => {
    const same = JSON.parse(JSON.stringify(value)) as unknown;
    assert.deepEqual(await sendMessage(path, value, patienceMs), same);
  }), { numRuns: 100 });
});

test('a response may be of any length: ten thousand keys do not fit in a megabyte', async (t) => {
  const long = Array.from({ length: 10_000 }, (_, i) => ({ id: `k${i}`, name: 'é'.repeat(150) }));
  const { path } = await openChannel(t, async () => long);
  assert.deepEqual(await sendMessage(path, { op: 'list' }, patienceMs), long);
});

test('many ask at once, and each gets its own response', async (t) => {
  const { path } = await openChannel(t);
  const numbers = Array.from({ length: 100 }, (_, i) => i);
  assert.deepEqual(await Promise.all(numbers.map((number) => sendMessage(path, number, patienceMs))), numbers);
});

test('a message may come in pieces, cut inside of a character', async (t) => {
  const { path, messages } = await openChannel(t);
  const bytes = Buffer.from('{"name":"Zoë 🐕"}\n');
  assert.equal(await exchange(path, ...[...bytes].map((byte) => Buffer.of(byte))), '{"name":"Zoë 🐕"}\n');
  assert.deepEqual(messages, [{ name: 'Zoë 🐕' }]);
});

test('a connection has one message: what follows is not looked at', async (t) => {
  const { path, messages } = await openChannel(t);
  assert.equal(await exchange(path, '1\n2\n3\n'), '1\n');
  assert.deepEqual(messages, [1]);
});

test('garbage is not answered: the connection is closed, and the next one served', async (t) => {
  const { path, messages } = await openChannel(t);
  for (const garbage of ['\n', 'x\n', '{"op":\n', '\u0000\n', Buffer.from([0xff, 0xfe, 0x0a]), 'GET / HTTP/1.1\r\n\r\n', '[1]]\n']) {
    assert.equal(await exchange(path, garbage), '', String(garbage));
  }
  assert.deepEqual(messages, []);
  assert.equal(await sendMessage(path, 'next', patienceMs), 'next');
});

test('half a line is no message', async (t) => {
  const { path, messages } = await openChannel(t);
  const socket = connect(path);
  await once(socket, 'connect');
  socket.end('{"op":"create"}'); // all but the line feed
  await once(socket.resume(), 'close');
  assert.equal(await sendMessage(path, 1, patienceMs), 1);
  assert.deepEqual(messages, [1]);
});

test('a message that is too long is never acted on, also where its end arrives', async (t) => {
  const { path, messages } = await openChannel(t);
  assert.equal(await exchange(path, `"${'x'.repeat(200_000)}"\n`), '');
  assert.equal(await exchange(path, `"${'x'.repeat(65_000)}`, `${'x'.repeat(65_000)}"\n`), '');
  assert.deepEqual(messages, []);
  assert.equal(await sendMessage(path, 'x'.repeat(60_000), patienceMs), 'x'.repeat(60_000));
});

test('who goes away without waiting for the response does no harm', async (t) => {
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

test('no response within the time, or none at all, is told apart from nobody being there', async (t) => {
  const { path, channel } = await openChannel(t, () => new Promise(() => {}));
  const start = Date.now();
  await assert.rejects(sendMessage(path, 1, 20), ChannelClosedError);
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
    await assert.rejects(sendMessage(abrupt, 1, patienceMs), ChannelClosedError, response);
  }
});

test('the socket is 0600 from the moment it is bound, whatever the umask, and the umask is put back', async (t) => {
  const umask = process.umask(0);
  t.after(() => process.umask(umask));
  const path = join(temporaryFolder(t), 'socket');
  const modes: number[] = [];
  const listenOfNet = Server.prototype.listen;
  const listen = mock.method(Server.prototype, 'listen', function (this: Server, ...args: Parameters<typeof listenOfNet>) {
    const server = listenOfNet.apply(this, args);
    modes.push(lstatSync(path).mode & 0o777); // it is bound, and nothing else could run since
    return server;
  });
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

test('closing waits for the responses under way, and not for those who never ask', async (t) => {
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
