/** Temporary bans of a key (specification.md section 8, "Behaviour at the limit" 3; decisions.md, "Limits"). */
import { dayMs, maxSmallStepMs } from './windows.ts';

/** A ban, in force or over. */
export interface Ban {
  /** A whole second. The end is then a whole second too, as `X-RateLimit-Reset` requires. */
  readonly start: number;
  readonly lengthMs: number;
}

const firstBanMs = 5 * 60_000;
const longestBanMs = 60 * 60_000;
/** A ban that begins within this time after the end of the previous one lasts longer than it. */
const memoryMs = dayMs;
/** The smallest number of refusals that ban a key, for plans that admit fewer requests per minute. */
const minRefusals = 60;
/** Requests that arrive within this time after the first refusal of a window may have been in flight then. */
const graceMs = 2_000;

/** Returns whether the refusal of a request that arrived at `arrivedAt` counts towards a ban. */
export function countsTowardsBan(arrivedAt: number, firstRefusedAt: number): boolean {
  return arrivedAt - firstRefusedAt > graceMs;
}

/** Returns how many counted refusals in one minute ban a key whose plan admits `perMinute` requests. */
export function refusalsForBan(perMinute: number): number {
  return Math.max(perMinute, minRefusals);
}

/** Returns the ban that begins at `time`. `last` is the previous ban, or null if there is none or it is forgotten. */
export function nextBan(last: Ban | null, time: number): Ban {
  const lengthMs = last === null ? firstBanMs : Math.min(2 * last.lengthMs, longestBanMs);
  return { start: Math.ceil(time / 1000) * 1000, lengthMs };
}

/** Returns the time at which a ban ends. */
export function endOfBan(ban: Ban): number {
  return ban.start + ban.lengthMs;
}

/** Returns whether a ban no longer matters: it ended long ago, or the clock was set back to before its start. */
export function isForgotten(ban: Ban, time: number): boolean {
  return time - endOfBan(ban) > memoryMs || ban.start - time > maxSmallStepMs;
}
