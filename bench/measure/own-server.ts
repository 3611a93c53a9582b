/** This project's own server, with animals and keys, as a process to be measured. */
import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { atExit } from './at-exit.ts';
import { nodeCommand, NotStarted, reasonIn, ServerProcess } from './server-process.ts';

const dist = new URL('../../dist/', import.meta.url);
const execute = promisify(execFile);

/** What a key may send: the numbers of its plan, or these. */
export interface KeyLimits {
  readonly plan?: string;
  readonly perMinute: number;
  readonly perDay: number;
}

/** A key that is never refused. */
export const unlimited: KeyLimits = { perMinute: 1_000_000_000, perDay: 1_000_000_000 };

/** Creates a temporary folder, which is removed when this process exits. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  // A server that is being killed may still write.
  atExit(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 }));
  return folder;
}

/**
 * Copies a data folder whose server is stopped to a new temporary folder, and syncs it where the system can: what is
 * written later would disturb the measurement.
 */
export function copyOf(folder: string): string {
  const copy = temporaryFolder();
  cpSync(folder, copy, { recursive: true, filter: (path) => !basename(path).startsWith('lock.') });
  spawnSync('sync', ['-f', copy]);
  return copy;
}

/**
 * Creates a data folder with `animals` animals; with `spare` and more of them, so that the journal has room for only so
 * many bytes before the server writes a snapshot. Returns the folder and how many animals it has: 1, 2, 3, …
 *
 * @throws NotStarted
 */
export async function filledFolder(animals: number, spare?: number): Promise<readonly [string, number]> {
  const folder = temporaryFolder();
  built('store/pet-store.js'); // which fill.mjs imports
  const args = [animals, ...(spare === undefined ? [] : [spare])].map(String);
  return [folder, Number(await runNode(new URL('fill.mjs', import.meta.url), folder, ...args))];
}

/**
 * Creates a key in a data folder, whether a server runs on it or not, and returns its secret.
 *
 * @throws NotStarted
 */
export async function makeKey(folder: string, { plan, perMinute, perDay }: KeyLimits): Promise<string> {
  const numbers = ['--per-minute', String(perMinute), '--per-day', String(perDay)];
  const limits = plan === undefined ? ['enterprise', ...numbers] : [plan];
  const args = ['keys', 'create', '--name', 'bench', '--data', folder, '--plan', ...limits];
  return (await runNode(built('cli.js'), ...args)).trim();
}

/** A running server of ours. */
export interface OwnServer {
  readonly process: ServerProcess;
  readonly folder: string;
  /** Ends in /v1. */
  readonly baseUrl: string;
}

/**
 * Starts the built server on a data folder and a free port.
 *
 * @throws NotStarted
 */
export async function startOwnServer(folder: string, ...flags: readonly string[]): Promise<OwnServer> {
  const args = ['--host', '127.0.0.1', '--port', '0', '--data', folder, ...flags];
  const process = await ServerProcess.start(nodeCommand(built('server.js'), ...args));
  return { process, folder, baseUrl: `${process.address}/v1` };
}

/** The result of `task` with a fresh server on a copy of a data folder, which is removed afterwards. */
export async function withServerOn<T>(model: string, task: (server: OwnServer) => Promise<T>): Promise<T> {
  const server = await startOwnServer(copyOf(model));
  try {
    return await server.process.during(task(server));
  } finally {
    await server.process.stop();
    rmSync(server.folder, { recursive: true, force: true });
  }
}

/**
 * Runs a Node program to its end and returns its output.
 *
 * @throws NotStarted with the reason that the program printed
 */
export async function runNode(program: URL, ...args: readonly string[]): Promise<string> {
  const running = execute(process.execPath, [fileURLToPath(program), ...args]);
  const cancelKill = atExit(() => running.child.kill('SIGKILL'));
  try {
    return (await running).stdout;
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    throw new NotStarted(reasonIn(stderr ?? '') ?? message);
  } finally {
    cancelKill();
  }
}

function built(name: string): URL {
  const program = new URL(name, dist);
  if (!existsSync(program)) throw new NotStarted(`${fileURLToPath(program)} does not exist: npm run build`);
  return program;
}
