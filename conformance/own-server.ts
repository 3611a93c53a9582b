/** This project's own server, as a process of its own: on a free port, in a temporary folder, with sample animals and a key. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError } from './options.ts';

export interface OwnServer {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Its data folder, by which `petstore` makes further keys. */
  readonly folder: string;
  stop(): Promise<void>;
}

/**
 * Starts it, and waits until it has shown its address and its key.
 *
 * @throws UsageError if it is not built, or does not start
 */
export async function startOwnServer(): Promise<OwnServer> {
  const program = fileURLToPath(new URL('../dist/server.js', import.meta.url));
  if (!existsSync(program)) throw new UsageError(`${program} is not there: npm run build`);
  const folder = mkdtempSync(join(tmpdir(), 'petstore-conformance-'));
  const child = spawn(process.execPath, [program, '--demo', '--host', '127.0.0.1', '--port', '0', '--data', folder], {
    env: {},
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const ended = once(child, 'close');
  const leaveNothing = () => {
    child.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  };
  process.once('exit', leaveNothing);
  let shown = '';
  let complaints = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (complaints += text));
  child.stdout.setEncoding('utf8');
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
    process.off('exit', leaveNothing);
    leaveNothing();
  };
  const ready = new Promise<{ baseUrl: string; apiKey: string } | undefined>((resolve) => {
    child.stdout.on('data', (text: string) => {
      shown += text;
      const address = /listening on (http:\S+)\n/.exec(shown)?.[1];
      // The key stands in a line of its own.
      const apiKey = /^ +([A-Za-z0-9_]{20,})\n/m.exec(shown)?.[1];
      if (address !== undefined && apiKey !== undefined) resolve({ baseUrl: `${address}/v1`, apiKey });
    });
    void ended.then(() => resolve(undefined));
  });
  const found = await ready;
  if (found === undefined) throw new UsageError(`this project's server did not start: ${complaints.trim() || 'it said nothing'}`);
  return { ...found, folder, stop };
}
