import { createServer, type Server, type ServerResponse } from 'node:http';
import { Server as NetServer, type AddressInfo, type Socket } from 'node:net';
import { ApiError } from '../domain/api-error.ts';
import { ArrivalClock } from './arrival.ts';
import { Connection } from './connection.ts';
import { headFault, maxHeadBytes, wireError } from './head.ts';
import { linesOf } from './header-lines.ts';
import { Message } from './message.ts';
import { sendReply, type Reply } from './reply.ts';
import { newRequestId } from './request-id.ts';
import { Request, type Sender } from './request.ts';

/** What the listener asks of the service behind it. */
export interface Handler {
  /** The answer to a request whose head is good, and which arrived `waitedMs` ago. Never rejects. */
  answer(request: Request, waitedMs: number): Reply | Promise<Reply>;
  /** The answer to a message whose head is broken, in this way. */
  answerBroken(sender: Sender, fault: ApiError): Reply;
  /** The answer where the listener serves nobody, whatever they ask for. */
  answerUnserved(sender: Sender, refusal: ApiError): Reply;
}

export interface ListenerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** Connections beyond this number are answered 503 and closed. */
  readonly maxConnections: number;
  /** The longest a request's head may take. */
  readonly headTimeoutMs: number;
  /** The longest a whole request, head and body, may take. */
  readonly requestTimeoutMs: number;
  /** Connections that are idle for so long are closed, up to 5 s later. */
  readonly keepAliveMs: number;
  /** A client that takes nothing of its answer for so long is dropped, at the latest when it has been for twice as long. */
  readonly stallTimeoutMs: number;
  /** A clock that only goes forward, in milliseconds. */
  readonly monotonic: () => number;
}

/** How often idle connections are looked for. Node's own way, a timer begun and ended with every request, takes a tenth of its time. */
const sweepMs = 5_000;
/** So many connections over `maxConnections` are told so; more are dropped without a word. */
const maxRefusedConnections = 1_000;

/** The HTTP server: from sockets to requests with a good head, and from replies to the wire. Knows no pet. */
export class Listener {
  readonly #server: Server;
  readonly #handler: Handler;
  readonly #monotonic: () => number;
  readonly #arrivals: ArrivalClock;
  readonly #maxConnections: number;
  readonly #keepAliveMs: number;
  readonly #stallTimeoutMs: number;
  readonly #sweeper: NodeJS.Timeout;
  readonly #connections = new Map<Socket, Connection>();
  #refusedConnections = 0;
  #stopping = false;

  private constructor(handler: Handler, options: ListenerOptions) {
    this.#handler = handler;
    this.#monotonic = options.monotonic;
    this.#arrivals = new ArrivalClock(options.monotonic);
    this.#maxConnections = options.maxConnections;
    this.#keepAliveMs = options.keepAliveMs;
    this.#stallTimeoutMs = options.stallTimeoutMs;
    this.#sweeper = setInterval(() => this.#sweep(), Math.min(sweepMs, options.keepAliveMs)).unref();
    this.#server = createServer({
      IncomingMessage: Message,
      maxHeaderSize: maxHeadBytes,
      headersTimeout: options.headTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, options.headTimeoutMs),
      keepAliveTimeout: 0, // #sweep does it
      requireHostHeader: false, // headFault does it, with our own answer
    });
    const server = this.#server;
    server.maxHeadersCount = 0; // no limit but the head's size: a limit would drop headers without a word
    server.maxConnections = options.maxConnections + maxRefusedConnections;
    // A client may close its side once it has sent its request; its answer is still due.
    (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;

    server.on('connection', (socket) => this.#connected(socket));
    for (const event of ['request', 'checkContinue', 'checkExpectation']) {
      server.on(event, (message: Message, response: ServerResponse) => this.#arrived(message, response));
    }
    server.on('connect', (message, socket) => {
      const refusal = new ApiError('method_not_allowed', 'This server is no proxy.', { allow: '' });
      for (const event of ['error', 'timeout']) socket.on(event, () => socket.destroy()); // Node has taken its own listeners off this socket
      this.#reply(socket as Socket, (sender) => this.#handler.answerUnserved(sender, refusal), message.rawHeaders);
    });
    server.on('clientError', (error, socket) => this.#broken(error, socket as Socket));
  }

  /** Starts listening. Throws what `listen` reports (EADDRINUSE, EACCES, ENOTFOUND, …). */
  static async open(handler: Handler, options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(handler, options);
    const listening = new Promise<void>((resolve, reject) => {
      // Stays for good: a connection that cannot be accepted (EMFILE) is no reason to end.
      // With a short queue, some of a burst's connections wait for TCP to try again, after a second or three.
      const { host, port, maxConnections: backlog } = options;
      listener.#server.on('error', reject).listen({ host, port, backlog }, resolve);
    });
    await listening.catch((error: unknown) => {
      listener.#close();
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
   * Stops accepting, and waits until every request under way is answered, at most `graceMs`.
   * Gives whether all were; those that were not have lost their connection.
   */
  async stop(graceMs: number): Promise<boolean> {
    this.#stopping = true;
    // The HTTP server's own close would destroy connections whose answer is still on its way out.
    const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(this.#server, () => resolve()));
    for (const [socket, connection] of this.#connections) {
      if (connection.atRest) socket.destroy();
    }
    let allAnswered = true;
    const timer = setTimeout(() => {
      for (const [socket, connection] of this.#connections) {
        allAnswered &&= !connection.busy;
        socket.destroy();
      }
    }, graceMs);
    await closed;
    clearTimeout(timer);
    this.#close();
    return allAnswered;
  }

  #close(): void {
    clearInterval(this.#sweeper);
    this.#arrivals.close();
  }

  /** Closes the connections that have been idle for too long. */
  #sweep(): void {
    for (const [socket, connection] of this.#connections) {
      if (connection.idleMs(this.#monotonic()) >= this.#keepAliveMs) socket.destroy();
    }
  }

  #connected(socket: Socket): void {
    const connection = new Connection(socket, this.#arrivals.accept());
    this.#connections.set(socket, connection);
    socket.once('close', () => {
      connection.close();
      this.#connections.delete(socket);
    });
    if (this.#connections.size - this.#refusedConnections > this.#maxConnections) {
      this.#refusedConnections += 1;
      socket.once('close', () => (this.#refusedConnections -= 1));
      const message = `This server serves ${this.#maxConnections} connections at a time.`;
      const refusal = new ApiError('too_many_connections', message, { retryAfterSeconds: 1 });
      this.#reply(socket, (sender) => this.#handler.answerUnserved(sender, refusal));
    }
  }

  #arrived(message: Message, response: ServerResponse): void {
    const connection = this.#connections.get(message.socket);
    if (connection === undefined) return; // the socket is closed
    const request = new Request(message, response, connection.address);
    const arrivedAt = connection.arrival(this.#arrivals.read());
    connection.latest = request;
    connection.enqueue(() => {
      const fault = headFault(request);
      const reply = fault === null ? this.#handler.answer(request, this.#monotonic() - arrivedAt) : this.#handler.answerBroken(request, fault);
      if (reply instanceof Promise) void reply.then((late) => this.#send(late, request, response, connection, fault));
      else this.#send(reply, request, response, connection, fault);
    });
  }

  #send(reply: Reply, request: Request, response: ServerResponse, connection: Connection, fault: ApiError | null): void {
    // Node's parser loses what comes in one piece with a request that asks for an upgrade.
    const unsure = !request.bodyRead || request.header('upgrade') !== undefined;
    const last = fault !== null || unsure || !response.shouldKeepAlive || request.httpVersion === '1.0' || this.#stopping;
    if (last) connection.close();
    const { socket } = connection;
    sendReply(socket, reply, { requestId: request.id, isHead: request.method === 'HEAD', keepAliveMs: last ? null : this.#keepAliveMs }, () => {
      if (socket.timeout) socket.setTimeout(0);
      response.emit('finish'); // for Node, which then turns to the connection's next request: before we do
      if (last) socket.destroySoon();
      connection.done();
      // The answer may have been written, without `Connection: close`, before the stop began.
      if (this.#stopping && connection.atRest) socket.destroy();
    });
    if (socket.writableLength > 0) socket.setTimeout(this.#stallTimeoutMs); // Node destroys it then
  }

  /** What Node's parser or its clock found: a fault of the request whose body is arriving, or of the next head. */
  #broken(error: Error, socket: Socket): void {
    const fault = wireError(error);
    const latest = this.#connections.get(socket)?.latest;
    if (fault === null) socket.destroy();
    else if (latest !== undefined && !latest.arrived) latest.break(fault);
    else this.#reply(socket, (sender) => this.#handler.answerBroken(sender, fault));
  }

  /** Answers, as the connection's last, where there is no request that could be handled; its headers, if they are known. */
  #reply(socket: Socket, answer: (sender: Sender) => Reply, rawHeaders: readonly string[] = []): void {
    const connection = this.#connections.get(socket);
    connection?.enqueue(() => {
      connection.close();
      const reply = answer({ address: connection.address, headerLines: (name) => linesOf(rawHeaders, name) });
      sendReply(socket, reply, { requestId: newRequestId(), isHead: false, keepAliveMs: null }, () => {
        socket.destroySoon();
        connection.done();
      });
    });
  }
}
