/** Opens a session for the options of a command line. */
import { readFileSync } from 'node:fs';
import { temporaryFolder, thisProcess } from '../harness/owner.ts';
import { buildIfNeeded, startServer } from '../harness/server.ts';
import type { Clock } from './client/clock.ts';
import { isLoopback, withFlag, type Options } from './options.ts';
import { Session } from './session/session.ts';
import { readKnown } from './verdicts/known.ts';

/**
 * Reads the known deviations, starts this project's own server if the options name no other, and sends the first
 * requests. `close` closes its connections, and stops the server if it is this project's own.
 *
 * @throws UsageError if the file of the known deviations is invalid
 * @throws NotStarted if this project's server does not start
 * @throws Untestable if the server does not respond, or rejects the key
 */
export async function openSession(options: Options, clock: Clock) {
  const { knownFile: file } = options;
  const known = file !== undefined && withFlag(`--known ${file}:`, () => readKnown(readFileSync(file, 'utf8'), file));
  const own = options.baseUrl === undefined ? await startOwnServer() : undefined;
  const { baseUrl, apiKey } = own ?? (options as { baseUrl: string; apiKey: string });
  const write = isLoopback(baseUrl) ? !options.readOnly : options.mayWriteElsewhere;
  const session = new Session({ ...options, ...(known && { known }), baseUrl, apiKey, write }, clock);
  const close = async () => {
    session.client.close();
    await own?.server.stop();
  };
  try {
    await session.open();
  } catch (error) {
    await close();
    throw error;
  }
  return { session, close };
}

/**
 * Builds and starts this project's own server, with sample animals and a key. Its folder is removed when this process
 * exits.
 */
async function startOwnServer() {
  await buildIfNeeded(thisProcess);
  const server = await startServer(thisProcess, temporaryFolder(thisProcess), ['--demo']);
  const [, apiKey = ''] = await server.printed(/^ +([A-Za-z0-9_]{20,})\n/m);
  return { server, baseUrl: `${server.address}/v1`, apiKey };
}
