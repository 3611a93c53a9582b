/** Free ports for programs that cannot choose one themselves. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';

/** Returns a free port. Another program may take it before the caller does. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
