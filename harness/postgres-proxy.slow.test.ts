import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { Client } from 'pg';
import { cutAfter, loseCommit, PostgresProxy, stallInStatement } from './postgres-proxy.ts';
import { noPostgres, testDatabase } from './postgres.ts';

interface Opened {
  readonly proxy: PostgresProxy;
  /** Connected by way of the proxy, and directly. */
  readonly proxied: Client;
  readonly direct: Client;
}

/** Connects to an empty database. Resolves to null if there is no PostgreSQL. */
async function open(t: TestContext): Promise<Opened | null> {
  const url = await testDatabase(t);
  if (url === null) return null;
  const proxy = await PostgresProxy.start(t, url);
  const clients = [proxy.url, url].map((connectionString) => new Client({ connectionString }));
  const [proxied, direct] = clients as [Client, Client];
  for (const client of clients) {
    client.on('error', () => {}); // the query rejects
    await client.connect();
    t.after(() => client.end().catch(() => {}));
  }
  await direct.query('create table pets (name text)');
  return { proxy, proxied, direct };
}

async function namesIn(client: Client): Promise<string[]> {
  return (await client.query<{ name: string }>('select name from pets')).rows.map(({ name }) => name);
}

test('what was committed remains if the response is lost', async (t) => {
  const opened = await open(t);
  if (opened === null) return t.skip(noPostgres);
  const { proxy, proxied, direct } = opened;
  const lost = proxy.inject(loseCommit);
  await proxied.query('begin');
  await proxied.query('insert into pets values ($1)', ['Rex']);
  await assert.rejects(proxied.query('commit'), /Connection terminated/);
  await lost;
  assert.deepEqual(await namesIn(direct), ['Rex']);
});

test('a connection is cut after a number of bytes, and others continue', async (t) => {
  const opened = await open(t);
  if (opened === null) return t.skip(noPostgres);
  const { proxy, proxied, direct } = opened;
  for (const [side, statement] of [['client', 'select 1'], ['database', 'select 2']] as const) {
    const other = new Client({ connectionString: proxy.url });
    other.on('error', () => {});
    await other.connect();
    const cut = proxy.inject(cutAfter(10, side));
    await assert.rejects(other.query(statement), /Connection terminated/);
    await cut;
  }
  await proxied.query('select 3');
  assert.deepEqual(await namesIn(direct), []);
});

for (const [what, values] of [['simple query', []], ['extended query', ['Rex']]] as const) {
  test(`a connection that stalls keeps its locks until it continues: ${what}`, async (t) => {
    const opened = await open(t);
    if (opened === null) return t.skip(noPostgres);
    const { proxy, proxied, direct } = opened;
    const stalled = proxy.inject(stallInStatement(2));
    await proxied.query('begin');
    await proxied.query("insert into pets values ('before')");
    let hasResponded = false;
    const text = `insert into pets values (${values.length === 0 ? "'Rex'" : '$1'})`;
    const stalling = proxied.query(text, [...values]).then(() => (hasResponded = true));
    const resume = await stalled;
    const locks = "select 1 from pg_locks where relation = 'pets'::regclass and mode = 'RowExclusiveLock'";
    assert.equal((await direct.query(locks)).rowCount, 1);
    assert.deepEqual([await namesIn(direct), hasResponded], [[], false]);
    resume();
    await stalling;
    await proxied.query('commit');
    assert.deepEqual(await namesIn(direct), ['before', 'Rex']);
  });
}
