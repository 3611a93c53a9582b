import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ApiError } from '../domain/api-error.ts';
import { Connection, type ConnectionContext, type Handler } from './connection.ts';
import { maxHeadBytes, wireError } from './head.ts';

export interface ListenerOptions extends Pick<ConnectionContext, 'monotonic'> {
  readonly host: string;
  /** 0 chooses a free port. */
  readonly port: number;
  /** Further connections receive 503 and are closed. */
  readonly maxConnections: number;
  /** The maximum time to receive the head of a request. */
  readonly headTimeoutMs: number;
  /** The maximum time to receive a whole request, head and body. */
  readonly requestTimeoutMs: number;
  /** Closes idle connections after this time, and those whose client reads no response after up to twice this time. */
  readonly idleTimeoutMs: number;
}

/** This many connections over `maxConnections` receive a response; more are dropped without one. */
const maxRefusedConnections = 1_000;

/** The HTTP server: turns what arrives on sockets into requests for a handler. */
export class Listener {
  readonly #server: Server;
  readonly #maxConnections: number;
  readonly #context: ConnectionContext;
  readonly #connections = new Map<Socket, Connection>();
  #refusedConnections = 0;
  /** How many connections were accepted since the start, and how many of them were refused. */
  readonly counts = { accepted: 0, refused: 0 };

  private constructor(handler: Handler, options: ListenerOptions) {
    const { maxConnections, headTimeoutMs, idleTimeoutMs, monotonic } = options;
    this.#maxConnections = maxConnections;
    const keepAlive = ['Keep-Alive', `timeout=${idleTimeoutMs / 1000}`];
    this.#context = { handler, keepAlive, monotonic, stopping: false };
    const server = (this.#server = createServer({
      maxHeaderSize: maxHeadBytes,
      headersTimeout: headTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, headTimeoutMs),
      keepAliveTimeout: 0, // server.timeout is enough, and needs no new timer for each response
      requireHostHeader: false, // headError checks it, with our own response
      joinDuplicateHeaders: true, // otherwise a repeated header looks like a single one
    }));
    server.maxHeadersCount = 0; // unlimited: Node would silently drop the headers above a limit
    server.maxConnections = maxConnections + maxRefusedConnections;
    server.timeout = idleTimeoutMs;
    // Lets a client half-close its connection before it receives its response. Node documents no option for this.
    (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;

    server.on('connection', (socket) => this.#connected(socket));
    server.on('timeout', (socket) => this.#connections.get(socket)?.timedOut());
    for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
      server.on(event, (message, response) => {
        if (event !== 'request') response.setHeader('Connection', 'keep-alive'); // Node's default with Expect is close
        this.#connections.get(message.socket)?.receive(message, response);
      });
    }
    server.on('connect', (message, socket) => {
      const connection = this.#connections.get(socket as Socket);
      (socket as Socket).on('timeout', () => connection?.timedOut()); // Node has removed its own listener
      const refusal = new ApiError('method_not_allowed', 'This server is no proxy.', { allow: '' });
      connection?.refuse(refusal, message.headers);
    });
    server.on('clientError', (error, socket) => {
      const refusal = wireError(error);
      if (refusal === null) socket.destroy();
      else this.#connections.get(socket as Socket)?.fail(refusal);
    });
  }

  /** Starts listening. Rejects with what `listen` reports (EADDRINUSE, EACCES, ENOTFOUND, …). */
  static async open(handler: Handler, options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(handler, options);
    const { host, port, maxConnections: backlog } = options; // a short backlog delays a burst of clients by seconds
    await once(listener.#server.listen({ host, port, backlog }), 'listening');
    listener.#server.on('error', () => {}); // a connection that cannot be accepted (EMFILE) is no reason to end
    return listener;
  }

  /** The address it listens on: `http://127.0.0.1:8080`. */
  get address(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /** The number of open connections. */
  get connections(): number {
    return this.#connections.size;
  }

  /**
   * Refuses new connections, waits up to `graceMs` until every pending request has its response, and destroys the
   * connections that are left. Returns whether every request received its response.
   */
  async stop(graceMs: number): Promise<boolean> {
    this.#context.stopping = true;
    let allDone = true;
    const timer = setTimeout(() => {
      for (const [socket, connection] of this.#connections) {
        allDone &&= !connection.busy;
        socket.destroy();
      }
    }, graceMs);
    // Node's close() would destroy connections whose response is not sent yet, and those that linger.
    await Promise.all([...this.#connections.values()].map((connection) => connection.drain()));
    await new Promise((resolve) => this.#server.close(resolve));
    clearTimeout(timer);
    return allDone;
  }

  #connected(socket: Socket): void {
    if (this.#context.stopping) return void socket.destroy();
    this.counts.accepted++;
    const connection = new Connection(socket, this.#context);
    this.#connections.set(socket, connection);
    const isRefused = this.#connections.size - this.#refusedConnections > this.#maxConnections;
    if (isRefused) {
      this.#refusedConnections += 1;
      this.counts.refused++;
    }
    socket.once('close', () => {
      this.#connections.delete(socket);
      if (isRefused) this.#refusedConnections -= 1;
    });
    if (!isRefused) return;
    const message = `This server serves ${this.#maxConnections} connections at a time.`;
    connection.refuse(new ApiError('too_many_connections', message, { retryAfterSeconds: 1 }));
  }
}
