import assert from 'node:assert/strict';
import { chmodSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { Client } from 'pg';
import { temporaryFolder } from './owner.ts';
import { createDatabase, nameIn, noPostgres, startCluster, testDatabase } from './postgres.ts';
import { Program } from './program.ts';

/** Runs a query on a connection of its own, and returns the values of the first column. */
async function query(connectionString: string, statement: string): Promise<unknown[]> {
  const client = new Client({ connectionString });
  client.on('error', () => {}); // the server is killed; the query rejects
  await client.connect();
  try {
    return (await client.query<unknown[]>({ text: statement, rowMode: 'array' })).rows.map(([value]) => value);
  } finally {
    await client.end().catch(() => {});
  }
}

const tables = "select table_name from information_schema.tables where table_schema = 'public'";

test('each database is empty, and separate from the others', async (t) => {
  const [one, other] = [await testDatabase(t), await testDatabase(t)];
  if (one === null || other === null) return t.skip(noPostgres);
  await query(one, 'create table pets (name text)');
  assert.deepEqual([await query(one, tables), await query(other, tables)], [['pets'], []]);
  assert.deepEqual(await query(one, 'show server_encoding'), ['UTF8']);
});

test('a database is dropped after its owner, whose connections may be closed later', async (t) => {
  const hooks: (() => unknown)[] = [];
  const url = await testDatabase({ after: (hook) => hooks.push(hook) });
  const other = await testDatabase(t);
  if (url === null || other === null) return t.skip(noPostgres);
  const client = new Client({ connectionString: url }); // would fail the test with an event if it were disconnected
  await client.connect();
  for (const hook of hooks) await hook();
  await client.end();
  while ((await query(other, `select 1 from pg_database where datname = '${nameIn(url)}'`)).length > 0);
});

test('a killed server starts again on its port, with what was committed', async (t) => {
  const cluster = await startCluster(t);
  if (cluster === null) return t.skip(noPostgres);
  const url = await createDatabase(cluster.url);
  await query(url, 'create table pets (name text)');
  const interrupted = assert.rejects(query(url, 'select pg_sleep(600)'));
  await cluster.stop('SIGKILL');
  await interrupted;
  await assert.rejects(query(url, tables), { code: 'ECONNREFUSED' });
  await cluster.start();
  assert.deepEqual(await query(url, tables), ['pets']);
});

test('a suspended server keeps its connections, and does what it has received when it is resumed', async (t) => {
  const [cluster, other] = [await startCluster(t), await testDatabase(t)];
  if (cluster === null || other === null) return t.skip(noPostgres);
  const client = new Client({ connectionString: cluster.url });
  await client.connect();
  t.after(() => client.end());
  cluster.suspend();
  let hasResponded = false;
  const response = client.query('select 1').then(() => (hasResponded = true));
  for (let number = 0; number < 10; number++) await query(other, 'select 1'); // this server would have responded
  assert.equal(hasResponded, false);
  cluster.resume();
  await response;
});

/** A process that creates a database on the server that its tests would share, prints its URL, and goes on. */
const user = `
  import { thisProcess } from ${JSON.stringify(new URL('owner.ts', import.meta.url).href)};
  import { testDatabase } from ${JSON.stringify(new URL('postgres.ts', import.meta.url).href)};
  console.log(await testDatabase(thisProcess));
`;

for (const [how, code, signal, more] of [
  ['ends', 0, undefined, ''],
  ['is interrupted', 130, 'SIGINT', 'setInterval(() => {}, 1000);'],
] as const) {
  test(`the server and its folder are gone after a process that ${how}`, async (t) => {
    if ((await testDatabase(t)) === null) return t.skip(noPostgres);
    const TMPDIR = temporaryFolder(t);
    chmodSync(TMPDIR, 0o755); // for the user of the server
    const command = [process.execPath, '--import', 'tsx', '--input-type=module', '--eval', user + more];
    const { TEST_DATABASE_URL: _, ...env } = process.env;
    const program = new Program(t, command, { ...env, TMPDIR });
    const [, url = ''] = await program.printed(/^(postgres:.+)\n/);
    if (signal !== undefined) {
      assert.deepEqual(await query(url, tables), []);
      program.child.kill(signal);
    }
    assert.equal((await program.ended).code, code, program.stderr);
    await assert.rejects(query(url, tables), { code: 'ECONNREFUSED' });
    assert.deepEqual(readdirSync(TMPDIR).filter((name) => name.startsWith('petstore-')), []); // tsx leaves a folder
  });
}
