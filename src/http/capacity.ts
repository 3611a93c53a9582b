/** How many connections a server accepts: few enough that together they cannot exhaust its memory, whatever they send. */

/** What one connection retains at most, over TLS too, besides the response being written (memory.slow.test.ts). */
const connectionBytes = 360_000;
/** Half of the heap is for connections. The rest is for keys, orders, and the requests under way. */
const heapBytesPerConnection = 2 * connectionBytes;
/** If the heap decides, ten connections are served for each one that is refused with a response. */
const servedPerRefused = 10;
const maxRefused = 1_000;
const defaultServed = 10_000;

/** How many connections are served, and how many more can receive a 503 at a time. All others are closed without a response. */
export interface Capacity {
  readonly served: number;
  readonly refused: number;
}

/**
 * Returns the capacity of a process.
 *
 * @param heapLimitBytes the limit of its heap: `heap_size_limit` of `v8.getHeapStatistics()`
 * @param requested the maximum that the operator wants; null: 10,000
 */
export function capacityOf(heapLimitBytes: number, requested: number | null): Capacity {
  const room = Math.floor(heapLimitBytes / heapBytesPerConnection);
  const served = Math.min(requested ?? defaultServed, Math.floor((room * servedPerRefused) / (servedPerRefused + 1)));
  return { served, refused: Math.min(room - served, maxRefused) };
}

/** Returns how large the old space of the heap must be to serve so many connections, in MiB. */
export function oldSpaceFor(served: number): number {
  const connections = Math.ceil((served * (servedPerRefused + 1)) / servedPerRefused);
  return Math.ceil((connections * heapBytesPerConnection) / 2 ** 20);
}
