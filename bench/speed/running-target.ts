/** A running target: where it listens, its keys, and how a workload is sent to it. */
import { Agent } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { exchangeHttp, type HttpResponse } from '../../conformance/client/http.ts';
import type { LoadRequest } from '../measure/client.ts';
import type { ServerProcess } from '../measure/server-process.ts';
import type { Exchange, Workload } from './workloads.ts';

/** The keys of a target, by what a workload uses them for; see `Workload`. */
export type Keys = Readonly<Partial<Record<Workload['key'], readonly string[]>>>;

export interface RunningTarget {
  readonly process: ServerProcess;
  /** The data folder of its own, which is removed after it has stopped; absent if it has none. */
  readonly folder?: string;
  /** Ends in /v1. */
  readonly baseUrl: string;
  /** The keys for the workloads that it receives, by what they are for. */
  readonly keys: Keys;
  /** Every response is a recorded one: nothing is created, and a create can return another animal than was sent. */
  readonly isRecorded?: true;
  /** Returns the CPU time that its database has used so far, in microseconds. */
  readonly databaseCpu?: () => number;
}

export interface Response extends Pick<HttpResponse, 'status' | 'headers'> {
  readonly body: string;
}

const agent = new Agent({ keepAlive: true });

/** The animals that a target has confirmed as created, without their ids, by their ids. */
export type Created = Map<number, object>;

/** The requests of a workload to a target. `created` receives the animals that they create. */
export function requestsOf(target: RunningTarget, workload: Workload, created: Created): readonly LoadRequest[] {
  const { [workload.key]: keys = [] } = target.keys;
  const authorizations = keys.map((secret) => ({ Authorization: `Bearer ${secret}` }));
  const { pathname } = new URL(target.baseUrl);
  const sent = new Set(target.isRecorded ? workload.exchanges.map(({ expected }) => JSON.stringify(expected)) : []);
  return workload.exchanges.map((exchange, i) => ({
    method: workload.method,
    path: pathname + exchange.path,
    headers: {
      ...authorizations[i % authorizations.length],
      ...(exchange.body !== undefined && { 'Content-Type': 'application/json' }),
      ...exchange.headers,
    },
    ...(exchange.body !== undefined && { body: exchange.body }),
    status: exchange.status,
    isRight: (body) => {
      if (exchange.body === undefined) return isAsExpected(exchange, body);
      const { id, ...animal } = objectOf(body);
      if (target.isRecorded === true) return sent.has(JSON.stringify(animal));
      if (typeof id !== 'number' || !Number.isSafeInteger(id) || created.has(id)) return false;
      if (!isDeepStrictEqual(animal, exchange.expected)) return false;
      created.set(id, animal);
      return true;
    },
  }));
}

/** Whether the body of a response has the expected animals or is an Error. */
function isAsExpected({ status, expected }: Exchange, body: unknown): boolean {
  if (expected !== undefined) return isDeepStrictEqual(body, expected);
  const error = objectOf(body);
  return typeof error['code'] === 'string' && typeof error['message'] === 'string' && error['status'] === status;
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {};
}

/** Sends a request with the client of the kit. Rejects if there is no response. */
export async function send(
  url: string, { method = 'GET', headers = {}, body }: Partial<Pick<LoadRequest, 'method' | 'headers' | 'body'>> = {},
): Promise<Response> {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const message = { url, method, headers: Object.entries(headers), body: bytes, agent };
  const response = await exchangeHttp(message);
  return { ...response, body: Buffer.from(response.body).toString() };
}

/** The responses of a target to each request of a workload, or to the first `count`. */
export async function responsesTo(
  target: RunningTarget, workload: Workload, count = Infinity,
): Promise<readonly Response[]> {
  const { origin } = new URL(target.baseUrl);
  const responses: Response[] = [];
  for (const one of requestsOf(target, workload, new Map()).slice(0, count)) {
    responses.push(await send(origin + one.path, one));
  }
  return responses;
}
