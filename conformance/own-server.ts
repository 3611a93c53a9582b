/** This project's own server, for runs without --base-url: with sample animals and a key, in a temporary folder. */
import { startServer, temporaryFolder } from '../harness/server.ts';

export interface OwnServer {
  readonly baseUrl: string;
  readonly apiKey: string;
  /** Its data folder. */
  readonly folder: string;
  /** Stops the server and removes its folder. */
  stop(): Promise<void>;
}

/** What the server prints with --demo: its address, and on a line of its own the key. */
const addressAndKey = /listening on (http:\S+)\n[^]*?^ +([A-Za-z0-9_]{20,})\n/m;

/**
 * Starts the server.
 *
 * @throws NotStarted if it is not built, or does not start
 */
export async function startOwnServer(): Promise<OwnServer> {
  const folder = temporaryFolder('petstore-conformance-');
  try {
    const server = await startServer(folder.path, ['--demo'], addressAndKey);
    const stop = async () => {
      await server.stop();
      folder.remove();
    };
    return { baseUrl: `${server.address}/v1`, apiKey: server.printed[2]!, folder: folder.path, stop };
  } catch (error) {
    folder.remove();
    throw error;
  }
}
