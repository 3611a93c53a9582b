/** This project's own server, with animals and keys, as a process to be measured. */
import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, thisProcess } from '../../harness/owner.ts';
import { outputOf, Program } from '../../harness/program.ts';
import { built, distFolder, makeKey, runServer } from '../../harness/server.ts';
import { nodeCommand, ServerProcess } from './server-process.ts';

/** The limits of a key. */
export interface KeyLimits {
  readonly perMinute: number;
  readonly perDay: number;
}

/** A key that is never refused. */
export const unlimited: KeyLimits = { perMinute: 1_000_000_000, perDay: 1_000_000_000 };

/**
 * Copies a data folder whose server is stopped to a new temporary folder, and syncs it where the system can, because
 * data that is written later would disturb the measurement.
 */
export function copyOf(folder: string): string {
  const copy = temporaryFolder(thisProcess);
  cpSync(folder, copy, { recursive: true, filter: (path) => !basename(path).startsWith('lock.') });
  spawnSync('sync', ['-f', copy]);
  return copy;
}

/**
 * Creates a data folder with `animals` animals. With `spare` there are more of them: the journal then has room for only
 * `spare` bytes before the server writes a snapshot. Returns the folder and the number of animals: 1, 2, 3, …
 *
 * @throws NotStarted
 */
export async function filledFolder(animals: number, spare?: number): Promise<readonly [string, number]> {
  const folder = temporaryFolder(thisProcess);
  built(join(distFolder, 'file-engine/store/pet-store.js')); // fill.mjs imports it
  const args = [animals, ...(spare === undefined ? [] : [spare])].map(String);
  return [folder, Number(await runNode(new URL('fill.mjs', import.meta.url), folder, ...args))];
}

/**
 * Creates a key with these limits in a data folder, and returns its secret.
 *
 * @throws NotStarted
 */
export function makeLimitedKey(folder: string, { perMinute, perDay }: KeyLimits): Promise<string> {
  return makeKey(thisProcess, folder, 'enterprise', '--per-minute', String(perMinute), '--per-day', String(perDay));
}

/** This project's server, running. */
export interface OwnServer {
  readonly process: ServerProcess;
  readonly folder: string;
  /** Ends in /v1. */
  readonly baseUrl: string;
}

/**
 * Starts the server of a build, its folder `dist`, on a data folder or the URL of a database, and a free port.
 *
 * @throws NotStarted
 */
export async function startBuild(dist: string, folder: string, flags: readonly string[] = []): Promise<OwnServer> {
  const program = runServer(thisProcess, folder, flags, nodeCommand(built(join(dist, 'server.js'))));
  const process = await ServerProcess.watch(program);
  return { process, folder, baseUrl: `${process.address}/v1` };
}

/**
 * Runs a Node program to its end and returns its output.
 *
 * @throws NotStarted with the reason that the program printed
 */
export function runNode(program: URL, ...args: readonly string[]): Promise<string> {
  return outputOf(new Program(thisProcess, [process.execPath, fileURLToPath(program), ...args]).ended);
}
