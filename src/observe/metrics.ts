import type { About, Reply } from '../http/reply.ts';
import type { Exposition, Sample } from './exposition.ts';

/** In seconds. Most responses take less than the first one. */
const bounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const limits: readonly NonNullable<About['refusedBy']>[] = ['minute', 'day', 'ban', 'address'];
const reasons: readonly NonNullable<About['unauthenticated']>[] = ['missing', 'invalid'];

/** The requests of one operation. */
class OperationCounts {
  /** By status. */
  readonly statuses = Array.from({ length: 600 }, () => 0);
  /** How many took up to each bound, and longer than up to the one before. */
  readonly buckets = bounds.map(() => 0);
  count = 0;
  seconds = 0;
}

/** Counts requests by what their replies state. Labels have few values: no path, no key and no address. */
export class Metrics {
  readonly #operations = new Map<string, OperationCounts>();
  readonly #refusals = new Map(limits.map((limit) => [limit, 0]));
  readonly #unauthenticated = new Map(reasons.map((reason) => [reason, 0]));
  readonly #others = new Map<number, number>();

  /** `operations` are the names of all operations, so that each has a value before its first request. */
  constructor(operations: readonly string[]) {
    for (const name of [...operations, 'other']) this.#operations.set(name, new OperationCounts());
  }

  /** Counts a request that took this time until its reply was made. */
  noteReply({ status, about }: Reply, seconds: number): void {
    const counts = this.#operations.get(about?.operation ?? 'other') ?? this.#operations.get('other')!;
    counts.count++;
    counts.seconds += seconds;
    counts.statuses[status]!++;
    let i = 0;
    while (seconds > bounds[i]!) i++;
    if (i < bounds.length) counts.buckets[i]!++;
    if (about === undefined) return;
    if (about.refusedBy !== null) increment(this.#refusals, about.refusedBy);
    if (about.unauthenticated !== null) increment(this.#unauthenticated, about.unauthenticated);
  }

  /** Counts a response to what was not a request. */
  noteOther(status: number): void {
    increment(this.#others, status);
  }

  /** Adds all counts to a text for Prometheus. */
  writeTo(exposition: Exposition): void {
    const all = [...this.#operations];
    exposition.add('counter', 'petstore_http_requests_total', 'Requests by operation and status of the response.',
      all.flatMap(([operation, { statuses }]) => {
        return statuses.flatMap((n, status): Sample[] => (n === 0 ? [] : [[{ operation, status }, n]]));
      }));
    exposition.addHistogram('petstore_http_request_duration_seconds',
      'Time from the head of a request to its response, by operation.', bounds,
      all.map(([operation, { buckets, count, seconds }]) => [{ operation }, buckets, count, seconds]));
    exposition.add('counter', 'petstore_http_other_responses_total',
      'Responses to what was not a request: to a message that cannot be read or a connection too many, by status.',
      [...this.#others].map(([status, n]) => [{ status }, n]));
    exposition.add('counter', 'petstore_rate_limit_refusals_total',
      'Requests refused with 429: by the minute or the day of a key, the ban of a key, or the limit of an address.',
      [...this.#refusals].map(([limit, n]) => [{ limit }, n]));
    exposition.add('counter', 'petstore_unauthenticated_requests_total',
      'Requests that needed a key, by whether it was missing or invalid.',
      [...this.#unauthenticated].map(([reason, n]) => [{ reason }, n]));
  }
}

function increment<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
