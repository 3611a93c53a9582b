/** A load on a server, sent by autocannon: a number of connections, each with one request at a time. */
import autocannon from 'autocannon';
import type { ServerProcess } from './server-process.ts';

export interface LoadOptions {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly connections: number;
  /** Requests to send in turn that differ from each other in path or headers. They are built before the load starts. */
  readonly requests?: readonly { readonly path?: string; readonly headers?: Readonly<Record<string, string>> }[];
  /** The status that every response must have. */
  readonly status: number;
  /** The body that every response must have, if it is always the same. */
  readonly expectedBody?: string;
}

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

/** A response was wrong or is missing, so the figures would be worthless. */
export class WrongResponses extends Error {
  override readonly name = 'WrongResponses';
}

const responseTimeoutS = 30;
const pollMs = 20;

/**
 * Sends `amount` requests, at least one on each connection, and waits for the responses. Returns how many it sent, the
 * seconds from the first request to the last response, and the time from each request to its response in milliseconds:
 * without the first one on each connection, which includes opening it, and then without the first tenth, in which the
 * processor's caches become warm.
 *
 * @throws WrongResponses
 */
export async function load(options: LoadOptions, amount: number) {
  const { url, method = 'GET', headers = {}, body, connections, requests, status, expectedBody } = options;
  const latencies: number[] = [];
  let [clients, responses, first, last] = [0, 0, Infinity, 0];
  const total = Math.max(amount, connections);
  const result = await autocannon({
    ...{ url, method, headers, connections, amount: total, timeout: responseTimeoutS, bailout: 1, sampleInt: pollMs },
    ...(body !== undefined && { body }),
    ...(expectedBody !== undefined && { expectBody: expectedBody }),
    setupClient: (client) => {
      const index = clients++;
      const share = requests?.filter((_, i) => i % connections === index % requests.length);
      const whole = share?.map((one) => ({ ...one, headers: { ...headers, ...one.headers } }));
      if (whole !== undefined) client.setRequests(whole);
      let isFirst = true;
      client.on('response', (_status, _bytes, duration) => {
        responses++;
        last = performance.now();
        first = Math.min(first, last - duration);
        if (!isFirst) latencies.push(duration);
        isFirst = false;
      });
    },
  });
  const right = result.statusCodeStats?.[`${status}`]?.count ?? 0;
  const otherBodies = Math.max(0, result.mismatches - (responses - right)); // a wrong status has another body, too
  if (right !== total || otherBodies > 0) {
    const received = Object.entries(result.statusCodeStats ?? {}).map(([code, { count }]) => `${count} × ${code}`);
    if (responses < total) received.push(`${total - responses} missing`);
    if (otherBodies > 0) received.push(`${otherBodies} with another body`);
    throw new WrongResponses(`${method} ${url} must return ${status}; received: ${received.join(', ')}`);
  }
  const counted = latencies.slice(Math.floor(latencies.length / 10));
  return { requests: total, seconds: (last - first) / 1000, latencies: counted };
}

/** Sends requests until the server is warm. Returns how many it responds to per second. */
export async function warmUp(options: LoadOptions, { warmUp: { requests, seconds } }: Duration): Promise<number> {
  const startedAt = performance.now();
  let perSecond = 0;
  for (let sent = 0; sent < requests && performance.now() - startedAt < seconds * 1000;) {
    const amount = Math.min(requests - sent, Math.max(2 * options.connections, perSecond / 2));
    const done = await load(options, Math.round(amount));
    sent += done.requests;
    perSecond = done.requests / done.seconds;
  }
  return perSecond;
}

/**
 * Measures a server under a load.
 *
 * @throws WrongResponses
 */
export async function measureLoad(server: ServerProcess, options: LoadOptions, amount: number): Promise<Sample> {
  const before = await server.usage();
  const { requests, seconds, latencies } = await load(options, amount);
  const { user, system, resident } = await server.usage();
  return {
    ...{ requests, perSecond: requests / seconds, resident, startMs: server.startMs, startCpuMs: server.startCpuMs },
    userCpu: (user - before.user) / requests,
    systemCpu: (system - before.system) / requests,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
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
