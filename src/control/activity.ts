/** What `petstore usage` and `petstore status` say of keys, made from their counters: the same for every engine. */
import type { Activity, Usage } from '../engine.ts';
import type { Key } from '../keys/key.ts';
import type { KeyUsage } from '../limits/key-usage.ts';

/** A key that has been used, and its usage as of `time`. The key is undefined if only its usage is known. */
export interface UsedKey {
  readonly key: Key | undefined;
  readonly usage: KeyUsage;
  /** The time of the key's limits, in milliseconds since the epoch. */
  readonly time: number;
}

/** Returns what an engine reports of the usage of a key (engine.ts). */
export function usageOf(key: Key, { usage, time }: Pick<UsedKey, 'usage' | 'time'>): Usage {
  const { minute, day, ban } = usage;
  return {
    key,
    minute: { used: minute.used, end: minute.end },
    day: { used: day.used, end: day.end },
    ban,
    isBanned: usage.bannedUntil(time) !== null,
  };
}

/** Returns what an engine reports of all keys that have been used (engine.ts): at most `count` keys of each kind. */
export function activityIn(used: readonly UsedKey[], count: number): Activity {
  const valid = used.filter(({ key }) => key !== undefined && key.revokedAt === null);
  const sum = (window: 'minute' | 'day'): number => used.reduce((total, { usage }) => total + usage[window].used, 0);
  const first = (chosen: readonly UsedKey[]): readonly Usage[] =>
    chosen.slice(0, count).map((one) => usageOf(one.key!, one));
  const banned = valid.filter(({ usage, time }) => usage.bannedUntil(time) !== null);
  return {
    requests: { minute: sum('minute'), day: sum('day') },
    bannedKeys: banned.length,
    busiest: first(valid.filter(({ usage }) => usage.day.used > 0).sort(({ usage: a }, { usage: b }) => {
      return b.minute.used - a.minute.used || b.day.used - a.day.used;
    })),
    banned: first(banned.sort(({ usage: a }, { usage: b }) => b.ban!.end - a.ban!.end)),
  };
}
