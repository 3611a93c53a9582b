/** From options to a session that is open: the server found, the key accepted. */
import { type Clock } from './client/clock.ts';
import { isLoopback, type Options } from './options.ts';
import { startOwnServer } from './own-server.ts';
import { Session, type SessionOptions } from './session/session.ts';
import type { Wait } from './client/client.ts';

/** A session, and how to end it. */
export interface OpenSession {
  readonly session: Session;
  end(): Promise<void>;
}

/**
 * Starts this project's own server where no other is named, and sends the first request.
 *
 * @throws UsageError if the own server does not start
 * @throws Untestable if there is no server, or it refuses the key
 */
export async function openSession(options: Options, clock: Clock, wait: Wait): Promise<OpenSession> {
  const own = options.baseUrl === undefined ? await startOwnServer() : undefined;
  const { baseUrl, apiKey } = own ?? (options as { baseUrl: string; apiKey: string });
  const write = isLoopback(baseUrl) ? !options.readOnly : options.mayWriteElsewhere;
  const session = new Session({ ...options, baseUrl, apiKey, write } satisfies SessionOptions, clock, wait);
  const end = async () => {
    session.client.close();
    await own?.stop();
  };
  try {
    await session.open();
  } catch (error) {
    await end();
    throw error;
  }
  return { session, end };
}
