import { OperatorError } from '../../domain/operator-error.ts';
import type { Accounts, Activity, Admission, ChangedKey, KeyAdmin, Usage } from '../../engine.ts';
import type { KeyRing } from './key-ring.ts';
import type { Key } from '../../keys/key.ts';
import type { KeyUsage } from '../../limits/key-usage.ts';
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
    return usageOf(key, limiter.usageOf(key.id, now), limiter.timeAt(now));
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
    const keyById = new Map(this.#ring.keys.filter(({ revokedAt }) => revokedAt === null).map((key) => [key.id, key]));
    const used = [...limiter.usages(() => now)];
    const known = used.filter(([id]) => keyById.has(id));
    const sum = (window: 'minute' | 'day'): number => used.reduce((total, [, one]) => total + one[window].used, 0);
    const first = (chosen: typeof used): readonly Usage[] =>
      chosen.slice(0, count).map(([id, one]) => usageOf(keyById.get(id)!, one, time));
    const banned = known.filter(([, one]) => one.bannedUntil(time) !== null);
    return {
      requests: { minute: sum('minute'), day: sum('day') },
      bannedKeys: banned.length,
      busiest: first(known.filter(([, { day }]) => day.used > 0).sort(([, a], [, b]) => {
        return b.minute.used - a.minute.used || b.day.used - a.day.used;
      })),
      banned: first(banned.sort(([, a], [, b]) => b.ban!.end - a.ban!.end)),
    };
  }

  async #changed(change: Promise<Key>): Promise<ChangedKey> {
    return { key: await change, unsynced: this.#ring.unsynced };
  }
}

function usageOf(key: Key, usage: KeyUsage, time: number): Usage {
  const { minute, day, ban } = usage;
  return {
    key,
    minute: { used: minute.used, end: minute.end },
    day: { used: day.used, end: day.end },
    ban,
    isBanned: usage.bannedUntil(time) !== null,
  };
}
