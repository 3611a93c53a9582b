/** All answers of a run, by scenario, and what the report makes of them second by second. */
import { isAdmitted, isRefused, type Answer } from './answer.ts';
import type { Border, Second } from './report.ts';
import type { ScenarioName } from './scenarios.ts';
import type { ServerClock } from './server-clock.ts';
import { windowsOf } from './windows.ts';

/** Whose an answer is: of the key under load, of the one that keeps quiet, or of nobody. */
export type Role = 'driven' | 'quiet' | 'nobody';

export interface Entry {
  readonly scenario: ScenarioName;
  readonly role: Role;
  /** Which of the run's keys, counted from 1 as they come into use; 0 for nobody. */
  readonly key: number;
  readonly answer: Answer;
}

/** The answers of one scenario counted. */
export function countedBy(entries: readonly Entry[]): Pick<Second, 'admitted' | 'refused' | 'other' | 'withoutKey'> {
  const keyed = entries.filter(({ role }) => role !== 'nobody').map(({ answer }) => answer);
  const [admitted, refused] = [keyed.filter(isAdmitted).length, keyed.filter(isRefused).length];
  return { admitted, refused, other: keyed.length - admitted - refused, withoutKey: entries.length - keyed.length };
}

/** So late an answer may be of a window that has ended. */
const lateMs = 2_000;

/** When an answer came, by the server's clock; just before its window's end where it came just after it. */
function momentOf({ receivedAt, standing }: Answer, clock: ServerClock): number {
  const [moment, end] = [clock.at(receivedAt), (standing?.reset ?? Infinity) * 1_000];
  return moment >= end && moment < end + lateMs ? end - 1 : moment;
}

/** What came in each second after the origin, in order; a second in which two scenarios meet stands there twice. */
export function secondsOf(log: readonly Entry[], clock: ServerClock, origin: number): readonly Second[] {
  const groups = new Map<string, Entry[]>();
  for (const entry of log) {
    const name = `${Math.floor((momentOf(entry.answer, clock) - clock.at(origin)) / 1_000)} ${entry.scenario}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [entry]);
    else group.push(entry);
  }
  const seconds = [...groups].map(([name, entries]): Second => {
    const driven = entries.filter(({ role }) => role === 'driven');
    const key = driven.at(-1)?.key;
    const told = driven.filter((entry) => entry.key === key).flatMap(({ answer }) => answer.standing?.remaining ?? []);
    return {
      at: Number(name.split(' ')[0]),
      scenario: entries[0]!.scenario,
      ...countedBy(entries),
      ...(key !== undefined && told.length > 0 && { remaining: { key, first: told[0]!, last: told.at(-1)! } }),
    };
  });
  return seconds.sort((one, other) => one.at - other.at);
}

/** The windows' ends that the key under load was told of and that came while the run lasted. Of windows that move there are none. */
export function bordersOf(log: readonly Entry[], clock: ServerClock, origin: number, endedAt: number): readonly Border[] {
  const scenarios = [...new Set(log.map(({ scenario }) => scenario))];
  const resets = scenarios.flatMap((name) => {
    const driven = log.filter(({ scenario, role }) => scenario === name && role === 'driven').map(({ answer }) => answer);
    const admitted = driven.filter(isAdmitted);
    return windowsOf(admitted, clock) !== 'fixed' ? [] : admitted.flatMap(({ standing }) => standing?.reset ?? []);
  });
  return [...new Set(resets)]
    .sort((one, other) => one - other)
    .map((reset) => ({ at: Math.round(clock.ours(reset * 1_000) - origin) / 1_000, reset }))
    .filter(({ at }) => at >= 0 && at * 1_000 <= endedAt - origin);
}
