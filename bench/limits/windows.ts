/** What responses show about a key's windows. */
import { dateToleranceMs } from '../../conformance/client/limit-readings.ts';
import { isAdmitted, type Read, type Response } from './responses.ts';

/** Reset is in whole seconds, which a server may round up or down. */
const roundingS = 1;

/**
 * The windows of a key are fixed; they move if Reset became later before it had passed; or they are unsteady if Reset
 * became earlier while requests remained, so that it cannot be when the limit resets.
 */
export type WindowKind = 'fixed' | 'move' | 'unsteady';

export const unsteady = 'X-RateLimit-Reset went back while requests remained: it cannot be when the limit resets';

/**
 * The kind of window that responses show. Those after which nothing remains are ignored: their Reset may be when the
 * next request is available, instead of the whole limit.
 */
export function windowKindOf(responses: readonly Response[]): WindowKind {
  const [anchors, highest] = [new Map<number, Read>(), new Map<number, Read>()];
  const inOrder: Read[] = [];
  let back = 0;
  for (const response of responses.filter((one): one is Read => (one.reading?.remaining ?? 0) > 0)) {
    const { limit, reset } = response.reading;
    const [anchor, high] = [anchors.get(limit), highest.get(limit)];
    if (high !== undefined && isAfter(response, high)) back = Math.max(back, high.reading.reset - reset);
    if (high === undefined || reset > high.reading.reset) highest.set(limit, response);
    if (anchor !== undefined && !isAfter(response, anchor)) continue;
    // A Reset that is sometimes rounded up and sometimes down does not move.
    if (anchor !== undefined && Math.abs(reset - anchor.reading.reset) <= roundingS) continue;
    anchors.set(limit, response);
    inOrder.push(response);
  }
  if (back > 0) return back > roundingS ? 'unsteady' : 'fixed'; // a window that moves only moves forward
  return windowMoves(inOrder) ? 'move' : 'fixed';
}

/** By how much Reset may vary within a fixed window: `now` plus a duration, of which either is rounded. */
const jitterS = 2;

/** Whether two values of Reset name the end of the same fixed window. */
function isSameReset(one: number, other: number): boolean {
  return Math.abs(one - other) <= jitterS;
}

/** Whether the windows are not fixed: a Reset was replaced by another before its time. */
function windowMoves(responses: readonly Read[]): boolean {
  const windows = new Map<number, { low: number; high: number; lastTurn: number }>();
  for (const { reading: { limit, reset }, message, receivedAt } of responses) {
    const window = windows.get(limit);
    const lastTurn = message.receivedTurn;
    const isOver = (low: number) => (message.date ?? receivedAt) >= low * 1000 - dateToleranceMs;
    if (window === undefined || (isOver(window.low) && reset > window.low && !isSameReset(reset, window.high))) {
      windows.set(limit, { low: reset, high: reset, lastTurn });
      continue;
    }
    const [low, high] = [Math.min(window.low, reset), Math.max(window.high, reset)];
    if (isSameReset(low, high)) Object.assign(window, { low, high, lastTurn });
    else if (message.sentTurn > window.lastTurn) return true;
  }
  return false;
}

/** Whether a request was sent after the response to another: concurrent requests are counted in an unknown order. */
function isAfter({ message }: Response, { message: before }: Response): boolean {
  return message.sentTurn > before.receivedTurn;
}

/** The most by which the server's clock may differ from its Date, including rounding. */
const pastMs = 3_000;

/**
 * Whether a Reset can be a Unix timestamp. A number before the year 2001 is more likely the seconds to wait; one after
 * the year 5000 is in milliseconds.
 */
export function isTimestamp(reset: number): boolean {
  return reset >= 1_000_000_000 && reset <= 100_000_000_000;
}

/** Why the Reset of a response cannot be when the limit resets; undefined if it can. */
export function wrongReset({ reading: { reset }, message: { date } }: Read): string | undefined {
  if (!isTimestamp(reset)) return `X-RateLimit-Reset is ${reset}, which is not a Unix timestamp`;
  const past = (date ?? 0) - reset * 1_000;
  return past > pastMs ? `X-RateLimit-Reset was ${Math.floor(past / 1_000)} s in the past when it was sent` : undefined;
}

/** Whether a response is from another window than the first response, if windows are fixed. */
export function windowTurned([first, ...rest]: readonly Response[]): boolean {
  const reset = first?.reading?.reset ?? 0;
  return rest.some(({ reading }) => reading !== undefined && !isSameReset(reading.reset, reset));
}

/** The number of requests admitted in each window, in order. Resets that differ only by rounding are one window. */
export function admittedByReset(responses: readonly Response[]): readonly { readonly reset: number; count: number }[] {
  const windows: { reset: number; count: number }[] = [];
  const resets = responses.filter(isAdmitted).flatMap(({ reading }) => reading?.reset ?? []);
  for (const reset of resets.toSorted((one, other) => one - other)) {
    const last = windows.at(-1);
    if (last === undefined || reset - last.reset > roundingS) windows.push({ reset, count: 1 });
    else last.count++;
  }
  return windows;
}

/** The most requests that can have become available while these were in flight, if windows move. */
export function comingBack(limit: number, responses: readonly Response[]): number {
  const [from, to] = [Math.min(...responses.map((r) => r.sentAt)), Math.max(...responses.map((r) => r.receivedAt))];
  return Math.ceil(((to - from) * limit) / 60_000) + 1;
}

/** The most requests that were admitted in any span of `spanMs`, by the times at which responses were received. */
export function mostAdmittedIn(spanMs: number, responses: readonly Response[]): number {
  const times = responses.filter(isAdmitted).map(({ receivedAt }) => receivedAt).sort((a, b) => a - b);
  let most = 0;
  for (let from = 0, to = 0; to < times.length; to++) {
    while (times[to]! - times[from]! >= spanMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
