/** The figures of a server under a load: a number of connections, each with one request at a time. */
import type { LoadClient } from './client.ts';
import type { ServerProcess } from './server-process.ts';

/** The number of requests. */
export interface Duration {
  /** About how long a server is measured. */
  readonly seconds: number;
  /** A server is warm after this many requests, or at the latest after this many seconds. */
  readonly warmUp: { readonly requests: number; readonly seconds: number };
}

/** The figures of one process of a server under one load. A table shows the spread over several processes. */
export interface Sample {
  readonly requests: number;
  readonly perSecond: number;
  /** CPU time per request, in microseconds. */
  readonly userCpu: number;
  readonly systemCpu: number;
  /** In milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The duration of the start of the process, in milliseconds. */
  readonly startMs: number;
  readonly startCpuMs: number;
  /** Resident memory after the load, in bytes. */
  readonly resident: number;
}

/** Sends requests until the server is warm. Returns how many it responds to per second. */
export async function warmUp(client: LoadClient, { warmUp: { requests, seconds } }: Duration): Promise<number> {
  const startedAt = performance.now();
  let perSecond = 0;
  for (let sent = 0; sent < requests && performance.now() - startedAt < seconds * 1000;) {
    const done = await client.send(Math.round(Math.min(requests - sent, Math.max(100, perSecond / 2))));
    sent += done.requests;
    perSecond = done.requests / done.seconds;
  }
  return perSecond;
}

/**
 * Measures a server under a load. The latencies are without the first tenth, in which the processor's caches become
 * warm.
 *
 * @throws Error that states which response was wrong
 */
export async function measureLoad(server: ServerProcess, client: LoadClient, amount: number): Promise<Sample> {
  const before = await server.usage();
  const { requests, seconds, latencies } = await client.send(amount);
  const { user, system, resident } = await server.usage();
  const counted = latencies.slice(Math.floor(latencies.length / 10));
  return {
    ...{ requests, perSecond: requests / seconds, resident, startMs: server.startMs, startCpuMs: server.startCpuMs },
    userCpu: (user - before.user) / requests,
    systemCpu: (system - before.system) / requests,
    p50: quantile(counted, 0.5),
    p99: quantile(counted, 0.99),
  };
}

/**
 * The value that `share` (0 to 1) of all values do not exceed, interpolated between the two nearest; NaN for no values.
 */
export function quantile(values: readonly number[], share: number): number {
  const sorted = Float64Array.from(values).sort();
  const place = (sorted.length - 1) * share;
  const below = sorted[Math.floor(place)] ?? NaN;
  return below + ((sorted[Math.ceil(place)] ?? NaN) - below) * (place % 1);
}
