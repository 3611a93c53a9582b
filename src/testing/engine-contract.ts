/** What any storage engine must do (engine.ts), as tests. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { Order } from '../domain/order.ts';
import { petStatuses, type NewPet } from '../domain/pet.ts';
import type { Engine, PageQuery, Records } from '../engine.ts';
import { newSecret } from '../keys/secret.ts';
import { bytesOfBody } from './bytes.ts';

/** An engine that is prepared and loaded. */
export interface OpenEngine {
  readonly engine: Engine;
  /** Closes and releases the engine, and opens another one on the same data. */
  reopen(): Promise<OpenEngine>;
}

/** Opens a new and empty engine, whose clock is `now`. The last one that is open is closed at the end of the test. */
export type Open = (t: TestContext, now: () => number) => Promise<OpenEngine>;

const noon = Date.UTC(2026, 10, 21, 12);
const minute = 60_000;
const hour = 60 * minute;
const all: PageQuery = { limit: 100, after: undefined, status: undefined };

const petOf = (index: number): NewPet => ({
  name: ['Rex', 'Żubr', '小花', '🐕', 'a "b"\\', '\ud800', 'a\0b', '', 'x'.repeat(1000)][index % 9]!,
  categoryId: [1n, -(2n ** 63n), 2n ** 63n - 1n][index % 3]!,
  status: petStatuses[index % petStatuses.length]!,
});
const orderOf = (id: bigint, status: Order['status']): Order =>
  ({ id, petId: 1n, quantity: 1n, shipDate: undefined, status, complete: false });

/** The ids in a JSON array of records, in decimal. */
async function pageOf(records: Records, query: Partial<PageQuery> = {}) {
  const { body, next } = await records.page({ ...all, ...query });
  const ids = [...bytesOfBody(body).toString().matchAll(/(?<=^\[|\},\n?)\{"id":(-?\d+),/g)].map(([, id]) => id!);
  return { ids, next };
}

/** What a test uses. */
interface Site {
  /** It can be replaced by `reopen`. */
  engine: Engine;
  reopen(): Promise<void>;
  readonly clock: { now: number };
  /** Adds a key, and returns its secret and its id. */
  newKey(perMinute?: number): Promise<{ secret: string; id: string }>;
  admit(secret: string, waitedMs?: number, counts?: boolean): ReturnType<Engine['accounts']['admit']>;
  /** Sends requests with an exhausted key until it is banned, at the time of the clock. Returns the ban. */
  banned(secret: string): Promise<{ readonly start: number; readonly end: number }>;
}

/** The tests by their names. Each must fail on an engine that violates what its name says. */
export const cases: Readonly<Record<string, (site: Site) => Promise<void>>> = {
  async 'an animal that was created is returned by get and by lists, byte for byte'({ engine }) {
    const created = [];
    for (let index = 0; index < 18; index++) created.push(await engine.pets.create(petOf(index)));
    for (const [index, { id, line }] of created.entries()) {
      const bytes = Buffer.from(line, 'latin1');
      assert.deepEqual(bytesOfBody((await engine.pets.get(String(id)))!), bytes);
      const { name: sent, ...rest } = JSON.parse(bytes.toString()) as { name: string };
      assert.equal(sent, petOf(index).name);
      assert.deepEqual(Object.keys(rest), ['id', 'categoryId', 'status']);
      assert.ok(line.includes(`"categoryId":${petOf(index).categoryId},`), 'without a loss of digits');
    }
    const { body } = await engine.pets.page(all);
    const lines = created.map(({ line }) => line).join();
    assert.equal(bytesOfBody(body).toString('latin1').replaceAll('},\n{', '},{'), `[${lines}]`);
    assert.equal(await engine.pets.count(), 18);
    assert.equal(await engine.pets.writable(), true);
  },

  async 'ids ascend, also those of concurrent creates, and a page never gets an animal that was not on it'({ engine }) {
    let last = 0;
    for (let index = 0; index < 5; index++) {
      const { id } = await engine.pets.create(petOf(index));
      assert.ok(id > last, `${id} after ${last}`);
      last = id;
    }
    const pages: string[][] = [];
    const creating = Array.from({ length: 40 }, async (_, index) => {
      const created = await engine.pets.create(petOf(index));
      pages.push((await pageOf(engine.pets)).ids);
      return created;
    });
    const ids = (await Promise.all(creating)).map(({ id }) => id);
    const { ids: listed } = await pageOf(engine.pets);
    assert.equal(new Set(ids).size, 40);
    assert.deepEqual(listed.slice(5), ids.sort((a, b) => a - b).map(String));
    for (const page of pages) assert.deepEqual(page, listed.slice(0, page.length));
  },

  async 'a page begins after an id, has at most its limit, and names its last id if more follow'({ engine }) {
    const ids: string[] = [];
    for (let index = 0; index < 10; index++) ids.push(String((await engine.pets.create(petOf(index))).id));
    const page = (query: Partial<PageQuery>) => pageOf(engine.pets, query);
    assert.deepEqual(await page({ limit: 3 }), { ids: ids.slice(0, 3), next: ids[2] });
    assert.deepEqual(await page({ limit: 3, after: ids[2]! }), { ids: ids.slice(3, 6), next: ids[5] });
    assert.deepEqual(await page({ limit: 4, after: ids[5]! }), { ids: ids.slice(6), next: null });
    assert.deepEqual(await page({ after: ids[9]! }), { ids: [], next: null });
    for (const after of ['0', '-0', '-9223372036854775808', '9223372036854775807']) {
      assert.deepEqual((await page({ after })).ids, after.startsWith('9') ? [] : ids, after);
    }
    for (const [index, status] of petStatuses.entries()) {
      const matching = ids.filter((_, i) => i % petStatuses.length === index);
      assert.deepEqual(await page({ status }), { ids: matching, next: null });
      assert.deepEqual(await page({ status, limit: 2 }), { ids: matching.slice(0, 2), next: matching[1] });
      const next = matching.length > 3 ? matching[2] : null;
      assert.deepEqual(await page({ status, limit: 1, after: matching[1]! }), { ids: matching.slice(2, 3), next });
    }
  },

  async 'there is no animal with another id'({ engine }) {
    const { id } = await engine.pets.create(petOf(0));
    for (const other of [id + 1, 0, -id, '-0', '9223372036854775807', '-9223372036854775808']) {
      assert.equal(await engine.pets.get(String(other)), null, String(other));
    }
  },

  async 'orders are added once, and listed by id and status'({ engine }) {
    const [low, high] = [-(2n ** 63n), 2n ** 63n - 1n];
    await engine.addOrders([orderOf(7n, 'placed'), orderOf(low, 'approved'), orderOf(high, 'placed')]);
    await engine.addOrders([orderOf(8n, 'placed')]);
    assert.equal(await engine.orders.count(), 3);
    const page = (query: Partial<PageQuery>) => pageOf(engine.orders, query);
    assert.deepEqual(await page({}), { ids: [String(low), '7', String(high)], next: null });
    assert.deepEqual(await page({ limit: 1, status: 'placed' }), { ids: ['7'], next: '7' });
    assert.deepEqual(await page({ after: '7', status: 'placed' }), { ids: [String(high)], next: null });
    assert.deepEqual(await page({ status: 'delivered' }), { ids: [], next: null });
  },

  async 'a key is found by its secrets only, until they or the key expire or it is revoked'({ engine, clock, admit }) {
    const [first, second] = [newSecret(), newSecret()];
    const { key, unsynced } = await engine.keys.create('a', { name: 'pro' }, noon + hour, noon, first);
    const { key: other } = await engine.keys.create('b', { name: 'free' }, null, noon, newSecret());
    assert.equal(unsynced, null);
    const { key: id, name } = (await admit(first))!;
    assert.deepEqual([id, name], [key.id, 'a']);
    for (const secret of ['', key.id, 'a', `${first} `, first.slice(0, -1), newSecret(), '__proto__']) {
      assert.equal(await admit(secret), null, secret);
    }
    await engine.keys.rotate(key.id, minute, noon, second);
    assert.ok(await admit(first));
    clock.now += minute;
    assert.equal(await admit(first), null, 'the grace period has ended');
    assert.equal((await admit(second))!.key, key.id);
    clock.now = noon + hour;
    assert.equal(await admit(second), null, 'the key has expired');
    const refused = { name: 'Error', exitCode: 1 };
    await assert.rejects(engine.keys.rotate(key.id, 0, clock.now, newSecret()), refused);
    await engine.keys.revoke(key.id, clock.now);
    clock.now = noon;
    assert.equal(await admit(second), null, 'the key is revoked');
    await assert.rejects(engine.keys.revoke(key.id, noon), refused);
    await assert.rejects(engine.keys.rotate(key.id, 0, noon, newSecret()), refused);
    await assert.rejects(engine.keys.setPlan(key.id, { name: 'pro' }, noon), refused);
    await assert.rejects(engine.keys.setPlan('k99', { name: 'pro' }, noon), refused);
    await assert.rejects(engine.keys.unban('k99', noon), refused);
    await assert.rejects(async () => engine.keys.get('k99'), refused);
    const listed = (await engine.keys.list()).map((one) => [one.id, one.name, one.revokedAt]);
    assert.deepEqual(listed, [[key.id, 'a', noon + hour], [other.id, 'b', null]]);
  },

  async 'a key admits as many requests as its plan, also concurrent ones'({ engine, clock, newKey, admit }) {
    const { secret, id } = await newKey(3);
    assert.equal((await admit(secret, 0, false))!.limits.remaining, 3, 'a request that does not count');
    const sent = await Promise.all(Array.from({ length: 5 }, () => admit(secret)));
    assert.deepEqual(sent.map((one) => one!.limits.refusedBy).sort(), [null, null, null, 'window', 'window']);
    assert.deepEqual(sent.map((one) => one!.limits.remaining).sort(), [0, 0, 0, 1, 2]);
    assert.deepEqual([sent[0]!.limits.reset, sent[0]!.time], [(noon + minute) / 1000, noon]);
    assert.equal((await admit(secret, 0, false))!.limits.refusedBy, null, 'one that does not count is not refused');
    clock.now += minute;
    assert.equal((await admit(secret))!.limits.refusedBy, null);
    const { minute: { used }, day, ban, isBanned } = await engine.keys.usage(await engine.keys.get(id), clock.now);
    assert.deepEqual([used, day.used, ban, isBanned], [1, 4, null, false]);
    await engine.keys.setPlan(id, { name: 'enterprise', perMinute: 9, perDay: 6 }, clock.now);
    const { limits } = (await admit(secret))!;
    assert.deepEqual([limits.window, limits.limit, limits.remaining], ['day', 6, 1]);
  },

  async 'only refusals of requests that arrived 2 s after the first one lead to a ban'({ clock, newKey, admit }) {
    const { secret } = await newKey(1);
    await admit(secret);
    await admit(secret);
    clock.now += 10_000;
    for (let sent = 0; sent < 100; sent++) assert.equal((await admit(secret, 8_001))!.limits.refusedBy, 'window');
    const began = [];
    for (let sent = 0; sent < 60; sent++) began.push((await admit(secret, 7_000))!.limits.began !== undefined);
    assert.equal(began.indexOf(true), 59);
  },

  async 'the refusal that bans a key says so once; the next ban is longer; a ban can be lifted'(site) {
    const { engine, clock, newKey, admit, banned } = site;
    const { secret, id } = await newKey(1);
    const first = await banned(secret);
    assert.equal(first.end - first.start, 5 * minute);
    for (let sent = 0; sent < 100; sent++) {
      const { limits } = (await admit(secret))!;
      assert.deepEqual([limits.refusedBy, limits.remaining, limits.began], ['ban', 0, undefined]);
      assert.equal(limits.reset, first.end / 1000);
    }
    assert.equal((await admit(secret, 0, false))!.limits.refusedBy, null, 'a request that does not count');
    clock.now = first.end;
    const second = await banned(secret);
    assert.equal(second.end - second.start, 10 * minute);
    const { key, ban, isBanned } = await engine.keys.usage(await engine.keys.get(id), clock.now);
    assert.deepEqual([key.id, ban, isBanned], [id, second, true]);
    assert.equal((await engine.figures()).bannedKeys, 1);
    const lifted = await engine.keys.unban(id, clock.now);
    assert.deepEqual([lifted.key.id, lifted.unbanned], [id, true]);
    assert.equal((await engine.keys.unban(id, clock.now)).unbanned, false);
    assert.notEqual((await admit(secret))!.limits.refusedBy, 'ban');
    assert.equal((await engine.figures()).bannedKeys, 0);
  },

  async 'the activity lists the busiest and the banned keys, and no revoked one'(site) {
    const { engine, clock, newKey, admit, banned } = site;
    const keys = [];
    for (const requests of [0, 2, 3, 1]) {
      const key = await newKey(9);
      for (let sent = 0; sent < requests; sent++) await admit(key.secret);
      keys.push(key);
    }
    const loud = [await newKey(1), await newKey(1)];
    const bans = [await banned(loud[0]!.secret)];
    clock.now += 1_000;
    bans.push(await banned(loud[1]!.secret));
    await engine.keys.revoke(keys[2]!.id, clock.now);
    const { requests, bannedKeys, busiest, banned: listed } = await engine.keys.activity(2, clock.now);
    assert.deepEqual([requests.minute, requests.day, bannedKeys], [8, 8, 2]);
    assert.deepEqual(busiest.map(({ key, minute: { used } }) => [key.id, used]), [[keys[1]!.id, 2], [keys[3]!.id, 1]]);
    assert.deepEqual(listed.map(({ key, ban }) => [key.id, ban]), [[loud[1]!.id, bans[1]], [loud[0]!.id, bans[0]]]);
    assert.equal((await engine.keys.activity(1, clock.now)).banned.length, 1);
  },

  async 'the figures agree with what was stored'({ engine }) {
    assert.equal(engine.progress, 100);
    await engine.pets.create(petOf(0));
    await engine.addOrders([orderOf(1n, 'placed')]);
    const { animals, orders, creates, metrics } = await engine.figures();
    assert.deepEqual([animals, orders, creates!.refusal], [1, 1, null]);
    const names = metrics.map((metric) => metric.name);
    const own = ['petstore_animals', 'petstore_orders', 'petstore_ready', 'petstore_keys_banned', 'petstore_bans_total'];
    assert.equal(new Set([...names, ...own]).size, names.length + own.length);
    for (const { type, name, help, value } of metrics) {
      assert.match(name, type === 'counter' ? /^petstore_[a-z_]+_total$/ : /^petstore_[a-z_]+$/);
      assert.ok(help !== '' && Number.isFinite(value), name);
    }
  },

  async 'everything is there after the engine was closed and opened again'(site) {
    const { clock, newKey, admit, banned } = site;
    const { id, line } = await site.engine.pets.create(petOf(4));
    await site.engine.addOrders([orderOf(3n, 'approved')]);
    const [quiet, loud] = [await newKey(9), await newKey(1)];
    await admit(quiet.secret);
    const ban = await banned(loud.secret);
    await site.reopen();
    const { engine } = site;
    assert.deepEqual(bytesOfBody((await engine.pets.get(String(id)))!), Buffer.from(line, 'latin1'));
    assert.ok((await engine.pets.create(petOf(0))).id > id);
    await engine.addOrders([orderOf(8n, 'placed')]);
    assert.deepEqual((await pageOf(engine.orders)).ids, ['3']);
    assert.deepEqual((await engine.keys.list()).map((key) => key.id), [quiet.id, loud.id]);
    const { day } = await engine.keys.usage(await engine.keys.get(quiet.id), clock.now);
    assert.equal(day.used, 1);
    const { limits } = (await admit(loud.secret))!;
    assert.deepEqual([limits.refusedBy, limits.reset, limits.began], ['ban', ban.end / 1000, undefined]);
  },
};

/** Runs one of the tests on a new engine. */
export async function runCase(t: TestContext, open: Open, run: (site: Site) => Promise<void>): Promise<void> {
  const clock = { now: noon };
  let opened = await open(t, () => clock.now);
  const site: Site = {
    engine: opened.engine,
    clock,
    async reopen() {
      opened = await opened.reopen();
      site.engine = opened.engine;
    },
    async newKey(perMinute = 3) {
      const secret = newSecret();
      const plan = { name: 'enterprise', perMinute, perDay: 1000 } as const;
      const { key } = await site.engine.keys.create('shop', plan, null, clock.now, secret);
      return { secret, id: key.id };
    },
    admit: (secret, waitedMs = 0, counts = true) => site.engine.accounts.admit(secret, clock.now, waitedMs, counts),
    async banned(secret) {
      for (let sent = 0; sent < 1000; sent++) {
        const { limits } = (await site.admit(secret))!;
        if (limits.began !== undefined) {
          assert.equal(limits.refusedBy, 'ban');
          return limits.began;
        }
        if (sent === 1) clock.now += 3_000; // after the first refusal
      }
      return assert.fail('1,000 requests do not ban a key');
    },
  };
  await run(site);
}

/** Defines the tests of an engine. */
export function testEngine(name: string, open: Open): void {
  for (const [title, run] of Object.entries(cases)) test(`${name}: ${title}`, (t) => runCase(t, open, run));
}
