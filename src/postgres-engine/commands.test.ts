/** The commands of `petstore` on a database, beside an engine as a running server has it. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { noPostgres, testDatabase } from '../../harness/postgres.ts';
import { newSecret } from '../keys/secret.ts';
import { command } from '../testing/command.ts';
import { engineOn, queryOn } from '../testing/database.ts';

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

test('commands for folders refuse a database, and name pg_dump and pg_restore', async (t) => {
  const url = 'postgres://user:geheim@127.0.0.1:1/shop';
  const path = join(temporaryFolder(t), 'x');
  for (const args of [['backup', path], ['restore', path], ['salvage', path], ['verify']]) {
    const { code, stdout, stderr } = await command(url, ...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^petstore: [^\n]*postgres:\/\/user@127\.0\.0\.1:1\/shop[^\n]* pg_dump and pg_restore [^\n]+\n$/);
  }
});
