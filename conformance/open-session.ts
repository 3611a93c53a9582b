/** Opens a session for the options of a command line. */
import type { Wait } from './client/client.ts';
import type { Clock } from './client/clock.ts';
import { isLoopback, type Options } from './options.ts';
import { startOwnServer } from './own-server.ts';
import { Session } from './session/session.ts';

export interface OpenSession {
  readonly session: Session;
  /** Closes its connections, and stops the server if it is this project's own. */
  close(): Promise<void>;
}

/**
 * Starts this project's own server if the options name no other, and sends the first requests.
 *
 * @throws NotStarted if this project's server does not start
 * @throws Untestable if the server does not respond, or rejects the key
 */
export async function openSession(options: Options, clock: Clock, wait: Wait): Promise<OpenSession> {
  const own = options.baseUrl === undefined ? await startOwnServer() : undefined;
  const { baseUrl, apiKey } = own ?? (options as { baseUrl: string; apiKey: string });
  const write = isLoopback(baseUrl) ? !options.readOnly : options.mayWriteElsewhere;
  const session = new Session({ ...options, baseUrl, apiKey, write }, clock, wait);
  const close = async () => {
    session.client.close();
    await own?.stop();
  };
  try {
    await session.open();
  } catch (error) {
    await close();
    throw error;
  }
  return { session, close };
}
