/** Latencies as the report tells them. */
import { grouped } from '../../conformance/report/words.ts';
import type { Answer } from './answer.ts';

export interface Latency {
  /** How many answers it is made of. With fewer than 100, p99 is the longest. */
  readonly n: number;
  readonly p50: number;
  readonly p99: number;
}

/** Of the answers that did not have to open their connection first; undefined where there are none. In milliseconds. */
export function latencyOf(answers: readonly Answer[]): Latency | undefined {
  const sorted = answers
    .filter(({ opening }) => !opening)
    .map(({ latencyMs }) => latencyMs)
    .sort((one, other) => one - other);
  if (sorted.length === 0) return undefined;
  // The nearest rank: a latency that was measured, not one between two.
  const rank = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
  return { n: sorted.length, p50: rounded(rank(0.5)), p99: rounded(rank(0.99)) };
}

/** How many times as long `one` is as `other`: `1.4`; undefined where either is missing or too short to be measured. */
export function ratio(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined || other <= 0 ? undefined : Math.round((one / other) * 100) / 100;
}

/** `0.41 ms`, `12.3 ms`, `1,204 ms`. */
export function milliseconds(ms: number): string {
  return `${ms < 1 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : grouped(Math.round(ms))} ms`;
}

/** To a microsecond: more is noise. */
function rounded(ms: number): number {
  return Math.round(ms * 1000) / 1000;
}
