import { SingleRequestServer, textReply } from '../http/single-request-server.ts';
import type { Reply } from '../http/reply.ts';
import { contentType } from './exposition.ts';

/** Making the text takes at most one part in this many of the time: it is reused for 19 times as long. */
const freshFactor = 20;

/** Responds to `GET /metrics` on an address of its own. */
export class MetricsServer {
  readonly #server: SingleRequestServer;

  private constructor(server: SingleRequestServer) {
    this.#server = server;
  }

  /** Starts listening. `metrics` returns the text, in ASCII. Rejects with what `listen` reports. */
  static async open(host: string, port: number, metrics: () => string): Promise<MetricsServer> {
    const text = reused(metrics);
    return new MetricsServer(await SingleRequestServer.open(host, port, (method, target): Reply => {
      if (!/^\/metrics(\?|$)/.test(target)) return textReply(404, 'The metrics are at /metrics.');
      if (method !== 'GET' && method !== 'HEAD') return textReply(405, 'Use GET.', ['Allow', 'GET, HEAD']);
      return { status: 200, headers: [], type: contentType, body: text() };
    }));
  }

  /** The address of the metrics: `http://127.0.0.1:9100/metrics`. */
  get address(): string {
    return `${this.#server.address}/metrics`;
  }

  /** Closes it with its connections. */
  close(): void {
    this.#server.close();
  }
}

/** Returns a text, which it makes again only if that takes at most a twentieth of the time. */
function reused(make: () => string): () => string {
  let text = '';
  let freshUntil = -Infinity; // by `performance.now()`
  return () => {
    const begin = performance.now();
    if (begin < freshUntil) return text;
    text = make();
    const end = performance.now();
    freshUntil = end + (freshFactor - 1) * (end - begin);
    return text;
  };
}
