/** The peers as contestants; how each is set up is told in its own file in ../peers/. */
import { readFileSync } from 'node:fs';
import { temporaryFolder, type KeyLimits } from '../measure/own-server.ts';
import { NotStarted, Program } from '../measure/program.ts';
import { keepsItsHeap, type Contestant } from './contestants.ts';
import { animals, createRow, createsAt, listRow, rows, type Row } from './rows.ts';
import type { Site } from './site.ts';

const folder = new URL('../peers/', import.meta.url);

/** Those whose creates are durable, as ours are. */
export const durablePeers = ['fastify + SQLite', 'express + SQLite'] as const;

/** Creates at every number of connections, few to many. */
export const durableRows: readonly Row[] = [...createsAt, createRow].sort((a, b) => a.connections - b.connections);

const byTheClock = "windows that begin by the clock (a key's first request begins them)";
const int64 = 'a categoryId beyond 2^53 (it is refused)';

const key = 'bench-key-with-room-for-everything';
const spentKey = 'bench-key-of-which-one-request-is-all-of-a-day';
const keys: readonly PeerKey[] = [
  { key, perMinute: 1_000_000_000, perDay: 1_000_000_000 },
  { key: spentKey, perMinute: 1_000_000_000, perDay: 1 }, // by the day, as our own server's
];

/** A key, and what it may do. */
export interface PeerKey extends KeyLimits {
  readonly key: string;
}

/**
 * Starts a peer, the file in ../peers/, on a folder: with so many animals, if it has none yet.
 *
 * @throws NotStarted
 */
export function startPeer(file: string, data: string, pets: number, mayCome: readonly PeerKey[]): Promise<Program> {
  return Program.start(new URL(file, folder), {
    nodeArgs: keepsItsHeap,
    env: { BENCH_DATA: data, BENCH_PETS: String(pets), BENCH_KEYS: JSON.stringify(mayCome), BENCH_TRUST_PROXY: '1' },
  });
}

/** All peers with the rows in which they take part. `failure`: why they could not be installed. */
export function peers(failure: string | null): readonly (readonly [Contestant, readonly Row[]])[] {
  const start = (file: string, path?: (row: Row) => string) => async (): Promise<Site> => {
    if (failure !== null) throw new NotStarted(failure);
    const program = await startPeer(file, temporaryFolder(), animals, keys);
    return { program, baseUrl: program.address, key, spentKey, ...(path !== undefined && { path }) };
  };
  const jsonServerPath = (row: Row) => (row === listRow ? '/pets?_limit=20' : row.path);
  return [
    [
      {
        name: durablePeers[0],
        demand: 'service',
        start: start('fastify.mjs'),
        lacks: `${byTheClock}; X-RateLimit-Reset as a moment (it gives the seconds left); bans; ${int64}`,
      },
      [...rows, ...createsAt],
    ],
    [
      { name: durablePeers[1], demand: 'service', start: start('express.mjs'), lacks: `${byTheClock}; bans; ${int64}` },
      [...rows, ...createsAt],
    ],
    [
      {
        name: 'json-server',
        demand: 'animals',
        start: start('json-server.mjs', jsonServerPath),
        lacks: 'keys; limits; validation; pages by limit and after (it is asked for ?_limit=20); a sync after a create',
        cannot: ({ key }) => (key === 'none' ? 'it knows no keys' : key === 'spent' ? 'it has no limits' : undefined),
        note: ({ method }) => (method === 'POST' ? 'not durable' : undefined),
      },
      rows,
    ],
    [
      {
        name: 'Prism',
        demand: 'status',
        start: start('prism.mjs'),
        lacks: 'keeping an animal (its answers are the examples of the description); telling one key from another; counting requests',
        cannot: ({ key }) => (key === 'spent' ? 'it has no limits' : undefined),
        note: (row) => (row === listRow ? 'a mock: 3 examples' : row === createRow ? 'a mock: keeps nothing' : 'a mock'),
      },
      rows,
    ],
  ];
}

/** The versions of the peers' packages that are installed. */
export function peerVersions(): Readonly<Record<string, string>> {
  const { dependencies } = json(new URL('package.json', folder)) as { readonly dependencies: Readonly<Record<string, string>> };
  return Object.fromEntries(Object.keys(dependencies).map((name) => [name, versionOf(name)]));
}

function versionOf(name: string): string {
  try {
    return (json(new URL(`node_modules/${name}/package.json`, folder)) as { readonly version: string }).version;
  } catch {
    return 'not installed';
  }
}

function json(file: URL): unknown {
  return JSON.parse(readFileSync(file, 'utf8'));
}
