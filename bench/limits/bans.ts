/**
 * Detects bans: the wait that Retry-After requires ends well after the window, which never happens to a key that has
 * only used up its requests. A server may also show the ban in Reset, so the end of a window is taken from the last
 * request that was admitted.
 */
import { duration } from '../../conformance/report/words.ts';
import type { LimitsClient } from './client.ts';
import type { Key } from './keys.ts';
import type { BanSeen, Outcome } from './report.ts';
import { isAdmitted, isRefused, type Response } from './responses.ts';

/** A wait that ends later than this after the window is that of a ban. */
export const banMs = 5_000;

/** The most by which the ends differ that refusals of one ban state, because Retry-After is in whole seconds. */
const roundingMs = 2_000;

export class Bans {
  /** By the bench's clock, in milliseconds. */
  readonly seen: BanSeen[] = [];
  readonly #client: LimitsClient;
  readonly #windows = new Map<Key, { readonly limit: number; readonly endsAt: number }>();
  readonly #ends = new Map<Key, number>();

  constructor(client: LimitsClient) {
    this.#client = client;
  }

  /** Takes a response into account; `retryAt` is when its key may retry, if it states that. */
  received(key: Key, response: Response, retryAt: number | undefined): void {
    const { reading, receivedAt } = response;
    const shown = reading && { limit: reading.limit, endsAt: this.#client.ourTime(reading.reset * 1_000) };
    if (isAdmitted(response) && shown !== undefined) this.#windows.set(key, shown);
    if (!isRefused(response) || retryAt === undefined) return;
    const known = this.#windows.get(key);
    const window = known !== undefined && known.endsAt > receivedAt ? known : shown;
    // If the limit differs, the headers show another window, such as the day.
    if (window === undefined || window.endsAt < receivedAt || (shown ?? window).limit !== window.limit) return;
    if (retryAt > window.endsAt + banMs) this.add(key, { from: receivedAt, to: retryAt });
  }

  /** Adds a ban, unless it is already known. */
  add(key: Key, ban: BanSeen): void {
    const end = this.#ends.get(key) ?? 0;
    if (end > ban.from && Math.abs(end - ban.to) < roundingMs) return;
    this.#ends.set(key, ban.to);
    this.seen.push(ban);
  }

  /** The milliseconds until the ban of a key ends; 0 if it is not banned. */
  leftMs(key: Key, now: number): number {
    return Math.max(0, (this.#ends.get(key) ?? 0) - now);
  }
}

/** An outcome with the remark that the key was banned meanwhile, which only the scenario `ban` intends. */
export function withBan(outcome: Outcome, { from, to }: BanSeen): Outcome {
  const note = `a 429 required a wait of ${duration((to - from) / 1_000)}, well beyond the end of the window: a ban`;
  const { seen, reason } = outcome;
  return seen === undefined ? { ...outcome, reason: `${reason}; ${note}` } : { ...outcome, seen: `${seen}; ${note}` };
}
