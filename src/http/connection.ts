/**
 * One client connection, and the order of its answers.
 *
 * Node parses requests as fast as they arrive and reports a broken message at once, even while an answer to an
 * earlier, good request of the same connection is still being made. Here each connection does one thing at a time:
 * a request is handled when the answer before it has left, and so is the fault that ends the connection. So a fault
 * never overtakes or replaces an answer, and pipelined requests see each other's effects (RFC 9112 section 9.3.2).
 *
 * A connection ends by lingering: our side is closed, and what the client still sends is read and thrown away for a
 * while. Closing both sides at once would make the kernel answer those bytes with a reset, and a reset can destroy an
 * answer that the client has not read yet (RFC 9112 section 9.6).
 */
import type { Socket } from 'node:net';
import { afterNextTurn, maxQueuedMs } from './arrival.ts';
import type { Request } from './request.ts';

const lingerMs = 2_000;
const lingerBytes = 256 * 1024;
/** Node reads no more at a time: behind such a piece there may be another. */
const fullPieceBytes = 64 * 1024;
/** More pipelined requests than this wait in the socket, not in memory. */
const maxWaiting = 64;

export class Connection {
  /** The IP address of the other end. */
  readonly address: string;
  /** Our end, which answers are written to. */
  readonly socket: Socket;
  readonly #waiting: (() => void)[] = [];
  #busy = false;
  #closing = false;
  #lingers = false;
  /** How much had been read when the last work was done. */
  #bytesAtRest = 0;
  /** When what was read last arrived. */
  #arrivedAt: number;
  /** Whether what is read next may have waited in the socket since then: behind a full piece, or the opening. */
  #backlog = true;
  /** The same once reading was paused, for too many waiting requests or too many unread answers: until nothing comes. */
  #train = false;
  #bytesRead = 0;
  /** What `idleMs` saw, and since when it has seen nothing else. */
  #bytesSeen = -1;
  #idleSince = 0;
  /** The request whose head arrived last, until it is answered and has arrived whole. */
  latest: Request | undefined;

  /** `openedAt`: when it was opened. */
  constructor(socket: Socket, openedAt: number) {
    this.#arrivedAt = openedAt;
    this.socket = socket;
    this.address = socket.remoteAddress ?? ''; // none: closed already
    // What is called when an answer with `Connection: close` has been written, and by Node's HTTP server when one has whose
    // client has closed its side. There, a fault may wait behind it, for an answer that will be the last.
    socket.destroySoon = () => {
      if (this.#waiting.length === 0 && !this.#lingers) this.#linger();
    };
    socket.on('pause', () => (this.#train = true));
    // Node resumes the socket at the end of every message it has parsed, also of one that had made us pause.
    socket.on('resume', () => {
      if (this.#waiting.length >= maxWaiting) socket.pause();
    });
  }

  /** Whether something is being answered, or waits for its turn. */
  get busy(): boolean {
    return this.#busy;
  }

  /** Whether nothing is being answered or on its way: neither a request, as far as one can see, nor an answer. */
  get atRest(): boolean {
    return !this.#busy && !this.#closing && this.socket.bytesRead === this.#bytesAtRest;
  }

  /**
   * For how long nothing has been answered or has come, as far as the calls of this have seen, in milliseconds. `now` is the time
   * on a clock that only goes forward.
   */
  idleMs(now: number): number {
    const { bytesRead } = this.socket;
    if (this.#busy || bytesRead !== this.#bytesSeen) {
      this.#bytesSeen = bytesRead;
      this.#idleSince = now;
    }
    return now - this.#idleSince;
  }

  /** Runs `work` when everything enqueued before it is `done`; never, if the connection ends before. */
  enqueue(work: () => void): void {
    if (this.#closing) return;
    if (!this.#busy) {
      this.#busy = true;
      work();
      return;
    }
    this.#waiting.push(work);
    if (this.#waiting.length === maxWaiting) this.socket.pause();
  }

  /**
   * When the head arrived that has just been read; `now` is the time of what is read now. A connection's first bytes
   * came with it; what had to wait in the socket came with what was read before.
   */
  arrival(now: number): number {
    const pieceBytes = this.socket.bytesRead - this.#bytesRead;
    if (pieceBytes === 0) return this.#arrivedAt; // read together with the head before it
    this.#bytesRead += pieceBytes;
    this.#arrivedAt = this.#backlog || this.#train ? Math.max(this.#arrivedAt, now - maxQueuedMs) : now;
    this.#backlog = pieceBytes >= fullPieceBytes;
    return this.#arrivedAt;
  }

  /** Says that the current work is done: its answer has been written, or its client is gone. */
  done(): void {
    const next = this.#waiting.shift();
    if (this.#waiting.length === maxWaiting - 1) this.socket.resume();
    if (next !== undefined && !this.#closing) return next();
    this.#busy = false;
    // A body has come since the head; and to ask the socket takes as long as the rest of this.
    this.#bytesAtRest = this.latest?.hasBody === false ? this.#bytesRead : this.socket.bytesRead;
    if (this.latest?.arrived === true) this.latest = undefined; // or each idle connection would keep its last in memory
    if (this.#train) this.#noteIfDry();
  }

  /** Says that the current work's answer is the connection's last. */
  close(): void {
    this.#closing = true;
    this.#waiting.length = 0;
  }

  /** If the next turn of the event loop reads nothing, nothing waits in the socket. */
  #noteIfDry(): void {
    const { bytesRead } = this.socket;
    afterNextTurn(() => {
      if (this.socket.bytesRead === bytesRead) this.#train = false;
    });
  }

  #linger(): void {
    const { socket } = this;
    this.#lingers = true;
    this.close();
    const limit = socket.bytesRead + lingerBytes;
    const timer = setTimeout(() => socket.destroy(), lingerMs);
    socket.once('close', () => clearTimeout(timer));
    socket.end();
    // Node stops reading when nobody takes a body, and starts again on 'resume'; only then may its parser go.
    socket.once('resume', () => {
      socket.removeAllListeners('data');
      socket.on('data', () => {
        if (socket.bytesRead > limit) socket.destroy();
      });
    });
    socket.pause().resume();
  }
}
