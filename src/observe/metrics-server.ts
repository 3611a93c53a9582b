/**
 * The address of the metrics.
 *
 * The problem. It has no key, and whoever reaches it must neither slow down the server nor keep others out. Node's HTTP
 * server would parse each of the 3,000 requests that can arrive in one piece, and a client that keeps its connection
 * would occupy a place.
 *
 * The idea. A connection has one request, and is closed after the response. What follows the first head is not read. If
 * there are too many connections, the oldest one is closed, because a program that scrapes sends its request at once.
 * The text that was made for one request is sent to others too, if they ask within about 20 ms.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { maxHeadBytes } from '../http/head.ts';
import { isLoopback } from '../http/loopback.ts';
import { newRequestId, sendReplyWithoutRequest, type Reply } from '../http/reply.ts';
import { contentType } from './exposition.ts';

const maxConnections = 50;
/** How long a client may take to send its request, and then to read the response. */
const requestTimeoutMs = 2_000;
const responseTimeoutMs = 10_000;
/** Making the text takes at most one part in this many of the time: it is reused for 19 times as long. */
const freshFactor = 20;
const close = ['Connection', 'close'];

/** Responds to `GET /metrics` on an address of its own. */
export class MetricsServer {
  readonly #server: Server;
  readonly #metrics: () => string;
  /** The open connections, the oldest first. */
  readonly #sockets = new Set<Socket>();
  /** The text that was made last, and until when it is sent, by `performance.now()`. */
  #text = '';
  #freshUntil = -Infinity;
  #isLocal = false;

  private constructor(metrics: () => string) {
    this.#metrics = metrics;
    this.#server = createServer((socket) => this.#connected(socket));
  }

  /** Starts listening. `metrics` returns the text, in ASCII. Rejects with what `listen` reports. */
  static async open(host: string, port: number, metrics: () => string): Promise<MetricsServer> {
    const opened = new MetricsServer(metrics);
    await once(opened.#server.listen({ host, port }), 'listening');
    opened.#server.on('error', () => {}); // a connection that cannot be accepted is no reason to end
    opened.#isLocal = isLoopback(new URL(opened.address).host);
    return opened;
  }

  /** The address of the metrics: `http://127.0.0.1:9100/metrics`. */
  get address(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/metrics`;
  }

  /** Closes it with its connections. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #connected(socket: Socket): void {
    let timer = setTimeout(() => socket.destroy(), requestTimeoutMs);
    socket.on('error', () => {}); // it is closed, too
    socket.on('close', () => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
    });
    this.#sockets.add(socket);
    if (this.#sockets.size > maxConnections) {
      const [oldest] = this.#sockets;
      this.#sockets.delete(oldest!);
      oldest!.destroy();
    }
    let head = '';
    const receive = (piece: Buffer): void => {
      head += piece.toString('latin1', 0, maxHeadBytes);
      const isComplete = /\n\r?\n/.test(head.slice(-piece.length - 2));
      if (!isComplete && head.length < maxHeadBytes) return;
      socket.off('data', receive).pause();
      clearTimeout(timer);
      timer = setTimeout(() => socket.destroy(), responseTimeoutMs);
      const reply = isComplete ? this.#replyTo(head) : textReply(431, 'The head is too large.');
      sendReplyWithoutRequest(socket, reply, newRequestId(), close, head.startsWith('HEAD '));
      socket.end(() => socket.destroy());
    };
    socket.on('data', receive);
  }

  /** The response to a request whose head is the beginning of a text. */
  #replyTo(text: string): Reply {
    const [head = ''] = text.split(/\n\r?\n/, 1);
    const [, method = '', target = '', minor] = /^([A-Z]+) (\S+) HTTP\/1\.([01])\r?\n?/.exec(head) ?? [];
    const hosts = [...head.matchAll(/^host:(.*)$/gim)].map(([, host]) => host!.trim());
    if (minor === undefined || hosts.length > 1 || (hosts.length === 0 && minor === '1')) {
      return textReply(400, 'Send a request in HTTP/1.1, with one Host.');
    }
    if (this.#isLocal && !hosts.every(isLoopback)) {
      return textReply(421, 'This is a loopback address: the Host must be one, or localhost.');
    }
    if (!/^\/metrics(\?|$)/.test(target)) return textReply(404, 'The metrics are at /metrics.');
    if (method !== 'GET' && method !== 'HEAD') return textReply(405, 'Use GET.', ['Allow', 'GET, HEAD']);
    return { status: 200, headers: [], type: contentType, body: this.#currentText() };
  }

  /** The text, which is sent again for so long that making it takes at most a twentieth of the time. */
  #currentText(): string {
    const begin = performance.now();
    if (begin < this.#freshUntil) return this.#text;
    this.#text = this.#metrics();
    const end = performance.now();
    this.#freshUntil = end + (freshFactor - 1) * (end - begin);
    return this.#text;
  }
}

function textReply(status: number, message: string, headers: readonly string[] = []): Reply {
  return { status, headers, type: 'text/plain; charset=utf-8', body: `${message}\n` };
}
