/** How many connections a server accepts: so few that together they cannot exhaust its memory, whatever they send. */

/** What one connection retains at most, over TLS too, besides the response being written (memory.slow.test.ts). */
const maxConnectionBytes = 360_000;
/** The share of the heap for connections. The rest is for keys, orders, and the requests under way. */
const connectionShare = 0.5;
/** If the heap decides, ten connections are served for each one that is refused with a response. */
const servedPerRefused = 10;
const mostRefused = 1_000;
const defaultServed = 10_000;

/** All connections beyond both numbers are closed without a response. */
export interface Capacity {
  /** How many connections are served. */
  readonly maxServed: number;
  /** How many more can receive a 503 at a time. */
  readonly maxRefused: number;
}

/**
 * Returns the capacity of a process.
 *
 * @param heapLimitBytes the limit of its heap: `heap_size_limit` of `v8.getHeapStatistics()`
 * @param requested the maximum that the operator wants; null: 10,000
 */
export function capacityOf(heapLimitBytes: number, requested: number | null): Capacity {
  const all = Math.floor((heapLimitBytes * connectionShare) / maxConnectionBytes);
  const room = Math.floor((all * servedPerRefused) / (servedPerRefused + 1));
  const maxServed = Math.min(requested ?? defaultServed, room);
  return { maxServed, maxRefused: Math.min(all - maxServed, mostRefused) };
}

/** Returns how large the old space of the heap must be to serve so many connections, in MiB. */
export function oldSpaceMiB(served: number): number {
  const connections = Math.ceil((served * (servedPerRefused + 1)) / servedPerRefused);
  return Math.ceil((connections * maxConnectionBytes) / connectionShare / 2 ** 20);
}
