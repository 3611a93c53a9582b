/** A forward proxy for tests. It connects to one port of this machine, whatever host a request names. */
import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import type { Owner } from './owner.ts';

export interface ForwardProxy {
  /** `http://127.0.0.1:` and its port. */
  readonly origin: string;
  /** The requests that it has received: `GET http://pets.example/v1/pets`, `CONNECT pets.example:443`. */
  readonly requests: string[];
}

/** Starts a forward proxy. If `credentials` (`user:password`) is given, the proxy demands it. */
export async function forwardProxy(owner: Owner, port: number, credentials?: string): Promise<ForwardProxy> {
  const requests: string[] = [];
  const expected = credentials && `Basic ${Buffer.from(credentials).toString('base64')}`;
  const admits = ({ method, url, headers }: IncomingMessage) => {
    requests.push(`${method} ${url}`);
    return expected === undefined || headers['proxy-authorization'] === expected;
  };
  const server = createServer((incoming, response) => {
    if (!admits(incoming)) return void response.writeHead(407, { 'Proxy-Authenticate': 'Basic' }).end('<p>Log in</p>');
    const { pathname, search } = new URL(incoming.url!);
    const { 'proxy-authorization': _, ...headers } = incoming.headers;
    const options = { host: '127.0.0.1', port, path: pathname + search, method: incoming.method, headers };
    const forwarded = httpRequest(options, (received) => {
      response.writeHead(received.statusCode!, received.rawHeaders);
      received.pipe(response);
    });
    forwarded.on('error', () => response.writeHead(502, { Via: '1.1 test' }).end('<p>Unreachable</p>'));
    incoming.pipe(forwarded);
  });
  server.on('connect', (incoming, socket) => {
    socket.on('error', () => {});
    if (!admits(incoming)) return void socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const tunnel = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      socket.pipe(tunnel).pipe(socket);
    });
    tunnel.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    socket.on('close', () => tunnel.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  owner.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}
