/** One load on a server, by autocannon: so many connections, each with one request under way at a time. */
import type { EventEmitter } from 'node:events';
import autocannon from 'autocannon';
import type { Program } from './program.ts';

export interface LoadOptions {
  readonly url: string;
  readonly method?: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly connections: number;
  readonly seconds: number;
  /** More headers, which the requests take in turn. They are written beforehand: the load is not to wait for its own generator. */
  readonly headersInTurn?: readonly Readonly<Record<string, string>>[];
  /** The path of each next request, behind `url`, where it changes. */
  readonly nextPath?: () => string;
  /** The status that every answer must have. */
  readonly status: number;
  /** And the body, where it is always the same. */
  readonly expectedBody?: string;
}

/** What came of it. */
export interface Load {
  readonly requests: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
  /**
   * From each request to its answer, in milliseconds: without each connection's first, which holds its opening, and then without the first
   * tenth, in which caches that others have used become warm. At least one.
   */
  readonly latencies: readonly number[];
}

/** What came of it, and what it has cost the server. */
export interface MeasuredLoad extends Load {
  /** CPU time in its own code, in microseconds. */
  readonly user: number;
  /** CPU time in the kernel on its behalf, in microseconds. */
  readonly system: number;
  /** Resident memory afterwards, in bytes. */
  readonly resident: number;
}

/** An answer was not what it must be, or none came: such figures are worth nothing. */
export class WrongAnswers extends Error {
  override readonly name = 'WrongAnswers';
  /** Whether nothing was wrong but statuses: a window may have turned. */
  readonly byStatusOnly: boolean;

  constructor(message: string, byStatusOnly: boolean) {
    super(message);
    this.byStatusOnly = byStatusOnly;
  }
}

/** What autocannon's connections have, and its types do not tell. */
interface Connection {
  readonly reqsMade: number;
  /** It closes itself before it would send one more. */
  responseMax?: number;
  destroy(): void;
}

/** How long the last answers may take once no more is sent, in seconds. */
const lastAnswersS = 30;

/**
 * Sends requests for a while, then waits for the answers under way: what the server has worked for is counted, and nothing of it is
 * left to disturb the next measurement.
 *
 * @throws WrongAnswers
 */
export async function load(options: LoadOptions): Promise<Load> {
  const { url, method = 'GET', headers = {}, body, connections, seconds, headersInTurn, nextPath, status, expectedBody } = options;
  const root = new URL(url).pathname.replace(/\/$/, '');
  const latencies: number[] = [];
  const open: Connection[] = [];
  let [sent, requests, first, last] = [0, 0, Infinity, 0];
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  const stop = () => {
    isOver = true;
    if (latencies.length === 0) return; // not without one latency, however slow the server or the machine is
    for (const connection of open) connection.responseMax = connection.reqsMade;
  };
  const result = await autocannon({
    url: url + (nextPath?.() ?? ''),
    method,
    headers,
    ...(body !== undefined && { body }),
    ...(expectedBody !== undefined && { expectBody: expectedBody }),
    connections,
    duration: seconds + lastAnswersS,
    sampleInt: 20,
    setupClient: (client) => {
      // Each connection has its share of them.
      const share = headersInTurn?.filter((_, i) => i % connections === open.length);
      if (share !== undefined) client.setRequests(share.map((more) => ({ headers: { ...headers, ...more } })));
      const connection = client as unknown as Connection;
      open.push(connection);
      let isAwaited = false;
      (client as EventEmitter).on('request', () => {
        // Its last request was lost with its connection. It would try again at once, without end where the server is gone.
        if (isAwaited) return connection.destroy();
        isAwaited = true;
        sent++;
        timer ??= setTimeout(stop, seconds * 1000); // not before: to write the requests takes its time
      });
      let isFirst = true;
      client.on('response', (_status, _bytes, duration) => {
        requests++;
        isAwaited = false;
        if (!isFirst) latencies.push(duration);
        isFirst = false;
        if (isOver) stop();
        last = performance.now();
        first = Math.min(first, last - duration);
        // Not setRequest: autocannon goes back to the first request after each.
        if (nextPath !== undefined) client.setRequests([{ path: root + nextPath() }]);
      });
    },
  });
  clearTimeout(timer);
  const ofOtherStatus = requests - (result.statusCodeStats?.[`${status}`]?.count ?? 0);
  const otherBodies = Math.max(0, result.mismatches - ofOtherStatus); // an answer of another status has another body, too
  const came = Object.entries(result.statusCodeStats ?? {}).map(([code, { count }]) => `${count} × ${code}`);
  // autocannon's own count of errors is without the connections that a server has closed: it opens others.
  if (sent > requests) came.push(`${sent - requests} × no answer`);
  if (otherBodies > 0) came.push(`${otherBodies} of them with another body than before`);
  if (requests === 0 || ofOtherStatus > 0 || came.length > 1) {
    const message = `${method} ${url} must be answered with ${status}, and came: ${came.join(', ') || 'nothing'}`;
    throw new WrongAnswers(message, sent === requests && otherBodies === 0);
  }
  return { requests, seconds: (last - first) / 1000, latencies: latencies.slice(Math.floor(latencies.length / 10)) };
}

/**
 * The same on a server that tells what it uses.
 *
 * @throws WrongAnswers, or Error that says how the server ended
 */
export async function measureLoad(program: Program, options: LoadOptions): Promise<MeasuredLoad> {
  const before = await program.usage();
  const done = await program.during(load(options));
  const { user, system, resident } = await program.usage();
  return { ...done, user: user - before.user, system: system - before.system, resident };
}
