/** The commands of `petstore` on a database, beside an engine as a running server has it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { nameIn, noPostgres, testDatabase } from '../../harness/postgres.ts';
import type { Ended } from '../../harness/program.ts';
import { OperatorError } from '../domain/operator-error.ts';
import type { Order } from '../domain/order.ts';
import type { NewPet } from '../domain/pet.ts';
import { importError } from '../file-engine/tools/values.ts';
import { newSecret } from '../keys/secret.ts';
import { Progress } from '../program/progress.ts';
import { command } from '../testing/command.ts';
import { connectTo, engineOn, queryOn } from '../testing/database.ts';
import { readDatabaseUrl } from './database-url.ts';
import { readRecords } from './export.ts';
import { importPets } from './import.ts';

const hasPostgres = (await testDatabase({ after() {} })) !== null;

/** Defines a test with an empty database. */
function onDatabase(name: string, run: (t: TestContext, url: string) => Promise<void>): void {
  test(name, { skip: hasPostgres ? false : noPostgres }, async (t) => run(t, (await testDatabase(t))!));
}

/** Runs a command, which must succeed. Returns what it has printed on stdout. */
async function outputOf(place: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await command(place, ...args);
  assert.equal(code, 0, stderr);
  return stdout;
}

onDatabase('status shows what a database contains, and which keys were used or are banned', async (t, url) => {
  const fresh = JSON.parse(await outputOf(url, 'status', '--json')) as { database: string };
  const none = { requests: { minute: 0, day: 0 }, bannedKeys: 0, busiest: [], banned: [] };
  const empty = { state: 'ready', reason: null, database: fresh.database, animals: 0, orders: 0, keys: 0, ...none };
  assert.deepEqual(fresh, empty);
  assert.equal(new URL(fresh.database).pathname, new URL(url).pathname);

  const engine = await engineOn(t, url);
  const secrets = [newSecret(), newSecret(), newSecret()] as const;
  for (const secret of secrets) {
    await engine.keys.create('shop', { name: 'enterprise', perMinute: 2, perDay: 9 }, null, Date.now(), secret);
  }
  await engine.keys.revoke('k3', Date.now());
  await engine.pets.create({ name: 'Rex', categoryId: 1n, status: 'sold' });
  for (let sent = 0; sent < 2; sent++) await engine.accounts.admit(secrets[0], Date.now(), 0, true);
  await engine.accounts.admit(secrets[1], Date.now(), 0, true);
  const lines = (await outputOf(url, 'status')).split('\n');
  for (const [index, line] of [
    /^state        ready$/,
    /^database     postgres:\/\/\S+$/,
    /^animals      1, and 0 orders$/,
    /^keys         2 valid$/,
    /^requests     [0-3] this minute, 3 this day \(admitted, with a key\)$/, // fails at midnight
    /^$/,
    /^ID +NAME +PLAN +THIS MINUTE +THIS DAY +BAN$/,
    /^k1 +shop +enterprise +[0-2] of 2 +2 of 9 +-$/,
    /^k2 +shop +enterprise +[0-2] of 2 +1 of 9 +-$/,
    /^$/,
  ].entries()) assert.match(lines[index] ?? 'missing', line);
});

onDatabase('status says why a database cannot be read or written', async (_t, url) => {
  const name = nameIn(url);
  await outputOf(url, 'status');
  await queryOn(url, `alter database ${name} set default_transaction_read_only = on`);
  assert.match(await outputOf(url, 'status'), /^state        refusing creates: the database is read-only\n/);
  const missing = Object.assign(new URL(url), { pathname: `${name}_missing` }).href;
  const [text, json] = [await command(missing, 'status'), await command(missing, 'status', '--json')];
  assert.deepEqual([text.code, text.stdout, json.code, json.stderr], [1, '', 1, text.stderr]);
  assert.match(text.stderr, /^petstore: the database \S+ does not exist; [^\n]+\n$/);
  const reason = text.stderr.slice('petstore: '.length, -1);
  assert.deepEqual(JSON.parse(json.stdout), { state: 'unknown', reason, pid: null });
});

const petOf = (name: string, categoryId = 1n): NewPet => ({ name, categoryId, status: 'available' });
const names = ['Rex', 'Żubr', '小花', '🐕', 'a "b"\\', '\ud800', 'a\0b', '', 'x'.repeat(60_000)];

onDatabase('an export of a database is that of a folder with the same animals and orders', async (t, url) => {
  const parent = temporaryFolder(t);
  const [folder, lines, array] = [join(parent, 'store'), join(parent, 'lines'), join(parent, 'array')];
  const both = async (...args: readonly string[]): Promise<string> => {
    const outputs = [];
    for (const place of [folder, url]) {
      const path = join(parent, 'exported');
      const report = JSON.parse(await outputOf(place, 'export', path, '--force', '--json', ...args)) as object;
      outputs.push({ report, text: readFileSync(path, 'utf8') });
    }
    assert.deepEqual(outputs[1], outputs[0]);
    return outputs[1]!.text;
  };
  writeFileSync(lines, '');
  await outputOf(folder, 'import', lines);
  assert.deepEqual([await both(), await both('--format', 'json'), await both('--orders')], ['', '[]\n', '']);
  const engine = await engineOn(t, url);
  for (let index = 0; index < 2500; index++) {
    await engine.pets.create(petOf(names[index] ?? `${index}`, BigInt(index) - 2n ** 63n)); // several pages
  }
  const orders = [-(2n ** 63n), -1n, 0n, 7n, 2n ** 63n - 1n].map((id): Order => {
    return { id, petId: 1n, quantity: 1n, shipDate: undefined, status: 'placed', complete: false };
  });
  await engine.addOrders(orders);
  writeFileSync(array, await outputInFile(url, parent, '--orders', '--format', 'json'));
  await outputOf(folder, 'import', '--orders', '--keep-ids', array);
  writeFileSync(lines, await outputInFile(url, parent));
  await outputOf(folder, 'import', '--keep-ids', lines);
  assert.equal((await both()).split('\n').length, 2501);
  assert.equal((await both('--orders')).split('\n').length, 6);
  for (const args of [['--format', 'json'], ['--orders', '--format', 'json']]) {
    const values = JSON.parse(await both(...args)) as unknown[];
    assert.equal(values.length, args.length === 2 ? 2500 : 5);
  }

  const { code, stderr } = await command(url, 'export', lines);
  assert.equal(code, 1);
  assert.match(stderr, /lines exists; name another file, or replace it with --force\n$/);
  assert.deepEqual(readdirSync(parent).filter((name) => name.includes('.tmp')), []);
});

/** Exports a database. Returns the content of the file. */
async function outputInFile(url: string, folder: string, ...args: readonly string[]): Promise<string> {
  const path = join(folder, 'file');
  await outputOf(url, 'export', path, '--force', ...args);
  return readFileSync(path, 'utf8');
}

onDatabase('an export has what was there when it began', async (t, url) => {
  const engine = await engineOn(t, url);
  const tails = Array.from({ length: 5000 }, () => ',"name":"a","categoryId":1,"status":"sold"}');
  await queryOn(url, "select petstore.add_pets($1, array_fill('sold'::text, array[5000]), 1000000)", [tails]);
  for (;;) {
    const before = await engine.pets.count();
    let wasCreated = false;
    let created: Promise<unknown> | null = null;
    let count = 0;
    let isLate = false; // whether the create ended before the last line was read
    await readRecords(readDatabaseUrl('--database', url), 'animals', () => {
      created ??= engine.pets.create(petOf('b')).then(() => (wasCreated = true));
      count++;
      isLate = wasCreated;
    }, new Progress('test'));
    assert.equal(count, before);
    await created;
    if (isLate) return;
  }
});

const orderLineOf = (id: bigint, quantity = 1): string =>
  `{"id":${id},"petId":1,"quantity":${quantity},"status":"placed","complete":false}`;
const petLineOf = (id: number, name: unknown = 'Rex'): string =>
  `{"id":${id},"name":${JSON.stringify(name)},"categoryId":1,"status":"sold"}`;

onDatabase('an import into a database does and says what one into a folder does', async (t, url) => {
  const parent = temporaryFolder(t);
  const [folder, file, other] = [join(parent, 'store'), join(parent, 'file'), join(parent, 'other')];
  const both = async (text: string, ...args: readonly string[]): Promise<Ended> => {
    writeFileSync(file, text);
    const run = (place: string) => command(place, 'import', file, other, '--json', ...args);
    const [expected, { code, stdout, stderr }] = [await run(folder), await run(url)];
    const found = { code, stdout: stdout.replace(/(?<="path": )"postgres:\S+"/, JSON.stringify(folder)), stderr };
    assert.deepEqual(found, expected);
    return found;
  };
  writeFileSync(other, '');
  const all = names.map((name, index) => petLineOf(3 * index + 1, name));
  const wrong = [
    [`${petLineOf(90)}\n{"name":1,"categoryId":1.5}\n`], [`${petLineOf(90)}\n7`], [`[${petLineOf(90)},\n]`],
    [`${petLineOf(90)}\n${petLineOf(90)}`, '--keep-ids'], [petLineOf(4), '--keep-ids'], ['{}', '--keep-ids'],
    [orderLineOf(7n), '--keep-ids', '--orders'], [`${orderLineOf(8n)}\n${orderLineOf(8n)}`, '--keep-ids', '--orders'],
    [orderLineOf(9n, 0), '--orders'], ['null', '--orders'], [orderLineOf(2n ** 63n), '--orders', '--keep-ids'],
  ] as const;
  for (const [text, ...args] of [
    ['', '--keep-ids'], ['[]'], ['', '--orders'], [all.join('\n'), '--keep-ids'], [`[${all.join(',\n')}]`],
    [[7n, -(2n ** 63n), 2n ** 62n].map((id) => orderLineOf(id)).join('\n'), '--keep-ids', '--orders'],
    [orderLineOf(1n), '--orders'],
  ] as const) assert.equal((await both(text, ...args)).code, 0);
  for (const [text, ...args] of wrong) assert.equal((await both(text, ...args)).code, 1, text);
  for (const args of [[], ['--orders']]) {
    await outputOf(folder, 'export', other, '--force', ...args);
    assert.equal(await outputInFile(url, parent, ...args), readFileSync(other, 'utf8'));
  }
  writeFileSync(other, '');
  await both(petLineOf(999_999_999_999_998), '--keep-ids');
  await both(`${petLineOf(1)}\n${petLineOf(1)}`); // all ids have been assigned
  await both(orderLineOf(2n ** 63n - 1n), '--keep-ids', '--orders');
  await both(orderLineOf(1n), '--orders');
  const { animals, orders } = JSON.parse(await outputOf(url, 'status', '--json')) as Record<string, number>;
  assert.deepEqual([animals, orders], [2 * all.length + 1, 5]);
});

onDatabase('an import keeps only ids that are larger than all in the database', async (t, url) => {
  const file = join(temporaryFolder(t), 'file');
  const engine = await engineOn(t, url);
  await queryOn(url, 'update petstore.store set id_floor = 8');
  writeFileSync(file, `\n${petLineOf(8)}\n${petLineOf(12)}`);
  const { code, stderr } = await command(url, 'import', '--keep-ids', file);
  assert.equal(code, 1);
  assert.match(stderr, /file, line 2: the id 8 is not greater than 8, .*could miss the animal; nothing was imported\n/);
  assert.equal(await engine.pets.count(), 0);
});

/** How many animals are imported without blocking creates meanwhile. */
const many = 10_001;
const manyPets = function* (firstId = 1) {
  for (let id = firstId; id < firstId + many; id++) yield { id, pet: petOf('imported'), path: 'file', line: id };
};
const importMany = (url: string, keepsIds = false, firstId = 1): Promise<unknown> =>
  importPets(readDatabaseUrl('--database', url), manyPets(firstId), keepsIds, importError);

/**
 * Imports many animals. `during` is called when ids are reserved for them, and until it has ended, their rows are
 * blocked by another transaction, which has added a row with their first id.
 */
async function importing(
  t: TestContext, url: string, firstId: number, during: () => Promise<void>, work = importMany(url),
): Promise<unknown> {
  const other = await connectTo(t, url);
  await other.query('begin');
  await other.query("insert into petstore.pets values ($1, 0, 'sold', '')", [firstId]);
  const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
  const settled = work.then(() => true, () => true);
  while ((await queryOn(url, waiting)).length === 0) {
    assert.equal(await Promise.race([settled, new Promise((resolve) => setImmediate(resolve, false))]), false);
  }
  await during();
  await other.query('rollback');
  return work;
}

async function idsIn(url: string): Promise<number[]> {
  return (await queryOn(url, 'select id from petstore.pets order by id')).map(([id]) => Number(id));
}

onDatabase('while many animals are imported, none is visible, and others are created before them', async (t, url) => {
  const engine = await engineOn(t, url);
  const first = 100_001;
  const imported = await importing(t, url, first, async () => {
    for (let id = 1; id <= 3; id++) assert.equal((await engine.pets.create(petOf('created'))).id, id);
    assert.equal(await engine.pets.count(), 3);
    const second = await command(url, 'import', '--orders', '/dev/null');
    assert.match(second.stderr, /^petstore: another import into \S+ is under way; try again when it has ended\n$/);
  });
  const last = first + many - 1;
  assert.deepEqual(imported, { count: many, firstId: first, lastId: last, warning: null, unsynced: null });
  assert.equal((await engine.pets.create(petOf('created'))).id, last + 1);
  assert.equal(await engine.pets.count(), many + 4);
  const ids = await idsIn(url);
  assert.deepEqual([ids.length, ids[2], ids[3], ids.at(-1)], [many + 4, 3, first, last + 1]);
});

onDatabase('an import whose ids creates have passed begins anew, or adds nothing if it keeps ids', async (t, url) => {
  const engine = await engineOn(t, url);
  const createAfter = async (id: number): Promise<void> => {
    await queryOn(url, 'update petstore.store set id_floor = $1', [id - 1]);
    for (const expected of [id, id + many + 1]) assert.equal((await engine.pets.create(petOf('a'))).id, expected);
  };
  await assert.rejects(importing(t, url, 6, () => createAfter(5), importMany(url, true, 6)), {
    message: 'servers added animals during the import; nothing was imported; ' +
      'stop the servers, or import without --keep-ids',
  });
  assert.deepEqual(await idsIn(url), [5, 6 + many]);
  const first = 6 + many + 100_000 + 1;
  const imported = await importing(t, url, first, () => createAfter(first - 1)) as { firstId: number };
  assert.equal(imported.firstId, first + many + 10_000_000 + 1);
  const ids = await idsIn(url);
  assert.deepEqual([ids.length, ids[4]], [many + 4, imported.firstId]);
  assert.equal(await engine.pets.count(), many + 4);
});

onDatabase('an import that has failed adds nothing, and the next one and creates may use its ids', async (t, url) => {
  const engine = await engineOn(t, url);
  const admin = await connectTo(t, url);
  await assert.rejects(importing(t, url, 100_001, async () => {
    await admin.query(`
      select pg_terminate_backend(pid, 5000) from pg_locks join pg_database d on d.oid = database
      where locktype = 'advisory' and datname = current_database()`);
  }), OperatorError);
  for (let id = 1; id <= 3; id++) assert.equal((await engine.pets.create(petOf('a'))).id, id);
  assert.equal(await engine.pets.count(), 3);
  const file = join(temporaryFolder(t), 'file');
  writeFileSync(file, petLineOf(100_005));
  await outputOf(url, 'import', '--keep-ids', file);
  assert.equal((await engine.pets.create(petOf('a'))).id, 100_006);
  assert.deepEqual(await idsIn(url), [1, 2, 3, 100_005, 100_006]);
  assert.equal(await engine.pets.count(), 5);
});

test('commands for folders refuse a database, and name pg_dump and pg_restore', async (t) => {
  const url = 'postgres://user:geheim@127.0.0.1:1/shop';
  const path = join(temporaryFolder(t), 'x');
  for (const args of [['backup', path], ['restore', path], ['salvage', path], ['verify']]) {
    const { code, stdout, stderr } = await command(url, ...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^petstore: .*postgres:\/\/user@127\.0\.0\.1:1\/shop.* pg_dump and pg_restore .+\n$/);
  }
});
