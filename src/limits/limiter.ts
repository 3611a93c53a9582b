import { KeyUsage } from './key-usage.ts';
import type { PlanLimits } from './plans.ts';
import type { LimitStatus } from './limit-status.ts';
import { LimitClock } from './windows.ts';

/**
 * Decides which requests with a key are admitted, by the limits of its plan (decisions.md, "Limits"). Deciding and
 * counting are one synchronous step, so two concurrent requests cannot both be admitted as the last one. It costs a
 * lookup and two counters.
 */
export class Limiter {
  readonly #clock = new LimitClock();
  readonly #keys: Map<string, KeyUsage>;
  readonly #onChange: () => void;

  /** `keys` has the usage so far, as of `now`, by the id of the key. `onChange` is called after each change of it. */
  constructor(keys: Map<string, KeyUsage>, now: number, onChange: () => void) {
    this.#keys = keys;
    this.#onChange = onChange;
    for (const usage of keys.values()) usage.roll(this.timeAt(now));
  }

  /**
   * Admits and counts a request with a key, or refuses it. `limits` are those of the key's plan. The request is handled
   * at `now` and arrived `waitedMs` before.
   */
  admitKey(id: string, limits: PlanLimits, now: number, waitedMs: number): LimitStatus {
    const time = this.timeAt(now);
    let usage = this.#keys.get(id);
    if (usage === undefined) this.#keys.set(id, (usage = new KeyUsage()));
    const status = usage.admit(limits, time, time - waitedMs);
    // A refusal by a ban that was in force before changes nothing.
    if (status.refusedBy !== 'ban' || status.began !== undefined) this.#onChange();
    return status;
  }

  /** Returns the status of a key without counting a request. */
  keyStatus(id: string, limits: PlanLimits, now: number): LimitStatus {
    return this.usageOf(id, now).status(limits);
  }

  /** Returns the time of the limits when the clock shows `now`. */
  timeAt(now: number): number {
    return this.#clock.timeAt(now);
  }

  /** Returns the usage of a key as of `now`. */
  usageOf(id: string, now: number): KeyUsage {
    const usage = this.#keys.get(id) ?? new KeyUsage();
    usage.roll(this.timeAt(now));
    return usage;
  }

  /** The number of keys that are banned now. */
  bannedKeys(now: number): number {
    const time = this.timeAt(now);
    let count = 0;
    for (const usage of this.#keys.values()) if (usage.bannedUntil(time) !== null) count++;
    return count;
  }

  /** Lifts the ban of a key. Returns whether there was one. */
  unban(id: string, now: number): boolean {
    const lifted = this.usageOf(id, now).unban(this.timeAt(now));
    if (lifted) this.#onChange();
    return lifted;
  }

  /**
   * Yields the usage of each key that has any, to be saved. Usage that is blank is removed from memory as well. Each is
   * as of `now()` at the moment when it is yielded, because the caller may take a while.
   */
  *usages(now: () => number): Generator<[id: string, KeyUsage]> {
    for (const [id, usage] of this.#keys) {
      usage.roll(this.timeAt(now()));
      if (usage.isBlank) this.#keys.delete(id);
      else yield [id, usage];
    }
  }
}
