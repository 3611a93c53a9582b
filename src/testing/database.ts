/** Test support: engines on a PostgreSQL database, and plain connections to it. */
import assert from 'node:assert/strict';
import { Client } from 'pg';
import type { Owner } from '../../harness/owner.ts';
import type { Log } from '../observe/log.ts';
import { readDatabaseUrl } from '../postgres-engine/database-url.ts';
import { PostgresEngine } from '../postgres-engine/postgres-engine.ts';

const fail: Log = (line) => assert.fail(line);

/** Opens an engine on a database that must be reachable. The engine is closed with its owner. */
export async function engineOn(owner: Owner, url: string, log: Log = fail): Promise<PostgresEngine> {
  const engine = await PostgresEngine.open(readDatabaseUrl('--database', url), { log });
  owner.after(() => engine.release());
  await engine.prepare();
  assert.equal(engine.progress, 100);
  return engine;
}

/** Opens engines on a database, one after the other. */
export async function enginesOn(owner: Owner, url: string, count: number): Promise<PostgresEngine[]> {
  const engines = [];
  while (engines.length < count) engines.push(await engineOn(owner, url));
  return engines;
}

/** A connection whose queries resolve to rows, each as the values of its columns. */
export interface PlainConnection {
  query(text: string, values?: readonly unknown[]): Promise<unknown[][]>;
}

/** Connects to a database. The connection is closed with its owner. */
export async function connectTo(owner: Owner, connectionString: string): Promise<PlainConnection> {
  const client = new Client({ connectionString });
  client.on('error', () => {}); // the server was killed; the next query rejects
  await client.connect();
  owner.after(() => client.end().catch(() => {}));
  return {
    async query(text, values = []) {
      return (await client.query<unknown[]>({ text, values: [...values], rowMode: 'array' })).rows;
    },
  };
}

/** Runs one query on a connection of its own. */
export async function queryOn(url: string, text: string, values: readonly unknown[] = []): Promise<unknown[][]> {
  const ends: (() => unknown)[] = [];
  const connection = await connectTo({ after: (end) => ends.push(end) }, url);
  try {
    return await connection.query(text, values);
  } finally {
    for (const end of ends) await end();
  }
}

const dayMs = 24 * 60 * 60_000;

/** Calls `run` again if the UTC day has changed meanwhile, after which every limit of a day is new. */
export async function withinOneDay<T>(run: () => Promise<T>): Promise<T> {
  for (;;) {
    const day = Math.floor(Date.now() / dayMs);
    const outcome = await run().then((result) => ({ result }), (error: unknown) => ({ error }));
    if (Math.floor(Date.now() / dayMs) !== day) continue;
    if ('error' in outcome) throw outcome.error;
    return outcome.result;
  }
}
