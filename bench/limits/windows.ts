/** What answers tell of the windows behind them. */
import { isAdmitted, type Answer, type Standing } from './answer.ts';
import type { ServerClock } from './server-clock.ts';

/** So far before its time a Reset may give way to another, and the window be fixed: the tick of Date, and that of Reset. */
const slackMs = 2_000;

/** Whether a key's windows are other than fixed: a Reset gave way to another before its time had come. */
export function windowMoves(answers: readonly Answer[], clock: ServerClock): boolean {
  const anchors = new Map<number, Answer & { readonly standing: Standing }>();
  for (const answer of answers) {
    const { standing, sentTurn } = answer;
    if (standing === undefined) continue;
    const before = anchors.get(standing.limit);
    // Answers under way together come in any order: only what was sent after the other had come is compared.
    if (before !== undefined && sentTurn < before.receivedTurn) continue;
    if (before !== undefined && before.standing.reset !== standing.reset) {
      const { reset } = before.standing;
      if (standing.reset < reset || clock.at(answer.receivedAt) < reset * 1_000 - slackMs) return true;
    }
    anchors.set(standing.limit, { ...answer, standing });
  }
  return false;
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
