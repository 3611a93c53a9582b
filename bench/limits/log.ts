/** All responses of a run by scenario, and their summary for each second. */
import type { LimitsClient } from './client.ts';
import { isFixed } from './history.ts';
import type { Border, Counts, Second } from './report.ts';
import { isAdmitted, isRefused, type Response } from './responses.ts';
import type { ScenarioName } from './settings.ts';

export interface Entry {
  readonly scenario: ScenarioName;
  /** Whether the request had the key under load, a quiet key, or no valid key. */
  readonly role: 'driven' | 'quiet' | 'none';
  /** The number of the key within the run, from 1; 0 for no valid key. */
  readonly key: number;
  readonly response: Response;
}

type ServerClock = Pick<LimitsClient, 'serverTime' | 'ourTime'>;

/** The longest time after the end of a window in which its responses may be received. */
const lateMs = 2_000;

export function countsOf(entries: readonly Entry[]): Counts {
  const keyed = entries.filter(({ role }) => role !== 'none').map(({ response }) => response);
  const [admitted, refused] = [keyed.filter(isAdmitted).length, keyed.filter(isRefused).length];
  return { admitted, refused, other: keyed.length - admitted - refused, withoutKey: entries.length - keyed.length };
}

/** What was received in each second after the origin, in order. A second in which two scenarios ran occurs twice. */
export function secondsOf(log: readonly Entry[], clock: ServerClock, origin: number): readonly Second[] {
  const groups = new Map<string, Entry[]>();
  for (const entry of log) {
    const { receivedAt, reading } = entry.response;
    const [time, end] = [clock.serverTime(receivedAt), (reading?.reset ?? Infinity) * 1_000];
    const shown = time >= end && time < end + lateMs ? end - 1 : time;
    const second = Math.max(0, Math.floor((shown - clock.serverTime(origin)) / 1_000));
    const name = `${second} ${entry.scenario}`;
    groups.set(name, [...(groups.get(name) ?? []), entry]);
  }
  const seconds = [...groups].map(([name, entries]): Second => {
    const driven = entries.filter(({ role }) => role === 'driven');
    const key = driven.at(-1)?.key;
    const ofKey = driven.filter((entry) => entry.key === key);
    const values = ofKey.flatMap(({ response }) => response.reading?.remaining ?? []);
    const quiet = entries.filter(({ role }) => role === 'quiet');
    const second = {
      ...{ at: Number(name.split(' ')[0]), scenario: entries[0]!.scenario, ...countsOf(entries) },
      ...(quiet.length > 0 && { quiet: countsOf(quiet) }),
    };
    if (key === undefined || values.length === 0) return second;
    return { ...second, remaining: { key, first: values[0]!, last: values.at(-1)! } };
  });
  return seconds.sort((one, other) => one.at - other.at);
}

/** The ends of windows of the key under load during the run. Windows that move have none. */
export function bordersOf(
  log: readonly Entry[], clock: ServerClock, origin: number, endedAt: number,
): readonly Border[] {
  const resets = [...new Set(log.map(({ scenario }) => scenario))].flatMap((name) => {
    const driven = log.filter(({ scenario, role }) => scenario === name && role === 'driven');
    const admitted = driven.map(({ response }) => response).filter(isAdmitted);
    return isFixed(admitted) ? admitted.flatMap(({ reading }) => reading?.reset ?? []) : [];
  });
  return [...new Set(resets)]
    .sort((one, other) => one - other)
    .map((reset) => ({ at: Math.round(clock.ourTime(reset * 1_000) - origin) / 1_000, reset }))
    .filter(({ at }) => at >= 0 && at * 1_000 <= endedAt - origin);
}
