/** Who is banned, and who is not: by when requests arrive, over real sockets, with a clock that the test holds. */
import assert from 'node:assert/strict';
import type { TestContext } from 'node:test';
import { auth, burst, free, freePerMinute, header, limits, minute, noon, openShop, second, statuses, type Shop } from './testing/shop.ts';
import { get, post, test, type Client } from './testing/wire.ts';

test('nobody is banned for what was in flight, nor for waking at Retry-After, at any concurrency', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key({ name: 'enterprise', perMinute: 60, perDay: 1e6 });
  for (let round = 0; round < 3; round += 1) {
    const answers = await burst(shop, secret, 500);
    assert.deepEqual([statuses(answers, 200), statuses(answers, 429)], [60, 440]);
    for (const answer of answers) if (answer.status === 429) assert.match(answer.body, /"code":"rate_limited"/);
    const wait = header(answers.find(({ status }) => status === 429)!, 'retry-after');
    shop.now += second;
    assert.equal(statuses(await burst(shop, secret, 200), 429), 200);
    shop.now += (wait - 1) * second;
  }
});

test('one that goes on regardless is banned, told how long, and let in again then', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  await burst(shop, secret, freePerMinute + 1);
  shop.now += 30 * second; // the two that are forgiven, and more than this machine may stall
  const answers = await burst(shop, secret, 60);
  const banned = answers.filter(({ body }) => body.includes('key_banned'));
  assert.deepEqual([statuses(answers, 429), banned.length], [60, 1]);
  assert.deepEqual([...limits(banned[0]!), header(banned[0]!, 'retry-after')], [freePerMinute, 0, noon / second + 330, 300]);
  assert.match(banned[0]!.body, /"message":"The key is banned, as requests went on and on after 429; try again in 300 s\."/);
  shop.now = noon + 330 * second - 1;
  const still = await burst(shop, secret, 100);
  assert.equal(still.filter(({ body }) => body.includes('key_banned')).length, 100);
  assert.deepEqual([header(still[0]!, 'retry-after'), limits(still[0]!)[2]], [1, noon / second + 330]);
  shop.now += 1;
  assert.equal(statuses(await burst(shop, secret, 500), 200), freePerMinute);
  const { key } = await shop.keys.rotate('k2', 0, shop.now);
  assert.equal(shop.usage.limiter.usageOf(key.id, shop.now).ban?.lengthMs, 5 * minute);
});

/** A connection whose first request, a create, waits until `release`; `behind` it come others in the same piece. */
async function busyConnection(t: TestContext, shop: Shop, ...behind: string[]): Promise<{ client: Client; release: () => Promise<void> }> {
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
  await client.send(post('/v1/pets', auth(shop.secret), 'Content-Type: application/json', `Content-Length: ${body.length}`), body, ...behind);
  return {
    client,
    release: async () => {
      release();
      assert.equal((await client.answer('POST')).status, 201);
    },
  };
}

test('a request arrives when its head does, not when its turn comes', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  await burst(shop, secret, freePerMinute + 1);
  shop.now += second;
  const { client, release } = await busyConnection(t, shop, get('/v1/pets', auth(secret)).repeat(62));
  await shop.call('OPTIONS', '*', { key: null }); // its head was read after theirs
  shop.now += 30 * second;
  await release();
  for (let i = 0; i < 62; i += 1) assert.match((await client.answer()).body, /rate_limited/);
  await client.send(...Array.from({ length: 60 }, () => get('/v1/pets', auth(secret))));
  for (let i = 0; i < 59; i += 1) assert.match((await client.answer()).body, /rate_limited/);
  assert.match((await client.answer()).body, /key_banned/);
});

test('however long a busy server takes to come to them, requests that were there together arrived together', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  const clients = Array.from({ length: 200 }, () => shop.connect());
  const all = async (key: string): Promise<string[]> => {
    for (const client of clients) void client.send(get('/v1/pets', auth(key)));
    const answers = await Promise.all(clients.map((client) => client.answer()));
    return answers.map(({ status, body }) => (status === 200 ? '200' : (JSON.parse(body) as { code: string }).code)).sort();
  };
  await all(shop.secret);
  const admit = shop.usage.limiter.admitKey.bind(shop.usage.limiter);
  t.mock.method(shop.usage.limiter, 'admitKey', (...args: Parameters<typeof admit>) => {
    shop.now += 200; // so long it takes for one
    return admit(...args);
  });
  assert.deepEqual(await all(secret), [...Array<string>(freePerMinute).fill('200'), ...Array<string>(140).fill('rate_limited')]);
});

test('a connection\'s first request is under way from when the connection is opened, for 5 s', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  const early = Array.from({ length: 100 }, () => shop.connect());
  await Promise.all(early.map((client) => client.accepted()));
  await burst(shop, secret, freePerMinute + 1);
  shop.now += 5 * second;
  for (const client of early.slice(0, 40)) {
    await client.send(get('/v1/pets', auth(secret)));
    assert.match((await client.answer()).body, /rate_limited/);
  }
  shop.now += 25 * second;
  for (const client of early.slice(40)) await client.send(get('/v1/pets', auth(secret)));
  const late = await Promise.all(early.slice(40).map((client) => client.answer()));
  assert.equal(late.filter(({ body }) => body.includes('key_banned')).length, 1);
});

test('what comes while too many requests wait for their turn arrived with them', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  const { client, release } = await busyConnection(t, shop, get('/v1/pets', auth(secret)).repeat(80));
  await burst(shop, secret, freePerMinute + 1);
  await client.send(get('/v1/pets', auth(secret)).repeat(70)); // nobody reads it yet
  shop.now += 4 * second;
  await release();
  for (let i = 0; i < 150; i += 1) assert.match((await client.answer()).body, /rate_limited/);
});

test('what waits in the socket arrived with what was read before it', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  // More than are read before their turn, and not more than the kernel holds of the rest.
  const train = 170;
  const { client, release } = await busyConnection(t, shop, get('/v1/pets', auth(secret), `X: ${'x'.repeat(600)}`).repeat(train));
  await burst(shop, secret, freePerMinute + 1);
  shop.now += 4 * second;
  await release();
  for (let i = 0; i < train; i += 1) assert.match((await client.answer()).body, /rate_limited/);
  await shop.call('OPTIONS', '*', { key: null }); // some turns of the event loop: nothing waits any more
  for (let i = 0; i < 60; i += 1) {
    await client.send(get('/v1/pets', auth(secret)));
    assert.match((await client.answer()).body, i < 59 ? /rate_limited/ : /key_banned/, String(i));
  }
});

test('one that goes on by pipelining is banned, too: at rest between its batches, or never', async (t) => {
  const shop = await openShop(t);
  const batch = (key: string): string => get('/v1/pets', auth(key)).repeat(70);
  const codes = async (client: Client): Promise<string> => {
    let all = '';
    for (let i = 0; i < 70; i += 1) all += (await client.answer()).body;
    return all;
  };
  const [resting, restless] = [await shop.key(free), await shop.key(free)];
  const client = shop.connect();
  await codes(await client.send(batch(resting)));
  shop.now += 4 * second;
  await shop.call('OPTIONS', '*', { key: null });
  assert.match(await codes(await client.send(batch(resting))), /key_banned/);

  shop.now = noon + minute;
  const other = shop.connect();
  let sent = 1;
  await other.send(batch(restless));
  for (let seconds = 1; ; seconds += 1) {
    assert.ok(seconds < 12, 'not banned in 12 s');
    await other.send(batch(restless)); // before the answers to the last are read
    sent += 1;
    if ((await codes(other)).includes('key_banned')) break;
    shop.now += second;
  }
  assert.ok(sent > 4, 'what may have waited is forgiven');
});
