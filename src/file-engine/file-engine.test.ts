import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { bytesOf } from '../domain/byte-text.ts';
import type { Accounts, Engine, Records } from '../engine.ts';
import { cases, runCase, testEngine, type Open, type OpenEngine } from '../testing/engine-contract.ts';
import { lateEngine } from '../testing/late-engine.ts';
import { FileEngine } from './file-engine.ts';

/** Opens engines on a temporary folder. `served` returns the engine that a test sees. */
function opener(served: (engine: FileEngine) => Engine): Open {
  return async (t, now) => {
    let close = async (): Promise<void> => {};
    t.after(() => close()); // registered before the hook that removes the folder
    const folder = temporaryFolder(t);
    const open = async (): Promise<OpenEngine> => {
      const engine = new FileEngine(folder, (line) => assert.fail(line), { now });
      await engine.prepare();
      await engine.load();
      close = () => engine.close().then(() => engine.release());
      return { engine: served(engine), reopen: () => close().then(open) };
    };
    return open();
  };
}

testEngine('the file engine', opener((engine) => engine));
testEngine('a late engine', opener(lateEngine));

test('a start that is stopped after the animals were read writes no snapshot', async (t) => {
  const folder = temporaryFolder(t);
  const fill = new FileEngine(folder, assert.fail);
  await fill.load();
  await fill.pets.create({ name: 'Rex', categoryId: 1n, status: 'sold' });
  await fill.usage.close();
  await fill.pets.close();
  const stopped = new FileEngine(folder, assert.fail);
  const start = new AbortController();
  const loading = stopped.pets.load.bind(stopped.pets);
  t.mock.method(stopped.pets, 'load', async () => {
    await loading();
    start.abort();
  });
  const snapshot = t.mock.method(stopped.pets, 'snapshot');
  await assert.rejects(stopped.load(start.signal), { name: 'AbortError' });
  await stopped.close();
  assert.equal(snapshot.mock.callCount(), 0);
});

/** Returns the same engine with some members replaced. */
function replaced<T extends object>(of: T, members: Partial<T>): T {
  return new Proxy(of, {
    get(target, name) {
      if (Object.hasOwn(members, name)) return members[name as keyof T];
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

const withPets = (engine: FileEngine, members: Partial<Engine['pets']>): Engine =>
  replaced<Engine>(engine, { pets: replaced<Engine['pets']>(engine.pets, members) });
const withPage = (engine: FileEngine, change: (page: Awaited<ReturnType<Records['page']>>) => object): Engine =>
  withPets(engine, { page: (query) => ({ ...engine.pets.page(query), ...change(engine.pets.page(query)) }) });
const withAdmit = (engine: FileEngine, admit: Accounts['admit']): Engine =>
  replaced<Engine>(engine, { accounts: { admit } });
const withKeys = (engine: FileEngine, members: Partial<Engine['keys']>): Engine =>
  replaced<Engine>(engine, { keys: replaced<Engine['keys']>(engine.keys, members) });

/** Engines that each violate the contract in one way. */
const broken: Record<string, (engine: FileEngine) => Engine> = {
  'next is never there': (engine) => withPage(engine, () => ({ next: null })),
  'next is there after the last page': (engine) => withPage(engine, ({ next }) => ({ next: next ?? '1' })),
  'a page ignores the status': (engine) =>
    withPets(engine, { page: (query) => engine.pets.page({ ...query, status: undefined }) }),
  'a page begins with the id': (engine) => withPets(engine, {
    page: ({ after, ...query }) =>
      engine.pets.page({ ...query, after: after === undefined ? after : String(BigInt(after) - 1n) }),
  }),
  'a get finds another animal': (engine) => withPets(engine, { get: () => engine.pets.get('1') }),
  'a create resolves before the animal is stored': (engine) => withPets(engine, {
    create: async (pet) => {
      const id = engine.pets.count() + 1;
      void engine.pets.create(pet);
      return { id, line: bytesOf(`{"id":${id}}`), status: pet.status };
    },
  }),
  'the count is one too many': (engine) => withPets(engine, { count: () => engine.pets.count() + 1 }),
  'orders are never stored': (engine) => replaced<Engine>(engine, { addOrders: async () => {} }),
  'requests are not counted': (engine) =>
    withAdmit(engine, (secret, now, waited) => engine.accounts.admit(secret, now, waited, false)),
  'requests always count': (engine) =>
    withAdmit(engine, (secret, now, waited) => engine.accounts.admit(secret, now, waited, true)),
  'the wait is ignored': (engine) =>
    withAdmit(engine, (secret, now, _, counts) => engine.accounts.admit(secret, now, 0, counts)),
  'a ban does not say that it began': (engine) => withAdmit(engine, (...parameters) => {
    const admission = engine.accounts.admit(...parameters);
    if (admission === null) return null;
    const { began: _, ...limits } = admission.limits;
    return { ...admission, limits };
  }),
  'keys do not expire': (engine) =>
    withAdmit(engine, (secret, _, waited, counts) => engine.accounts.admit(secret, 0, waited, counts)),
  'a ban is not lifted': (engine) => withKeys(engine, {
    unban: async (id) => ({ key: engine.keys.get(id), unbanned: true }),
  }),
  'the plan does not change': (engine) => withKeys(engine, {
    setPlan: async (id) => ({ key: engine.keys.get(id), unsynced: null }),
  }),
  'all secrets stay valid': (engine) => withKeys(engine, {
    rotate: (id, _, now, secret) => engine.keys.rotate(id, hours, now, secret),
  }),
  'the activity has all keys': (engine) => withKeys(engine, { activity: (_, now) => engine.keys.activity(99, now) }),
  'the figures are those of yesterday': (engine) =>
    replaced<Engine>(engine, { figures: () => ({ ...engine.figures(), animals: 0, bannedKeys: 0 }) }),
};
const hours = 99 * 3_600_000;

for (const [fault, served] of Object.entries(broken)) {
  test(`the contract notices an engine with a fault: ${fault}`, async (t: TestContext) => {
    for (const run of Object.values(cases)) {
      const isNoticed = await runCase(t, opener(served), run).then(() => false, () => true);
      if (isNoticed) return;
    }
    assert.fail('no test has failed');
  });
}
