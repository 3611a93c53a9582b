/** The commands of `petstore` on a database, beside an engine as a running server has it. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { noPostgres, testDatabase } from '../../harness/postgres.ts';
import type { Order } from '../domain/order.ts';
import type { NewPet } from '../domain/pet.ts';
import { newSecret } from '../keys/secret.ts';
import { Progress } from '../program/progress.ts';
import { command } from '../testing/command.ts';
import { engineOn, queryOn } from '../testing/database.ts';
import { readDatabaseUrl } from './database-url.ts';
import { readRecords } from './exchange.ts';

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
  const name = new URL(url).pathname.slice(1);
  await outputOf(url, 'status');
  await queryOn(url, `alter database ${name} set default_transaction_read_only = on`);
  assert.match(await outputOf(url, 'status'), /^state        refusing creates: the database is read-only\n/);
  const missing = Object.assign(new URL(url), { pathname: `${name}_missing` }).href;
  const [text, json] = [await command(missing, 'status'), await command(missing, 'status', '--json')];
  assert.deepEqual([text.code, text.stdout, json.code, json.stderr], [1, '', 1, text.stderr]);
  assert.match(text.stderr, /^petstore: there is no database [^\n]+\n$/);
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

test('commands for folders refuse a database, and name pg_dump and pg_restore', async (t) => {
  const url = 'postgres://user:geheim@127.0.0.1:1/shop';
  const path = join(temporaryFolder(t), 'x');
  for (const args of [['backup', path], ['restore', path], ['salvage', path], ['verify']]) {
    const { code, stdout, stderr } = await command(url, ...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^petstore: [^\n]*postgres:\/\/user@127\.0\.0\.1:1\/shop[^\n]* pg_dump and pg_restore [^\n]+\n$/);
  }
});
