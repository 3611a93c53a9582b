/** Temporary bans of a key (specification.md section 8, "Behaviour at the limit" 3; decisions.md, "Limits"). */
import { dayMs, maxSmallStepMs } from './windows.ts';

/** A ban, in force or over. */
export interface Ban {
  /** A whole second, as `X-RateLimit-Reset` requires of the end. So the length is a number of whole seconds, too. */
  readonly start: number;
  readonly end: number;
}

const firstBanMs = 5 * 60_000;
const longestBanMs = 60 * 60_000;
/** A ban that begins within this time after the end of the previous one lasts longer than it. */
const memoryMs = dayMs;
/** The smallest number of refusals that ban a key, for plans that admit fewer requests per minute. */
export const minRefusals = 60;
/** Requests that arrive within this time after the first refusal of a window may have been in flight then. */
export const graceMs = 2_000;

/** Returns the ban that begins at `time`. `last` is the previous ban, or null if there is none or it is forgotten. */
export function nextBan(last: Ban | null, time: number): Ban {
  const start = Math.ceil(time / 1000) * 1000;
  const lengthMs = last === null ? firstBanMs : Math.min(2 * (last.end - last.start), longestBanMs);
  return { start, end: start + lengthMs };
}

/** Returns whether a ban no longer matters: it ended long ago, or the clock was set back to before its start. */
export function isForgotten(ban: Ban, time: number): boolean {
  return time - ban.end > memoryMs || ban.start - time > maxSmallStepMs;
}
