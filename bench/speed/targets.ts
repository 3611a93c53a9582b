/** The targets that the speed bench compares: our own server, the baseline, and the peers of ../peers/. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, thisProcess } from '../../harness/owner.ts';
import { NotStarted } from '../../harness/program.ts';
import { distFolder } from '../../harness/server.ts';
import { animal } from '../measure/animal.mjs';
import type { KeyLimits } from '../measure/own-server.ts';
import { copyOf, filledFolder, makeLimitedKey, startBuild, unlimited } from '../measure/own-server.ts';
import { nodeCommand, ServerProcess } from '../measure/server-process.ts';
import { responsesTo, type Response, type RunningTarget } from './running-target.ts';
import { animals, creates, list, reads, type Workload } from './workloads.ts';

export interface Target {
  readonly name: string;
  readonly workloads: readonly Workload[];
  /** Starts a fresh process with the first animals. Rejects with the reason if that fails. */
  readonly start: (workload: Workload) => Promise<RunningTarget>;
  /** What the specification requires and the target cannot do. */
  readonly lacks?: string;
}

export const ours = 'petstore';
/** Our server with what an operator can turn on. Their user CPU is compared with that of `ours`. */
export const observed = {
  [`${ours} with access log`]: ['--access-log', '--log-format', 'json'],
  [`${ours} with metrics`]: ['--metrics', '127.0.0.1:0'],
} as const;
export const baseline = 'node:http';
/** What our server does for a read, in one file without any structure. */
export const plain = 'plain handler';
const baselinePath = fileURLToPath(new URL('baseline.mjs', import.meta.url));
const peersFolder = new URL('../peers/', import.meta.url);

/**
 * One request uses up this key. Its day is limited, not its minute: a ban would need as many refusals in a minute as
 * the minute admits requests.
 */
const onePerDay: KeyLimits = { perMinute: unlimited.perMinute, perDay: 1 };

/**
 * The baseline, our own server and the plain handler. If `isObserved`, also our server with a log and metrics;
 * `builds` are the folders of other builds of it.
 *
 * @throws NotStarted if our own server is not built
 */
export async function ownTargets(
  { isObserved = false, builds = [] }: { readonly isObserved?: boolean; readonly builds?: readonly string[] },
): Promise<readonly Target[]> {
  const withObserved = isObserved ? Object.entries(observed) : [];
  const [folder] = await filledFolder(animals);
  const keys = { full: [await makeLimitedKey(folder, unlimited)], spent: [await makeLimitedKey(folder, onePerDay)] };
  const startOf = async (dist: string, ...flags: readonly string[]): Promise<RunningTarget> =>
    ({ ...(await startBuild(dist, copyOf(folder), ['--trust-proxy', '1', ...flags])), keys });
  const start = (...flags: readonly string[]) => startOf(distFolder, ...flags);
  const recordings = new Map<Workload, readonly Recorded[]>();
  return [
    {
      ...{ name: baseline, workloads: [...reads, ...creates] },
      start: async (workload) => {
        const responses = recordings.get(workload) ?? await record(await start(), workload);
        recordings.set(workload, responses);
        const process = await startBaseline(responses);
        return { process, baseUrl: process.address, keys, isRecorded: true };
      },
    },
    { name: ours, workloads: [...reads, ...creates], start: () => start() },
    {
      ...{ name: plain, workloads: reads, lacks: 'creates; bans' },
      start: () => startFilledPeer(peerCommand('plain.mjs')),
    },
    ...withObserved.map(([name, flags]) => ({ name, workloads: [list], start: () => start(...flags) })),
    ...builds.map((dist) => ({ name: dist, workloads: [...reads, ...creates], start: () => startOf(resolve(dist)) })),
  ];
}

/** Starts bare node:http that sends recorded responses. */
export function startBaseline(responses: readonly Recorded[]): Promise<ServerProcess> {
  const file = join(temporaryFolder(thisProcess), 'responses.json');
  writeFileSync(file, JSON.stringify(responses));
  return ServerProcess.start(nodeCommand(baselinePath), { BENCH_RESPONSES: file });
}

/** A response, and what it responds to. */
export interface Recorded extends Pick<Response, 'status' | 'body'> {
  readonly method: string;
  readonly path: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
}

/** The responses of a target to a workload. */
async function record(target: RunningTarget, workload: Workload): Promise<readonly Recorded[]> {
  const { pathname } = new URL(target.baseUrl);
  if (workload.key === 'spent') await responsesTo(target, workload, 1); // uses up its day
  const responses = await responsesTo(target, workload);
  await target.process.stop();
  return responses.map((response, i) => ({
    ...{ method: workload.method, path: pathname + workload.exchanges[i]!.path },
    ...{ status: response.status, headers: headersOf(response), body: response.body },
  }));
}

/** The headers of a response without those that Node adds itself. */
function headersOf({ headers }: Response): readonly string[] {
  return headers.filter(([name]) => !['date', 'connection', 'keep-alive'].includes(name.toLowerCase())).flat();
}

/** A key of a peer, and its limits. */
export interface PeerKey extends KeyLimits {
  readonly key: string;
}

/**
 * Starts a peer on a data folder, with `count` animals if it has none yet. See ../peers/contract.mjs for the
 * variables.
 */
export function startPeer(
  command: readonly string[], folder: string, count: number, keys: readonly PeerKey[], store = '',
): Promise<ServerProcess> {
  const pets = join(folder, 'animals.json');
  writeFileSync(pets, JSON.stringify(Array.from({ length: count }, (_, i) => ({ id: i + 1, ...animal(i + 1) }))));
  const env = { PEER_DATA: folder, PEER_PETS: pets, PEER_KEYS: JSON.stringify(keys), PEER_STORE: store };
  return ServerProcess.start(command, env);
}

/** Starts a peer with the first animals and the keys of the bench. */
async function startFilledPeer(command: readonly string[], store?: string): Promise<RunningTarget> {
  const [key, spent] = ['key-that-is-never-refused', 'key-with-one-request-per-day'];
  const limited = [{ key, ...unlimited }, { key: spent, ...onePerDay }];
  const process = await startPeer(command, temporaryFolder(thisProcess), animals, limited, store);
  return { process, baseUrl: process.address, keys: { full: [key], spent: [spent] } };
}

/** The command of a peer in ../peers/. */
export function peerCommand(file: string): readonly string[] {
  return nodeCommand(fileURLToPath(new URL(file, peersFolder)));
}

/** The alternatives to our server. `unusable`: why they could not be installed. */
export function peers(unusable: string | undefined): readonly Target[] {
  const start = (command: () => readonly string[], store?: string) => async (): Promise<RunningTarget> => {
    if (unusable !== undefined) throw new NotStarted(unusable);
    return startFilledPeer(command(), store);
  };
  const node = (file: string, store?: string) => start(() => peerCommand(file), store);
  const windows = "windows that start by the clock (they start with a key's first request)";
  const lacks = `${windows}; bans; a categoryId beyond 2^53`;
  const durable = { workloads: [...reads, ...creates], lacks };
  const fastify = { ...durable, lacks: `${lacks}; X-RateLimit-Reset as a Unix timestamp (it is a number of seconds)` };
  const inMemory = { workloads: reads, lacks: 'durable creates; bans' };
  return [
    { name: 'fastify + SQLite', ...fastify, start: node('fastify.mjs', 'sqlite') },
    { name: 'fastify + SQLite, group commit', ...fastify, start: node('fastify.mjs', 'sqlite-group') },
    { name: 'express + SQLite', ...durable, start: node('express.mjs', 'sqlite') },
    { name: 'fastify in memory', ...inMemory, start: node('fastify.mjs', 'memory') },
    { name: 'hono in memory', ...inMemory, start: node('hono.mjs') },
    { name: 'polka in memory', ...inMemory, start: node('polka.mjs') },
    { name: 'Go net/http in memory', ...inMemory, start: start(goCommand) },
  ];
}

/** Builds the Go program, which Go does from its cache after the first time. */
function goCommand(): readonly string[] {
  const binary = join(temporaryFolder(thisProcess), 'go-net-http');
  try {
    const cwd = fileURLToPath(new URL('go/', peersFolder));
    execFileSync('go', ['build', '-o', binary, '.'], { cwd, stdio: 'pipe' });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new NotStarted(code === 'ENOENT' ? 'skipped: there is no Go toolchain (no command go)' : message);
  }
  return [binary];
}
