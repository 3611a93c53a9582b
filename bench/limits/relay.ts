/**
 * From a port of this machine to a server behind TLS, whose certificate is checked. autocannon checks none, and would hand the key
 * to whoever stands in the server's place.
 */
import { once } from 'node:events';
import { createServer, isIP, type AddressInfo, type Socket } from 'node:net';
import { connect } from 'node:tls';

export interface Relay {
  /** Where to send instead: the same path, on a port of this machine. */
  readonly baseUrl: string;
  /** Why a connection to the server failed last; undefined while none has. */
  readonly problem: () => Error | undefined;
  close(): void;
}

/** Opens a relay to the host of an https URL. `ca` is whom a test trusts; otherwise Node's authorities, and those of NODE_EXTRA_CA_CERTS. */
export async function relayTo(baseUrl: string, ca?: string): Promise<Relay> {
  const { hostname, port, pathname } = new URL(baseUrl);
  const host = hostname.replace(/^\[|\]$/g, '');
  const sockets = new Set<Socket>();
  let problem: Error | undefined;
  const server = createServer({ noDelay: true }, (near) => {
    const far = connect({
      host,
      port: Number(port || 443),
      ...(isIP(host) === 0 && { servername: host }),
      ...(ca !== undefined && { ca }),
    });
    far.setNoDelay(true);
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on('error', (error) => {
        if (from === far) problem = error;
        to.destroy();
      });
      from.on('close', () => {
        sockets.delete(from);
        to.destroySoon();
      });
    }
    // Not a byte goes out before the certificate has been found right.
    far.once('secureConnect', () => near.pipe(far).pipe(near));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    problem: () => problem,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
