/**
 * The server's clock, as far as its answers tell it.
 *
 * Date has whole seconds, so one answer leaves a second open: the server's clock was at least Date when the answer came, and less
 * than a second beyond it when the request was sent. Many answers narrow that down. Where the bench's own clock lies within, it is
 * taken for the server's: clocks are mostly right, and on one machine they are the same.
 */
import type { Answer } from './answer.ts';

/** A Date may be older than its answer: some servers write it once a second, by a timer. */
const staleMs = 1_000;

/** A window is taken to have turned so much later: a clock's tick. */
const tickMs = 50;

export class ServerClock {
  /** The server's clock less ours: at least, and at most. */
  #least = -Infinity;
  #most = Infinity;

  /** Learns from an answer. */
  answered({ date, sentAt, receivedAt }: Answer): void {
    if (date === undefined) return;
    this.#least = Math.max(this.#least, date - receivedAt);
    this.#most = Math.min(this.#most, date + 1_000 + staleMs - sentAt);
  }

  /** Whether a Date has told it. */
  get known(): boolean {
    return this.#least !== -Infinity;
  }

  /** The server's time at a moment of ours. */
  at(now: number): number {
    return now + this.#offset;
  }

  /** Our time at a moment of the server's. */
  ours(server: number): number {
    return server - this.#offset;
  }

  /** Our time at which the server's clock has passed a moment for certain, however much its Dates leave open. */
  passed(server: number): number {
    return server - this.#least + tickMs;
  }

  /** How far `at` may be wrong, and a tick. */
  get marginMs(): number {
    if (this.#offset === 0 && this.known) return tickMs;
    return !this.known ? 1_000 : Math.max(0, this.#most - this.#least) + tickMs;
  }

  get #offset(): number {
    if (this.#least <= 0 && this.#most >= 0) return 0;
    return this.#least;
  }
}
