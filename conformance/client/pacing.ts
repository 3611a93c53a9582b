/**
 * When the next request may be sent, so that a key that is nobody else's meets no 429 it did not ask for.
 *
 * The headers tell how many requests remain and until when. Two things they do not tell. The server's clock: a Date
 * header has whole seconds and was true when it was written, so the server's time is at least that; the largest
 * difference seen is close to the truth and never ahead of it. And the other window: a server may speak of the day
 * only, while the minute runs out; a Limit that is a plan's number of the day gives away the plan, and with it the
 * number of the minute.
 */
import type { Response } from './response.ts';

/** Section 8 of the specification. */
export const plans = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const;
export type Plan = keyof typeof plans;

const minuteMs = 60_000;

/** Longer than anybody waits: the run ends where such a window has nothing left. */
export const longWindowMs = 15 * minuteMs;

/**
 * How much later than its Reset a window is taken to have turned: a clock's tick, and 1 s where no Date tells the
 * server's.
 */
const marginMs = 50;
const unknownClockMarginMs = 1_000;

export class Pacer {
  #perMinute: number | undefined;
  /** A server that always says 0, as some do to strangers, is not believed. */
  #hadRoom = false;
  #window: { remaining: number; limit: number; reset: number; turnsAt: number } | undefined;
  /** The server's clock less the kit's, at least. */
  #offset: number | undefined;
  /** When the requests of the last minute were sent. */
  #sent: number[] = [];

  /** `perMinute` is what the key may do in a minute, where that is known beforehand. */
  constructor(perMinute?: number) {
    this.#perMinute = perMinute;
  }

  /** The Limit last told, or undefined. */
  get limit(): number | undefined {
    return this.#window?.limit;
  }

  /** Milliseconds until `count` requests more may be sent; 0: now. */
  wait(now: number, count = 1): number {
    if (this.#window !== undefined && now >= this.#window.turnsAt) this.#window = undefined;
    let until = now;
    if (this.#window !== undefined && this.#window.remaining < Math.min(count, this.#window.limit))
      until = this.#window.turnsAt;
    while (this.#sent.length > 0 && this.#sent[0]! <= now - minuteMs) this.#sent.shift();
    if (this.#perMinute !== undefined) {
      const over = this.#sent.length + Math.min(count, this.#perMinute) - this.#perMinute;
      if (over > 0) until = Math.max(until, this.#sent[over - 1]! + minuteMs + marginMs);
    }
    return until - now;
  }

  /** A request is about to be sent. */
  sending(now: number): void {
    this.#sent.push(now);
  }

  /** Learns from the headers of a response. */
  learn(response: Response): void {
    if (response.date !== undefined)
      this.#offset = Math.max(this.#offset ?? -Infinity, response.date - response.receivedAt);
    const [limit, remaining, reset] = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) =>
      response.integer(name),
    );
    if (limit === undefined || remaining === undefined || reset === undefined || limit < 1) return;
    this.#hadRoom ||= remaining > 0;
    if (!this.#hadRoom) return;
    const margin = this.#offset === undefined ? unknownClockMarginMs : marginMs;
    const turnsAt = reset * 1_000 - (this.#offset ?? 0) + margin;
    // Of responses under way together the last to come is not the last to be counted.
    const before = this.#window;
    const same = before !== undefined && before.limit === limit && before.reset === reset;
    this.#window = { limit, remaining: same ? Math.min(before.remaining, remaining) : remaining, reset, turnsAt };
    const ofTheDay = Object.values(plans).find((plan) => plan.perDay === limit);
    if (ofTheDay !== undefined && turnsAt - response.receivedAt > 2 * minuteMs) this.#perMinute ??= ofTheDay.perMinute;
  }

  /**
   * What remains until a window turns for which nobody waits, such as the day, and when that is; undefined where there
   * is none.
   */
  longWindow(now: number): { readonly remaining: number; readonly minutes: number } | undefined {
    if (this.#window === undefined || this.#window.turnsAt - now <= longWindowMs) return undefined;
    return { remaining: this.#window.remaining, minutes: Math.ceil((this.#window.turnsAt - now) / minuteMs) };
  }

  /**
   * How long `count` requests take at this pace, in milliseconds, as far as the headers have told: 0 where nothing
   * makes them wait.
   */
  estimate(now: number, count: number): number {
    if (this.#window === undefined) return 0;
    const { remaining, limit, turnsAt } = this.#window;
    const over = count - remaining;
    const perMinute = Math.min(this.#perMinute ?? Infinity, turnsAt - now <= 2 * minuteMs ? limit : Infinity);
    if (perMinute === Infinity) return 0;
    if (turnsAt - now > 2 * minuteMs) return Math.max(0, Math.ceil(count / perMinute) - 1) * minuteMs;
    return over <= 0 ? 0 : turnsAt - now + (Math.ceil(over / perMinute) - 1) * minuteMs;
  }

  /** The server's time, at least: milliseconds since 1970. */
  serverTime(now: number): number {
    return now + (this.#offset ?? 0);
  }
}
