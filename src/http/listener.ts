import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { ApiError } from './api-error.ts';
import { counted } from '../domain/counted.ts';
import { Connection, type ConnectionContext, type Handler } from './connection.ts';
import { maxHeadBytes, maxLines, wireError } from './head.ts';
import { close, newRequestId, sendReplyWithoutRequest } from './reply.ts';
import { Throttle, type Throttled } from './throttle.ts';

export interface ListenerOptions extends Pick<ConnectionContext, 'monotonic'> {
  /** A host, or `unix:` and the path of a Unix socket. */
  readonly host: string;
  /** 0 chooses a free port. Not used for a Unix socket. */
  readonly port: number;
  /** The certificate of HTTPS. Without one: plain HTTP. */
  readonly certificate?: CertificateInPem | null;
  /** Further connections receive 503 and are closed. */
  readonly maxServed: number;
  /** The maximum number of open connections that receive this 503. Further ones are closed without a response. */
  readonly maxRefused: number;
  /** The maximum time to receive the head of a request, and before that for a TLS handshake. */
  readonly headTimeoutMs: number;
  /** The maximum time to receive a whole request, head and body. */
  readonly requestTimeoutMs: number;
  /**
   * Closes idle connections after this time, and those whose client reads no response after up to twice this time; over
   * TLS, those whose client has not read all of a response after five times this time.
   */
  readonly idleTimeoutMs: number;
}

/** A certificate with those of its issuers, and its private key. */
export interface CertificateInPem {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** TLS 1.0 and 1.1 are obsolete (RFC 8996). */
const minVersion = 'TLSv1.2';
/** What a TLS handshake counts for the throttle: more than a turn may take, so that one begins in each turn. */
const handshakeMs = 2.5;

/** The HTTP server: turns what arrives on sockets into requests for a handler. */
export class Listener {
  readonly #server: Server | TlsServer;
  readonly #scheme: 'http' | 'https';
  readonly #maxServed: number;
  readonly #context: ConnectionContext;
  readonly #connections = new Map<Socket, Connection>();
  /** The TCP connections whose TLS handshake is not complete, by their addresses. */
  readonly #handshakes = new Map<string, Socket>();
  #refusedConnections = 0;
  /**
   * Since the start: connections that were accepted, those of them that were refused, those that were closed without a
   * response because too many were open, and failed TLS handshakes.
   */
  readonly counts = { accepted: 0, refused: 0, dropped: 0, failedHandshakes: 0 };

  private constructor(handler: Handler, options: ListenerOptions) {
    const { maxServed, headTimeoutMs, idleTimeoutMs, monotonic } = options;
    this.#maxServed = maxServed;
    const keepAlive = ['Keep-Alive', `timeout=${idleTimeoutMs / 1000}`];
    const throttle = new Throttle(monotonic);
    this.#context = { handler, keepAlive, monotonic, throttle, headTimeoutMs, stopping: false };
    const settings = {
      maxHeaderSize: maxHeadBytes,
      headersTimeout: headTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      connectionsCheckingInterval: Math.min(1_000, headTimeoutMs),
      keepAliveTimeout: 0, // server.timeout is enough, and needs no new timer for each response
      requireHostHeader: false, // headError checks it, with our own response
      joinDuplicateHeaders: true, // otherwise a repeated header looks like a single one
    };
    const { certificate = null } = options;
    const isTls = certificate !== null;
    const tlsSettings = { ...certificate, minVersion, handshakeTimeout: headTimeoutMs } as const;
    const server = isTls ? createTlsServer({ ...settings, ...tlsSettings }) : createServer(settings);
    this.#server = server;
    this.#scheme = isTls ? 'https' : 'http';
    // headError refuses so many lines. Of more, Node 20 drops some, and newer versions report HPE_HEADER_OVERFLOW.
    server.maxHeadersCount = maxLines + 1;
    server.maxConnections = maxServed + options.maxRefused;
    server.timeout = idleTimeoutMs;
    // Lets a client half-close its connection before it receives its response. Node documents no option for this.
    (server as Server & { httpAllowHalfOpen: boolean }).httpAllowHalfOpen = true;

    if (isTls) {
      this.#intercept('connection', (socket, handshake) => this.#awaitHandshake(socket, handshake));
      server.on('tlsClientError', ({ code }: NodeJS.ErrnoException, socket) => {
        this.counts.failedHandshakes++;
        if (code === 'ERR_SSL_HTTP_REQUEST') this.#refusePlainHttp(socket);
      });
    }
    server.on('drop', () => this.counts.dropped++);
    this.#intercept(isTls ? 'secureConnection' : 'connection', (socket, parse) => this.#connected(socket, parse));
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
      const connection = this.#connections.get(socket as Socket); // none if the TLS handshake has failed
      const refusal = wireError(error);
      if (refusal === null || connection === undefined) socket.destroy();
      else connection.fail(refusal);
    });
  }

  /** Starts listening. Rejects with what `listen` reports (EADDRINUSE, EACCES, ENOTFOUND, …). */
  static async open(handler: Handler, options: ListenerOptions): Promise<Listener> {
    const listener = new Listener(handler, options);
    const { host, port, maxServed: backlog } = options; // a short backlog delays a burst of clients by seconds
    const path = socketPathIn(host);
    // Its folder decides who can connect: a proxy is another user, and the umask of a service excludes others.
    const at = path === null ? { host, port } : { path, readableAll: true, writableAll: true };
    await once(listener.#server.listen({ ...at, backlog }), 'listening');
    listener.#server.on('error', () => {}); // a connection that cannot be accepted (EMFILE) is no reason to end
    return listener;
  }

  /** The address it listens on: `http://127.0.0.1:8080`, `https://127.0.0.1:8443` or `unix:/run/petstore.sock`. */
  get address(): string {
    const at = this.#server.address() as AddressInfo | string;
    if (typeof at === 'string') return `unix:${at}`;
    const { address, family, port } = at;
    return `${this.#scheme}://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
  }

  /**
   * Uses another certificate for new connections. It also makes new keys for session tickets: a client cannot resume a
   * session of the old certificate. Only for HTTPS.
   */
  setCertificate(certificate: CertificateInPem): void {
    (this.#server as TlsServer).setSecureContext({ ...certificate, minVersion });
  }

  /** The number of open connections, including those in a TLS handshake. */
  get connections(): number {
    return this.#handshakes.size + this.#connections.size;
  }

  /**
   * Refuses new connections, waits up to `graceMs` until every pending request has its response, and destroys the
   * connections that are left. Returns whether every request received its response.
   */
  async stop(graceMs: number): Promise<boolean> {
    this.#context.stopping = true;
    for (const socket of this.#handshakes.values()) socket.destroy();
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

  /** Handles an event of a new socket in place of Node, which does so when the function `proceed` is called. */
  #intercept(event: 'connection' | 'secureConnection', handle: (socket: Socket, proceed: () => void) => void): void {
    const server = this.#server;
    const listeners = server.listeners(event); // an event that is emitted explicitly has the same effect (node:http)
    server.removeAllListeners(event);
    server.on(event, (socket: Socket) => {
      handle(socket, () => listeners.forEach((listener) => Reflect.apply(listener, server, [socket])));
    });
  }

  /** A TCP connection for TLS: its handshake begins when the throttle permits it. */
  #awaitHandshake(socket: Socket, handshake: () => void): void {
    if (this.#context.stopping) return void socket.destroy();
    const addresses = addressesOf(socket);
    if (addresses === null) return handshake(); // it fails, because the client has reset the connection
    this.#handshakes.set(addresses, socket);
    const { throttle, headTimeoutMs } = this.#context;
    const expire = (): void => void socket.destroy();
    const waiting: Throttled = {
      hold() {},
      release() {
        socket.off('timeout', expire).setTimeout(0);
        handshake();
        throttle.beginUntrusted(waiting, handshakeMs);
        throttle.delete(waiting);
      },
    };
    socket.once('close', () => {
      throttle.delete(waiting);
      // After a reset, the client may have used its port again before this event.
      if (this.#handshakes.get(addresses) === socket) this.#handshakes.delete(addresses);
    });
    socket.on('error', expire);
    socket.setTimeout(headTimeoutMs).once('timeout', expire);
    if (throttle.add(waiting)) waiting.release();
  }

  /**
   * Responds in plain text to a client that speaks HTTP without TLS. Node closes the connection after the event, so the
   * client can miss the response if it has sent more than was read.
   */
  #refusePlainHttp(socket: Socket): void {
    const tcp = this.#handshakes.get(addressesOf(socket) ?? '');
    if (tcp === undefined) return;
    const id = newRequestId();
    const refusal = new ApiError('malformed_request', 'This port speaks HTTPS: the URL must begin with https://.');
    const sender = { id, address: tcp.remoteAddress ?? '', headers: {} };
    sendReplyWithoutRequest(tcp, this.#context.handler.refuse(sender, refusal, true), id, close);
  }

  #connected(socket: Socket, parse: () => void): void {
    this.#handshakes.delete(addressesOf(socket) ?? '');
    // http.createServer sets it. As an option of https.createServer, it would also keep a connection whose client has
    // closed its side before the handshake is complete.
    socket.allowHalfOpen = true;
    if (this.#context.stopping) return void socket.destroy();
    this.counts.accepted++;
    const connection = new Connection(socket, this.#context, parse);
    this.#connections.set(socket, connection);
    const isRefused = this.#connections.size - this.#refusedConnections > this.#maxServed;
    if (isRefused) {
      this.#refusedConnections += 1;
      this.counts.refused++;
    }
    socket.once('close', () => {
      this.#connections.delete(socket);
      if (isRefused) this.#refusedConnections -= 1;
    });
    if (!isRefused) return;
    const message = `This server serves ${counted(this.#maxServed, 'connection')} at a time.`;
    connection.refuse(new ApiError('too_many_connections', message, { retryAfterSeconds: 1 }));
  }
}

/** Returns the path in `unix:PATH`; null if this is an IP address or a host name. */
export function socketPathIn(host: string): string | null {
  return host.startsWith('unix:') ? host.slice('unix:'.length) : null;
}

/**
 * Returns the addresses of both ends of a connection, which a TLS socket shares with its TCP socket; null if the client
 * has reset the connection.
 */
function addressesOf({ remoteAddress, remotePort, localAddress }: Socket): string | null {
  return remoteAddress === undefined ? null : `${remoteAddress} ${remotePort} ${localAddress}`;
}
