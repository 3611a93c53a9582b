/**
 * One client connection. It handles its requests one at a time, so that pipelined requests see each other's effects
 * (RFC 9112 section 9.3.2) and an error never overtakes the response to the request before it.
 *
 * Memory. Node parses all requests in a piece that it has read, whether they can be handled or not. While one waits for its
 * turn, the connection reads nothing more; if more than 128 are unanswered, or those that wait take too much memory, it is destroyed.
 *
 * The end. When the last response has been sent, our side is closed, and what the client still sends is read and discarded
 * for a while. If both sides were closed at once, the kernel would answer those bytes with a reset, and a reset can
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
  respond(request: Request, waitedMs: number): Reply | Promise<Reply>;
  /** Refuses a connection or a message without handling it. `counts`: whether its address is charged for it. */
  refuse(sender: Sender, refusal: ApiError, counts: boolean): Reply;
}

/** What the connections of one listener share. */
export interface ConnectionContext {
  readonly handler: Handler;
  /** The headers of a response that keeps the connection: names and values in turn. */
  readonly keepAlive: readonly string[];
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
  readonly #socket: Socket;
  readonly #address: string;
  readonly #context: ConnectionContext;
  /** `closing`: the last response has been written. */
  #state: 'idle' | 'busy' | 'closing' = 'idle';
  /** The requests that wait for their turn, and what to do after them, which ends the connection. */
  readonly #waiting: (() => void)[] = [];
  #waitingBytes = 0;
  #end: (() => void) | null = null;
  /** The number of requests without a finished response, ignored ones included. */
  #unanswered = 0;
  /** The request that was received last, until it is answered and complete. */
  #latest: Request | null = null;
  /** The response that is written and not sent yet. */
  #sending: ServerResponse | null = null;

  constructor(socket: Socket, context: ConnectionContext) {
    this.#socket = socket;
    this.#address = socket.remoteAddress ?? ''; // none: closed already
    this.#context = context;
    socket.on('error', () => socket.destroy());
    // Node resumes the socket whenever it has parsed a message.
    socket.on('resume', () => {
      if (this.#waiting.length > 0 || this.#sending !== null || (this.#state === 'closing' && this.busy)) socket.pause();
    });
  }

  /** Whether a request is not answered yet, or its response not sent. */
  get busy(): boolean {
    return this.#state === 'busy' || (this.#state === 'closing' && !this.#socket.writableFinished);
  }

  /** Resolves when what is being sent has been sent and, if it was the last, the socket is closed. */
  async drain(): Promise<void> {
    const sending = this.#state === 'closing' ? this.#socket : this.#sending;
    if (sending !== null) await new Promise((resolve) => sending.once('close', resolve));
    // Node counts a message as begun on a new connection, and while a body is only discarded.
    else if (this.#state === 'idle' && (this.#socket.bytesRead === 0 || this.#latest?.complete === false)) this.#socket.destroy();
  }

  /** Nothing has been received or sent for a while: the client is idle, or it does not read its response. */
  timedOut(): void {
    if (this.#state !== 'busy' || this.#sending !== null) this.#socket.destroy();
  }

  /** Takes a request from Node. */
  receive(message: IncomingMessage, response: ServerResponse): void {
    const socket = this.#socket;
    this.#unanswered += 1;
    if (this.#unanswered > maxUnanswered) socket.destroy();
    if (socket.destroyed || this.#state === 'closing') return void message.resume();
    const request = new Request(message, response, this.#address);
    const previous = this.#latest;
    this.#latest = request;
    if (this.#state === 'idle') {
      this.#state = 'busy';
      return this.#handle(request, response, 0);
    }
    this.#waitingBytes += (previous?.body?.keptBytes ?? 0) + request.retainedBytes;
    if (this.#waitingBytes > maxWaitingBytes) return void socket.destroy();
    const arrivedAt = this.#context.monotonic();
    this.#waiting.push(() => this.#handle(request, response, this.#context.monotonic() - arrivedAt));
    socket.pause();
  }

  /** Takes an error from Node: in the body that is being received, or in the next head. */
  fail(fault: ApiError): void {
    const latest = this.#latest;
    if (latest === null || latest.complete) return this.refuse(fault, {}, true);
    latest.body?.fail(fault);
    this.#endAfterResponses(() => this.#close());
  }

  /** Ends the connection, after the responses to earlier requests, with a response for which Node provides no `ServerResponse`. */
  refuse(refusal: ApiError, headers: Sender['headers'] = {}, counts = false): void {
    this.#endAfterResponses(() => {
      const reply = this.#context.handler.refuse({ address: this.#address, headers }, refusal, counts);
      sendReplyWithoutRequest(this.#socket, reply, close);
      this.#close();
    });
  }

  #endAfterResponses(end: () => void): void {
    if (this.#state === 'closing') return;
    this.#end ??= end;
    if (this.#state === 'idle' || (this.#waiting.length === 0 && this.#sending?.socket)) this.#end();
  }

  #handle(request: Request, response: ServerResponse, waitedMs: number): void {
    const { handler } = this.#context;
    const fault = headFault(request);
    if (fault !== null) return this.#respond(handler.refuse(request, fault, true), request, response, true);
    const reply = handler.respond(request, waitedMs);
    if (reply instanceof Promise) void reply.then((late) => this.#respond(late, request, response));
    else this.#respond(reply, request, response);
  }

  #respond(reply: Reply, request: Request, response: ServerResponse, isBroken = false): void {
    const socket = this.#socket;
    if (socket.destroyed) return;
    const { stopping, keepAlive } = this.#context;
    const isLast = isBroken || stopping || !request.mayBeFollowed || request.body?.isDiscardable === false;
    const end = isLast ? () => this.#close() : this.#waiting.length === 0 ? this.#end : null;
    if (end !== null) {
      // The previous response is sent, but Node has not given the socket to this one yet.
      if (response.socket === null) return void setImmediate(() => this.#respond(reply, request, response, isBroken));
      sendReply(response, reply, request.id, isLast ? close : keepAlive, true);
      return end();
    }
    request.body?.discard(() => socket.destroy());
    sendReply(response, reply, request.id, keepAlive);
    if (response.writableFinished) return this.#sent();
    this.#sending = response;
    socket.pause(); // what is received would put off the timeout
    response.once('finish', () => this.#sent());
  }

  /** The response has been sent: the next request's turn begins. */
  #sent(): void {
    this.#unanswered -= 1;
    this.#sending = null;
    if (!this.#socket.writable) return;
    if (this.#latest?.complete) this.#latest = null;
    const next = this.#waiting.shift();
    if (this.#waiting.length === 0) {
      this.#waitingBytes = 0;
      if (this.#socket.isPaused()) this.#socket.resume();
    }
    if (next !== undefined) return next();
    this.#state = 'idle';
    this.#end?.();
  }

  /** Closes our side of the connection once everything written has been sent, then reads for a while what the client still sends. */
  #close(): void {
    const socket = this.#socket;
    this.#state = 'closing';
    this.#waiting.length = 0;
    this.#latest?.body?.discard(() => {});
    socket.pause();
    socket.end(() => {
      if (socket.destroyed) return;
      const limit = socket.bytesRead + lingerBytes;
      setTimeout(() => socket.destroy(), lingerMs).unref();
      // Node's own listener for 'resume' makes the kernel's bytes come again; a listener for 'data' takes it away.
      socket.once('resume', () => {
        socket.on('data', () => {
          if (socket.bytesRead > limit) socket.destroy();
        });
      });
      socket.resume();
    });
  }
}
