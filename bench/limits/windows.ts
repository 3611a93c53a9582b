/** What responses show about a key's windows. */
import { isAdmitted, type Read, type Response } from './responses.ts';

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
