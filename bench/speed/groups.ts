/** Outcomes -> groups of ratios, for the chart and for whoever reads the JSON. */
import type { Bar, BarGroup } from '../chart.ts';
import type { Outcome } from './contest.ts';
import type { Ratio } from '../measure/figures.ts';
import { find } from './view.ts';

/** A ratio to be: whose outcome against whose. Each is a row's id and a contestant. */
export interface Pair {
  readonly label: string;
  readonly one: readonly [row: string, contestant: string];
  readonly other: readonly [row: string, contestant: string];
}

/** The ratios of those pairs of which both were measured. */
export function group(title: string, outcomes: readonly Outcome[], pairs: readonly Pair[], ratio: (one: Outcome, other: Outcome) => Ratio): BarGroup {
  const bars = pairs.flatMap(({ label, one, other }): readonly Bar[] => {
    const [a, b] = [find(outcomes, ...one), find(outcomes, ...other)];
    return a === undefined || b === undefined || a.rounds.length === 0 || b.rounds.length === 0 ? [] : [{ label, ...ratio(a, b) }];
  });
  return { title, bars };
}
