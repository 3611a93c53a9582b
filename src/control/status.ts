/** The response of a running server to `petstore status`. All figures exist anyway, so a request costs nothing more. */
import type { KeyRing } from '../keys/key-ring.ts';
import type { KeyUsage } from '../limits/key-usage.ts';
import type { UsageFile } from '../limits/usage-file.ts';
import type { Sources } from '../observe/server-figures.ts';
import type { PetStore } from '../store/pet-store.ts';
import { usageReport } from './commands.ts';

/** The parts of the server that the status is read from. */
export interface ServerState {
  readonly sources: Sources;
  readonly pets: PetStore;
  readonly keys: KeyRing;
  readonly usage: UsageFile;
  /** null until the server listens. */
  readonly address: () => string | null;
  /** Since when the server stops (milliseconds since the epoch); null if it does not. */
  readonly stoppingSince: () => number | null;
}

/** How many of the busiest keys, and of the keys whose bans end last, are listed. */
const namedKeys = 5;

export type StatusReport = Awaited<ReturnType<typeof statusOf>>;

/**
 * Returns the members that `status --json` prints, except the free space of the disk (docs/server.md, "Status"). Tests
 * whether the disk can be written, as `/readyz` does and at most as often. Times are RFC 3339.
 */
export async function statusOf({ sources, pets, keys, usage, ...server }: ServerState, now: number) {
  const startedAt = Math.round(performance.timeOrigin);
  const stoppingSince = server.stoppingSince();
  if (pets.progress === 100 && stoppingSince === null) await pets.writable();
  const files = sources.files();
  const refusal = files?.creates.refusal ?? null;
  const [state, since] =
    stoppingSince !== null ? ['stopping', stoppingSince] as const
    : files === null ? ['starting', startedAt] as const
    : [refusal === null ? 'ready' : 'creates-refused', files.creates.since] as const;
  const { open, refused, dropped } = sources.connections();
  return {
    state,
    reason: state === 'creates-refused' ? refusal : null,
    since: isoTime(since),
    // How much of the animals has been read.
    percent: pets.progress,
    pid: process.pid,
    version: sources.version,
    address: server.address(),
    startedAt: isoTime(startedAt),
    animals: sources.animals(),
    orders: sources.orders(),
    journal: files && {
      bytes: files.journal.bytes,
      lastSyncAt: isoTime(files.journal.lastSyncAt),
      lastSyncMs: files.journal.lastSyncMs,
      failures: files.journal.failures,
    },
    snapshot: files && {
      bytes: files.snapshot.bytes,
      writtenAt: files.snapshot.writtenAt === null ? null : isoTime(files.snapshot.writtenAt),
      failures: files.snapshot.failures,
    },
    connections: { open, limit: sources.maxServed, refused, dropped },
    droppedLogLines: sources.droppedLogLines(),
    ...keyFigures(keys, usage, now),
  };
}

/** Returns how many requests were admitted with a key, and the usages of the busiest and of the banned keys. */
function keyFigures({ keys }: KeyRing, usage: UsageFile, now: number) {
  const { limiter } = usage;
  const used = [...limiter.usages(() => now)];
  const sum = (window: 'minute' | 'day'): number => used.reduce((total, [, one]) => total + one[window].used, 0);
  const time = limiter.timeAt(now);
  const byId = new Map(keys.filter(({ revokedAt }) => revokedAt === null).map((key) => [key.id, key]));
  const reports = (chosen: [id: string, KeyUsage][]) =>
    chosen.slice(0, namedKeys).map(([id]) => usageReport(byId.get(id)!, usage, now));
  const known = used.filter(([id]) => byId.has(id));
  const banned = known.filter(([, one]) => one.bannedUntil(time) !== null);
  return {
    requests: { minute: sum('minute'), day: sum('day') },
    bannedKeys: banned.length,
    busiest: reports(known.filter(([, { day }]) => day.used > 0).sort(([, a], [, b]) => {
      return b.minute.used - a.minute.used || b.day.used - a.day.used;
    })),
    banned: reports(banned.sort(([, a], [, b]) => b.ban!.end - a.ban!.end)),
  };
}

function isoTime(time: number): string {
  return new Date(time).toISOString();
}
