/**
 * One client connection. It handles its requests one at a time, so that pipelined requests see each other's effects
 * (RFC 9112 section 9.3.2) and an error is never sent before the response to the previous request.
 *
 * Memory. Node parses all requests in a chunk that it has read. While one of them waits, the connection reads nothing
 * more. It is destroyed if more than 128 requests have no response, or if those that wait take too much memory.
 *
 * Closing. When the last response has been sent, our side is closed, and what the client still sends is discarded for a
 * while. If both sides were closed together, the kernel would reset the connection when those bytes arrive, and a reset
 * can destroy a response that the client has not read yet (RFC 9112 section 9.6).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { ApiError } from './api-error.ts';
import { headError } from './head.ts';
import { close, newRequestId, sendReply, sendReplyWithoutRequest, type Reply } from './reply.ts';
import { maxRetainedBytes, Request, type Sender } from './request.ts';
import type { Throttle, Throttled } from './throttle.ts';

/** Handles the requests of a connection. */
export interface Handler {
  /** Responds to a request with a valid head, `waitedMs` after Node reported it. Neither throws nor rejects. */
  respond(request: Request, waitedMs: number): Reply | Promise<Reply>;
  /** Refuses a connection or a message; never throws. `counts`: whether it counts against the limit of its address. */
  refuse(sender: Sender, refusal: ApiError, counts: boolean): Reply;
}

/** What the connections of one listener share. */
export interface ConnectionContext {
  readonly handler: Handler;
  /** The headers of a response that keeps the connection: names and values in turn. */
  readonly keepAlive: readonly string[];
  /** A clock that only goes forward, in milliseconds. */
  readonly monotonic: () => number;
  readonly throttle: Throttle;
  /** The maximum time to receive the head of a request. */
  readonly headTimeoutMs: number;
  /** Whether the listener is stopping: each response is its connection's last. */
  stopping: boolean;
}

const maxUnanswered = 128;
const lingerMs = 2_000;
const lingerBytes = 256 * 1024;
/** How many idle timeouts a client has to read a response over TLS, because Node does not report its progress. */
const maxTlsTimeouts = 5;

export class Connection implements Throttled {
  readonly #socket: Socket;
  readonly #address: string;
  readonly #context: ConnectionContext;
  /** The request that is being handled or whose response is being sent; null if the connection is idle. */
  #handled: Request | null = null;
  /** Of the bytes that the socket receives, so many are read at most, once our side is closed. */
  #lingerUntil = Infinity;
  /** Whether the last response has been written. */
  #isClosing = false;
  /** The requests that wait for their turn. */
  readonly #waiting: { request: Request; response: ServerResponse; arrivedAt: number }[] = [];
  /** Ends the connection after the waiting requests; null if it is to be kept. */
  #end: (() => void) | null = null;
  /** The number of requests without a finished response, ignored ones included. */
  #unanswered = 0;
  /** The request received last if it has a body, until its response is sent and it is complete. */
  #latest: Request | null = null;
  /** The response that is written and not sent yet. */
  #sending: ServerResponse | null = null;
  /** Over TLS: how many idle timeouts have passed since the response was written. */
  #timeouts = 0;
  /** Whether the latest request had a valid key that was within its limits. */
  #isTrusted = false;
  /** Whether the throttle holds the connection. */
  #isHeld = false;
  /** Whether we have paused the socket since its last event `resume`. */
  #hasPaused = false;
  /** Makes Node parse what is received; null when it does. */
  #parse: (() => void) | null;

  /** `parse` makes Node parse what is received on the socket. It is called when the throttle admits the connection. */
  constructor(socket: Socket, context: ConnectionContext, parse: () => void) {
    this.#socket = socket;
    this.#address = socket.remoteAddress ?? ''; // undefined if the socket is closed already
    this.#context = context;
    this.#parse = parse;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      context.throttle.delete(this);
      this.#latest?.body?.closed();
      this.#waiting.length = 0; // a slow handler may keep this connection in memory
    });
    if (context.throttle.add(this)) this.#begin();
    else socket.setTimeout(context.headTimeoutMs).on('timeout', this.#expire).on('end', this.#endUnparsed);
  }

  /** Destroys a connection that the throttle has not admitted in time. */
  readonly #expire = (): void => void this.#socket.destroy();

  /**
   * Closes such a connection when its client has closed it without a request. Node would not notice, because it does not
   * read from the socket yet.
   */
  readonly #endUnparsed = (): void => void this.#socket.end();

  #begin(): void {
    const socket = this.#socket;
    socket.off('timeout', this.#expire).off('end', this.#endUnparsed); // Node adds its own listeners
    this.#parse?.();
    this.#parse = null;
    socket.on('resume', () => {
      if (!this.#mustPause) return;
      if (!socket.isPaused()) return this.#pause(); // Node resumes the socket whenever it has parsed a message
      // Either Node has paused it, or we have after it had called `resume`: then it reads although it is paused, and only
      // another pause after another event ends that.
      if (!this.#hasPaused) return;
      this.#hasPaused = false;
      process.nextTick(() => this.#mustPause && socket.resume());
    });
  }

  #pause(): void {
    this.#hasPaused = true;
    this.#socket.pause();
  }

  /** Whether nothing is to be read from the socket. */
  get #mustPause(): boolean {
    if (this.#isHeld) return true;
    return this.busy && (this.#isClosing || this.#sending !== null || this.#waiting.length > 0);
  }

  /** Whether a request has no response yet, or one that is not sent yet. */
  get busy(): boolean {
    if (this.#isClosing) return !this.#socket.writableFinished;
    return this.#handled !== null || this.#waiting.length > 0;
  }

  hold(): void {
    this.#isHeld = true;
    if (this.#parse === null) this.#pause();
  }

  release(): void {
    this.#isHeld = false;
    if (this.#parse !== null && !this.#isClosing) this.#begin();
    else if (this.#handled === null && !this.#isClosing) this.#continue();
    else if (!this.#mustPause) this.#socket.resume();
  }

  /** For a stop: resolves when the response under way is sent and, if it is the last, the socket is closed. */
  async drain(): Promise<void> {
    const socket = this.#socket;
    const sending = this.#isClosing ? socket : this.#sending;
    if (sending !== null) await new Promise((resolve) => sending.once('close', resolve));
    // server.close() does not close a new connection, nor one whose request body is being discarded.
    const isUnread = this.#parse !== null || socket.bytesRead === 0;
    if (!this.busy && (isUnread || this.#latest?.complete === false)) socket.destroy();
  }

  /** Called after inactivity: the client is idle or does not read its response, or the handler is slow. */
  timedOut(): void {
    const socket = this.#socket;
    // Over TCP, Node reports no timeout while a write makes progress. Over TLS it does not see the progress.
    const mayBeReading = socket instanceof TLSSocket && socket.writableLength > 0;
    if (mayBeReading && ++this.#timeouts < maxTlsTimeouts) return void socket.setTimeout(socket.timeout ?? 0);
    if (this.#isClosing || this.#handled === null || this.#sending !== null) socket.destroy();
  }

  /** Handles a request that Node reports, after those that wait already. */
  receive(message: IncomingMessage, response: ServerResponse): void {
    const socket = this.#socket;
    this.#spend();
    if (++this.#unanswered > maxUnanswered) this.#destroy();
    if (socket.destroyed) return void message.resume();
    const request = new Request(message, response, this.#address, () => this.#received());
    // Only counted: Node keeps it until the socket is closed.
    if (this.#isClosing) request.body?.discard(() => {});
    else this.#latest = request.body === null ? null : request;
    if (this.#handled === null && !this.#isClosing && !this.#isHeld) return this.#handle(request, response, 0);
    this.#waiting.push({ request, response, arrivedAt: this.#context.monotonic() });
    const handledBytes = this.#handled?.retainedBytes ?? 0;
    const retained = this.#waiting.reduce((sum, next) => sum + next.request.retainedBytes, handledBytes);
    if (retained > maxRetainedBytes) this.#destroy();
    else if (!this.#isClosing) this.#pause();
  }

  /** Informs the throttle that this connection takes time. It may hold the connection. */
  #spend(): void {
    if (this.#isTrusted) this.#context.throttle.beginTrusted();
    else this.#context.throttle.beginUntrusted(this);
  }

  /** Called for each piece of a body. */
  #received(): void {
    if (this.#isClosing) this.#discarded();
    else this.#spend();
  }

  /** Called for what arrives after our side was closed. Destroys the connection when that is too much. */
  #discarded(): void {
    if (this.#socket.bytesRead > this.#lingerUntil) this.#socket.destroy();
  }

  /** Destroys the connection because the client sends too much. */
  #destroy(): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    // When the socket is closed, Node makes an error for each unanswered request. Thousands of stack traces take longer
    // than everything else.
    const { stackTraceLimit } = Error;
    socket.prependOnceListener('close', () => (Error.stackTraceLimit = 0));
    socket.once('close', () => (Error.stackTraceLimit = stackTraceLimit));
    socket.destroy();
    this.#context.throttle.noteFlood();
  }

  /** Handles an error that Node reports: in the body that is being received, or in the next head. */
  fail(error: ApiError): void {
    if (this.#isClosing) return this.#discarded();
    const latest = this.#latest;
    if (latest === null || latest.complete) return this.refuse(error, {}, true);
    latest.body?.fail(error);
    this.#endAfterResponses(() => this.#close());
  }

  /** Responds to a message that Node does not report as a request, after earlier responses, and ends the connection. */
  refuse(refusal: ApiError, headers: Sender['headers'] = {}, counts = false): void {
    this.#endAfterResponses(() => {
      const id = newRequestId();
      const reply = this.#context.handler.refuse({ id, address: this.#address, headers }, refusal, counts);
      sendReplyWithoutRequest(this.#socket, reply, id, close);
      this.#close();
    });
  }

  #endAfterResponses(end: () => void): void {
    if (this.#isClosing) return;
    this.#end ??= end;
    const isIdle = this.#handled === null || this.#sending?.socket;
    if (this.#waiting.length === 0 && isIdle) this.#end();
  }

  #handle(request: Request, response: ServerResponse, waitedMs: number): void {
    const { handler } = this.#context;
    this.#handled = request;
    const error = headError(request);
    if (error !== null) return this.#respond(handler.refuse(request, error, true), request, response, true);
    const reply = handler.respond(request, waitedMs);
    if (reply instanceof Promise) void reply.then((late) => this.#respond(late, request, response));
    else this.#respond(reply, request, response);
  }

  #respond(reply: Reply, request: Request, response: ServerResponse, mustClose = false): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    const { stopping, keepAlive, throttle } = this.#context;
    const { key = null, refusedBy = null } = reply.about ?? {};
    const isTrusted = key !== null && refusedBy === null;
    if (isTrusted !== this.#isTrusted) throttle.setTrusted(this, (this.#isTrusted = isTrusted));
    const isLast = mustClose || stopping || !request.mayBeFollowed || request.body?.isDiscardable === false;
    const end = isLast ? () => this.#close() : this.#waiting.length === 0 ? this.#end : null;
    if (end !== null) {
      // The previous response is sent, but Node has not assigned the socket to this one yet.
      if (response.socket === null) return void setImmediate(() => this.#respond(reply, request, response, isLast));
      sendReply(response, reply, request.id, isLast ? close : keepAlive, true);
      return end();
    }
    request.body?.discard(() => this.#destroy());
    sendReply(response, reply, request.id, keepAlive);
    if (response.writableLength === 0) return this.#sent();
    this.#sending = response;
    this.#pause(); // received bytes would restart the inactivity timeout
    response.once('finish', () => this.#sent());
  }

  /** Continues with the next request after a response has been sent. */
  #sent(): void {
    this.#unanswered -= 1;
    this.#sending = null;
    this.#timeouts = 0;
    if (!this.#socket.writable) return;
    if (this.#latest?.complete) this.#latest = null;
    this.#handled = null;
    if (this.#waiting.length > 0) this.#spend();
    if (!this.#isHeld) this.#continue();
  }

  /** Begins the next request, or waits for one. */
  #continue(): void {
    const next = this.#waiting.shift();
    if (this.#waiting.length === 0 && this.#socket.isPaused()) this.#socket.resume();
    if (next === undefined) this.#end?.();
    else this.#handle(next.request, next.response, this.#context.monotonic() - next.arrivedAt);
  }

  /** Closes our side of the connection when all is sent, then discards for a while what the client still sends. */
  #close(): void {
    const socket = this.#socket;
    this.#isClosing = true;
    this.#waiting.length = 0;
    this.#latest?.body?.discard(() => {});
    socket.pause();
    socket.end(() => {
      this.#lingerUntil = socket.bytesRead + lingerBytes;
      const timer = setTimeout(() => socket.destroy(), lingerMs).unref();
      socket.once('close', () => clearTimeout(timer)); // it would keep the connection in memory
      // A listener for 'data' on a socket that Node parses would bypass Node's own pauses.
      if (this.#parse !== null) socket.on('data', () => this.#discarded());
      if (!this.#isHeld) socket.resume();
    });
  }
}
