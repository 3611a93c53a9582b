/** A running target: where it listens, its keys, and how a workload is sent to it. */
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { animal } from '../measure/animal.mjs';
import type { LoadOptions } from '../measure/load.ts';
import type { ServerProcess } from '../measure/server-process.ts';
import type { Workload } from './workloads.ts';

export interface Session {
  readonly process: ServerProcess;
  /** Ends in /v1. */
  readonly baseUrl: string;
  /** A key that is never refused. */
  readonly key: string;
  /** A key that may send one request per day. */
  readonly spentKey: string;
  /** Every response is a recorded one, so only its status can be checked. */
  readonly isRecorded?: true;
}

export interface Response {
  readonly status: number;
  /** Name, value, name, value, as received. */
  readonly rawHeaders: readonly string[];
  /** By lower-case name. */
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** The animal that every create sends. */
export const newAnimal = animal(1);

/**
 * A client without a key may send 60 requests a minute. With this many client addresses in turn, in the header that a
 * proxy adds, 150,000 requests a minute return 401. With four times as many addresses, the load generator would be
 * slower than with a key, and a target's table of addresses would not fit into the cache: the bench would measure that.
 */
const addresses = Array.from({ length: 2_500 }, (_, i) => `10.0.${Math.floor(i / 250)}.${1 + (i % 250)}`);
const requestsWithoutKey = addresses.map((address) => ({ headers: { 'X-Forwarded-For': address } }));

/** The load of a workload. */
export function loadOf({ baseUrl, key, spentKey }: Session, workload: Workload): LoadOptions {
  const { method, connections, status } = workload;
  const secret = { full: key, spent: spentKey, none: undefined }[workload.key];
  const headers = {
    ...(secret !== undefined && { Authorization: `Bearer ${secret}` }),
    ...(method === 'POST' && { 'Content-Type': 'application/json' }),
  };
  return {
    ...{ url: baseUrl + workload.path, method, connections, status, headers },
    ...(method === 'POST' && { body: JSON.stringify(newAnimal) }),
    ...(workload.key === 'none' && { requests: requestsWithoutKey }),
  };
}

/** Sends one request of a workload. */
export function sendOne(session: Session, workload: Workload): Promise<Response> {
  const { url, ...options } = loadOf(session, workload);
  return send(url, options);
}

/** Sends a request on a new connection that the client would keep open. Rejects if there is no response within 30 s. */
export async function send(
  url: string,
  { method = 'GET', headers = {}, body }: Pick<LoadOptions, 'method' | 'headers' | 'body'> = {},
): Promise<Response> {
  const length = body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) };
  const outgoing = request(url, {
    method,
    headers: { ...headers, ...length, Connection: 'keep-alive' },
    agent: false,
    signal: AbortSignal.timeout(30_000),
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const { statusCode = 0, rawHeaders, headers: byName } = response;
  return { status: statusCode, rawHeaders, headers: byName, body: await text(response) };
}
