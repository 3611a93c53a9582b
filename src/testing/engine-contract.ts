/** What any storage engine must do (engine.ts), as tests. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import type { Order } from '../domain/order.ts';
import { petStatuses, type NewPet } from '../domain/pet.ts';
import type { Engine, PageQuery } from '../engine.ts';
import { newSecret } from '../keys/secret.ts';
import { bytesOfBody } from './bytes.ts';

/** Opens a new and empty engine, which is closed at the end of the test. `now` is its clock. */
export type OpenEngine = (t: TestContext, now: () => number) => Promise<Engine>;

const noon = Date.UTC(2026, 10, 21, 12);
const minute = 60_000;
const hour = 60 * minute;
const all: PageQuery = { limit: 100, after: undefined, status: undefined };

const petOf = (index: number): NewPet => ({
  name: ['Rex', 'Żubr', '小花', '🐕', 'a "b"\\', '\ud800'][index % 6]!,
  categoryId: [1n, -(2n ** 63n), 2n ** 63n - 1n][index % 3]!,
  status: petStatuses[index % petStatuses.length]!,
});
const orderOf = (id: bigint, status: Order['status']): Order =>
  ({ id, petId: 1n, quantity: 1n, shipDate: undefined, status, complete: false });

/** Defines the tests of an engine. */
export function testEngine(name: string, open: OpenEngine): void {
  /** Opens an engine whose clock shows `clock.now`. */
  async function opened(t: TestContext) {
    const clock = { now: noon };
    const engine = await open(t, () => clock.now);
    const page = async (query: Partial<PageQuery> = {}) => {
      const { body, next } = await engine.pets.page({ ...all, ...query });
      return { ids: idsIn(bytesOfBody(body)), next };
    };
    const newKey = async (perMinute = 3, perDay = 1000) => {
      const secret = newSecret();
      const plan = { name: 'enterprise', perMinute, perDay } as const;
      const { key } = await engine.keys.create('shop', plan, null, clock.now, secret);
      return { secret, id: key.id };
    };
    const admit = (secret: string, waitedMs = 0, counts = true) =>
      engine.accounts.admit(secret, clock.now, waitedMs, counts);
    return { engine, clock, page, newKey, admit };
  }

  test(`${name}: an animal that was created is returned by get and by lists, byte for byte`, async (t) => {
    const { engine } = await opened(t);
    const created = [];
    for (let index = 0; index < 12; index++) created.push(await engine.pets.create(petOf(index)));
    for (const [index, { id, line }] of created.entries()) {
      const body = await engine.pets.get(String(id));
      assert.deepEqual(bytesOfBody(body!), Buffer.from(line));
      const { name: sent, ...rest } = JSON.parse(line) as { name: string };
      assert.equal(sent, petOf(index).name);
      assert.deepEqual(Object.keys(rest), ['id', 'categoryId', 'status']);
      assert.ok(line.includes(`"categoryId":${petOf(index).categoryId},`), 'without a loss of digits');
    }
    const { body } = await engine.pets.page(all);
    assert.deepEqual(Buffer.from(bytesOfBody(body).toString().replaceAll(',\n', ',')),
      Buffer.from(`[${created.map(({ line }) => line).join()}]`));
    assert.equal(await engine.pets.count(), 12);
    assert.equal(await engine.pets.writable(), true);
  });

  test(`${name}: ids are assigned in ascending order, each once, also to concurrent creates`, async (t) => {
    const { engine, page } = await opened(t);
    const created = await Promise.all(Array.from({ length: 50 }, (_, index) => engine.pets.create(petOf(index))));
    const ids = created.map(({ id }) => id).sort((a, b) => a - b);
    assert.equal(new Set(ids).size, 50);
    assert.deepEqual((await page()).ids, ids.map(String));
  });

  test(`${name}: a page begins after an id, has at most its limit, and names the last id if more follow`, async (t) => {
    const { engine, page } = await opened(t);
    const ids = [];
    for (let index = 0; index < 10; index++) ids.push(String((await engine.pets.create(petOf(index))).id));
    assert.deepEqual(await page({ limit: 3 }), { ids: ids.slice(0, 3), next: ids[2] });
    assert.deepEqual(await page({ limit: 3, after: ids[2]! }), { ids: ids.slice(3, 6), next: ids[5] });
    assert.deepEqual(await page({ limit: 4, after: ids[5]! }), { ids: ids.slice(6), next: null });
    assert.deepEqual(await page({ after: ids[9]! }), { ids: [], next: null });
    for (const after of ['0', '-0', '-9223372036854775808', '9223372036854775807']) {
      assert.deepEqual((await page({ after })).ids, after.startsWith('9') ? [] : ids, after);
    }
    for (const [index, status] of petStatuses.entries()) {
      const matching: string[] = ids.filter((_, i) => i % petStatuses.length === index);
      assert.deepEqual(await page({ status }), { ids: matching, next: null });
      assert.deepEqual(await page({ status, limit: 2 }), { ids: matching.slice(0, 2), next: matching[1] });
      assert.deepEqual(await page({ status, limit: 1, after: matching[1]! }), {
        ids: matching.slice(2, 3), next: matching.length > 3 ? matching[2] : null,
      });
    }
  });

  test(`${name}: there is no animal with another id`, async (t) => {
    const { engine } = await opened(t);
    const { id } = await engine.pets.create(petOf(0));
    for (const other of [id + 1, 0, -id, '-0', '9223372036854775807', '-9223372036854775808']) {
      assert.equal(await engine.pets.get(String(other)), null, String(other));
    }
  });

  test(`${name}: orders are added once, and listed by id and status`, async (t) => {
    const { engine } = await opened(t);
    const given = [orderOf(7n, 'placed'), orderOf(-(2n ** 63n), 'approved'), orderOf(2n ** 63n - 1n, 'placed')];
    await engine.addOrders(given);
    await engine.addOrders([orderOf(8n, 'placed')]);
    assert.equal(await engine.orders.count(), 3);
    const page = async (query: Partial<PageQuery>) => {
      const { body, next } = await engine.orders.page({ ...all, ...query });
      return [...idsIn(bytesOfBody(body)), next];
    };
    const [low, high] = ['-9223372036854775808', '9223372036854775807'];
    assert.deepEqual(await page({}), [low, '7', high, null]);
    assert.deepEqual(await page({ limit: 1, status: 'placed' }), ['7', '7']);
    assert.deepEqual(await page({ after: '7', status: 'placed' }), [high, null]);
    assert.deepEqual(await page({ status: 'delivered' }), [null]);
  });

  test(`${name}: a key is found by its secret only, until it expires or is revoked`, async (t) => {
    const { engine, clock, admit } = await opened(t);
    const [first, second] = [newSecret(), newSecret()];
    const { key } = await engine.keys.create('a', { name: 'pro' }, noon + hour, noon, first);
    assert.equal((await admit(first))!.key, key.id);
    assert.equal((await admit(first))!.name, 'a');
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
    await assert.rejects(engine.keys.rotate(key.id, 0, clock.now, newSecret()), { name: 'Error', exitCode: 1 });
    await engine.keys.revoke(key.id, clock.now);
    clock.now = noon;
    assert.equal(await admit(second), null, 'the key is revoked');
    await assert.rejects(engine.keys.revoke(key.id, noon), { exitCode: 1 });
    await assert.rejects(engine.keys.setPlan('k99', { name: 'pro' }, noon), { exitCode: 1 });
    await assert.rejects(async () => engine.keys.usage('k99', noon), { exitCode: 1 });
    const [listed] = await engine.keys.list();
    assert.deepEqual([listed!.id, listed!.name, listed!.revokedAt], [key.id, 'a', noon + hour]);
  });

  test(`${name}: a key admits as many requests as its plan, also concurrent ones`, async (t) => {
    const { clock, engine, newKey, admit } = await opened(t);
    const { secret, id } = await newKey(3);
    assert.deepEqual((await admit(secret, 0, false))!.limits.remaining, 3, 'a request that does not count');
    const sent = await Promise.all(Array.from({ length: 5 }, () => admit(secret)));
    assert.deepEqual(sent.map((one) => one!.limits.refusedBy).sort(), [null, null, null, 'window', 'window']);
    assert.deepEqual(sent.map((one) => one!.limits.remaining).sort(), [0, 0, 0, 1, 2]);
    assert.equal(sent[0]!.limits.reset, (noon + minute) / 1000);
    assert.equal(sent[0]!.time, noon);
    clock.now += minute;
    assert.equal((await admit(secret))!.limits.refusedBy, null);
    const [usage] = await engine.keys.usage(id, clock.now);
    assert.deepEqual([usage!.minute.used, usage!.day.used, usage!.ban, usage!.isBanned], [1, 4, null, false]);
    await engine.keys.setPlan(id, { name: 'enterprise', perMinute: 9, perDay: 6 }, clock.now);
    const { limits } = (await admit(secret))!;
    assert.deepEqual([limits.window, limits.limit, limits.remaining], ['day', 6, 1]);
  });

  test(`${name}: the refusal that bans a key says so once, and the ban can be lifted`, async (t) => {
    const { clock, engine, newKey, admit } = await opened(t);
    const { secret, id } = await newKey(1);
    await admit(secret);
    const began = [];
    for (let sent = 0; sent < 70; sent++) {
      const { limits } = (await admit(secret))!;
      if (limits.began !== undefined) began.push(limits.began);
      clock.now += 50;
    }
    assert.equal(began.length, 0, 'requests within 2 s of the first refusal may have been in flight');
    for (let sent = 0; sent < 100; sent++) {
      const { limits } = (await admit(secret))!;
      if (limits.began !== undefined) began.push(limits.began);
    }
    assert.equal(began.length, 1);
    const ban = began[0]!;
    assert.equal(ban.end - ban.start, 5 * minute);
    const { limits } = (await admit(secret))!;
    assert.deepEqual([limits.refusedBy, limits.remaining, limits.reset], ['ban', 0, ban.end / 1000]);
    const [usage] = await engine.keys.usage(null, clock.now);
    assert.deepEqual([usage!.key.id, usage!.ban, usage!.isBanned], [id, ban, true]);
    assert.equal((await engine.figures()).bannedKeys, 1);
    const lifted = await engine.keys.unban(id, clock.now);
    assert.deepEqual([lifted.key.id, lifted.unbanned], [id, true]);
    assert.equal((await engine.keys.unban(id, clock.now)).unbanned, false);
    assert.equal((await admit(secret))!.limits.refusedBy, 'window');
    assert.equal((await engine.figures()).bannedKeys, 0);
  });

  test(`${name}: the figures agree with what was stored`, async (t) => {
    const { engine } = await opened(t);
    assert.equal(engine.progress, 100);
    await engine.pets.create(petOf(0));
    await engine.addOrders([orderOf(1n, 'placed')]);
    const { animals, orders, creates, metrics } = await engine.figures();
    assert.deepEqual([animals, orders, creates!.refusal], [1, 1, null]);
    const names = metrics.map((metric) => metric.name);
    assert.equal(new Set(names).size, names.length);
    for (const { type, name: metric, help, value } of metrics) {
      assert.match(metric, type === 'counter' ? /^petstore_[a-z_]+_total$/ : /^petstore_[a-z_]+$/);
      assert.ok(help !== '' && Number.isFinite(value), metric);
    }
  });
}

/** The ids in a JSON array of records, in decimal. */
function idsIn(body: Buffer): string[] {
  return [...body.toString().matchAll(/(?<=^\[|\},\n?)\{"id":(-?\d+),/g)].map(([, id]) => id!);
}
