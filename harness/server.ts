/**
 * Starts this project's built server and the command `petstore` as processes, for the kit, the benches and all tests.
 * Nothing in this folder imports from src/, conformance/ or bench/.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isBundle } from './bundle.ts';
import type { Owner } from './owner.ts';
import { NotStarted, outputOf, Program, type Ended } from './program.ts';

/** A bundle is in this folder itself, or elsewhere without a server. */
export const distFolder = fileURLToPath(new URL(isBundle ? '.' : '../dist', import.meta.url));
export const serverPath = join(distFolder, 'server.js');
export const cliPath = join(distFolder, 'cli.js');

/** A server that listens. */
export interface RunningServer extends Program {
  /** For example `http://127.0.0.1:8080`, `https://127.0.0.1:8443` or `unix:/run/petstore.sock`. */
  readonly address: string;
}

/**
 * Starts the server on a data folder and, unless the flags or the variables say otherwise, on a free port of 127.0.0.1.
 *
 * @param place the data folder, or the URL of a database
 * @param flags further flags of the server
 * @param command another command that runs a server, for example one with flags of Node
 * @param env environment variables; without them the log is text, and the port is a free one
 * @throws NotStarted if it is not built
 */
export function runServer(
  owner: Owner,
  place: string,
  flags: readonly string[] = [],
  command: readonly string[] = [process.execPath, built(serverPath)],
  env: NodeJS.ProcessEnv = {},
): Program {
  return new Program(owner, [...command, ...placed(place), ...flags], { PORT: '0', LOG_FORMAT: 'text', ...env });
}

/**
 * Starts the server as `runServer` does, and waits until it listens.
 *
 * @throws NotStarted if it is not built, or ends before that
 */
export async function startServer(...args: Parameters<typeof runServer>): Promise<RunningServer> {
  const server = runServer(...args);
  const [, address = ''] = await server.printed(/listening on ((?:https?|unix):\S+)\n/);
  return Object.assign(server, { address });
}

/**
 * Runs the operator's command on a data folder or a database to its end.
 *
 * @throws NotStarted if it is not built
 */
export function petstore(owner: Owner, place: string, ...args: readonly string[]): Promise<Ended> {
  return new Program(owner, [process.execPath, built(cliPath), ...args, ...placed(place)]).ended;
}

/** The flags that say where the data is: in a folder, or in the database with this URL. */
function placed(place: string): string[] {
  return [place.startsWith('postgres://') ? '--database' : '--data', place];
}

/**
 * Creates a key in a data folder or a database, whether a server runs on it or not, and returns its secret.
 *
 * @param more further flags
 * @throws NotStarted
 */
export async function makeKey(owner: Owner, place: string, plan = 'business', ...more: string[]): Promise<string> {
  const args = ['keys', 'create', '--name', 'test', '--plan', plan, ...more];
  return (await outputOf(petstore(owner, place, ...args))).trimEnd();
}

/**
 * Returns the path of a built program.
 *
 * @throws NotStarted if it is not built
 */
export function built(path: string): string {
  // Beside a bundle that was copied elsewhere, a server.js may be that of another project.
  if (isBundle && !existsSync(join(distFolder, 'operations/openapi.json')))
    throw new NotStarted("--base-url is required, because this project's server is not installed here");
  if (!existsSync(path)) throw new NotStarted(`${path} does not exist: run npm run build`);
  return path;
}

/**
 * Builds the server, unless its build is newer than its sources. Can be called by several processes at once.
 *
 * @throws NotStarted if the build fails
 */
export async function buildIfNeeded(owner: Owner): Promise<void> {
  if (isBundle) return; // it has no sources
  const command = [process.execPath, 'scripts/build.mjs', '--if-needed'];
  const { code, stdout, stderr } = await new Program(owner, command).ended;
  if (code !== 0) throw new NotStarted(`the build failed: ${(stdout + stderr).trim().split('\n')[0]}`);
}
