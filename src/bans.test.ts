/** Which clients are banned, depending on when their requests arrive: over real sockets, with a settable clock. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import {
  auth, burst, countStatus, free, freePerMinute, header, limits, minute, noon, openShop, second, type Shop,
} from './testing/shop.ts';
import { get, post, testOnce as test, type Client } from './testing/wire.ts';

test('requests in flight, and workers that wake together after Retry-After, cause no ban', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key({ name: 'enterprise', perMinute: 60, perDay: 1e6 });
  for (let round = 0; round < 3; round += 1) {
    const responses = await burst(shop, secret, 200);
    assert.deepEqual([countStatus(responses, 200), countStatus(responses, 429)], [60, 140]);
    for (const response of responses) if (response.status === 429) assert.match(response.body, /"code":"rate_limited"/);
    const wait = header(responses.find(({ status }) => status === 429)!, 'retry-after');
    shop.now += second;
    assert.equal(countStatus(await burst(shop, secret, 100), 429), 100);
    shop.now += (wait - 1) * second;
  }
});

test('a client that ignores 429 is banned, receives the time to wait, and is admitted afterwards', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  await burst(shop, secret, freePerMinute + 1);
  shop.now += 30 * second; // more than the 2 s of grace and any stall of this machine
  const responses = await burst(shop, secret, 60);
  const banned = responses.filter(({ body }) => body.includes('key_banned'));
  assert.deepEqual([countStatus(responses, 429), banned.length], [60, 1]);
  assert.deepEqual(
    [...limits(banned[0]!), header(banned[0]!, 'retry-after')],
    [freePerMinute, 0, noon / second + 330, 300],
  );
  assert.match(
    banned[0]!.body,
    /"message":"The key is banned because too many requests were sent after a 429; try again in 300 s\."/,
  );
  shop.now = noon + 330 * second - 1;
  const still = await burst(shop, secret, 20);
  assert.equal(still.filter(({ body }) => body.includes('key_banned')).length, 20);
  assert.deepEqual([header(still[0]!, 'retry-after'), limits(still[0]!)[2]], [1, noon / second + 330]);
  shop.now += 1;
  assert.equal(countStatus(await burst(shop, secret, 100), 200), freePerMinute);
  const { key } = await shop.keys.rotate('k2', 0, shop.now);
  const { start, end } = shop.usage.limiter.usageOf(key.id, shop.now).ban!;
  assert.equal(end - start, 5 * minute);
});

/** Opens a connection whose first request, a create, waits until `release`. The requests `behind` follow at once. */
async function busyConnection(
  t: TestContext,
  shop: Shop,
  ...behind: string[]
): Promise<{ client: Client; release: () => Promise<void> }> {
  const { pets } = shop;
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  const create = pets.create.bind(pets);
  t.mock.method(pets, 'create', async (pet: Parameters<typeof create>[0]) => {
    await held;
    return create(pet);
  });
  const body = '{"name":"a","categoryId":1}';
  const client = shop.connect();
  await client.send(
    post('/v1/pets', auth(shop.secret), 'Content-Type: application/json', `Content-Length: ${body.length}`),
    body,
    ...behind,
  );
  return {
    client,
    release: async () => {
      release();
      assert.equal((await client.response('POST')).status, 201);
    },
  };
}

test('the arrival of a pipelined request is when its head arrives, not when its turn comes', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  await burst(shop, secret, freePerMinute + 1);
  shop.now += second;
  const { client, release } = await busyConnection(t, shop, get('/v1/pets', auth(secret)).repeat(62));
  await shop.call('OPTIONS', '*', { key: null }); // its head was read after those of the pipelined requests
  shop.now += 30 * second;
  await release();
  for (let i = 0; i < 62; i += 1) assert.match((await client.response()).body, /rate_limited/);
  await client.send(...Array.from({ length: 60 }, () => get('/v1/pets', auth(secret))));
  for (let i = 0; i < 59; i += 1) assert.match((await client.response()).body, /rate_limited/);
  assert.match((await client.response()).body, /key_banned/);
});

test('requests that a stalled server reads more than 2 s after the first refusal count', async (t) => {
  for (const [stalledMs, banned] of [[2 * second, false], [2 * second + 1, true]] as const) {
    const shop = await openShop(t);
    const secret = await shop.key(free);
    const clients = Array.from({ length: freePerMinute + 60 }, () => shop.connect());
    for (const client of clients) await client.serverSocket();
    let admitted = 0;
    const admit = shop.usage.limiter.admitKey.bind(shop.usage.limiter);
    t.mock.method(shop.usage.limiter, 'admitKey', (...args: Parameters<typeof admit>) => {
      admitted += 1;
      if (admitted === freePerMinute + 2) shop.now += stalledMs; // after the first refusal
      const [id, limits, , waitedMs] = args;
      return admit(id, limits, shop.now, waitedMs);
    });
    const codes = await Promise.all(
      clients.map(async (client) => (await (await client.send(get('/v1/pets', auth(secret)))).response()).body),
    );
    assert.equal(codes.filter((body) => body.includes('rate_limited')).length, 60);
    const next = await shop.get(secret);
    assert.match(next.body, banned ? /key_banned/ : /rate_limited/);
  }
});

test('a client that ignores 429 by pipelining is banned too', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  const client = shop.connect();
  const codes: string[] = [];
  for (let batch = 0; batch < 3; batch += 1) {
    await client.send(get('/v1/pets', auth(secret)).repeat(70));
    let all = '';
    for (let i = 0; i < 70; i += 1) all += (await client.response()).body;
    codes.push(/rate_limited|key_banned/g.exec(all.slice(all.lastIndexOf('"code"')))?.[0] ?? '');
    shop.now += 4 * second;
  }
  assert.deepEqual(codes, ['rate_limited', 'key_banned', 'key_banned']);
});
