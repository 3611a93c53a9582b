/** This project's own server, for runs without --base-url: with sample animals and a key, in a temporary folder. */
import { temporaryFolder, thisProcess } from '../harness/owner.ts';
import { startServer } from '../harness/server.ts';

export interface OwnServer {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Stops the server. Its folder is removed when this process exits. */
  stop(): Promise<unknown>;
}

/**
 * Starts the server.
 *
 * @throws NotStarted if it is not built, or does not start
 */
export async function startOwnServer(): Promise<OwnServer> {
  const server = await startServer(thisProcess, temporaryFolder(thisProcess), ['--demo']);
  const [, apiKey = ''] = await server.printed(/^ +([A-Za-z0-9_]{20,})\n/m);
  return { baseUrl: `${server.address}/v1`, apiKey, stop: () => server.stop() };
}
