import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { contentType } from './exposition.ts';

/** Beyond this, a connection is closed at once: few programs scrape. */
const maxConnections = 50;
/** A program that scrapes sends its request at once. Those that send nothing must not keep it out for long. */
const requestTimeoutMs = 2_000;
const checkIntervalMs = 500;

/** Responds to `GET /metrics` on an address of its own. */
export class MetricsServer {
  readonly #server: Server;

  private constructor(server: Server) {
    this.#server = server;
  }

  /** Starts listening. `metrics` returns the text for each request. Rejects with what `listen` reports. */
  static async open(host: string, port: number, metrics: () => string): Promise<MetricsServer> {
    const timeouts = {
      headersTimeout: requestTimeoutMs,
      requestTimeout: requestTimeoutMs,
      connectionsCheckingInterval: checkIntervalMs,
    };
    const server = createServer(timeouts, (request, response) => {
      request.resume();
      const { method, url = '' } = request;
      const isRead = method === 'GET' || method === 'HEAD';
      const status = !/^\/metrics(\?|$)/.test(url) ? 404 : isRead ? 200 : 405;
      const body = status === 200 ? metrics() : `${status === 404 ? 'The metrics are at /metrics.' : 'Use GET.'}\n`;
      const type = status === 200 ? contentType : 'text/plain; charset=utf-8';
      const headers = {
        'Content-Type': type,
        'Content-Length': Buffer.byteLength(body),
        'Cache-Control': 'no-store',
        'X-Content-Type-Options': 'nosniff',
      };
      response.writeHead(status, status === 405 ? { ...headers, Allow: 'GET, HEAD' } : headers).end(body);
    });
    server.maxConnections = maxConnections;
    server.timeout = 65_000;
    await once(server.listen({ host, port }), 'listening');
    server.on('error', () => {}); // a connection that cannot be accepted is no reason to end
    return new MetricsServer(server);
  }

  /** The address of the metrics: `http://127.0.0.1:9100/metrics`. */
  get address(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/metrics`;
  }

  /** Closes it with its connections. */
  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
