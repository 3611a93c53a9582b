/** A client that keeps quiet while others do not: how many requests it sends, and what the others made of its latency. */
import { Inconclusive } from '../../conformance/outcome.ts';
import { grouped } from '../../conformance/report/words.ts';
import { countsOf, isAdmitted, type Answer } from './answer.ts';
import { latencyOf, milliseconds, ratio, type Latency } from './latency.ts';
import type { Figures } from './scenario.ts';

/** Requests a second of a quiet client, at most; and how many are enough. */
const [maxRate, perSecond] = [50, 20];

/** It uses so few connections, since the first answer on each is not counted. */
export const quietConnections = 3;

/** Fewer latencies are told, and judged inconclusive. */
const minimum = 12;

/** A pace, as even as it can be, for a flood of so many seconds, of a client that may send `room` requests. */
export function quietPace(room: number, seconds: number): { readonly amount: number; readonly rate: number } {
  const amount = Math.max(
    1,
    Math.min(room, Math.max(30, Math.round(perSecond * seconds)), Math.ceil(maxRate * Math.max(seconds, 1))),
  );
  return { amount, rate: Math.min(maxRate, Math.max(1, Math.ceil(amount / seconds))) };
}

/** What the quiet client met: alone, and beside the others. */
export interface Met {
  readonly alone: readonly Answer[];
  readonly beside: readonly Answer[];
}

/** The two latencies, and what was refused or failed. */
export function compared({ alone, beside }: Met): {
  readonly without: Latency;
  readonly with: Latency;
  readonly failures: readonly string[];
  readonly seen: string;
  readonly figures: Figures;
} {
  const failures = [...new Map(Object.entries({ alone, beside }))].flatMap(([where, answers]) => {
    const { refused, other } = countsOf(answers);
    const statuses = [
      ...(refused > 0 ? [`${refused} answered 429`] : []),
      ...Object.entries(other).map(([status, n]) => `${n} answered ${status}`),
    ];
    return statuses.length === 0
      ? []
      : [`of the quiet client's requests ${where === 'alone' ? 'before the flood' : 'beside the flood'}, ${statuses.join(', ')}`];
  });
  const [without, withFlood] = [latencyOf(alone.filter(isAdmitted)), latencyOf(beside.filter(isAdmitted))];
  if (failures.length === 0 && (without === undefined || withFlood === undefined || Math.min(without.n, withFlood.n) < minimum))
    throw new Inconclusive(`too few latencies were measured: ${without?.n ?? 0} without the flood, ${withFlood?.n ?? 0} with it`);
  const none: Latency = { n: 0, p50: 0, p99: 0 };
  const [one, other] = [without ?? none, withFlood ?? none];
  const [p50, p99] = [ratio(other.p50, one.p50), ratio(other.p99, one.p99)];
  return {
    without: one,
    with: other,
    failures,
    seen: `${grouped(beside.length)} requests, ${beside.filter(isAdmitted).length} admitted; p50 ${milliseconds(one.p50)} → ${milliseconds(other.p50)} (×${p50 ?? '?'}), p99 ${milliseconds(one.p99)} → ${milliseconds(other.p99)} (×${p99 ?? '?'})`,
    figures: {
      'p50 without, ms': one.p50,
      'p50 with, ms': other.p50,
      ...(p50 !== undefined && { 'p50 ratio': p50 }),
      'p99 without, ms': one.p99,
      'p99 with, ms': other.p99,
      ...(p99 !== undefined && { 'p99 ratio': p99 }),
      'latencies without': one.n,
      'latencies with': other.n,
    },
  };
}
