/** This project's own server with animals and keys, to be measured. */
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { atExit } from './at-exit.ts';
import { complaintIn, NotStarted, Program } from './program.ts';

const dist = new URL('../../dist/', import.meta.url);
const execute = promisify(execFile);

/** What a key may do: what its plan does, or these numbers. */
export interface KeyLimits {
  readonly plan?: string;
  readonly perMinute: number;
  readonly perDay: number;
}

/** A data folder of its own, removed when this process ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  // A server that is being killed may still write.
  atExit(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 }));
  return folder;
}

/**
 * Puts animals into an empty data folder.
 *
 * @throws NotStarted
 */
export async function fill(folder: string, animals: number): Promise<void> {
  built('store/pet-store.js'); // what fill.mjs uses
  await run(new URL('fill.mjs', import.meta.url), folder, String(animals));
}

/**
 * Makes a key in a data folder, whether a server runs on it or not. Gives its secret.
 *
 * @throws NotStarted
 */
export async function makeKey(folder: string, { plan, perMinute, perDay }: KeyLimits): Promise<string> {
  const limits = plan === undefined ? ['enterprise', '--per-minute', String(perMinute), '--per-day', String(perDay)] : [plan];
  const printed = await run(built('cli.js'), 'keys', 'create', '--name', 'bench', '--data', folder, '--plan', ...limits);
  return printed.trim();
}

/**
 * Starts the built server on a data folder, on a free port.
 *
 * @throws NotStarted
 */
export function startOwnServer(folder: string, { flags = [], nodeArgs = [] }: { flags?: readonly string[]; nodeArgs?: readonly string[] } = {}): Promise<Program> {
  return Program.start(built('server.js'), { nodeArgs, args: ['--host', '127.0.0.1', '--port', '0', '--data', folder, ...flags] });
}

/** A program of ours; refuses where there is none. */
function built(name: string): URL {
  const program = new URL(name, dist);
  if (!existsSync(program)) throw new NotStarted(`${fileURLToPath(program)} is not there: npm run build`);
  return program;
}

/**
 * Runs `node program` to its end. Gives what it printed.
 *
 * @throws NotStarted with what it complained of
 */
export async function run(program: URL, ...args: readonly string[]): Promise<string> {
  const running = execute(process.execPath, [fileURLToPath(program), ...args]);
  const ended = atExit(() => running.child.kill('SIGKILL'));
  try {
    return (await running).stdout;
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    throw new NotStarted(complaintIn(stderr ?? '') ?? message);
  } finally {
    ended();
  }
}
