/**
 * Test support: a real listener on a free port, and a client that writes and reads raw bytes. No test sleeps to be
 * correct: it waits for a response, for the end of a connection, or until its own handler is called. The listener runs
 * in this process, with a handler of the test; `harness/server.ts` starts the built server as a process.
 */
import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { STATUS_CODES } from 'node:http';
import { connect, type Socket } from 'node:net';
import nodeTest, { type TestContext } from 'node:test';
import { connect as connectTls, Server as TlsServer } from 'node:tls';
import { emptyBody } from '../http/request-body.ts';
import { refusal, type ApiError } from '../http/api-error.ts';
import type { Handler } from '../http/connection.ts';
import { Listener, type ListenerOptions } from '../http/listener.ts';
import { bytesOf } from '../domain/byte-text.ts';
import { errorReply, type Reply } from '../http/reply.ts';
import type { Request } from '../http/request.ts';
import { makeCertificate } from '../../harness/certificates.ts';
import { codeOf, type HttpResponse } from './http-response.ts';

/** Defines a test that fails after two minutes, so that it cannot hang if what it waits for does not happen. */
export const testOnce = (name: string, run: (t: TestContext) => Promise<void>) =>
  nodeTest(name, { timeout: 120_000 }, run);

/** Defines such a test in which the servers of `startServer` use TLS. */
export const testOverTls = (name: string, run: (t: TestContext) => Promise<void>) =>
  testOnce(name, (t) => {
    overTls.add(t);
    return run(t);
  });

/** Defines such a test over plain TCP, and the same over TLS. */
export function test(name: string, run: (t: TestContext) => Promise<void>): void {
  testOnce(name, run);
  testOverTls(`${name}, over TLS`, run);
}

/** The tests whose servers use TLS. */
const overTls = new WeakSet<TestContext>();
const certificate = makeCertificate();

// The server under test.

export interface TestServer {
  readonly listener: Listener;
  /** The requests that the handler was called with, as `GET /path`, except those of `settle`. */
  readonly calls: string[];
  /** Opens a connection, which is closed at the end of the test. */
  connect(): Client;
}

/**
 * Starts a listener whose handler responds with `respond`, and stops it at the end of the test. By default, its
 * timeouts are longer than a test, it accepts more connections than a test opens, and its clock stands still, so that
 * the throttle does not depend on the speed of the machine.
 */
export async function startServer(
  t: TestContext, respond: Handler['respond'] = echo, options: Partial<ListenerOptions> = {},
): Promise<TestServer> {
  const calls: string[] = [];
  const handler: Handler = {
    respond(request, waitedMs) {
      if (request.path !== '*') calls.push(`${request.method} ${request.path}`);
      return respond(request, waitedMs);
    },
    refuse: (_, refusal) => errorReply(refusal),
  };
  const isTls = overTls.has(t);
  const listener = await Listener.open(handler, {
    monotonic: () => 0, host: '127.0.0.1', port: 0, certificate: isTls ? certificate : null,
    maxServed: 100, maxRefused: 1000, headTimeoutMs: 60_000, requestTimeoutMs: 60_000, idleTimeoutMs: 65_000,
    ...options,
  });
  const clients: Client[] = [];
  t.after(async () => {
    for (const { socket } of clients) socket.destroy();
    await listener.stop(0);
  });
  const port = Number(new URL(listener.address).port);
  return {
    listener,
    calls,
    connect() {
      const client = new Client(port, isTls);
      clients.push(client);
      return client;
    },
  };
}

/** Returns a 200 whose body is this value. */
export const json = (value: unknown): Reply => ({ status: 200, headers: [], body: bytesOf(JSON.stringify(value)) });
/** A handler that responds with 401 at once and does not read the body. */
export const respond401: Handler['respond'] = async () => errorReply(refusal('missing_api_key', 'No.'));

/** A handler that reads the body and responds with what arrived: method, path, query, length of the body. */
export async function echo(request: Request): Promise<Reply> {
  try {
    const body = (await request.body?.read(true)) ?? emptyBody;
    return json({ method: request.method, path: request.path, query: request.query, length: body.length });
  } catch (error) {
    return errorReply(error as ApiError);
  }
}

/**
 * Wraps a handler: `called` resolves when the handler is called, and every call waits for `release()` before it
 * continues. The requests of `settle` do not wait.
 */
export function blockUntilReleased(
  handler: Handler['respond'],
): { called: Promise<void>; release: () => void; handler: Handler['respond'] } {
  let release = (): void => {};
  let call = (): void => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const called = new Promise<void>((resolve) => (call = resolve));
  return {
    called,
    release,
    handler: async (request, waitedMs) => {
      if (request.path === '*') return echo(request);
      call();
      await released;
      return handler(request, waitedMs);
    },
  };
}

// The client.

/**
 * The sockets at the server's end, by both ports, because clients of other servers can have had the same one: of TCP,
 * and of TLS after the handshake.
 */
const acceptedSockets = { tcp: new Map<string, WeakRef<Socket>>(), tls: new Map<string, WeakRef<Socket>>() };
const onAccepted = new Set<() => void>();
function accepted(kind: keyof typeof acceptedSockets, socket: Socket): void {
  acceptedSockets[kind].set(`${socket.localPort} ${socket.remotePort}`, new WeakRef(socket));
  for (const wake of onAccepted) wake();
  onAccepted.clear();
}
subscribe('net.server.socket', (message) => accepted('tcp', (message as { socket: Socket }).socket));
const { emit } = TlsServer.prototype; // node:tls has no such channel
TlsServer.prototype.emit = function (...args: [event: string | symbol, ...values: unknown[]]) {
  if (args[0] === 'secureConnection') accepted('tls', args[1] as Socket);
  return Reflect.apply(emit, this, args) as boolean;
};

/** Waits for an event. Unlike `once` of node:events it handles no errors: an unhandled error must fail the test. */
export const waitForEvent = (socket: Socket, event: string) =>
  new Promise<void>((resolve) => void socket.once(event, () => resolve()));

const requestIds = new Set<string>();

/** A connection to the server under test, which writes and reads raw bytes. */
export class Client {
  /** With TLS, the socket that encrypts. */
  readonly socket: Socket;
  readonly #tcpSocket: Socket;
  #isHandshaking: boolean;
  readonly #acceptedSockets: Map<string, WeakRef<Socket>>;
  #text = '';
  /** With fewer characters, the first response in the text is incomplete. */
  #needed = 0;
  #ended = false;
  /** The ports of the server and of the client. */
  #ports = '';
  #accepted: Socket | null = null;
  #wake = (): void => {};
  /** The error that ended the connection; null if it was closed in order. */
  error: NodeJS.ErrnoException | null = null;

  constructor(port: number, isTls = false) {
    this.#acceptedSockets = acceptedSockets[isTls ? 'tls' : 'tcp'];
    const socket = connect({ host: '127.0.0.1', port, allowHalfOpen: true, noDelay: true });
    this.#tcpSocket = socket;
    this.socket = isTls ? connectTls({ socket, host: 'localhost', ca: certificate.cert }) : socket;
    this.#isHandshaking = isTls;
    this.socket.once('secureConnect', () => (this.#isHandshaking = false));
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.#text += text;
      this.#wake();
    });
    this.socket.once('connect', () => {
      this.#ports = `${port} ${this.socket.localPort}`;
      void this.serverSocket();
    });
    this.socket.on('error', (error) => (this.error = error));
    for (const event of ['end', 'close']) {
      this.socket.on(event, () => {
        this.#ended = true;
        this.#wake();
      });
    }
  }

  /** Sends the bytes in one write. Resolves when the kernel has them. */
  async send(...parts: (string | Buffer)[]): Promise<this> {
    const bytes = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : part)));
    await new Promise<void>((resolve, reject) => {
      this.socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
    return this;
  }

  /** Closes the client's side, over TLS after the handshake. */
  finish(): this {
    if (this.#isHandshaking) this.socket.once('secureConnect', () => this.socket.end());
    else this.socket.end();
    return this;
  }

  /**
   * Makes the kernel reset the connection. Over TLS, Node writes session tickets after it has reported the first bytes;
   * if that write fails, it reports an end in place of a reset.
   */
  async reset(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    this.#tcpSocket.resetAndDestroy();
  }

  /** Returns the next response, after checking what every response must have. `method` is that of the request. */
  async response(method = 'GET'): Promise<HttpResponse> {
    for (;;) {
      const response = this.#take(method);
      if (response !== null) return response;
      if (this.#ended) {
        const how = this.error?.code ?? 'in order';
        assert.fail(`the connection ended (${how}) after ${JSON.stringify(this.#text.slice(0, 500))}`);
      }
      await this.#more();
    }
  }

  /** Waits until the server has closed its side. Fails if anything arrived after the last response, or on a reset. */
  async ended(): Promise<void> {
    while (!this.#ended) await this.#more();
    assert.equal(this.#text, '', 'nothing follows the last response');
    assert.equal(this.error, null);
  }

  /** Waits until the server has closed the connection without a response: over TLS, before the handshake. */
  async dropped(): Promise<void> {
    while (!this.#ended) await this.#more();
    assert.equal(this.#text, '');
    assert.equal(this.error?.code, this.socket === this.#tcpSocket ? undefined : 'ECONNRESET');
  }

  /** The number of bytes that have arrived and are not part of a response that the test has read. */
  get unreadBytes(): number {
    return this.#text.length;
  }

  /** Returns the socket at the server's end of this connection, once the server has accepted it. */
  async serverSocket(): Promise<Socket> {
    if (this.socket.connecting) await waitForEvent(this.socket, 'connect');
    while (!this.#acceptedSockets.has(this.#ports)) await new Promise<void>((resolve) => onAccepted.add(resolve));
    return (this.#accepted ??= this.#acceptedSockets.get(this.#ports)!.deref()!);
  }

  /** Waits until the socket at the server's end is closed. */
  async serverSocketClosed(): Promise<void> {
    const socket = await this.serverSocket();
    if (!socket.closed) await waitForEvent(socket, 'close');
  }

  #more(): Promise<void> {
    return new Promise((resolve) => (this.#wake = resolve));
  }

  #take(method: string): HttpResponse | null {
    if (this.#text.length < this.#needed) return null;
    const headEnd = this.#text.indexOf('\r\n\r\n');
    if (headEnd < 0) return null;
    const [first, ...lines] = this.#text.slice(0, headEnd).split('\r\n');
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(first!)?.[1] ?? assert.fail(`not a status line: ${first}`));
    assert.equal(first, `HTTP/1.1 ${status} ${STATUS_CODES[status]}`);
    const headers = new Map<string, string>();
    for (const line of lines) {
      const [, name, value] = /^([\w-]+): (.*)$/.exec(line) ?? assert.fail(`not a header line: ${line}`);
      assert(!headers.has(name!.toLowerCase()), `${name} is repeated`);
      headers.set(name!.toLowerCase(), value!);
    }
    const hasBody = method !== 'HEAD' && status >= 200 && status !== 204;
    const length = hasBody ? (headers.get('content-length') ?? assert.fail('no Content-Length')) : 0;
    this.#needed = headEnd + 4 + Number(length);
    if (this.#text.length < this.#needed) return null;
    const body = this.#text.slice(headEnd + 4, this.#needed);
    this.#text = this.#text.slice(this.#needed);
    this.#needed = 0;
    if (status >= 200) checkFinal(status, headers, body, method);
    else assert.deepEqual([status, headers.size], [100, 0]);
    return { status, headers, body };
  }
}

function checkFinal(status: number, headers: ReadonlyMap<string, string>, body: string, method: string): void {
  const id = headers.get('x-request-id') ?? '';
  assert.match(id, /^\w[\w-]{11}$/);
  assert(!requestIds.has(id), 'every response has its own id');
  requestIds.add(id);
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('x-content-type-options'), 'nosniff');
  assert.notEqual(headers.get('date'), undefined);
  if (status === 204) return assert(!headers.has('content-length') && !headers.has('content-type'));
  assert.equal(headers.get('content-type'), 'application/json');
  if (status < 400 || method === 'HEAD') return;
  const error = JSON.parse(body) as Record<string, unknown>;
  assert.deepEqual(Object.keys(error), ['code', 'message', 'status']);
  assert.equal(error['status'], status);
  assert.match(String(error['message']), /^[A-Z].*\.$/);
}

// Assertions.

/** The next response is this error (`401 missing_api_key`), and the server closes the connection after it. */
export async function assertRefused(client: Client, expected: string, why?: string): Promise<HttpResponse> {
  const response = await client.response();
  assert.equal(`${response.status} ${codeOf(response)}`, expected, why);
  assert.equal(response.headers.get('connection'), 'close', why);
  await client.ended();
  return response;
}

/** The next response is that of `echo` to a request with this path and body length, and keeps the connection. */
export async function assertEchoed(client: Client, path: string, length = 0): Promise<void> {
  const { status, headers, body } = await client.response();
  assert.equal(status, 200, body);
  const seen = JSON.parse(body) as { path: string; length: number };
  assert.deepEqual([seen.path, seen.length], [path, length]);
  assert.equal(headers.get('connection'), 'keep-alive');
}

// Messages.

/** Returns a GET without a body. `lines` are further header lines. */
export const get = (path: string, ...lines: string[]): string =>
  [`GET ${path} HTTP/1.1`, 'Host: x', ...lines, '\r\n'].join('\r\n');
/** Returns the head of a POST. If it has a body, the test sends it. */
export const post = (path: string, ...lines: string[]): string => get(path, ...lines).replace('GET', 'POST');
/** Returns `n` KiB of the letter a. */
export const kib = (n: number): Buffer => Buffer.alloc(n * 1024, 'a');
/** The head of a POST with a chunked body. */
export const chunkedPost = post('/', 'Transfer-Encoding: chunked');

/** Makes some round trips on another connection. After them, the server has read whatever the kernel had received. */
export async function settle(server: TestServer, roundTrips = 3): Promise<void> {
  const other = server.connect();
  for (let i = 0; i < roundTrips; i += 1) {
    await other.send('OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n');
    await other.response();
  }
  other.socket.destroy();
}
