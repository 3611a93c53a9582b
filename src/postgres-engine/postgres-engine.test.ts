import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import { noPostgres, testDatabase } from '../../harness/postgres.ts';
import { cases, runCase, type Open, type OpenEngine } from '../testing/engine-contract.ts';
import { readDatabaseUrl } from './database-url.ts';
import { PostgresEngine } from './postgres-engine.ts';

/** Opens an engine on a database. It is closed at the end of the test. */
async function engineOn(t: TestContext, url: string, now?: () => number): Promise<PostgresEngine> {
  const address = readDatabaseUrl('--database', url);
  const engine = await PostgresEngine.open(address, { log: (line) => assert.fail(line), ...(now && { now }) });
  t.after(() => engine.release());
  await engine.prepare();
  await engine.load();
  return engine;
}

const open: Open = async (t, now) => {
  const url = (await testDatabase(t))!;
  const start = async (): Promise<OpenEngine> => {
    const engine = await engineOn(t, url, now);
    return { engine, reopen: () => engine.close().then(() => engine.release()).then(start) };
  };
  return start();
};

const hasPostgres = (await testDatabase({ after() {} })) !== null;
const options = { skip: hasPostgres ? false : noPostgres };

for (const [name, run] of Object.entries(cases)) {
  test(`PostgreSQL: ${name}`, options, (t) => runCase(t, open, run));
}
