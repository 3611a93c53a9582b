/** The windows of the specification, and what a 429 says of them. */
import type { Response } from './response.ts';

/** The windows of the specification (section 8). */
export const minuteMs = 60_000;
export const dayMs = 86_400_000;
/** A local day has an hour more when summer time ends. */
export const longestDayMs = dayMs + 3_600_000;

/** By how much clocks, and headers in whole seconds, may disagree about the end of a window. */
export const toleranceMs = 2_000;

/**
 * By how much a Date header may be behind the server's clock: it has whole seconds, and some servers cache it for one
 * more.
 */
export const dateToleranceMs = 2_000;

/**
 * How long after a 429 a request is admitted at the latest, if the key has used up a minute or the window of the
 * headers, in milliseconds. Only a ban, or a day that the headers do not show, lasts longer.
 *
 * @param now the server's time when it sent the response
 */
export function explainedMs({ rateLimits }: Response, now: number): number {
  const untilReset = (rateLimits?.reset ?? 0) * 1000 - now;
  return Math.max(minuteMs, untilReset <= longestDayMs + toleranceMs ? untilReset : 0) + toleranceMs;
}

/**
 * The value of Retry-After (RFC 9110, section 10.2.3: seconds, or a date) in milliseconds from `now`, the server's
 * time; undefined if it is missing or invalid, or a date while the time is unknown.
 */
export function retryAfterMs(response: Response, now: number | undefined): number | undefined {
  const value = response.all('retry-after')[0];
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) || now === undefined ? undefined : Math.max(0, date - now);
}
