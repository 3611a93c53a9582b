/** Who takes part: our own server; the peers are in peers.ts. */
import { cpSync } from 'node:fs';
import { basename } from 'node:path';
import { fill, makeKey, startOwnServer, temporaryFolder } from '../measure/own-server.ts';
import type { Demand } from './check.ts';
import { animals, type Row } from './rows.ts';
import type { Site } from './site.ts';

export interface Contestant {
  readonly name: string;
  readonly demand: Demand;
  /** Starts a server with the first animals. Rejects with why it could not be. */
  readonly start: () => Promise<Site>;
  /** What the specification asks for, and it cannot do in any row. */
  readonly lacks?: string;
  /** Why it has no figures for a row. */
  readonly cannot?: (row: Row) => string | undefined;
  /** What one must know to read its figures for a row. */
  readonly note?: (row: Row) => string | undefined;
}

/** The names that tables, charts and comparisons go by. */
export const ours = 'petstore';
export const floor = 'node:http';
export const withoutSync = 'petstore without sync';

/**
 * For each server that is measured. While it waits for its turn, V8 would collect garbage to give memory back, and forget the hidden
 * classes of all that lives no longer than a request: what a server costs under load would depend on how long the others had been
 * measured, and more so for programs with more code.
 */
export const keepsItsHeap: readonly string[] = ['--no-memory-reducer'];

const unlimited = 1_000_000_000;

/**
 * Our own server.
 *
 * @throws NotStarted if it is not built
 */
export async function ownServers(): Promise<{ readonly ours: Contestant; readonly withoutSync: Contestant }> {
  const model = temporaryFolder();
  await fill(model, animals);
  const key = await makeKey(model, { perMinute: unlimited, perDay: unlimited });
  // By the day, so that refusals are never so many in a minute that the key is banned.
  const spentKey = await makeKey(model, { perMinute: unlimited, perDay: 1 });
  const start = async (nodeArgs: readonly string[]): Promise<Site> => {
    const folder = temporaryFolder();
    cpSync(model, folder, { recursive: true, filter: (path) => !basename(path).startsWith('lock.') });
    const program = await startOwnServer(folder, { flags: ['--trust-proxy', '1'], nodeArgs: [...keepsItsHeap, ...nodeArgs] });
    return { program, baseUrl: `${program.address}/v1`, key, spentKey };
  };
  const noSync = new URL('no-sync.mjs', import.meta.url).href;
  return {
    ours: { name: ours, demand: 'service', start: () => start([]) },
    withoutSync: { name: withoutSync, demand: 'service', start: () => start(['--import', noSync]) },
  };
}
