/** What the rate limit headers of many responses say about the windows behind them. */
import type { Credential } from './request.ts';
import type { Response } from './response.ts';

/** The windows of the specification (section 8). */
export const minuteMs = 60_000;
export const dayMs = 86_400_000;

/** By how much clocks, and headers in whole seconds, may disagree about the end of a window. */
export const toleranceMs = 2_000;

/** The rate limit headers of one response. */
export interface LimitReading {
  readonly key: Credential['key'];
  readonly limit: number;
  readonly remaining: number;
  readonly reset: number;
  /** Milliseconds since 1970 by the Date header, or by the kit's clock if there is none. */
  readonly time: number;
  readonly response: Response;
}

/**
 * By how much a Date header may be behind the server's clock: it has whole seconds, and some servers cache it for one
 * more.
 */
export const dateToleranceMs = 2_000;

/** Readings this close to their Reset are not judged, because Date and Reset have whole seconds. */
export const clearMs = 3_000;

/**
 * By how much Reset may vary within a fixed window: servers that compute it as `now` plus a duration round one or both.
 */
const jitterSeconds = 2;

/** The reading of a response, or undefined if a header is missing, repeated or not an integer. */
export function limitReading(response: Response): LimitReading | undefined {
  const { rateLimits, request, date, receivedAt } = response;
  if (rateLimits === undefined) return undefined;
  return { key: request.credential.key, ...rateLimits, time: date ?? receivedAt, response: response.light() };
}

/**
 * Whether a reading can be compared with others of the same Reset. Shortly before Reset it cannot: a sliding window or
 * a token bucket returns requests then, and a Reset in whole seconds does not show it. A limit beyond 2^53 stands for
 * no limit.
 */
export function isClear({ limit, reset, time }: LimitReading): boolean {
  return reset * 1000 - time > clearMs && Number.isSafeInteger(limit);
}

/** Whether two values of Reset name the end of the same fixed window. */
export function isSameReset(one: number, other: number): boolean {
  return Math.abs(one - other) <= jitterSeconds;
}

/** Whether the windows are not fixed: a Reset was replaced by another before its time. */
export function windowMoves(readings: readonly LimitReading[]): boolean {
  const windows = new Map<string, { low: number; high: number; lastTurn: number }>();
  for (const { key, limit, reset, time, response } of readings.filter(({ key }) => key !== 'none')) {
    const name = `${key} ${limit}`;
    const window = windows.get(name);
    if (
      window === undefined ||
      (time >= window.low * 1000 - dateToleranceMs && reset > window.low && !isSameReset(reset, window.high))
    ) {
      windows.set(name, { low: reset, high: reset, lastTurn: response.receivedTurn });
      continue;
    }
    const [low, high] = [Math.min(window.low, reset), Math.max(window.high, reset)];
    if (isSameReset(low, high)) {
      Object.assign(window, { low, high, lastTurn: response.receivedTurn });
      // Concurrent responses arrive in any order: compare only with responses that arrived before the request was sent.
    } else if (response.sentTurn > window.lastTurn) return true;
  }
  return false;
}

/** The readings of each fixed window: those with the same key, Limit and Reset. */
export function windowsOf(readings: readonly LimitReading[]): readonly (readonly LimitReading[])[] {
  const windows: LimitReading[][] = [];
  for (const reading of readings) {
    if (reading.key === 'none') continue;
    const window = windows.findLast(
      ([first]) =>
        first!.key === reading.key && first!.limit === reading.limit && isSameReset(first!.reset, reading.reset),
    );
    if (window === undefined) windows.push([reading]);
    else window.push(reading);
  }
  return windows;
}

/**
 * How long after a 429 a request is admitted at the latest, if the key has used up a minute or the window of the
 * headers, in milliseconds. Only a ban, or a day that the headers do not show, lasts longer.
 *
 * @param now the server's time when it sent the response
 */
export function explainedMs({ rateLimits }: Response, now: number): number {
  const untilReset = (rateLimits?.reset ?? 0) * 1000 - now;
  return Math.max(minuteMs, untilReset <= dayMs + toleranceMs ? untilReset : 0) + toleranceMs;
}

/**
 * The value of Retry-After (RFC 9110, section 10.2.3: seconds, or a date) in milliseconds from `now`, the server's
 * time; undefined if it is missing or invalid.
 */
export function retryAfterMs(response: Response, now: number): number | undefined {
  const value = response.all('retry-after')[0];
  if (value === undefined) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
