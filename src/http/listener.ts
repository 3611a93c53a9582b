import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { ApiError } from '../domain/api-error.ts';
import { Connection, type ConnectionContext, type Handler } from './connection.ts';
import { maxHeadBytes, wireError } from './head.ts';

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Connections beyond this number are answered 503 and closed. */
  readonly maxConnections: number;
  /** The longest that a request's head may take. */
  readonly headTimeoutMs: number;
  /** The longest that a whole request, head and body, may take. */
  readonly requestTimeoutMs: number;
  /** Idle connections are closed after this time, plus up to 5 s. */
  readonly keepAliveMs: number;
  /** A client that reads nothing of its response is disconnected after one to two times this period. */
  readonly stallTimeoutMs: number;
  /** A clock that only goes forward, in milliseconds. */
  readonly monotonic: () => number;
}

/** How often idle connections are looked for. */
const sweepMs = 5_000;
/** This many connections over `maxConnections` get a response; more are dropped without one. */
const maxRefusedConnections = 1_000;

/** The HTTP server: from sockets to requests, and from replies to the wire. Knows no pet. */
export class Listener {
  readonly #server: Server;
  readonly #maxConnections: number;
  readonly #context: ConnectionContext;
  readonly #connections = new Map<Socket, Connection>();
  readonly #keepAliveMs: number;
  readonly #sweeper: NodeJS.Timeout;
  #refusedConnections = 0;

  private constructor(handler: Handler, options: ListenerOptions) {
    const { maxConnections, headTimeoutMs, keepAliveMs, monotonic } = options;
    this.#maxConnections = maxConnections;
    this.#keepAliveMs = keepAliveMs;
    this.#context = { handler, keepAlive: ['Keep-Alive', `timeout=${keepAliveMs / 1000}`], stallTimeoutMs: options.stallTimeoutMs, monotonic, stopping: false };
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(sweepMs, keepAliveMs)).unref();
    const server = createServer({
      maxHeaderSize: maxHeadBytes,
      headersTimeout: headTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, headTimeoutMs),
      keepAliveTimeout: 0, // #sweep does it: a timer for each response takes a tenth of a request's time
      requireHostHeader: false, // headFault does it, with our own response
      joinDuplicateHeaders: true, // a repeated header must not pass for a single one
    });
    this.#server = server;
    server.maxHeadersCount = 0; // no limit but the head's size: a limit would drop headers without a word
    server.maxConnections = maxConnections + maxRefusedConnections;
    keepHalfOpen(server);

    server.on('connection', (socket) => this.#connected(socket));
    for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) {
      server.on(event, (message, response) => this.#connections.get(message.socket)?.receive(message, response));
    }
    server.on('connect', (message, socket) => {
      const refusal = new ApiError('method_not_allowed', 'This server is no proxy.', { allow: '' });
      this.#connections.get(socket as Socket)?.endWith((sender) => handler.answerUnserved(sender, refusal), message.headers);
    });
    server.on('clientError', (error, socket) => {
      const fault = wireError(error);
      if (fault === null) socket.destroy();
      else this.#connections.get(socket as Socket)?.fail(fault);
    });
  }

  /** Starts listening. Throws what `listen` reports (EADDRINUSE, EACCES, ENOTFOUND, …). */
  static async open(handler: Handler, options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(handler, options);
    await new Promise<void>((resolve, reject) => {
      // Stays for good: a connection that cannot be accepted (EMFILE) is no reason to end.
      // With a short queue, some of a burst's connections wait for TCP to try again, after a second or three.
      const { host, port, maxConnections: backlog } = options;
      listener.#server.on('error', reject).listen({ host, port, backlog }, resolve);
    }).catch((error: unknown) => {
      clearInterval(listener.#sweeper);
      throw error;
    });
    return listener;
  }

  /** The address it listens on: `http://127.0.0.1:8080`. */
  get address(): string {
    const { address, family, port } = this.#server.address() as AddressInfo;
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /**
   * Refuses new connections, and waits until every request under way is answered, at most `graceMs`.
   * Returns whether all were answered; the other connections are destroyed.
   */
  async stop(graceMs: number): Promise<boolean> {
    this.#context.stopping = true;
    let allAnswered = true;
    const timer = setTimeout(() => {
      for (const [socket, connection] of this.#connections) {
        allAnswered &&= !connection.busy;
        socket.destroy();
      }
    }, graceMs);
    // Node's close() destroys connections whose response is not sent yet, or that linger; but not all that never sent anything.
    await Promise.all([...this.#connections.values()].map(({ sent }) => sent));
    for (const [socket, { isQuiet }] of this.#connections) if (isQuiet) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
    clearTimeout(timer);
    clearInterval(this.#sweeper);
    return allAnswered;
  }

  /** Closes the connections that have been idle for too long. */
  #sweep(): void {
    const now = this.#context.monotonic();
    for (const [socket, connection] of this.#connections) {
      if (connection.idleMs(now) >= this.#keepAliveMs) socket.destroy();
    }
  }

  #connected(socket: Socket): void {
    if (this.#context.stopping) return void socket.destroy();
    const connection = new Connection(socket, this.#context);
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      connection.closed();
      this.#connections.delete(socket);
    });
    if (this.#connections.size - this.#refusedConnections <= this.#maxConnections) return;
    this.#refusedConnections += 1;
    socket.once('close', () => (this.#refusedConnections -= 1));
    const message = `This server serves ${this.#maxConnections} connections at a time.`;
    const refusal = new ApiError('too_many_connections', message, { retryAfterSeconds: 1 });
    connection.endWith((sender) => this.#context.handler.answerUnserved(sender, refusal));
  }
}

/** A client may close its side once it has sent its request; its response is still due. Node has no documented option for it. */
function keepHalfOpen(server: Server): void {
  (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;
}
