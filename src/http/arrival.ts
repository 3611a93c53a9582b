/**
 * When what is read now arrived, at the earliest.
 *
 * The server learns of a message when it reads it, and it may have been there for long: one turn of the event loop takes
 * what thousands of connections have sent, and answers it; the whole process may stall, for a slow disk or a machine that
 * is busy or halted; and thousands of connections may wait to be accepted. Where a client is judged by when it sent a
 * request (a ban forgives what was under way), it must not be blamed for that.
 */
import { performance } from 'node:perf_hooks'; // the global one is a getter, which V8 calls each time

const beatMs = 250;
/** A beat that is so late tells of a stall. */
const lateMs = 2 * beatMs;
/** A client that keeps the queues full is not taken to have sent it all at once for longer than this. */
export const maxQueuedMs = 5_000;

/** Calls `check` when the next turn of the event loop has read what there was. */
export function afterNextTurn(check: () => void): void {
  setImmediate(() => setImmediate(check));
}

/** Tells the time of arrival, on a clock of its owner's that only goes forward, in milliseconds. */
export class ArrivalClock {
  readonly #monotonic: () => number;
  readonly #timer: NodeJS.Timeout;
  /** The time in this turn of the event loop; null between those that read. */
  #turn: number | null = null;
  /** The last beat, and the one before it if the last one was late: by the process's own clock. */
  #beatAt = performance.now();
  #stalledSince: number | null = null;
  /** The time of the connection accepted last, and whether others may have waited with it. */
  #acceptedAt = 0;
  #queued = false;
  #accepted = 0;

  constructor(monotonic: () => number) {
    this.#monotonic = monotonic;
    this.#timer = setInterval(() => this.#beat(), beatMs).unref();
  }

  /** The time to give to what is read now. */
  read(): number {
    if (this.#turn === null) {
      this.#turn = this.#monotonic() - this.#stallMs();
      setImmediate(() => (this.#turn = null)); // comes when all that was there has been read
    }
    return this.#turn;
  }

  /** The time to give to a connection that is accepted now. Node accepts one a turn: it may have waited with the one before. */
  accept(): number {
    const accepted = (this.#accepted += 1);
    const now = this.read();
    this.#acceptedAt = this.#queued ? Math.max(this.#acceptedAt, now - maxQueuedMs) : now;
    this.#queued = true;
    afterNextTurn(() => {
      if (this.#accepted === accepted) this.#queued = false; // it has accepted none: nobody waits
    });
    return this.#acceptedAt;
  }

  /** Lets the timer go. */
  close(): void {
    clearInterval(this.#timer);
  }

  #beat(): void {
    const now = performance.now();
    // What came during a stall is read behind the late beat: until the next one, it counts.
    this.#stalledSince = now - this.#beatAt > lateMs ? this.#beatAt : null;
    this.#beatAt = now;
  }

  #stallMs(): number {
    const now = performance.now();
    if (now - this.#beatAt > lateMs) return now - this.#beatAt;
    return this.#stalledSince === null ? 0 : now - this.#stalledSince;
  }
}
