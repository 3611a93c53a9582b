/** What the headers of many responses tell of the windows behind them. */
import type { LimitReading } from './history.ts';

/** How late a Date may be against the server's own clock: it has whole seconds, and some servers keep it for one more. */
const dateSlackMs = 2_000;

/** How long before its Reset a window is not judged any more: the tick of Date, and that of Reset. */
export const clearMs = 3_000;

/**
 * Whether a response can be held against others of the same Reset. Not in the last moments before it: there a window that slides, or
 * a bucket that is full again, gives back what was used, and a Reset in whole seconds does not show it. Nor where the numbers are so
 * large that they stand for no limit.
 */
export function isClear({ limit, reset, time }: LimitReading): boolean {
  return reset * 1000 - time > clearMs && Number.isSafeInteger(limit);
}

/**
 * Whether the windows are other than fixed: a Reset gave way to another before its time had come.
 */
export function windowMoves(readings: readonly LimitReading[]): boolean {
  const latest = new Map<string, LimitReading>();
  for (const now of readings.filter((s) => s.key !== 'none')) {
    const window = `${now.key} ${now.limit}`;
    const before = latest.get(window);
    // Answers under way together come in any order: only what was sent after the other had come is compared.
    if (before !== undefined && now.reset !== before.reset && now.response.sentTurn > before.response.receivedTurn) {
      if (now.reset < before.reset || now.time < before.reset * 1000 - dateSlackMs) return true;
    }
    latest.set(window, now);
  }
  return false;
}

/** The responses by key, Limit and Reset: those of one fixed window together. */
export function windowsOf(readings: readonly LimitReading[]): readonly (readonly LimitReading[])[] {
  const windows = new Map<string, LimitReading[]>();
  for (const reading of readings) {
    if (reading.key === 'none') continue;
    const name = `${reading.key} ${reading.limit} ${reading.reset}`;
    const window = windows.get(name);
    if (window === undefined) windows.set(name, [reading]);
    else window.push(reading);
  }
  return [...windows.values()];
}
