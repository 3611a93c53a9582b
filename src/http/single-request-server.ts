/**
 * An HTTP server for an address without keys, where each connection has one request.
 *
 * The problem. Whoever reaches the address must neither slow down the process nor keep others out. Node's HTTP server
 * would parse each of the 3,000 requests that can arrive in one piece, and a client that keeps its connection would
 * occupy a place.
 *
 * The idea. A connection is closed after the first response, and what follows the first head is not read. If there are
 * too many connections, the oldest one is closed, because an honest client sends its request at once.
 */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { bytesOf } from '../domain/byte-text.ts';
import { maxHeadBytes } from './head.ts';
import { isLoopback } from './loopback.ts';
import { close, newRequestId, sendReplyWithoutRequest, type Reply } from './reply.ts';

const maxOpen = 50;
/** How long a client may take to send its request, and then to read the response. */
const requestTimeoutMs = 2_000;
const responseReadTimeoutMs = 10_000;

/** Returns the response to a request; must not reject. `target` is the path with the query. */
export type Respond = (method: string, target: string) => Reply | Promise<Reply>;

export class SingleRequestServer {
  readonly #server: Server;
  readonly #respond: Respond;
  /** The open connections, the oldest first. */
  readonly #sockets = new Set<Socket>();
  #isLocal = false;

  private constructor(respond: Respond) {
    this.#respond = respond;
    this.#server = createServer((socket) => this.#connected(socket));
  }

  /** Starts listening. Rejects with what `listen` reports. */
  static async open(host: string, port: number, respond: Respond): Promise<SingleRequestServer> {
    const opened = new SingleRequestServer(respond);
    await once(opened.#server.listen({ host, port }), 'listening');
    opened.#server.on('error', () => {}); // a connection that cannot be accepted is no reason to end
    opened.#isLocal = isLoopback(new URL(opened.address).host);
    return opened;
  }

  /** The address: `http://127.0.0.1:9100`. */
  get address(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
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
    if (this.#sockets.size > maxOpen) {
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
      timer = setTimeout(() => socket.destroy(), responseReadTimeoutMs);
      const send = (reply: Reply): void => {
        sendReplyWithoutRequest(socket, reply, newRequestId(), close, head.startsWith('HEAD '));
        socket.end(() => socket.destroy());
      };
      const reply = isComplete ? this.#replyTo(head) : textReply(431, 'The head is too large.');
      if (reply instanceof Promise) void reply.then(send);
      else send(reply);
    };
    socket.on('data', receive);
  }

  /** The response to a request whose head is the beginning of a text. */
  #replyTo(text: string): Reply | Promise<Reply> {
    const [head = ''] = text.split(/\n\r?\n/, 1);
    const [, method = '', target = '', minor] = /^([A-Z]+) (\S+) HTTP\/1\.([01])\r?\n?/.exec(head) ?? [];
    const hosts = [...head.matchAll(/^host:(.*)$/gim)].map(([, host]) => host!.trim());
    if (minor === undefined || hosts.length > 1 || (hosts.length === 0 && minor === '1')) {
      return textReply(400, 'Send a request in HTTP/1.1, with one Host.');
    }
    if (this.#isLocal && !hosts.every(isLoopback)) {
      return textReply(421, 'This is a loopback address: the Host must be one, or localhost.');
    }
    return this.#respond(method, target);
  }
}

/** A response with one line of text. */
export function textReply(status: number, message: string, headers: readonly string[] = []): Reply {
  return { status, headers, type: 'text/plain; charset=utf-8', body: bytesOf(`${message}\n`) };
}
