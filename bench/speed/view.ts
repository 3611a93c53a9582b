/** Outcomes -> the tables in the terminal. */
import type { BarGroup } from '../chart.ts';
import { overall, p99Ratio, rateRatio, requestsPerSecond, systemCpu, userCpu, type Ratio } from '../measure/figures.ts';
import { ratioText, table } from '../table.ts';
import type { Outcome } from './contest.ts';
import { floor } from './contestants.ts';
import type { Row } from './rows.ts';

/** A reason that is longer stands below the table. */
const longestReason = 44;

const nothing = '–';

/** The outcome of a contestant under a load, if it took part. */
export function find(outcomes: readonly Outcome[], row: string, contestant: string): Outcome | undefined {
  return outcomes.find((outcome) => outcome.row === row && outcome.contestant === contestant);
}

/**
 * All that was measured: a line for each load and contestant, with its user CPU against the floor's; and, if `ours` is told, the user
 * CPU of that one against each other's.
 */
export function costTable(outcomes: readonly Outcome[], rows: readonly Row[], ours?: string): string {
  const head = [
    'load: server', 'requests/s', 'p50 ms', 'p99 ms', 'user CPU µs', 'system CPU µs', 'memory MB', `÷ ${floor}`, 'quartiles',
    ...(ours === undefined ? [] : [`${ours} ÷ it`, 'quartiles']),
  ];
  return tableOf(head, outcomes, rows, (outcome) => [
    ...speed(outcome),
    overall(outcome.rounds, userCpu).toFixed(1),
    overall(outcome.rounds, systemCpu).toFixed(1),
    ((outcome.rounds.at(-1)?.resident ?? NaN) / 1e6).toFixed(0),
    ...against(outcome, find(outcomes, outcome.row, floor), userRatio),
    ...(ours === undefined ? [] : against(find(outcomes, outcome.row, ours), outcome, userRatio)),
  ]);
}

/** Loads that wait for the disk: how many a second, how long each, and both of `ours` against each other's. */
export function durableTable(outcomes: readonly Outcome[], rows: readonly Row[], ours: string): string {
  const head = ['load: server', 'requests/s', 'p50 ms', 'p99 ms', `requests/s, ${ours} ÷ it`, 'quartiles', `p99, ${ours} ÷ it`, 'quartiles'];
  return tableOf(head, outcomes, rows, (outcome) => {
    const own = find(outcomes, outcome.row, ours);
    return [...speed(outcome), ...against(own, outcome, speedRatio), ...against(own, outcome, p99Ratio)];
  });
}

/** A line for each ratio. */
export function ratioTable(groups: readonly BarGroup[]): string {
  const lines = groups.flatMap(({ title, bars }) => bars.map(({ label, ...ratio }) => [`${title}: ${label}`, ...written(ratio)]));
  return table(['', 'ratio', 'quartiles'], lines);
}

export const userRatio = (one: Outcome, other: Outcome) => rateRatio(one.rounds, other.rounds, userCpu);
export const speedRatio = (one: Outcome, other: Outcome) => rateRatio(one.rounds, other.rounds, requestsPerSecond);

function tableOf(head: readonly string[], outcomes: readonly Outcome[], rows: readonly Row[], cells: (outcome: Outcome) => readonly string[]): string {
  const reasons: string[] = [];
  const lines = rows.flatMap((row) => outcomes.filter((outcome) => outcome.row === row.id).map((outcome) => {
    const { contestant, problem, note } = outcome;
    const label = `${row.title}: ${contestant}${note === undefined ? '' : ` (${note})`}`;
    if (problem === undefined) return [label, ...cells(outcome)];
    if (problem.length <= longestReason) return [`${label}: ${problem}`, ...head.slice(1).map(() => nothing)];
    if (!reasons.includes(problem)) reasons.push(problem);
    return [`${label}: not measured [${reasons.indexOf(problem) + 1}]`, ...head.slice(1).map(() => nothing)];
  }));
  return [table(head, lines), ...reasons.map((reason, i) => `[${i + 1}] ${reason}`)].join('\n');
}

function speed({ rounds, p50, p99 }: Outcome): readonly string[] {
  return [overall(rounds, requestsPerSecond).toFixed(0), milliseconds(p50), milliseconds(p99)];
}

function milliseconds(ms = NaN): string {
  if (!Number.isFinite(ms)) return nothing;
  return ms.toFixed(ms < 9.95 ? 2 : ms < 99.5 ? 1 : 0);
}

function against(one: Outcome | undefined, other: Outcome | undefined, ratio: (one: Outcome, other: Outcome) => Ratio): readonly string[] {
  if (one === undefined || other === undefined || one === other || one.rounds.length === 0 || other.rounds.length === 0) return [nothing, ''];
  return written(ratio(one, other));
}

function written({ ratio, low, high }: Ratio): readonly string[] {
  if (!Number.isFinite(ratio)) return [nothing, ''];
  return [ratioText(ratio), `${ratioText(low)}–${ratioText(high)}`];
}
