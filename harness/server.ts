/**
 * This project's built server and its operator's command, as processes: the one way to start them for the kit, the
 * benches and all tests. Nothing in this folder imports from src/, conformance/ or bench/.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Owner } from './owner.ts';
import { NotStarted, Program, type Ended } from './program.ts';

export const distFolder = fileURLToPath(new URL('../dist', import.meta.url));
export const serverPath = join(distFolder, 'server.js');
export const cliPath = join(distFolder, 'cli.js');

export interface ServerOptions {
  readonly env?: NodeJS.ProcessEnv;
  /** The Node that runs the server, by default this one, and its flags. */
  readonly node?: string;
  readonly nodeFlags?: readonly string[];
  /** Another built server. */
  readonly path?: string;
  /** The largest file that the server may write, in KiB. Beyond it, writes fail as on a full disk. */
  readonly maxFileKib?: number;
}

/** A server that listens. */
export interface RunningServer extends Program {
  /** Such as `http://127.0.0.1:8080`. */
  readonly address: string;
}

/**
 * Starts the server on a data folder and, unless the flags name another, on a free port of 127.0.0.1.
 *
 * @param args further flags
 * @throws NotStarted if it is not built
 */
export function runServer(
  owner: Owner, folder: string, args: readonly string[] = [], options: ServerOptions = {},
): Program {
  const { env, node = process.execPath, nodeFlags = [], path = serverPath, maxFileKib } = options;
  const flags = [...nodeFlags, built(path), '--port', '0', '--data', folder, ...args];
  if (maxFileKib === undefined) return new Program(owner, node, flags, env);
  // A soft limit can be raised again.
  return new Program(owner, 'bash', ['-c', `ulimit -S -f ${maxFileKib}; exec "$0" "$@"`, node, ...flags], env);
}

/**
 * Starts the server as `runServer` does, and waits until it listens.
 *
 * @throws NotStarted if it is not built, or ends before that
 */
export async function startServer(...args: Parameters<typeof runServer>): Promise<RunningServer> {
  const server = runServer(...args);
  const [, address = ''] = await server.printed(/listening on (http:\S+)\n/);
  return Object.assign(server, { address });
}

/**
 * Runs the operator's command on a data folder to its end.
 *
 * @throws NotStarted if it is not built
 */
export function petstore(owner: Owner, folder: string, ...args: readonly string[]): Promise<Ended> {
  return command(owner, folder, args).ended;
}

/**
 * Creates a key in a data folder, whether a server runs on it or not, and returns its secret.
 *
 * @param more further flags
 * @throws NotStarted
 */
export async function makeKey(
  owner: Owner, folder: string, plan = 'business', ...more: readonly string[]
): Promise<string> {
  const create = ['keys', 'create', '--name', 'test', '--plan', plan, ...more];
  return (await command(owner, folder, create).output()).trimEnd();
}

function command(owner: Owner, folder: string, args: readonly string[]): Program {
  return new Program(owner, process.execPath, [built(cliPath), ...args, '--data', folder]);
}

/**
 * Returns the path of a built program.
 *
 * @throws NotStarted if it is not built
 */
export function built(path: string): string {
  if (!existsSync(path)) throw new NotStarted(`${path} does not exist: run npm run build`);
  return path;
}
