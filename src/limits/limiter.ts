import { AddressCounts } from './addresses.ts';
import { KeyUsage } from './key-usage.ts';
import type { PlanLimits } from './plans.ts';
import type { LimitStatus } from './limit-status.ts';
import { LimitsTime } from './windows.ts';

/**
 * Who may send a request now: the keys by their plan, everyone else by address (decisions.md, "Limits").
 * Deciding and counting are one step, at the cost of a lookup and two counters.
 */
export class Limiter {
  readonly #time = new LimitsTime();
  readonly #keys: Map<string, KeyUsage>;
  readonly #addresses = new AddressCounts();
  readonly #onChange: () => void;

  /** `keys` is what was used before `now`, by the key's id; `onChange` is called when it has changed. */
  constructor(keys: Map<string, KeyUsage>, now: number, onChange: () => void) {
    this.#keys = keys;
    this.#onChange = onChange;
    for (const usage of keys.values()) usage.roll(this.#time.at(now));
  }

  /** Counts a request with a key whose plan has these limits, or refuses it. It is handled `now`, and arrived `waitedMs` ago. */
  admitKey(id: string, limits: PlanLimits, now: number, waitedMs: number): LimitStatus {
    const time = this.#time.at(now);
    let usage = this.#keys.get(id);
    if (usage === undefined) this.#keys.set(id, (usage = new KeyUsage()));
    const { ban } = usage;
    const status = usage.admit(limits, time, time - waitedMs);
    if (status.refusedBy !== 'ban' || usage.ban !== ban) this.#onChange(); // a ban is not changed by what it refuses
    return status;
  }

  /** Counts a request without a valid key from this IP address, or refuses it. */
  admitAddress(address: string, now: number): LimitStatus {
    return this.#addresses.admit(address, this.#time.at(now));
  }

  /** Where an IP address stands. */
  addressStatus(address: string, now: number): LimitStatus {
    return this.#addresses.status(address, this.#time.at(now));
  }

  /** The limits' time when the clock says `now`. */
  timeAt(now: number): number {
    return this.#time.at(now);
  }

  /** What a key has used, as of now. */
  usageOf(id: string, now: number): KeyUsage {
    const usage = this.#keys.get(id) ?? new KeyUsage();
    usage.roll(this.#time.at(now));
    return usage;
  }

  /** Lifts a key's ban. Gives whether there was one. */
  unban(id: string, now: number): boolean {
    const lifted = this.usageOf(id, now).unban(this.#time.at(now));
    if (lifted) this.#onChange();
    return lifted;
  }

  /**
   * All that is worth keeping over a restart, each as of `now()` when it is given: that may take a while, and the clock
   * may be stepped meanwhile. Of keys without such, nothing is kept in memory either.
   */
  *usages(now: () => number): Generator<[id: string, KeyUsage]> {
    for (const [id, usage] of this.#keys) {
      usage.roll(this.#time.at(now()));
      if (usage.isBlank) this.#keys.delete(id);
      else yield [id, usage];
    }
  }
}
