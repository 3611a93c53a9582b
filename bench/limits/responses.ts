/** A response as the kit's client received it, with its key and its latency. */
import type { Response as KitResponse } from '../../conformance/client/response.ts';
import { grouped } from '../../conformance/report/words.ts';
import type { Key } from './keys.ts';

/** The three headers that every response carries. `reset` is in Unix seconds, by the server's clock. */
export type Reading = NonNullable<KitResponse['rateLimits']>;

export type Response = KitResponse & {
  /** Undefined: the request had no valid key. */
  readonly key: Key | undefined;
  readonly latencyMs: number;
};

/** A response with its three headers. */
export type Read = Response & { readonly rateLimits: Reading };

/** Whether a response has the three headers. */
export function isRead(response: Response): response is Read {
  return response.rateLimits !== undefined;
}

/** Whether a request has succeeded. */
export function isAdmitted({ status }: Response): boolean {
  return status >= 200 && status < 300;
}

/** Whether the response is 429. */
export function isRefused({ status }: Response): boolean {
  return status === 429;
}

/** `2 × 503, 1 × 504`; undefined for no responses. */
export function statusesOf(responses: readonly Response[]): string | undefined {
  const counts = new Map<number, number>();
  for (const { status } of responses) counts.set(status, (counts.get(status) ?? 0) + 1);
  return counts.size === 0 ? undefined : [...counts].map(([status, n]) => `${n} × ${status}`).join(', ');
}

/** Which statuses of these responses are neither those of an admitted request nor 429; empty if none is. */
export function wrongIn(responses: readonly Response[]): readonly string[] {
  const other = statusesOf(responses.filter((response) => !isAdmitted(response) && !isRefused(response)));
  return other === undefined ? [] : [`${other}, but only 2xx and 429 are allowed`];
}

export interface Latency {
  /** The number of responses. With fewer than 100, p99 is the longest latency; with fewer than 1,000, p999 is. */
  readonly n: number;
  /** In milliseconds. */
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  /** p99.9. */
  readonly p999: number;
}

export type Percentile = Exclude<keyof Latency, 'n'>;
export const percentiles: readonly Percentile[] = ['p50', 'p90', 'p99', 'p999'];

/** The latencies of the responses that were not the first on their connection: those include opening it. */
export function latenciesOf(responses: readonly Response[]): readonly number[] {
  return responses.filter(({ isReused }) => isReused).map(({ latencyMs }) => latencyMs);
}

/** The percentiles of those latencies; undefined if there are none. */
export function latencyOf(responses: readonly Response[]): Latency | undefined {
  const sorted = latenciesOf(responses).toSorted((a, b) => a - b);
  const n = sorted.length;
  // The nearest rank, so that each percentile is a measured latency. Digits below a microsecond are noise.
  const rank = (share: number) => Math.round(sorted[Math.ceil(share * n) - 1]! * 1_000) / 1_000;
  return n === 0 ? undefined : { n, p50: rank(0.5), p90: rank(0.9), p99: rank(0.99), p999: rank(0.999) };
}

/** The fewest latencies on either side from which a ratio is computed. */
export const minRatioLatencies = 200;

/**
 * A percentile of `one` divided by that of `other`: `1.4`; undefined if there are too few latencies of either, or if
 * they are too short to be measured.
 */
export function ratioOf(one: Latency | undefined, other: Latency | undefined, of: Percentile): number | undefined {
  if (one === undefined || other === undefined || Math.min(one.n, other.n) < minRatioLatencies) return undefined;
  return other[of] <= 0 ? undefined : Math.round((one[of] / other[of]) * 100) / 100;
}

/** `0.41 ms`, `12.3 ms`, `1,204 ms`. */
export function milliseconds(ms: number): string {
  return `${ms < 1 ? ms.toFixed(2) : ms < 100 ? ms.toFixed(1) : grouped(Math.round(ms))} ms`;
}
