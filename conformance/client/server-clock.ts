/**
 * The server's clock, as its Date headers show it.
 *
 * A Date has whole seconds, and was correct at some moment between the request and the end of the response. So each
 * Date gives two bounds of the difference between the server's clock and the kit's; several Dates give narrow bounds.
 * Only recent Dates count, because a server's clock is corrected from time to time. If a Date contradicts earlier ones,
 * the clock has been set, and the earlier ones no longer count.
 */
import { dateToleranceMs } from './limit-readings.ts';
import type { Response } from './response.ts';

/** When a Date arrives, Dates older than this no longer count. It is longer than a run waits for a window. */
const recentMs = 3 * 60_000;

/** Dates that are received within this time share one entry. */
const slotMs = 10_000;

/** How long after a time the server's clock has certainly passed it: longer if no Date has shown that clock. */
const [tickMs, unknownClockMs] = [50, 1_000];

/** Bounds of the server's clock minus the kit's, in milliseconds; infinite if no Date has shown it. */
interface Bounds {
  readonly least: number;
  readonly most: number;
}

const unknown: Bounds = { least: -Infinity, most: Infinity };

export class ServerClock {
  #slots: readonly (Bounds & { readonly at: number })[] = [];
  #bounds = unknown;
  #setAt = -Infinity;

  /** Whether a Date has shown the server's clock. */
  get isKnown(): boolean {
    return this.#bounds.most < Infinity;
  }

  /**
   * Converts a time of the kit's clock to the server's: a lower bound, or the same time if no Date has shown the
   * server's clock.
   */
  time(now: number): number {
    return now + (this.isKnown ? this.#bounds.least : 0);
  }

  /** A time of the kit's clock at which the server's has passed a time, whatever the uncertainty. */
  timeAfter(server: number): number {
    return server - this.time(0) + (this.isKnown ? tickMs : unknownClockMs);
  }

  /** A time of the kit's clock at which the server's has not passed a time, whatever the uncertainty. */
  timeBefore(server: number): number {
    return server - (this.isKnown ? this.#bounds.most : unknownClockMs);
  }

  /** Whether a Date has shown, after this time of the kit's clock, that the server's clock was set. */
  wasSetAfter(time: number): boolean {
    return this.#setAt > time;
  }

  /** Learns from the Date of a response. */
  learn(response: Response): void {
    const { date, sentAt, receivedAt } = response;
    if (date === undefined) return;
    // A cached response has an old Date. Its Age is the number of seconds since then (RFC 9111, section 5.1).
    const time = date + Math.max(0, response.integer('age') ?? 0) * 1_000;
    const shown = { least: time - receivedAt, most: time + dateToleranceMs - sentAt };
    const isContradiction = shown.least > this.#bounds.most || shown.most < this.#bounds.least;
    if (isContradiction) this.#setAt = receivedAt;
    const recent = isContradiction ? [] : this.#slots.filter(({ at }) => receivedAt - at <= recentMs);
    const last = recent.at(-1);
    this.#slots =
      last !== undefined && receivedAt - last.at < slotMs
        ? [...recent.slice(0, -1), { at: last.at, ...both(last, shown) }]
        : [...recent, { at: receivedAt, ...shown }];
    this.#bounds = this.#slots.reduce(both, unknown);
  }
}

/** The bounds that satisfy both of two bounds. */
function both(one: Bounds, other: Bounds): Bounds {
  return { least: Math.max(one.least, other.least), most: Math.min(one.most, other.most) };
}
