import { activityIn, usageOf } from '../../control/activity.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import type { Accounts, Activity, Admission, ChangedKey, KeyAdmin, Usage } from '../../engine.ts';
import type { KeyRing } from './key-ring.ts';
import type { Key } from '../../keys/key.ts';
import { limitsOf, type Plan } from '../../limits/plans.ts';
import type { UsageFile } from './usage-file.ts';

/** The keys of a data folder and the counts of their requests, which are in memory and saved in the background. */
export class FileAccounts implements Accounts, KeyAdmin {
  readonly #ring: KeyRing;
  readonly #usage: UsageFile;

  constructor(ring: KeyRing, usage: UsageFile) {
    this.#ring = ring;
    this.#usage = usage;
  }

  admit(secret: string, now: number, waitedMs: number, counts: boolean): Admission | null {
    const key = this.#ring.find(secret, now);
    if (key === null) return null;
    const { id, name, plan } = key;
    const { limiter } = this.#usage;
    const limits = counts
      ? limiter.admitKey(id, limitsOf(plan), now, waitedMs)
      : limiter.keyStatus(id, limitsOf(plan), now);
    return { key: id, name, limits, time: now };
  }

  list(): readonly Key[] {
    return this.#ring.keys;
  }

  get(id: string): Key {
    return this.#ring.get(id);
  }

  create(name: string, plan: Plan, expiresAt: number | null, now: number, secret: string): Promise<ChangedKey> {
    return this.#changed(this.#ring.create(name, plan, expiresAt, now, secret).then(({ key }) => key));
  }

  rotate(id: string, graceMs: number, now: number, secret: string): Promise<ChangedKey> {
    return this.#changed(this.#ring.rotate(id, graceMs, now, secret).then(({ key }) => key));
  }

  revoke(id: string, now: number): Promise<ChangedKey> {
    return this.#changed(this.#ring.revoke(id, now));
  }

  setPlan(id: string, plan: Plan, now: number): Promise<ChangedKey> {
    return this.#changed(this.#ring.setPlan(id, plan, now));
  }

  usage(key: Key, now: number): Usage {
    const { limiter } = this.#usage;
    return usageOf(key, { usage: limiter.usageOf(key.id, now), time: limiter.timeAt(now) });
  }

  async unban(id: string, now: number): Promise<{ key: Key; unbanned: boolean }> {
    const key = this.#ring.get(id);
    const unbanned = this.#usage.limiter.unban(id, now);
    if (unbanned) {
      await this.#usage.save().catch((error: OperatorError) => {
        throw new OperatorError(`could not save that the ban of key ${id} was lifted: ${error.message}`);
      });
    }
    return { key, unbanned };
  }

  activity(count: number, now: number): Activity {
    const { limiter } = this.#usage;
    const time = limiter.timeAt(now);
    const keyById = new Map(this.#ring.keys.map((key) => [key.id, key]));
    const used = [...limiter.usages(() => now)].map(([id, usage]) => ({ key: keyById.get(id), usage, time }));
    return activityIn(used, count);
  }

  async #changed(change: Promise<Key>): Promise<ChangedKey> {
    return { key: await change, unsynced: this.#ring.unsynced };
  }
}
