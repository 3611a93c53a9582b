/** Temporary bans of a key (specification.md section 8, "Behaviour at the limit" 3; decisions.md, "Limits"). */
import { dayMs, maxSmallStepMs } from './windows.ts';

/** A ban, under way or over. */
export interface Ban {
  /** A whole second, so that its end is one, and `X-RateLimit-Reset` can name it. */
  readonly start: number;
  readonly lengthMs: number;
}

const firstBanMs = 5 * 60_000;
const longestBanMs = 60 * 60_000;
/** A ban that begins within this time of the last one's end is longer than it. */
const memoryMs = dayMs;
/** No fewer refusals ban a key, however small its plan. */
const minRefusals = 60;
/** Requests that arrive within this time of a window's first refusal may have been under way already. */
const graceMs = 2_000;

/** Whether the refusal of a request that arrived at `arrivedAt` counts towards a ban. */
export function countsTowardsBan(arrivedAt: number, firstRefusedAt: number): boolean {
  return arrivedAt - firstRefusedAt > graceMs;
}

/** How many counted refusals in one minute ban a key that may send `perMinute` requests. */
export function refusalsForBan(perMinute: number): number {
  return Math.max(perMinute, minRefusals);
}

/** The ban that begins at `time`; `last` is the one before it, if that is not forgotten. */
export function nextBan(last: Ban | null, time: number): Ban {
  const lengthMs = last === null ? firstBanMs : Math.min(2 * last.lengthMs, longestBanMs);
  return { start: Math.ceil(time / 1000) * 1000, lengthMs };
}

/** When a ban ends. */
export function endOfBan(ban: Ban): number {
  return ban.start + ban.lengthMs;
}

/** Whether a ban, under way or over, no longer matters: it ended long ago, or the clock was stepped to before it. */
export function isForgotten(ban: Ban, time: number): boolean {
  return time - endOfBan(ban) > memoryMs || ban.start - time > maxSmallStepMs;
}
