/** The one place that sends: how many requests leave, and what is made of their answers. */
import assert from 'node:assert/strict';
import { createServer, type Socket } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { systemClock } from '../../conformance/client/clock.ts';
import { scripted } from '../../conformance/testing/servers.ts';
import type { Answer } from './answer.ts';
import { Budget, BudgetSpent } from './budget.ts';
import { Drive, NoAnswer, partsOf, type DriveOptions } from './drive.ts';

const key = { secret: 'test_Kb7rT2xVq9KdLw4sHc8NpZa3', own: false };

function drive(t: TestContext, baseUrl: string, options: Partial<DriveOptions> = {}): Drive {
  const made = new Drive({
    ...{
      baseUrl,
      clock: systemClock,
      stopwatch: () => performance.now(),
      budget: new Budget(10_000),
      signal: new AbortController().signal,
      heard: () => {},
      paced: false,
    },
    ...options,
  });
  t.after(() => made.close());
  return made;
}

/** A server that answers each request on its connection as `answer` does. */
async function plain(
  t: TestContext,
  answer: (socket: Socket, request: number) => void,
): Promise<{ baseUrl: string; arrived: () => number }> {
  let arrived = 0;
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    socket.on('data', (data) => {
      for (const _ of data.toString().matchAll(/^GET /gm)) answer(socket, ++arrived);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, arrived: () => arrived };
}

test('exactly as many as asked for, on as many connections, with the key and without', async (t) => {
  const sockets = new Set<unknown>();
  const heard: (readonly [Answer, unknown])[] = [];
  const server = await scripted(t, (_, response) => {
    sockets.add(response.socket);
    response
      .writeHead(200, { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '7', 'X-RateLimit-Reset': '1795262460' })
      .end('[]');
  });
  const driven = drive(t, server.baseUrl, { heard: (answer, of) => heard.push([answer, of]) });
  for (const [amount, connections] of [
    [63, 10],
    [7, 10],
    [1, 1],
  ] as const) {
    sockets.clear();
    const before = server.received.length;
    const { answers, lost } = await driven.send({ key, amount, connections });
    assert.deepEqual([answers.length, lost, server.received.length - before], [amount, 0, amount]);
    assert.equal(sockets.size, Math.min(amount, connections));
    assert.equal(answers.filter(({ opening }) => opening).length, sockets.size);
  }
  await driven.send({ key: undefined, amount: 3, connections: 2 });
  assert.deepEqual(driven.sent, { withKey: 71, withoutKey: 3 });
  assert.deepEqual(heard[0]![0].standing, { limit: 60, remaining: 7, reset: 1_795_262_460 });
  assert.deepEqual([heard[0]![0].latencyMs > 0, heard[0]![1], heard.at(-1)![1]], [true, key, undefined]);
  assert.deepEqual(
    [server.received[0]!.url, server.received[0]!.headers.authorization, server.received.at(-1)!.headers.authorization],
    ['/v1/pets?limit=1', `Bearer ${key.secret}`, undefined],
  );
});

test('no more than the budget holds: what does not fit is not begun', async (t) => {
  const server = await scripted(t, (_, response) => void response.end('[]'));
  const budget = new Budget(30);
  const driven = drive(t, server.baseUrl, { budget });
  await driven.send({ key, amount: 20, connections: 4 });
  await assert.rejects(driven.send({ key, amount: 11, connections: 4 }), BudgetSpent);
  assert.equal(server.received.length, 20);
  await driven.send({ key, amount: 10, connections: 1 });
  await assert.rejects(
    driven.send({ key, amount: 1, connections: 1 }),
    /^BudgetSpent: it would take 1 more request, and of the 30 said beforehand 30 are sent$/,
  );
  assert.equal(server.received.length, 30);
});

const ok = 'HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]';

test('a server that announces the end of each connection: every request is answered, on a connection of its own', async (t) => {
  const { baseUrl, arrived } = await plain(t, (socket) => socket.end(ok.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')));
  for (const load of [
    { amount: 40, connections: 4 },
    { amount: 12, connections: 5, rate: 25 },
  ]) {
    const before = arrived();
    const { answers, lost } = await drive(t, baseUrl, { paced: true }).send({ key, ...load });
    assert.deepEqual([answers.length, lost, arrived() - before], [load.amount, 0, load.amount]);
    assert.ok(answers.every(({ opening }) => opening));
  }
});

test('a server that cuts connections: never more requests than asked for, and the lost ones are told', async (t) => {
  const { baseUrl, arrived } = await plain(t, (socket, request) => (request % 3 === 0 ? socket.destroy() : void socket.write(ok)));
  const { answers, lost } = await drive(t, baseUrl).send({ key, amount: 40, connections: 4 });
  assert.ok(arrived() <= 40 && arrived() >= 15, `${arrived()} arrived`);
  assert.ok(lost > 0 && answers.length > 0, `${answers.length} answers, ${lost} lost`);
  assert.equal(answers.length + lost, 40);
});

test('a server that ends connections without an answer: each latency is that of its own request', async (t) => {
  const { baseUrl } = await plain(t, (socket, request) => {
    if (request % 20 === 0) socket.end();
    else setTimeout(() => socket.write(ok), 1);
  });
  const { answers, lost } = await drive(t, baseUrl).send({ key, amount: 400, connections: 4 });
  assert.deepEqual([answers.length, lost], [380, 20]);
  const opened = answers.filter(({ opening }) => opening).length;
  assert.ok(opened > 4 && opened <= 24, `the first four, and at most one for each that was ended: ${opened}`);
  // `sentAt` and `receivedAt` are whole milliseconds.
  const late = answers.filter(({ sentAt, receivedAt, latencyMs }) => latencyMs > receivedAt - sentAt + 1);
  assert.deepEqual(late, []);
});

test('no server at all', async (t) => {
  const driven = drive(t, 'http://127.0.0.1:1/v1');
  await assert.rejects(
    driven.send({ key, amount: 5, connections: 2 }),
    (error) => error instanceof NoAnswer && /ECONNREFUSED/.test(error.message),
  );
});

test('a server that ends every connection: no answer, and the reason is the true one', async (t) => {
  const server = createServer((socket) => socket.on('error', () => {}).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const driven = drive(t, `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  await assert.rejects(
    driven.send({ key, amount: 5, connections: 2 }),
    (error) => error instanceof NoAnswer && /^it closes every connection without an answer$|ECONNRESET|EPIPE/.test(error.message),
  );
});

test('an end: when an answer says so, and when the run is interrupted', async (t) => {
  const server = await scripted(t, async (_, response) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    response.writeHead(server.received.length > 10 ? 429 : 200).end('[]');
  });
  const { answers } = await drive(t, server.baseUrl).send({
    key,
    amount: 1_000,
    connections: 1,
    until: ({ status }) => status === 429,
  });
  assert.ok(answers.length >= 11 && answers.length < 60, `${answers.length}`);
  const abort = new AbortController();
  const driven = drive(t, server.baseUrl, { signal: abort.signal, heard: () => abort.abort() });
  const sent = await driven.send({ key, amount: 1_000, connections: 1 });
  assert.ok(sent.answers.length > 0 && sent.answers.length < 60, `${sent.answers.length}`);
  assert.deepEqual(await driven.send({ key, amount: 5, connections: 1 }), { answers: [], lost: 0 });
});

test('a rate is spread over the second, and its sum is the amount', async (t) => {
  const times: number[] = [];
  const server = await scripted(t, (_, response) => {
    times.push(performance.now());
    response.end('[]');
  });
  // Half of a second's requests: over before any connection has its second turn.
  const { answers } = await drive(t, server.baseUrl, { paced: true }).send({ key, amount: 12, connections: 5, rate: 25 });
  assert.equal(answers.length, 12);
  assert.equal(server.received.length, 12);
  assert.ok(times.at(-1)! - times[0]! > 500, `${times.at(-1)! - times[0]!} ms`);
});

test('however a load is dealt out, its sums are those asked for, and no connection is without its share', () => {
  const size = fc.integer({ min: 1, max: 2_000 });
  fc.assert(
    fc.property(size, fc.integer({ min: 1, max: 100 }), size, (amount, connections, rate) => {
      const parts = partsOf({ amount, connections, rate }, true);
      const sum = (of: 'amount' | 'connections' | 'rate') => parts.reduce((all, part) => all + part[of]!, 0);
      assert.deepEqual([sum('amount'), sum('connections'), sum('rate')], [amount, Math.min(amount, connections, rate), rate]);
      for (const part of parts) assert.ok(part.connections <= Math.min(part.amount, part.rate!), JSON.stringify(part));
    }),
  );
});
