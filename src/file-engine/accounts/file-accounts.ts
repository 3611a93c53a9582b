import { activityIn, usageOf } from '../../control/activity.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import type { Accounts, Activity, Admission, KeyAdmin, Usage } from '../../engine.ts';
import { KeyRing } from './key-ring.ts';
import type { Key } from '../../keys/key.ts';
import { limitsOf } from '../../limits/plans.ts';
import type { UsageFile } from './usage-file.ts';

/** The keys of a data folder and the counts of their requests, which are in memory and saved in the background. */
export class FileAccounts extends KeyRing implements Accounts, KeyAdmin {
  readonly #usage: UsageFile;

  /** Reads the keys, as `KeyRing` does. */
  constructor(folder: string, checkLock: (() => void) | undefined, store: string, usage: UsageFile) {
    super(folder, checkLock, store, () => usage.noteChange());
    this.#usage = usage;
  }

  admit(secret: string, now: number, waitedMs: number, counts: boolean): Admission | null {
    const key = this.find(secret, now);
    if (key === null) return null;
    const { id, name, plan } = key;
    const { limiter } = this.#usage;
    const limits = counts
      ? limiter.admitKey(id, limitsOf(plan), now, waitedMs)
      : limiter.keyStatus(id, limitsOf(plan), now);
    return { key: id, name, limits, time: now };
  }

  list(): readonly Key[] {
    return this.keys;
  }

  usage(key: Key, now: number): Usage {
    const { limiter } = this.#usage;
    return usageOf(key, { usage: limiter.usageOf(key.id, now), time: limiter.timeAt(now) });
  }

  async unban(id: string, now: number): Promise<{ key: Key; unbanned: boolean }> {
    const key = this.get(id);
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
    const keyById = new Map(this.keys.map((key) => [key.id, key]));
    const used = [...limiter.usages(() => now)].map(([id, usage]) => ({ key: keyById.get(id), usage, time }));
    return activityIn(used, count);
  }
}
