/**
 * This project's built server and its operator's command, as processes: the one way to start them for the kit, the
 * benches and all tests. Nothing in this folder imports from src/, conformance/ or bench/.
 */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const dist = new URL('../dist/', import.meta.url);

/** The server or the command could not be started. The message is one line. */
export class NotStarted extends Error {
  override readonly name = 'NotStarted';
}

export interface ServerProcess {
  /** What it listens on, such as `http://127.0.0.1:8080`. */
  readonly address: string;
  readonly pid: number;
  /** The match of `until` in its standard output. */
  readonly printed: RegExpExecArray;
  /** Sends a signal (SIGTERM by default) and waits until the process has ended. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

/** A new empty folder, removed by `remove` or at the latest when this process exits. */
export function temporaryFolder(prefix: string): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), prefix));
  const remove = () => {
    process.off('exit', remove);
    rmSync(path, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  };
  process.once('exit', remove);
  return { path, remove };
}

/**
 * Starts the server on a data folder, by default on a free port of 127.0.0.1. The server is killed when this process
 * exits.
 *
 * @param args further flags of the server
 * @param until what the server must print before the promise resolves; the first group is its address
 * @throws NotStarted if it is not built, or ends before that
 */
export async function startServer(
  folder: string,
  args: readonly string[] = [],
  until = /listening on (http:\S+)\n/,
): Promise<ServerProcess> {
  const flags = ['--host', '127.0.0.1', '--port', '0', '--data', folder, ...args];
  const child = spawn(process.execPath, [built('server.js'), ...flags], { env: {}, stdio: ['ignore', 'pipe', 'pipe'] });
  const kill = () => void child.kill('SIGKILL');
  process.prependOnceListener('exit', kill); // before its folder is removed
  const ended = once(child, 'close').then(() => process.off('exit', kill));
  let stdout = '';
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  child.stdout.setEncoding('utf8');
  const printed = await new Promise<RegExpExecArray | undefined>((resolve) => {
    child.stdout.on('data', (text: string) => {
      const found = until.exec((stdout += text));
      if (found !== null) resolve(found);
    });
    void ended.then(() => resolve(undefined));
  });
  if (printed === undefined)
    throw new NotStarted(`the server did not start: ${stderr.trim() || 'it printed no reason'}`);
  return {
    address: printed[1]!,
    pid: child.pid!,
    printed,
    stop: async (signal = 'SIGTERM') => {
      child.kill(signal);
      await ended;
    },
  };
}

/**
 * Runs `petstore` with the arguments on a data folder.
 *
 * @returns its standard output
 * @throws NotStarted if it is not built, or fails
 */
export async function petstore(folder: string, ...args: readonly string[]): Promise<string> {
  const command = [built('cli.js'), ...args, '--data', folder];
  try {
    return (await promisify(execFile)(process.execPath, command, { env: {} })).stdout;
  } catch (error) {
    const { stderr, message } = error as Error & { readonly stderr?: string };
    throw new NotStarted(stderr?.trim() || message);
  }
}

function built(name: string): string {
  const path = fileURLToPath(new URL(name, dist));
  if (!existsSync(path)) throw new NotStarted(`${path} does not exist: run npm run build`);
  return path;
}
