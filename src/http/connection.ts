/**
 * One client connection. It handles its requests one at a time, so that pipelined requests see each other's effects
 * (RFC 9112 section 9.3.2) and a fault never overtakes the response to the request before it.
 *
 * Memory. Node parses all requests in a piece that it has read, whether they can be handled or not. While one waits for its
 * turn, the connection reads nothing more; if more than 128 are unanswered, or those that wait take too much memory, it is destroyed.
 *
 * The end. When the last response has been sent, our side is closed, and what the client still sends is read and thrown
 * away for a while. If both sides were closed at once, the kernel would answer those bytes with a reset, and a reset can
 * destroy a response that the client has not read yet (RFC 9112 section 9.6).
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { ApiError } from '../domain/api-error.ts';
import { headFault } from './head.ts';
import { sendReply, sendReplyWithoutRequest, type Reply } from './reply.ts';
import { Request, type Sender } from './request.ts';

/** What a connection asks of the service behind it. */
export interface Handler {
  /** Responds to a request whose head is good, `waitedMs` after Node reported it. Neither throws nor rejects. */
  answer(request: Request, waitedMs: number): Reply | Promise<Reply>;
  /** Responds to a message with a malformed head. */
  answerBroken(sender: Sender, fault: ApiError): Reply;
  /** Refuses a connection or a CONNECT without handling a request. */
  answerUnserved(sender: Sender, refusal: ApiError): Reply;
}

/** What the connections of one listener share. */
export interface ConnectionContext {
  readonly handler: Handler;
  /** The headers of a response that keeps the connection: names and values in turn. */
  readonly keepAlive: readonly string[];
  /** How long a client may go without reading its response. */
  readonly stallTimeoutMs: number;
  /** A clock that only goes forward, in milliseconds. */
  readonly monotonic: () => number;
  /** Whether the listener is stopping: each response is its connection's last. */
  stopping: boolean;
}

const close = ['Connection', 'close'];
const maxUnanswered = 128;
/** With the last body, of which at most 64 KiB are kept, a connection stays below 300 KB (http/memory.test.ts). */
const maxWaitingBytes = 220 * 1024;
const lingerMs = 2_000;
const lingerBytes = 256 * 1024;

export class Connection {
  readonly socket: Socket;
  /** The IP address of the other end. */
  readonly address: string;
  readonly #context: ConnectionContext;
  /** `closing`: the last response is being sent; `lingering`: it has been sent. */
  #state: 'idle' | 'busy' | 'closing' | 'lingering' = 'idle';
  /** The requests that wait for their turn, and the final response to send after them. */
  readonly #waiting: (() => void)[] = [];
  #waitingBytes = 0;
  #end: (() => void) | null = null;
  /** The number of requests without a finished response, ignored ones included. */
  #unanswered = 0;
  /** The request that was received last, until it is answered and complete. */
  #latest: Request | null = null;
  /** The response to the request whose turn it is. */
  #response: ServerResponse | null = null;
  /** `bytesRead` at the last change, and when `idleMs` noticed the change. */
  #bytesSeen = -1;
  #idleSince = 0;

  constructor(socket: Socket, context: ConnectionContext) {
    this.socket = socket;
    this.address = socket.remoteAddress ?? ''; // none: closed already
    this.#context = context;
    socket.on('error', () => socket.destroy()).on('timeout', () => socket.destroy());
    // Node resumes the socket whenever it has parsed a message.
    socket.on('resume', () => {
      if (this.#waiting.length > 0 || this.#state === 'closing' || this.#sending !== null) socket.pause();
    });
  }

  /** Whether a request is not answered yet, or its response not sent. */
  get busy(): boolean {
    return this.#state === 'busy' || this.#state === 'closing';
  }

  /** Whether nothing is under way, although Node counts a message as begun: the first, or one whose body is only discarded. */
  get isQuiet(): boolean {
    return this.#state === 'idle' && (this.socket.bytesRead === 0 || this.#latest?.complete === false);
  }

  /** Resolves when what is being sent has been sent and, if it was the last, the socket is closed; null if nothing is. */
  get sent(): Promise<unknown> | null {
    const sending = this.#isOver() ? this.socket : this.#sending;
    return sending === null ? null : new Promise((resolve) => sending.once('close', resolve));
  }

  /** The response that is written and not sent yet, or null. */
  get #sending(): ServerResponse | null {
    return this.#response?.writableEnded === true ? this.#response : null;
  }

  /** Returns the milliseconds without activity, as observed by successive calls. `now` is the listener's time. */
  idleMs(now: number): number {
    const { bytesRead } = this.socket;
    if (this.busy || bytesRead !== this.#bytesSeen) {
      this.#bytesSeen = bytesRead;
      this.#idleSince = now;
    }
    return now - this.#idleSince;
  }

  /** Takes a request from Node. */
  receive(message: IncomingMessage, response: ServerResponse): void {
    const { socket } = this;
    this.#unanswered += 1;
    if (this.#unanswered > maxUnanswered) socket.destroy();
    if (socket.destroyed || this.#isOver()) return void message.resume();
    const request = new Request(message, response, this.address);
    const previous = this.#latest;
    this.#latest = request;
    if (this.#state === 'idle') {
      this.#state = 'busy';
      this.#handle(request, response, 0);
    } else {
      this.#waitingBytes += (previous?.body?.keptBytes ?? 0) + request.retainedBytes;
      if (this.#waitingBytes > maxWaitingBytes) return void socket.destroy();
      const { monotonic } = this.#context;
      const arrivedAt = monotonic();
      this.#waiting.push(() => this.#handle(request, response, monotonic() - arrivedAt));
      socket.pause();
    }
  }

  /** Takes a fault from Node: of the request whose body is being received, or of the next head. */
  fail(fault: ApiError): void {
    const latest = this.#latest;
    if (latest === null || latest.complete) this.endWith((sender) => this.#context.handler.answerBroken(sender, fault));
    else if (this.#state === 'idle') this.#close(); // it was answered before its body was received
    else {
      latest.body?.fail(fault);
      if (this.#sending !== null) this.#end ??= () => this.#close();
    }
  }

  /** Sends a final response where Node provides no `ServerResponse`. */
  endWith(answer: (sender: Sender) => Reply, headers: Sender['headers'] = {}): void {
    if (this.#isOver()) return;
    this.#end ??= () => {
      sendReplyWithoutRequest(this.socket, answer({ address: this.address, headers }), close);
      this.#close();
    };
    if (this.#state === 'idle' || (this.#waiting.length === 0 && this.#sending?.socket)) this.#end();
  }

  /** The socket is closed: nothing more is handled. */
  closed(): void {
    this.#state = 'lingering';
    this.#waiting.length = 0;
  }

  #isOver(): boolean {
    return this.#state === 'closing' || this.#state === 'lingering';
  }

  #handle(request: Request, response: ServerResponse, waitedMs: number): void {
    const { handler } = this.#context;
    this.#response = response;
    const fault = headFault(request);
    if (fault !== null) return this.#respond(handler.answerBroken(request, fault), request, response, true);
    const reply = handler.answer(request, waitedMs);
    if (reply instanceof Promise) void reply.then((late) => this.#respond(late, request, response));
    else this.#respond(reply, request, response);
  }

  #respond(reply: Reply, request: Request, response: ServerResponse, isBroken = false): void {
    if (this.socket.destroyed) return;
    const { body, id } = request;
    const { stopping, keepAlive } = this.#context;
    const isLast = isBroken || stopping || !request.mayBeFollowed || body?.isDiscardable === false;
    const end = this.#waiting.length === 0 ? this.#end : null;
    // After a request with Expect, Node keeps the connection only if it is told to.
    const connection = isLast ? close : request.headers.expect === undefined ? keepAlive : ['Connection', 'keep-alive', ...keepAlive];
    if (isLast || end !== null) {
      // The previous response is sent, but Node has not given the socket to this one yet.
      if (response.socket === null) return void setImmediate(() => this.#respond(reply, request, response, isBroken));
      sendReply(response, reply, id, connection, true);
      if (isLast) this.#close();
      else end!();
    } else {
      body?.discard(() => this.socket.destroy());
      sendReply(response, reply, id, connection);
      if (response.writableFinished) return this.#sent();
      this.socket.pause(); // what is received would put off the timeout
      this.socket.setTimeout(this.#context.stallTimeoutMs);
      response.once('finish', () => {
        if (this.#state === 'busy') this.socket.setTimeout(0);
        this.#sent();
      });
    }
  }

  /** The response has been sent: the next request's turn begins. */
  #sent(): void {
    this.#unanswered -= 1;
    this.#response = null;
    if (!this.socket.writable) return;
    if (this.#latest?.complete) this.#latest = null;
    const next = this.#waiting.shift();
    if (this.#waiting.length === 0) {
      this.#waitingBytes = 0;
      if (this.socket.isPaused()) this.socket.resume();
    }
    if (next !== undefined) return next();
    this.#state = 'idle';
    this.#end?.();
  }

  #close(): void {
    const { socket } = this;
    this.#state = 'closing';
    this.#waiting.length = 0;
    this.#latest?.body?.discard(() => {});
    socket.pause();
    socket.setTimeout(this.#context.stallTimeoutMs);
    socket.end(() => this.#linger());
  }

  #linger(): void {
    const { socket } = this;
    if (socket.destroyed) return;
    this.#state = 'lingering';
    const limit = socket.bytesRead + lingerBytes;
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(timer));
    // Node's own listener for 'resume' makes the kernel's bytes come again; a listener for 'data' takes it away.
    socket.once('resume', () => {
      socket.on('data', () => {
        if (socket.bytesRead > limit) socket.destroy();
      });
    });
    socket.resume();
  }
}
