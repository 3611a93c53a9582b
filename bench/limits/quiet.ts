/** A client that keeps quiet while others do not: how many requests it sends, and what the others made of its latency. */
import { Inconclusive } from '../../conformance/verdicts/outcome.ts';
import { grouped } from '../../conformance/report/words.ts';
import { isAdmitted, statusesOf } from './answer.ts';
import type { Sent } from './drive.ts';
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
  readonly alone: Sent;
  readonly beside: Sent;
}

/** The two latencies, and what was refused, lost or failed. */
export function compared(met: Met): {
  readonly without: Latency;
  readonly with: Latency;
  readonly failures: readonly string[];
  readonly seen: string;
  readonly figures: Figures;
} {
  const [alone, beside] = [met.alone.answers, met.beside.answers];
  const failures = [
    ['before the flood', alone] as const,
    ['beside the flood', beside] as const,
  ].flatMap(([where, answers]) => {
    const statuses = statusesOf(answers.filter((answer) => !isAdmitted(answer)));
    return statuses === undefined ? [] : [`of the quiet client's requests ${where}, ${statuses}`];
  });
  const lost = `of the quiet client's requests ${met.beside.lost} beside the flood got no answer`;
  if (met.beside.lost > 0 && met.alone.lost === 0) failures.push(`${lost}, and without it none was lost`);
  else if (met.alone.lost > 0 && failures.length === 0)
    throw new Inconclusive(`${lost}, and ${met.alone.lost} without it, so that neither is the flood's doing for certain`);
  const [without, withFlood] = [latencyOf(alone.filter(isAdmitted)), latencyOf(beside.filter(isAdmitted))];
  if (failures.length === 0 && (without === undefined || withFlood === undefined || Math.min(without.n, withFlood.n) < minimum))
    throw new Inconclusive(
      [...alone, ...beside].every(({ opening }) => opening)
        ? 'the server ends every connection after one answer (Connection: close), so no latency is without the opening of one'
        : `too few latencies were measured: ${without?.n ?? 0} without the flood, ${withFlood?.n ?? 0} with it`,
    );
  const none: Latency = { n: 0, p50: 0, p99: 0 };
  const [one, other] = [without ?? none, withFlood ?? none];
  const [p50, p99] = [ratio(other.p50, one.p50), ratio(other.p99, one.p99)];
  return {
    without: one,
    with: other,
    failures,
    seen: `${grouped(beside.length + met.beside.lost)} requests, ${beside.filter(isAdmitted).length} admitted; p50 ${milliseconds(one.p50)} → ${milliseconds(other.p50)} (×${p50 ?? '?'}), p99 ${milliseconds(one.p99)} → ${milliseconds(other.p99)} (×${p99 ?? '?'})`,
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
