/** `petstore copy` between data folders and databases. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { noPostgres, testDatabase } from '../../harness/postgres.ts';
import type { StoreContents } from '../control/contents.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { UnavailableError } from '../engine.ts';
import { encodeUsage, usageFormat, usageName } from '../file-engine/accounts/usage-file.ts';
import { FileEngine } from '../file-engine/file-engine.ts';
import { writeRecords } from '../file-engine/files/record-file.ts';
import { storeIdOf } from '../file-engine/files/store-id.ts';
import { FolderLock } from '../file-engine/lock/folder-lock.ts';
import { writeFolder } from '../file-engine/tools/copy.ts';
import { KeyUsage } from '../limits/key-usage.ts';
import { Progress } from '../program/progress.ts';
import { newSecret } from '../keys/secret.ts';
import { command } from '../testing/command.ts';
import { connectTo, engineOn, queryOn } from '../testing/database.ts';
import { readDatabase, writeDatabase } from './copy.ts';
import { readDatabaseUrl } from './database-url.ts';

const hasPostgres = (await testDatabase({ after() {} })) !== null;

/** Defines a test with two empty databases and an empty folder. */
function onDatabases(
  name: string, run: (t: TestContext, one: string, other: string, folder: string) => Promise<void>,
): void {
  test(name, { skip: hasPostgres ? false : noPostgres }, async (t) => {
    return run(t, (await testDatabase(t))!, (await testDatabase(t))!, temporaryFolder(t));
  });
}

/** Runs a command, which must succeed. Returns what it has printed on stdout. */
async function outputOf(place: string, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await command(place, ...args);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** Runs `petstore copy`. Returns the numbers of animals, orders and keys that it reports. */
async function copied(from: string, to: string): Promise<number[]> {
  const { code, stdout, stderr } = await command(null, 'copy', from, to, '--json');
  assert.equal(code, 0, stderr);
  const { animals, orders, keys } = JSON.parse(stdout) as Record<'animals' | 'orders' | 'keys', number>;
  return [animals, orders, keys];
}

/** What the commands show of a store. `parent` is for temporary files. */
async function shown(place: string, parent: string): Promise<string[]> {
  const file = join(parent, 'exported');
  const exported = async (...args: readonly string[]): Promise<string> => {
    await outputOf(place, 'export', file, '--force', ...args);
    return readFileSync(file, 'utf8');
  };
  return [
    await exported(), await exported('--orders'), await outputOf(place, 'keys', 'list', '--json'),
    await outputOf(place, 'usage', '--json'),
  ];
}

const day = 86_400_000;

/** Makes a folder with animals, orders, keys of each kind, their usage, and a ban. Returns the secret of k1. */
async function makeStore(folder: string, animals = 2500): Promise<string> {
  const file = `${folder}.lines`;
  const names = ['Rex', 'Żubr', '小花', 'a "b"\\', '\ud800', 'a\0b', '', ',\n', 'x'.repeat(60_000)];
  writeFileSync(file, Array.from({ length: animals }, (_, index) => {
    const name = JSON.stringify(names[index] ?? `${index}`);
    return `{"id":${3 * index + 1},"name":${name},"categoryId":${2n ** 63n - 1n},"status":"sold"}\n`;
  }).join(''));
  await outputOf(folder, 'import', '--keep-ids', file);
  writeFileSync(file, [-(2n ** 63n), 0n, 7n, 2n ** 63n - 1n].map((id) =>
    `{"id":${id},"petId":1,"quantity":1,"status":"placed","complete":false}\n`).join(''));
  await outputOf(folder, 'import', '--orders', '--keep-ids', file);
  const secret = (await outputOf(folder, 'keys', 'create', '--name', 'first', '--plan', 'pro')).trim();
  const limits = ['--plan', 'enterprise', '--per-minute', '7', '--per-day', '9'];
  await outputOf(folder, 'keys', 'create', '--name', 'second ☃', ...limits, '--expires', '90d');
  await outputOf(folder, 'keys', 'create', '--name', 'third', '--plan', 'free');
  await outputOf(folder, 'keys', 'rotate', 'k1');
  await outputOf(folder, 'keys', 'revoke', 'k3');
  const usageOf = (id: string, ban: boolean): string => {
    const usage = new KeyUsage();
    const now = Date.now();
    usage.roll(now);
    Object.assign(usage.minute, { used: 3, firstRefusedAt: now });
    usage.day.used = 5;
    usage.refusals = 2;
    const start = Math.floor(now / 1000) * 1000;
    if (ban) usage.ban = { start, end: start + day };
    return encodeUsage(id, usage, (time) => new Date(time).toISOString());
  };
  await writeRecords(join(folder, usageName), usageFormat, { store: storeIdOf(folder) }, [
    usageOf('k1', false), usageOf('k2', true),
  ]);
  return secret;
}

onDatabases('a copy to a database, to another and back to a folder has everything', async (t, one, other, parent) => {
  const [first, second, third] = [join(parent, 'first'), join(parent, 'second'), join(parent, 'third')];
  const secret = await makeStore(first);
  mkdirSync(second); // it may exist if it is empty
  for (;;) { // until one minute has been enough
    const before = await shown(first, parent);
    const [databases, folders] = [[await shownIn(one, first), await shownIn(other, one)], await shownIn(second, other)];
    if ((await shown(first, parent))[3] !== before[3]) {
      for (const url of [one, other]) await queryOn(url, 'drop schema petstore cascade');
      rmSync(second, { recursive: true });
      continue;
    }
    for (const each of [...databases, folders]) assert.deepEqual(each, before);
    break;
  }
  const engine = await engineOn(t, other);
  assert.equal((await engine.accounts.admit(secret, Date.now(), 0, true))!.key, 'k1');
  await queryOn(other, 'update petstore.store set id_floor = 9000');
  assert.deepEqual(await copied(other, third), [2500, 4, 3]);
  const file = join(parent, 'file');
  writeFileSync(file, '{"name":"next","categoryId":1}');
  for (const place of [third, other]) {
    const { firstId } = JSON.parse(await outputOf(place, 'import', file, '--json')) as { firstId: string };
    assert.equal(firstId, '9001');
  }
  assert.equal((await outputOf(third, 'verify')).endsWith('is intact\n'), true);

  async function shownIn(to: string, from: string): Promise<string[]> {
    assert.deepEqual(await copied(from, to), [2500, 4, 3]);
    return shown(to, parent);
  }
});

onDatabases('while a database is copied, its servers serve reads and refuse changes', async (t, url, _, parent) => {
  const logged: string[] = [];
  const engine = await engineOn(t, url, (line) => logged.push(line));
  const secret = newSecret();
  await engine.keys.create('shop', { name: 'pro' }, null, Date.now(), secret);
  const pet = { name: 'Rex', categoryId: 1n, status: 'sold' } as const;
  await engine.pets.create(pet);
  const file = join(parent, 'file');
  writeFileSync(file, '{"name":"next","categoryId":1}');
  const changes = [
    ['keys', 'create', '--name', 'a', '--plan', 'pro'], ['keys', 'rotate', 'k1'], ['keys', 'set-plan', 'k1', 'free'],
    ['keys', 'revoke', 'k1'], ['keys', 'unban', 'k1'], ['import', file], ['import', '--orders', '/dev/null'],
  ];
  await readDatabase(readDatabaseUrl('--database', url), async () => {
    await assert.rejects(engine.pets.create(pet), UnavailableError);
    await assert.rejects(engine.addOrders([]), UnavailableError);
    for (const args of changes) {
      const { code, stdout, stderr } = await command(url, ...args);
      assert.deepEqual([code, stdout], [1, ''], args.join(' '));
      assert.match(stderr, /^petstore: postgres:\S+: the store is being copied; try again [^\n]+\n$/);
    }
    assert.equal((await engine.accounts.admit(secret, Date.now(), 0, true))!.limits.refusedBy, null);
    assert.equal(await engine.pets.count(), 1);
    assert.equal((await outputOf(url, 'keys', 'list')).split('\n').length, 3);
  });
  assert.equal((await engine.pets.create(pet)).id, 2);
  for (const args of changes.slice(0, 3)) await outputOf(url, ...args);
  assert.equal(logged.length, 1);
  assert.match(logged[0]!, / refused a statement: the store is being copied/);

  // The copy is interrupted.
  const admin = await connectTo(t, url);
  await assert.rejects(readDatabase(readDatabaseUrl('--database', url), async ({ check }) => {
    await assert.rejects(engine.pets.create(pet), UnavailableError);
    await admin.query(`
      select pg_terminate_backend(pid, 5000) from pg_locks join pg_database d on d.oid = database
      where locktype = 'advisory' and datname = current_database()`);
    await check();
  }), OperatorError);
  assert.equal((await engine.pets.create(pet)).id, 3);
});

onDatabases('a copy begins when the creates before it are visible, and refuses those after it', async (t, url) => {
  const engine = await engineOn(t, url, () => {});
  const other = await connectTo(t, url);
  await other.query('begin');
  const tail = ',"name":"a","categoryId":1,"status":"sold"}';
  await other.query('select petstore.add_pets($1, $2, 999)', [[tail], ['sold']]);
  const counts: number[] = [];
  const reading = readDatabase(readDatabaseUrl('--database', url), async ({ animals }) => counts.push(animals));
  const waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted";
  while ((await queryOn(url, waiting)).length === 0) assert.deepEqual(counts, []);
  await assert.rejects(engine.pets.create({ name: 'b', categoryId: 1n, status: 'sold' }), UnavailableError);
  await other.query('commit');
  await reading;
  assert.deepEqual(counts, [1]);
});

const interrupted: StoreContents = {
  animals: 2, lastId: 2, keys: [], usages: new Map(), check: async () => {}, orders: () => [],
  *pets() {
    yield ['{"id":1,"name":"a","categoryId":1,"status":"sold"}'];
    throw new OperatorError('interrupted');
  },
};
const progress = new Progress('test');

onDatabases('servers and commands refuse a store to which a copy was interrupted', async (t, url, other, parent) => {
  const folder = join(parent, 'store');
  const engine = await engineOn(t, url, () => {}); // it runs on the empty database
  const interruption = { message: 'interrupted' };
  await assert.rejects(writeFolder(folder, interrupted, progress), interruption);
  await assert.rejects(writeDatabase(readDatabaseUrl('--database', url), interrupted, progress), interruption);
  const file = join(parent, 'file');
  writeFileSync(file, '{"name":"next","categoryId":1}');
  const rest = 'was interrupted or is still running; if it is not running,';
  const database = readDatabaseUrl('--database', url).text;
  for (const [place, problem] of [
    [folder, `a copy to ${folder} ${rest} remove the folder, and copy again`],
    [url, `a copy to the database ${database} ${rest} copy again`],
  ] as const) {
    for (const args of [
      ['keys', 'list'], ['keys', 'create', '--name', 'a', '--plan', 'pro'], ['usage'], ['import', file], ['export'],
      ['export', '--orders'],
    ]) assert.deepEqual(await command(place, ...args), { code: 1, stdout: '', stderr: `petstore: ${problem}\n` });
    const { code, stderr } = await command(null, 'copy', place, other);
    assert.deepEqual([code, stderr], [1, `petstore: ${problem}\n`]);
    const start = async () => (place === url ? engineOn(t, url) : new FileEngine(folder, assert.fail));
    await assert.rejects(start, { message: problem, exitCode: 1 });
  }
  await assert.rejects(async () => engine.accounts.admit(newSecret(), Date.now(), 0, true), UnavailableError);

  const source = join(parent, 'source');
  await makeStore(source, 3);
  rmSync(folder, { recursive: true });
  for (const to of [url, folder]) {
    assert.deepEqual(await copied(source, to), [3, 4, 3]);
    const { code, stderr } = await command(null, 'copy', source, to);
    assert.equal(code, 1);
    assert.match(stderr, to === url ? /^petstore: the database \S+ is not empty; / : / is not an empty folder; name /);
  }
});

onDatabases('a database is not copied to itself under another name', async (_t, url) => {
  const other = url.replace('127.0.0.1', 'localhost');
  await outputOf(url, 'keys', 'list');
  const { code, stdout, stderr } = await command(null, 'copy', url, other);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(stderr, /^petstore: [^\n]*is being copied[^\n]*\n$/);
  await outputOf(url, 'keys', 'create', '--name', 'a', '--plan', 'free'); // it is not marked as incomplete
});

onDatabases('a copy does not use a folder that another process uses', async (_t, url, _, parent) => {
  const [folder, to] = [join(parent, 'store'), join(parent, 'to')];
  await makeStore(folder, 3);
  for (const place of [folder, to]) {
    const lock = await FolderLock.acquire(place, 'server');
    assert.ok(lock instanceof FolderLock);
    const { code, stderr } = await command(null, 'copy', ...(place === folder ? [folder, url] : [folder, to]));
    assert.equal(code, 1);
    assert.match(stderr, /^petstore: \S+ is in use by [^\n]*; stop it before a copy\n$/);
    await lock.release();
  }
  assert.deepEqual(await copied(folder, to), [3, 4, 3]);
  const [missing, full] = [join(parent, 'missing'), join(parent, 'full')];
  mkdirSync(full);
  writeFileSync(join(full, 'file'), '');
  for (const [from, into] of [[missing, url], [folder, full]] as const) {
    const { code, stderr } = await command(null, 'copy', from, into);
    assert.equal(code, 1);
    assert.match(stderr, /there is no data folder |full is not an empty folder; name one that does not exist\n$/);
  }
  assert.deepEqual([existsSync(missing), readdirSync(full)], [false, ['file']]);
});

test('a copy with wrong arguments is refused without a password', async (t) => {
  const folder = temporaryFolder(t);
  for (const args of [
    ['copy', folder], ['copy', folder, 'postgres://u:geheim@h'], ['copy', 'postgres://u:geheim@h/a\n', folder],
    ['copy', folder, 'mysql://u:geheim@h/a'], ['copy', folder, folder, '--data', folder],
    ['copy', folder, folder, 'postgres://u:geheim@h/a'],
  ]) {
    const { code, stdout, stderr } = await command(null, ...args);
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^petstore: [^\n]+\n$/);
    assert.ok(!stderr.includes('geheim'), stderr);
  }
});
