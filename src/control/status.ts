/** The response of a running server to `petstore status`. All figures exist anyway, so a request costs nothing more. */
import type { Engine, KeyAdmin } from '../engine.ts';
import type { Sources } from '../observe/server-figures.ts';
import { isoTime, usageReport } from './commands.ts';

/** The parts of the server that the status is read from. */
export interface ServerState {
  readonly sources: Sources;
  readonly engine: Engine;
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
export async function statusOf({ sources, engine, ...server }: ServerState, now: number) {
  const startedAt = Math.round(performance.timeOrigin);
  const stoppingSince = server.stoppingSince();
  if (engine.progress === 100 && stoppingSince === null) await engine.pets.writable();
  const { animals, orders, creates, details } = await engine.figures();
  const activity = await activityOf(engine.keys, now);
  const refusal = creates?.refusal ?? null;
  const [state, since] =
    stoppingSince !== null ? ['stopping', stoppingSince] as const
    : creates === null ? ['starting', startedAt] as const
    : [refusal === null ? 'ready' : 'creates-refused', creates.since] as const;
  const { open, refused, dropped } = sources.connections();
  return {
    state,
    reason: state === 'creates-refused' ? refusal : null,
    since: isoTime(since),
    // How much of the animals has been read.
    percent: engine.progress,
    pid: process.pid,
    version: sources.version,
    address: server.address(),
    startedAt: isoTime(startedAt),
    animals,
    orders,
    ...details,
    connections: { open, limit: sources.maxServed, refused, dropped },
    droppedLogLines: sources.droppedLogLines(),
    ...activity,
  };
}

/** Returns the members of a status that concern the keys. Rejects as `KeyAdmin.activity` does. */
export async function activityOf(keys: KeyAdmin, now: number) {
  const { requests, bannedKeys, busiest, banned } = await keys.activity(namedKeys, now);
  return { requests, bannedKeys, busiest: busiest.map(usageReport), banned: banned.map(usageReport) };
}
