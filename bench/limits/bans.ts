/**
 * Bans, as refusals tell of them: the wait that Retry-After asks for ends well after the window, which a mere lack of requests
 * never does. A server may speak of the ban in Reset, too; so a window's end is the one that an admitted request was told.
 */
import { duration } from '../../conformance/report/words.ts';
import { isAdmitted, isRefused, type Answer } from './answer.ts';
import type { Key } from './keys.ts';
import type { BanSeen, Outcome } from './report.ts';
import type { ServerClock } from './server-clock.ts';

/** A wait that ends so much later than the window is a ban's. */
export const banMs = 5_000;

/** Retry-After is in whole seconds: every refusal of one ban may name another moment. */
const roundingMs = 2_000;

export class Bans {
  /** By the bench's clock, in milliseconds. */
  readonly seen: BanSeen[] = [];
  readonly #clock: ServerClock;
  readonly #windows = new Map<Key, { readonly limit: number; readonly endsAt: number }>();
  readonly #ends = new Map<Key, number>();

  constructor(clock: ServerClock) {
    this.#clock = clock;
  }

  /** Learns from an answer; `retryAt` is when its key may come again, as far as it says so. */
  answered(key: Key, answer: Answer, retryAt: number | undefined): void {
    const { standing, receivedAt } = answer;
    const told = standing && { limit: standing.limit, endsAt: this.#clock.ours(standing.reset * 1_000) };
    if (isAdmitted(answer) && told !== undefined) this.#windows.set(key, told);
    if (!isRefused(answer) || retryAt === undefined) return;
    const known = this.#windows.get(key);
    const window = known !== undefined && known.endsAt > receivedAt ? known : told;
    // Another Limit speaks of another window, such as the day.
    if (window === undefined || window.endsAt < receivedAt || (told !== undefined && told.limit !== window.limit)) return;
    if (retryAt > window.endsAt + banMs) this.add(key, { from: receivedAt, to: retryAt });
  }

  /** A ban was seen, unless it is one that is known. */
  add(key: Key, ban: BanSeen): void {
    const known = (this.#ends.get(key) ?? 0) > ban.from && Math.abs(this.#ends.get(key)! - ban.to) < roundingMs;
    if (known) return;
    this.#ends.set(key, ban.to);
    this.seen.push(ban);
  }

  /** How long a key is banned yet; 0 where it is not. */
  leftMs(key: Key, now: number): number {
    return Math.max(0, (this.#ends.get(key) ?? 0) - now);
  }
}

/** An outcome, and that the key was banned meanwhile, where nobody asked for it. */
export function withBan(outcome: Outcome, { from, to }: BanSeen): Outcome {
  const note = `a 429 asked to wait ${duration((to - from) / 1_000)}, well beyond the window's end: a ban, or as good as one`;
  if (outcome.seen === undefined && outcome.reason !== undefined) return { ...outcome, reason: `${outcome.reason}; ${note}` };
  return { ...outcome, seen: outcome.seen === undefined ? note : `${outcome.seen}; ${note}` };
}
