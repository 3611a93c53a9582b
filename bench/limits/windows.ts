/** What answers tell of the windows behind them. */
import { isAdmitted, type Answer, type Told } from './answer.ts';
import type { ServerClock } from './server-clock.ts';

/** So far before its time a Reset may give way to another, and the window be fixed: the tick of Date, and that of Reset. */
const slackMs = 2_000;

/** Reset is in whole seconds, which a server may round now up, now down. */
const roundingS = 1;

/**
 * A key's windows are fixed; or they move, where a Reset gave way to a later one before its time had come; or they are unsteady:
 * a Reset went back while requests remained, so that neither can be when the limit resets.
 */
export type Windows = 'fixed' | 'move' | 'unsteady';

/**
 * What a key's Resets tell of its windows.
 *
 * Where nothing remains, a Reset may speak of the next request that is admitted instead of the whole limit: it tells nothing here.
 */
export function windowsOf(answers: readonly Answer[], clock: ServerClock): Windows {
  const anchors = new Map<number, Told>();
  const highest = new Map<number, Told>();
  let [forward, back] = [false, 0];
  for (const answer of answers) {
    const { standing, sentTurn } = answer;
    if (standing === undefined || standing.remaining === 0) continue;
    const { limit, reset } = standing;
    const told = { ...answer, standing };
    // Answers under way together come in any order: only what was sent after the other had come is compared.
    const [high, before] = [highest, anchors].map((of) => of.get(limit));
    if (high !== undefined && sentTurn > high.receivedTurn) back = Math.max(back, high.standing.reset - reset);
    if (high === undefined || reset > high.standing.reset) highest.set(limit, told);
    if (before !== undefined && sentTurn < before.receivedTurn) continue;
    if (before !== undefined && reset > before.standing.reset)
      forward ||= clock.at(answer.receivedAt) < before.standing.reset * 1_000 - slackMs;
    anchors.set(limit, told);
  }
  // A window that moves only moves on.
  return back > roundingS ? 'unsteady' : back > 0 || !forward ? 'fixed' : 'move';
}

/** A server's clock may be so far from what its Date tells, rounding included. */
const pastMs = 3_000;

/** Whether a Reset may be a Unix timestamp: before 2001 it would be seconds to wait, beyond the year 5000 milliseconds. */
export function isTimestamp(reset: number): boolean {
  return reset >= 1_000_000_000 && reset <= 100_000_000_000;
}

/** Why the Reset of an answer cannot be when the limit resets; undefined where it can. */
export function wrongReset({ standing: { reset }, sentAt }: Told, clock: ServerClock): string | undefined {
  if (!isTimestamp(reset)) return `X-RateLimit-Reset is ${reset}, which is no Unix timestamp`;
  // The answer was written after its request was sent.
  const past = clock.known ? clock.at(sentAt) - reset * 1_000 : 0;
  return past > pastMs ? `X-RateLimit-Reset was ${Math.floor(past / 1_000)} s in the past when it was told` : undefined;
}

/** What is wrong with Resets that are unsteady. */
export const unsteady = 'X-RateLimit-Reset went back while requests remained: it cannot be when the limit resets';

/** Whether some answers are of another window than the first, where windows are fixed. */
export function windowTurned([first, ...rest]: readonly Answer[]): boolean {
  const reset = first?.standing?.reset;
  return rest.some(({ standing }) => standing !== undefined && Math.abs(standing.reset - (reset ?? 0)) > roundingS);
}

/** As many requests may come back to a key of so many a minute while these answers were under way, where windows move; and how long that was. */
export function comingBack(limit: number, answers: readonly Answer[]): { readonly requests: number; readonly seconds: number } {
  const seconds = (Math.max(...answers.map((a) => a.receivedAt)) - Math.min(...answers.map((a) => a.sentAt))) / 1_000;
  return { requests: Math.ceil((seconds * limit) / 60) + 1, seconds };
}

/** The most that was admitted in any span of so many milliseconds, by when the answers came. */
export function mostAdmittedIn(spanMs: number, answers: readonly Answer[]): number {
  const times = answers
    .filter(isAdmitted)
    .map(({ receivedAt }) => receivedAt)
    .sort((one, other) => one - other);
  let most = 0;
  for (let from = 0, to = 0; to < times.length; to++) {
    while (times[to]! - times[from]! >= spanMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
