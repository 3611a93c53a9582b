/** Several engines on one PostgreSQL at once, and what they find when others change, lock or replace the data. */
import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { PostgresProxy, stallInStatement } from '../../harness/postgres-proxy.ts';
import { nameIn, noPostgres, testDatabase } from '../../harness/postgres.ts';
import type { NewPet } from '../domain/pet.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { UnavailableError, type Pets } from '../engine.ts';
import { newSecret } from '../keys/secret.ts';
import { bytesOfBody } from '../testing/bytes.ts';
import { connectTo, engineOn, enginesOn, queryOn, withinOneDay } from '../testing/database.ts';
import { readDatabaseUrl } from './database-url.ts';
import { PostgresEngine } from './postgres-engine.ts';

const dayMs = 24 * 60 * 60_000;
const hasPostgres = (await testDatabase({ after() {} })) !== null;

/** Defines a test with an empty database. */
function onDatabase(name: string, run: (t: TestContext, url: string) => Promise<void>): void {
  test(name, { skip: hasPostgres ? false : noPostgres }, async (t) => run(t, (await testDatabase(t))!));
}

const petOf = (name: string): NewPet => ({ name, categoryId: 1n, status: 'available' });
const tailOf = (name: string): string => `,"name":"${name}","categoryId":1,"status":"available"}`;

/** Adds a key, and returns its secret and its id. */
async function newKey({ keys }: PostgresEngine, perDay = 1_000_000): Promise<{ secret: string; id: string }> {
  const secret = newSecret();
  const plan = { name: 'enterprise', perMinute: 1_000_000, perDay } as const;
  const { key } = await keys.create('shop', plan, null, Date.now(), secret);
  return { secret, id: key.id };
}

/** Sends a request. Resolves to what remains, to 'refused', or to 'unknown' if no valid key has this secret. */
async function admit({ accounts }: PostgresEngine, secret: string): Promise<number | 'refused' | 'unknown'> {
  const admission = await accounts.admit(secret, Date.now(), 0, true);
  if (admission === null) return 'unknown';
  return admission.limits.refusedBy === null ? admission.limits.remaining : 'refused';
}

async function idsAfter(pets: Pets, after: number | undefined, limit = 100): Promise<number[]> {
  const query = { limit, after: after === undefined ? undefined : String(after), status: undefined };
  const { body } = await pets.page(query);
  return (JSON.parse(bytesOfBody(body).toString()) as { id: number }[]).map(({ id }) => id);
}

/** Calls `use` until it is not refused as unavailable. */
async function eventually(use: () => Promise<unknown>): Promise<void> {
  for (let isBack = false; !isBack;) {
    isBack = await use().then(() => true, (error: unknown) => {
      assert.ok(error instanceof UnavailableError, String(error));
      return false;
    });
    await new Promise(setImmediate);
  }
}

/** The numbers from 0 to `count` - 1 in an order that differs for each `seed`. */
function shuffled(count: number, seed: number): number[] {
  const numbers = Array.from({ length: count }, (_, index) => index);
  for (let index = count - 1, state = seed + 1; index > 0; index--) {
    state = (state * 48_271) % 2_147_483_647;
    const other = state % (index + 1);
    [numbers[index], numbers[other]] = [numbers[other]!, numbers[index]!];
  }
  return numbers;
}

onDatabase('engines on one database admit exactly the limit of a key, each remainder once', async (t, url) => {
  const engines = await enginesOn(t, url, 4);
  const limit = 20;
  const requests = 64;
  for (let round = 0; round < 5; round++) {
    // In even rounds each engine collects its requests into one group; in odd ones there are many groups.
    const workers = round % 2 === 0 ? requests : 8;
    const { results, used } = await withinOneDay(async () => {
      const { secret, id } = await newKey(engines[0]!, limit);
      const chosen = shuffled(requests, round).map((number) => engines[number % engines.length]!);
      const results = (await Promise.all(Array.from({ length: workers }, async (_, worker) => {
        const own = [];
        for (let index = worker; index < requests; index += workers) own.push(await admit(chosen[index]!, secret));
        return own;
      }))).flat();
      const { day } = await engines[1]!.keys.usage(await engines[1]!.keys.get(id));
      return { results, used: day.used };
    });
    const admitted = results.filter((result) => typeof result === 'number');
    assert.deepEqual(admitted.sort((a, b) => b - a), Array.from({ length: limit }, (_, index) => limit - 1 - index));
    assert.equal(results.filter((result) => result === 'refused').length, requests - limit);
    assert.equal(used, limit);
  }
});

onDatabase('a change of a key is in force on another engine from the next request on', async (t, url) => {
  const [here, there] = (await enginesOn(t, url, 2)) as [PostgresEngine, PostgresEngine];
  await withinOneDay(async () => {
    const { secret, id } = await newKey(here, 5);
    assert.equal(await admit(there, secret), 4);
    await here.keys.setPlan(id, { name: 'enterprise', perMinute: 100, perDay: 3 }, Date.now());
    assert.equal(await admit(there, secret), 1);
    const rotated = newSecret();
    await here.keys.rotate(id, 0, Date.now(), rotated);
    assert.deepEqual([await admit(there, secret), await admit(there, rotated)], ['unknown', 0]);
    assert.equal(await admit(there, rotated), 'refused');
    const renewed = newSecret();
    await there.keys.rotate(id, 60_000, Date.now(), renewed);
    assert.deepEqual([await admit(here, rotated), await admit(here, renewed)], ['refused', 'refused']);
    await there.keys.revoke(id, Date.now());
    for (const engine of [here, there]) assert.equal(await admit(engine, renewed), 'unknown');
  });
});

onDatabase('a ban is in force on every engine, and so is its end', async (t, url) => {
  const [here, there] = (await enginesOn(t, url, 2)) as [PostgresEngine, PostgresEngine];
  const { secret, id } = await newKey(here);
  await admit(here, secret);
  const [[seq, state] = []] = await queryOn(url, 'select seq, state from petstore.usage');
  const start = Math.ceil(Date.now() / 1000) * 1000;
  const banned = { ...(JSON.parse(state as string) as object), ban: { start, end: start + dayMs } };
  await queryOn(url, 'update petstore.usage set state = $2 where seq = $1', [seq, JSON.stringify(banned)]);
  for (const engine of [here, there]) assert.equal(await admit(engine, secret), 'refused');
  assert.equal((await here.keys.unban(id)).unbanned, true);
  assert.equal(typeof (await admit(there, secret)), 'number');
});

onDatabase('groups of the same keys in different orders do not block each other for ever', async (t, url) => {
  const engines = await enginesOn(t, url, 4);
  const used = await withinOneDay(async () => {
    const keys: Awaited<ReturnType<typeof newKey>>[] = [];
    for (let index = 0; index < 12; index++) keys.push(await newKey(engines[0]!));
    await Promise.all(engines.map(async (engine, number) => {
      for (let round = 0; round < 25; round++) {
        const order = shuffled(keys.length, 100 * number + round).map((index) => keys[index]!.secret);
        const change = engine.keys.setPlan(keys[5]!.id, { name: 'business' }, Date.now());
        const created = number === 0 && round % 5 === 0 ? newKey(engine) : undefined;
        const results = await Promise.all(order.map((secret) => admit(engine, secret)));
        assert.ok(results.every((result) => typeof result === 'number'), results.join());
        await Promise.all([change, created]);
      }
    }));
    const { keys: admin } = engines[0]!;
    return Promise.all(keys.map(async ({ id }) => (await admin.usage(await admin.get(id))).day.used));
  });
  assert.deepEqual(used, used.map(() => 100));
  const deadlocks = 'select deadlocks from pg_stat_database where datname = current_database()';
  assert.deepEqual(await queryOn(url, deadlocks), [['0']]);
});

onDatabase('an animal gets its id after all that others have added but not committed', async (t, url) => {
  const [creating, reading] = (await enginesOn(t, url, 2)) as [PostgresEngine, PostgresEngine];
  const other = await connectTo(t, url);
  const observer = await connectTo(t, url);
  for (;;) {
    const known = await idsAfter(reading.pets, undefined);
    await other.query('begin');
    const [[first] = []] = await other.query('select petstore.add_pets($1, $2, $3)', [
      [tailOf('a'), tailOf('b')], ['available', 'available'], Number.MAX_SAFE_INTEGER,
    ]);
    let settled = false;
    const created = creating.pets.create(petOf('c')).catch((error: unknown) => {
      // On a busy machine, the create may have waited too long.
      assert.ok(error instanceof UnavailableError, String(error));
      return null;
    }).finally(() => (settled = true));
    const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    while (!settled && (await observer.query(waiting)).length === 0);
    const shown = await idsAfter(reading.pets, undefined);
    const wasSettled = settled;
    await other.query('commit');
    const pet = await created;
    if (pet === null) continue;
    assert.equal(wasSettled, false, 'it must not be created before the other transaction has ended');
    assert.deepEqual(shown, known);
    const id = Number(first);
    assert.equal(pet.id, id + 2);
    assert.deepEqual(await idsAfter(reading.pets, known.at(-1)), [id, id + 1, id + 2]);
    assert.equal(await reading.pets.count(), known.length + 3);
    return;
  }
});

onDatabase('a reader that follows the ids sees every animal, although two engines add some', async (t, url) => {
  const [one, other, reading] = (await enginesOn(t, url, 3)) as [PostgresEngine, PostgresEngine, PostgresEngine];
  const confirmed: number[] = [];
  let isCreating = true;
  const create = async ({ pets }: PostgresEngine): Promise<void> => {
    for (let index = 0; index < 60; index++) confirmed.push((await pets.create(petOf(`${index}`))).id);
  };
  const read = async (limit: number): Promise<number[]> => {
    const seen: number[] = [];
    for (;;) {
      const isLast = !isCreating;
      const ids = await idsAfter(reading.pets, seen.at(-1), limit);
      seen.push(...ids);
      if (isLast && ids.length === 0) return seen;
    }
  };
  const creates = Promise.all([one, other, one, other].map(create)).finally(() => (isCreating = false));
  const [seen] = await Promise.all([Promise.all([1, 3, 100].map(read)), creates]);
  confirmed.sort((a, b) => a - b);
  assert.equal(new Set(confirmed).size, 240);
  for (const ids of seen) assert.deepEqual(ids, confirmed);
});

onDatabase('while an old snapshot is held, a key has one visible row of usage, which begins anew', async (t, url) => {
  const engine = await engineOn(t, url);
  const { secret } = await newKey(engine);
  await admit(engine, secret);
  const reader = await connectTo(t, url);
  const rows = 'select seq, updates from petstore.usage';
  await reader.query('begin isolation level repeatable read');
  const before = await reader.query(rows);
  for (let sent = 0; sent < 410; sent++) assert.equal(typeof (await admit(engine, secret)), 'number');
  const [[seq, updates] = [], ...more] = await queryOn(url, rows);
  assert.deepEqual(more, []);
  assert.ok(Number(seq) - Number(before[0]![0]) >= 2, `seq is ${String(seq)}`);
  assert.ok((updates as number) <= 200, `${String(updates)} updates`);
  assert.deepEqual(await reader.query(rows), before, 'the snapshot was held');
});

onDatabase('engines that prepare an empty database at once create one store', async (t, url) => {
  const engines = await Promise.all(Array.from({ length: 4 }, () => engineOn(t, url)));
  assert.deepEqual(await queryOn(url, 'select count(*), min(version) from petstore.store'), [['1', 1]]);
  const { secret } = await newKey(engines[0]!);
  for (const engine of engines) assert.equal(typeof (await admit(engine, secret)), 'number'); // it checks the store
});

onDatabase('a newer schema is used if it permits that, otherwise refused, also by a running engine', async (t, url) => {
  const logged: string[] = [];
  const engine = await engineOn(t, url, (line) => logged.push(line));
  const { secret } = await newKey(engine);
  await queryOn(url, 'update petstore.store set version = 3');
  assert.equal(typeof (await admit(engine, secret)), 'number');
  assert.equal(typeof (await admit(await engineOn(t, url), secret)), 'number');
  const version = await queryOn(url, 'select version from petstore.store');
  assert.deepEqual(version, [[3]], 'an older program does not undo it');
  await queryOn(url, 'update petstore.store set min_version = 2');
  const late = await PostgresEngine.open(readDatabaseUrl('--database', url), { log: assert.fail });
  t.after(() => late.release());
  await assert.rejects(late.prepare(), (error) => {
    assert.ok(error instanceof OperatorError, String(error));
    assert.equal(error.exitCode, 1);
    assert.match(error.message, /^the database \S+ has schema version 3, but this version of petstore uses 1; [^\n]+$/);
    return true;
  });
  for (let sent = 0; sent < 2; sent++) await assert.rejects(admit(engine, secret), UnavailableError);
  assert.equal(await engine.pets.writable(), false);
  assert.equal(logged.length, 1, logged.join());
  await queryOn(url, 'update petstore.store set min_version = 1');
  assert.equal(typeof (await admit(engine, secret)), 'number');
});

onDatabase('requests with a key that is locked are refused, and do not delay those with other keys', async (t, url) => {
  const engine = await engineOn(t, url, () => {}); // it logs that a lock was not available
  const [one, two, free] = [await newKey(engine), await newKey(engine), await newKey(engine)];
  const other = await connectTo(t, url);
  const lock = (number: number) => other.query('select from petstore.keys where number = $1 for update', [number]);
  await other.query('begin');
  await lock(1);
  await lock(2);
  const settled: string[] = [];
  const note = async (name: string, { secret }: { secret: string }): Promise<void> => {
    const outcome = await admit(engine, secret).catch((error: unknown) => {
      assert.ok(error instanceof UnavailableError, String(error));
      return 'refused';
    });
    settled.push(`${name} ${typeof outcome === 'number' ? 'admitted' : outcome}`);
  };
  // The first group waits for the locks. From then on, the other key has no part in that.
  await Promise.all([note('one', one), note('two', two), note('free', free)]);
  assert.deepEqual(settled.toSorted(), ['free admitted', 'one refused', 'two refused']);
  assert.equal(settled[0], 'free admitted');
  settled.length = 0;
  const waiting = note('one', one);
  for (let sent = 0; sent < 20; sent++) await note('free', free);
  assert.deepEqual(settled, Array<string>(20).fill('free admitted'));
  await waiting;
  await other.query('rollback');
  for (const key of [one, two, one, two, free]) assert.equal(typeof (await admit(engine, key.secret)), 'number');
});

onDatabase('a running engine admits nothing and is not ready if its store was replaced', async (t, url) => {
  const logged: string[] = [];
  const engine = await engineOn(t, url, (line) => logged.push(line));
  const { secret } = await newKey(engine);
  await queryOn(url, "update petstore.store set id = 'another'");
  for (let sent = 0; sent < 2; sent++) await assert.rejects(admit(engine, secret), UnavailableError);
  assert.equal(await engine.pets.writable(), false);
  assert.equal(logged.length, 1, logged.join());
  assert.equal(typeof (await admit(await engineOn(t, url), secret)), 'number');
});

onDatabase('a secret with a wrong checksum costs no statement', async (t, url) => {
  const engine = await engineOn(t, url);
  const { secret } = await newKey(engine);
  const statements = async (): Promise<number> =>
    (await engine.figures()).metrics.find(({ name }) => name === 'petstore_database_statements_total')!.value;
  await statements();
  const first = await statements();
  const costOfFigures = (await statements()) - first;
  const before = await statements();
  const wrong = `${secret.slice(0, -1)}${secret.endsWith('a') ? 'b' : 'a'}`;
  for (const text of [wrong, secret.slice(1), `${secret}0`, '', 'x']) {
    for (const counts of [true, false]) assert.equal(await engine.accounts.admit(text, Date.now(), 0, counts), null);
  }
  assert.equal((await statements()) - before, costOfFigures);
  assert.equal(await admit(engine, newSecret()), 'unknown');
  assert.ok((await statements()) - before > 2 * costOfFigures, 'a possible secret costs statements');
});

onDatabase('while the schema is not there yet, a request is refused as unavailable', async (t, url) => {
  const blocker = await connectTo(t, url);
  await blocker.query('begin');
  await blocker.query('select pg_advisory_xact_lock(7392016451)'); // schemaLock: another server creates the schema
  const engine = await PostgresEngine.open(readDatabaseUrl('--database', url), { log() {} });
  t.after(() => engine.release());
  const prepared = engine.prepare();
  await assert.rejects(async () => engine.accounts.admit(newSecret(), Date.now(), 0, false), UnavailableError);
  await blocker.query('rollback');
  await prepared;
  if (engine.progress < 100) await engine.load(); // it has waited too long
  assert.equal(await admit(engine, newSecret()), 'unknown');
});

onDatabase('while the schema is away, as during a restore, everything is refused as unavailable', async (t, url) => {
  const logged: string[] = [];
  const engine = await engineOn(t, url, (line) => logged.push(line));
  const { secret } = await newKey(engine);
  const { id } = await engine.pets.create(petOf('a'));
  await queryOn(url, 'alter schema petstore rename to away');
  await assert.rejects(admit(engine, secret), UnavailableError);
  await assert.rejects(engine.pets.create(petOf('b')), UnavailableError);
  await assert.rejects(idsAfter(engine.pets, undefined), UnavailableError);
  await queryOn(url, 'alter schema away rename to petstore');
  assert.equal(typeof (await admit(engine, secret)), 'number');
  assert.ok((await engine.pets.create(petOf('b'))).id > id);
  assert.ok(logged.length > 0 && new Set(logged).size === logged.length, logged.join('\n'));
  for (const line of logged) assert.match(line, / refused a statement: .* \(SQLSTATE [0-9A-Z]{5}\)$/);
});

onDatabase('the connections of an engine log once that the database goes, and once that it returns', async (t, url) => {
  const logged: string[] = [];
  const engine = await engineOn(t, url, (line) => logged.push(line));
  const { secret } = await newKey(engine);
  const name = nameIn(url);
  const admin = await connectTo(t, (await testDatabase(t))!);
  const sessions = "from pg_stat_activity where datname = $1 and application_name = 'petstore'";
  const use = [
    () => admit(engine, secret), () => idsAfter(engine.pets, undefined), () => engine.pets.create(petOf('a')),
    () => engine.keys.list(),
  ];
  for (const each of use) await each();
  for (let round = 1; round <= 2; round++) {
    await admin.query(`alter database ${name} allow_connections false`);
    await admin.query(`select pg_terminate_backend(pid, 5000) ${sessions}`, [name]);
    await assert.rejects(use[0]!, UnavailableError);
    await admin.query(`alter database ${name} rename to ${name}_away`); // the other connections get another reason
    for (const each of use) await assert.rejects(each, UnavailableError);
    await admin.query(`alter database ${name}_away rename to ${name}`);
    await admin.query(`alter database ${name} allow_connections true`);
    for (const each of use) await eventually(each);
    assert.equal(logged.length, 2 * round, logged.join('\n'));
    assert.match(logged[2 * round - 2]!, / cannot be reached: /);
    assert.match(logged[2 * round - 1]!, / can be reached again$/);
    const [[count] = []] = await admin.query(`select count(*) ${sessions}`, [name]);
    assert.ok(Number(count) <= 4, `${String(count)} connections`);
  }
});

onDatabase('a database that has become read-only refuses requests until it is writable again', async (t, url) => {
  const logged: string[] = [];
  const engine = await engineOn(t, url, (line) => logged.push(line));
  const { secret } = await newKey(engine);
  const name = nameIn(url);
  const admin = await connectTo(t, (await testDatabase(t))!);
  const end = `select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = $1 and application_name = 'petstore'`;
  // A failover: all connections end, and the next ones lead to a replica.
  await admin.query(`alter database ${name} set default_transaction_read_only = on`);
  await admin.query(end, [name]);
  const use = [() => admit(engine, secret), () => engine.pets.create(petOf('a'))];
  for (let sent = 0; sent < 3; sent++) for (const each of use) await assert.rejects(each, UnavailableError);
  assert.equal(await engine.pets.writable(), false);
  // Then they lead to the server that has become the primary one.
  await admin.query(`alter database ${name} reset default_transaction_read_only`);
  for (const each of use) await eventually(each);
  assert.equal(logged.length, 2, logged.join('\n'));
  assert.match(logged[0]!, / cannot be reached: it is read-only, for example a replica$/);
  assert.match(logged[1]!, / can be reached again$/);
});

onDatabase('a connection that stalls after a key was locked does not keep the lock', async (t, url) => {
  const proxy = await PostgresProxy.start(t, url);
  const [stalling, other] = [await engineOn(t, proxy.url, () => {}), await engineOn(t, url, () => {})];
  const { secret } = await newKey(other);
  await admit(stalling, secret); // opens the connection
  const stalled = proxy.inject(stallInStatement(1)); // the first one locks the key, the second one stores its usage
  const refused = assert.rejects(admit(stalling, secret), UnavailableError);
  await stalled;
  await assert.rejects(queryOn(url, 'select from petstore.keys for no key update nowait'), /could not obtain lock/);
  await refused;
  await eventually(() => admit(other, secret));
});

onDatabase('every function sets its search path, and reads tables in the order of an index', async (t, url) => {
  await engineOn(t, url);
  const functions = await queryOn(url, `
    select proname, coalesce(proconfig, '{}') from pg_proc where pronamespace = 'petstore'::regnamespace`);
  const readsNoTable = ['now_ms', 'refuse_while_copied'];
  assert.ok(functions.length > readsNoTable.length);
  for (const [name, settings] of functions as [string, string[]][]) {
    assert.ok(settings.includes('search_path=pg_catalog, pg_temp'), `${name}: ${settings.join()}`);
    if (readsNoTable.includes(name)) continue;
    for (const scan of ['seqscan', 'bitmapscan']) assert.ok(settings.includes(`enable_${scan}=off`), `${name}: ${scan}`);
  }
});

onDatabase('functions and tables of other users are not used instead of those that are meant', async (t, url) => {
  const engine = await engineOn(t, url);
  const { secret } = await newKey(engine);
  for (const head of [
    'cardinality(text[]) returns integer', 'count(bigint) returns bigint', 'unnest(text[]) returns text',
  ]) {
    const raise = "begin raise exception 'called'; end";
    await queryOn(url, `create function public.${head} language plpgsql as $$ ${raise} $$`);
  }
  assert.equal((await engine.pets.create(petOf('a'))).id, 1);
  assert.equal(typeof (await admit(engine, secret)), 'number');
  assert.deepEqual(await idsAfter(engine.pets, undefined), [1]);
  assert.equal((await engine.figures()).animals, 1);
  assert.equal((await engine.keys.usage(await engine.keys.get('k1'))).day.used, 1);
});

onDatabase('if no id is left, the refusal says what to do, and the engine is not ready', async (t, url) => {
  const engine = await engineOn(t, url);
  await queryOn(url, 'update petstore.store set id_floor = 999999999999999');
  await assert.rejects(engine.pets.create(petOf('a')), (error) => {
    assert.ok(error instanceof UnavailableError);
    assert.equal(error.retryAfterSeconds, undefined);
    assert.match(error.message, /all ids up to 999999999999999 have been assigned\. The operator /);
    return true;
  });
  assert.equal(await engine.pets.writable(), false);
  assert.match((await engine.figures()).creates!.refusal!, /so no animal can be added; export the animals/);
});

onDatabase('an engine that is released while it connects logs nothing', async (t, url) => {
  const logged: string[] = [];
  const engine = await engineOn(t, url, (line) => logged.push(line));
  const reading = idsAfter(engine.pets, undefined) // on a connection that is not open yet
    .catch((error: unknown) => assert.ok(error instanceof UnavailableError, String(error)));
  await engine.release();
  await reading;
  assert.deepEqual(logged, []);
});
