/**
 * Decides when the next request may be sent, so that a key which no other client uses gets no 429.
 *
 * The headers show how many requests remain and until when, but not everything:
 * - The server's clock. Date headers show a lower bound of its time that is close to it (server-clock.ts).
 * - The other window. The headers may describe the day while the minute runs out. A limit that is the daily limit of a
 *   plan reveals the plan, and with it the limit per minute.
 *
 * They may also be wrong. A Reset more than a day ahead is no window of the specification: the window is then taken for
 * a minute. Headers that demand many more waits than their limit explains are ignored.
 */
import type { Response } from './response.ts';
import { longestDayMs, minuteMs, toleranceMs } from './limit-readings.ts';
import { ServerClock } from './server-clock.ts';

/** The plans of the specification (section 8), with the number of requests that they allow. */
export const plans = {
  free: { perMinute: 60, perDay: 1_000 },
  pro: { perMinute: 300, perDay: 10_000 },
  business: { perMinute: 1_000, perDay: 100_000 },
} as const;
export type Plan = keyof typeof plans;

/** The longest total time for which the kit waits for windows, in addition to what their limit explains. */
const moreWaitsMs = 10 * minuteMs;

/** The kit does not wait for a window that ends later than this. */
export const longWindowMs = 15 * minuteMs;

/** How long after a minute a request no longer counts in it. */
const marginMs = 50;

export class Pacer {
  #perMinute: number | undefined;
  #lowestLimit = Infinity;
  /** Whether Remaining was ever above 0. If it is always 0, as some servers send without a key, it is ignored. */
  #hadRoom = false;
  #window: { remaining: number; limit: number; reset: number; endsAt: number } | undefined;
  readonly #serverClock: ServerClock;
  /** The times of the requests of the last minute. */
  #sent: number[] = [];
  /** The number of requests, and the total time that they have waited. */
  #requests = 0;
  #waitedMs = 0;
  /** Why the next request has to wait, if it has to. */
  reason = '';

  /** `perMinute` is the limit of the key, if it is known in advance. Keys of one server share its clock. */
  constructor(perMinute?: number, serverClock = new ServerClock()) {
    this.#perMinute = perMinute;
    this.#serverClock = serverClock;
  }

  /** The latest X-RateLimit-Limit, or undefined. */
  get limit(): number | undefined {
    return this.#window?.limit;
  }

  /** The milliseconds until `count` more requests may be sent. */
  wait(now: number, count = 1): number {
    if (this.#window !== undefined && now >= this.#window.endsAt) this.#window = undefined;
    let until = now;
    if (this.#window !== undefined && this.#window.remaining < Math.min(count, this.#window.limit) && this.#believes())
      until = this.#window.endsAt;
    this.reason = 'the key has no requests left in this window';
    while (this.#sent.length > 0 && this.#sent[0]! <= now - minuteMs) this.#sent.shift();
    if (this.#perMinute !== undefined) {
      const over = this.#sent.length + Math.min(count, this.#perMinute) - this.#perMinute;
      const next = over > 0 ? this.#sent[over - 1]! + minuteMs + marginMs : now;
      if (next > until) {
        until = next;
        this.reason = `its plan, as far as the limits show, allows ${this.#perMinute} requests a minute`;
      }
    }
    return until - now;
  }

  /** Is called before each request. */
  sending(now: number): void {
    this.#requests++;
    this.#sent.push(now);
  }

  /** Called after each wait. */
  waited(ms: number): void {
    this.#waitedMs += ms;
  }

  /** Learns from the headers of a response. */
  learn(response: Response): void {
    this.#serverClock.learn(response);
    const { rateLimits } = response;
    if (rateLimits === undefined || rateLimits.limit < 1) return;
    const { limit, remaining, reset } = rateLimits;
    this.#hadRoom ||= remaining > 0;
    if (!this.#hadRoom) return;
    this.#lowestLimit = Math.min(this.#lowestLimit, limit);
    const told = this.#serverClock.timeAfter(reset * 1_000);
    const isPlausible = told - response.receivedAt <= longestDayMs + toleranceMs;
    const endsAt = isPlausible ? told : response.receivedAt + minuteMs + marginMs;
    // The last of several concurrent responses to arrive is not necessarily the last to be counted.
    const before = this.#window;
    const same = before !== undefined && before.limit === limit && before.reset === reset;
    this.#window = { limit, remaining: same ? Math.min(before.remaining, remaining) : remaining, reset, endsAt };
    const dailyPlan = Object.values(plans).find((plan) => plan.perDay === limit);
    if (dailyPlan !== undefined && endsAt - response.receivedAt > 2 * minuteMs) this.#perMinute ??= dailyPlan.perMinute;
  }

  /** The current window, if it ends too late to wait for it, such as a day; otherwise undefined. */
  longWindow(now: number): { readonly remaining: number; readonly minutes: number } | undefined {
    if (this.#window === undefined || this.#window.endsAt - now <= longWindowMs) return undefined;
    return { remaining: this.#window.remaining, minutes: Math.ceil((this.#window.endsAt - now) / minuteMs) };
  }

  /** The milliseconds until the current window ends, at least 0. */
  endsIn(now: number): number {
    return Math.max(0, (this.#window?.endsAt ?? now) - now);
  }

  /** The milliseconds that `count` requests must wait in all, as far as the headers show. */
  estimate(now: number, count: number): number {
    if (this.#window === undefined) return 0;
    const { remaining, limit } = this.#window;
    const leftMs = this.endsIn(now);
    const over = count - remaining;
    const perMinute = Math.min(this.#perMinute ?? Infinity, leftMs <= 2 * minuteMs ? limit : Infinity);
    if (perMinute === Infinity) return 0;
    if (leftMs > 2 * minuteMs) return Math.max(0, Math.ceil(count / perMinute) - 1) * minuteMs;
    return over <= 0 ? 0 : leftMs + (Math.ceil(over / perMinute) - 1) * minuteMs;
  }

  /** Whether the limit explains the waits so far, even if other clients send as many requests as the kit. */
  #believes(): boolean {
    const perMinute = Math.min(this.#perMinute ?? Infinity, this.#lowestLimit);
    return this.#waitedMs <= moreWaitsMs + ((2 * this.#requests) / perMinute) * minuteMs;
  }
}
