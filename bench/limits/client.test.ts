/** The client: how many requests it sends, and what it returns. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { systemClock } from '../../conformance/client/clock.ts';
import { scripted } from '../../conformance/testing/servers.ts';
import { NoRequestsLeft, NoResponse } from '../../conformance/client/client.ts';
import { LimitsClient, type ClientOptions } from './client.ts';
import { operations } from './operations.ts';
import type { Response } from './responses.ts';

const key = { secret: 'test_Kb7rT2xVq9KdLw4sHc8NpZa3', own: false, quiet: false };

function client(baseUrl: string, options: Partial<ClientOptions> = {}): LimitsClient {
  const signal = new AbortController().signal;
  const made = new LimitsClient({ baseUrl, clock: systemClock, signal, paced: false, ...options });
  made.budget = 10_000;
  return made;
}

test('exactly as many requests as requested, on as many connections, with the key and without', async (t) => {
  const sockets = new Set<unknown>();
  const received: Response[] = [];
  const server = await scripted(t, (_, response) => {
    sockets.add(response.socket);
    response
      .writeHead(200, { 'X-RateLimit-Limit': '60', 'X-RateLimit-Remaining': '7', 'X-RateLimit-Reset': '1795262460' })
      .end('[]');
  });
  const sender = client(server.baseUrl);
  for (const [amount, connections] of [
    [63, 10],
    [7, 10],
    [1, 1],
  ] as const) {
    sockets.clear();
    const before = server.received.length;
    const { responses, lost } = await sender.send({ key, amount, connections });
    received.push(...responses);
    assert.deepEqual([responses.length, lost, server.received.length - before], [amount, 0, amount]);
    assert.equal(sockets.size, Math.min(amount, connections));
    assert.equal(responses.filter(({ isReused }) => !isReused).length, sockets.size);
  }
  await sender.send({ key: undefined, amount: 3, connections: 2 });
  assert.deepEqual(sender.sent, { withKey: 71, withoutKey: 3 });
  const numbers = received.map(({ number }) => number).sort((a, b) => a - b);
  assert.deepEqual(numbers, Array.from({ length: 71 }, (_, i) => i + 1), 'its requests are numbered across all loads');
  assert.ok(received.every(({ number, ended, sentBy }) => ended < number && number <= sentBy));
  assert.deepEqual([received.at(-1)!.ended, received.at(-1)!.sentBy], [70, 71]);
  assert.deepEqual(received[0]!.rateLimits, { limit: 60, remaining: 7, reset: 1_795_262_460 });
  assert.ok(received[0]!.latencyMs > 0);
  assert.deepEqual(
    [server.received[0]!.url, server.received[0]!.headers.authorization, server.received.at(-1)!.headers.authorization],
    ['/v1/pets?limit=1', `Bearer ${key.secret}`, undefined],
  );
});

test('a load that exceeds the budget is not started', async (t) => {
  const server = await scripted(t, (_, response) => void response.end('[]'));
  const sender = client(server.baseUrl);
  sender.budget = 30;
  await sender.send({ key, amount: 20, connections: 4 });
  await assert.rejects(sender.send({ key, amount: 11, connections: 4 }), NoRequestsLeft);
  assert.equal(server.received.length, 20);
  await sender.send({ key, amount: 10, connections: 1 });
  await assert.rejects(
    sender.send({ key, amount: 1, connections: 1 }),
    /^NoRequestsLeft: 1 more request would exceed the 30 announced$/,
  );
  assert.equal(server.received.length, 30);
});

test('after the longest duration of a load, no request is sent, and those that were not are not lost', async (t) => {
  let ms = 0;
  const server = await scripted(t, (_, response) => {
    ms += 100;
    response.end('[]');
  });
  const sender = client(server.baseUrl, { stopwatch: () => ms });
  const { responses, lost } = await sender.send({ key, amount: 50, connections: 1, maxMs: 950 });
  assert.deepEqual([responses.length, lost, server.received.length], [10, 0, 10]);
});

test('a server that closes each connection after its response: every request gets one', async (t) => {
  const server = await scripted(t, (_, response) => void response.writeHead(200, { Connection: 'close' }).end('[]'));
  for (const load of [
    { amount: 40, connections: 4 },
    { amount: 12, connections: 5, rate: 25 },
  ]) {
    const before = server.received.length;
    const { responses, lost } = await client(server.baseUrl, { paced: true }).send({ key, ...load });
    assert.deepEqual([responses.length, lost, server.received.length - before], [load.amount, 0, load.amount]);
    assert.ok(responses.every(({ isReused }) => !isReused));
  }
});

test('a server that cuts connections: never more requests than requested, and the lost ones are counted', async (t) => {
  let cuts = true;
  const server = await scripted(t, (_, response) => {
    if (cuts && server.received.length % 3 === 0) response.destroy();
    else response.end('[]');
  });
  const sender = client(server.baseUrl);
  const { responses, lost } = await sender.send({ key, amount: 40, connections: 4 });
  const arrived = server.received.length;
  assert.ok(arrived <= 40 && arrived >= 15, `${arrived} arrived`);
  assert.ok(lost > 0 && responses.length > 0, `${responses.length} responses, ${lost} lost`);
  assert.equal(responses.length + lost, 40);
  cuts = false;
  const { responses: [next] } = await sender.send({ key, amount: 1, connections: 1 });
  const { number, ended, sentBy } = next!;
  assert.deepEqual([number, ended, sentBy], [41, 40, 41], 'lost requests count');
});

test('connections that are closed without a response: the next latency is that of a new connection', async (t) => {
  const server = await scripted(t, (_, response) => {
    if (server.received.length % 20 === 0) response.socket!.end();
    else setTimeout(() => response.end('[]'), 1);
  });
  const { responses, lost } = await client(server.baseUrl).send({ key, amount: 400, connections: 4 });
  assert.deepEqual([responses.length, lost], [380, 20]);
  const opened = responses.filter(({ isReused }) => !isReused).length;
  assert.ok(opened > 4 && opened <= 24, `the first four, and at most one for each that was ended: ${opened}`);
});

test('no server at all', async () => {
  const sender = client('http://127.0.0.1:1/v1');
  await assert.rejects(
    sender.send({ key, amount: 5, connections: 2 }),
    (error) => error instanceof NoResponse && /ECONNREFUSED/.test(error.message),
  );
});

test('a server that closes every connection: no response, and the reason', async (t) => {
  const server = createServer((socket) => socket.on('error', () => {}).end()).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const sender = client(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  await assert.rejects(
    sender.send({ key, amount: 5, connections: 2 }),
    (error) => error instanceof NoResponse && /socket hang up|ECONNRESET|EPIPE/.test(error.message),
  );
});

test('a load ends at the response that `until` accepts, and when the run is interrupted', async (t) => {
  const server = await scripted(t, async (_, response) => {
    await new Promise((resolve) => setTimeout(resolve, 5));
    response.writeHead(server.received.length > 10 ? 429 : 200).end('[]');
  });
  const { responses } = await client(server.baseUrl).send({
    key,
    amount: 1_000,
    connections: 1,
    until: ({ status }) => status === 429,
  });
  assert.ok(responses.length >= 11 && responses.length < 60, `${responses.length}`);
  const abort = new AbortController();
  const sender = client(server.baseUrl, { signal: abort.signal });
  const end = () => (abort.abort(), false);
  const sent = await sender.send({ key, amount: 1_000, connections: 1, until: end });
  assert.ok(sent.responses.length > 0 && sent.responses.length < 60, `${sent.responses.length}`);
  assert.deepEqual(await sender.send({ key, amount: 5, connections: 1 }), { responses: [], lost: 0, lateMs: 0 });
});

test('with a rate, latencies count from when the request was due, even after a stall', async (t) => {
  for (const [rate, expected] of [
    [10, [0, 0, 1_000, 900, 800]],
    [undefined, [0, 0, 1_000, 0, 0]],
  ] as const) {
    let now = 0;
    const server = await scripted(t, (_, response) => {
      if (server.received.length === 3) now += 1_000;
      response.end('[]');
    });
    const clock = { now: () => now, sleep: async (ms: number) => void (now += ms) };
    const sender = client(server.baseUrl, { clock, stopwatch: () => now, paced: true });
    const load = { key, amount: 5, connections: 1 };
    const { responses, lateMs } = await sender.send(rate === undefined ? load : { ...load, rate });
    assert.deepEqual([responses.map(({ latencyMs }) => latencyMs), lateMs], [expected, 0]);
  }
});

test('a sleep that ends late counts for the bench, not for the server', async (t) => {
  let now = 0;
  const server = await scripted(t, (_, response) => void response.end('[]'));
  const clock = { now: () => now, sleep: async (ms: number) => void (now += ms + 30) };
  const sender = client(server.baseUrl, { clock, stopwatch: () => now, paced: true });
  const { responses, lateMs } = await sender.send({ key, amount: 3, connections: 1, rate: 10 });
  assert.deepEqual([responses.map(({ latencyMs }) => latencyMs), lateMs], [[0, 0, 0], 30]);
});

test('wrong keys: every second request has a different wrong key of the same form', async (t) => {
  const server = await scripted(t, (_, response) => void response.writeHead(401).end('{}'));
  await client(server.baseUrl).send({ key: undefined, wrongLike: key, amount: 20, connections: 2 });
  const sent = server.received.map(({ headers }) => headers.authorization);
  const wrong = sent.filter((header) => header !== undefined);
  assert.equal(wrong.length, 10);
  assert.equal(new Set(wrong).size, 10);
  for (const header of wrong) {
    assert.match(header, /^Bearer test_[A-Z][a-z]\d[a-z]/);
    assert.ok(header.length === `Bearer ${key.secret}`.length && !header.includes(key.secret.slice(5)));
  }
});

test('what each operation sends, with the animal that was listed', async (t) => {
  const server = await scripted(t, (_, response) => void response.end('[]'));
  const sender = client(server.baseUrl);
  const pet = { id: 9_007_199_254_740_993n, name: 'Rex', categoryId: 3n };
  for (const request of Object.values(operations)) {
    sender.requestWith = (credential) => request(credential, pet);
    await sender.send({ key, amount: 1, connections: 1 });
  }
  assert.deepEqual(server.received.map(({ method, url, body }) => `${method} ${url} ${body.toString()}`), [
    'GET /v1/pets?limit=1 ',
    'GET /v1/pets/9007199254740993 ',
    'GET /v1/store/orders ',
    'POST /v1/pets {"name":"limits bench","categoryId":3}',
  ]);
});

test('a rate is spread evenly, and all requests are sent', async (t) => {
  const waits: number[] = [];
  const server = await scripted(t, (_, response) => void response.end('[]'));
  const clock = { now: () => 0, sleep: async (ms: number) => void waits.push(ms) };
  const { responses } = await client(server.baseUrl, { clock, stopwatch: () => 0, paced: true }).send({
    key,
    amount: 12,
    connections: 5,
    rate: 25,
  });
  assert.deepEqual([responses.length, server.received.length], [12, 12]);
  assert.deepEqual(
    waits.sort((a, b) => a - b),
    Array.from({ length: 11 }, (_, i) => (i + 1) * 40),
  );
});
