/** Test support: responses without a server, and a clock on which waiting takes no time. */
import type { Clock } from '../client/clock.ts';
import { bearer } from '../client/credentials.ts';
import type { Request } from '../client/request.ts';
import { listPets } from '../client/requests.ts';
import { Response } from '../client/response.ts';
import { apiKey } from './servers.ts';

export const start = Date.UTC(2026, 10, 21, 12, 0, 5, 300);

/** A clock on which waiting takes no time. */
export interface FakeClock extends Clock {
  move(ms: number): void;
  /** All waits so far, in milliseconds. */
  readonly waits: readonly number[];
}

export function fakeClock(now = start): FakeClock {
  const waits: number[] = [];
  return {
    now: () => now,
    sleep: async (ms) => {
      waits.push(ms);
      now += ms;
    },
    move: (ms) => void (now += ms),
    waits,
  };
}

export interface ResponseFields {
  /** The kit's clock when the response arrived. */
  readonly at?: number;
  /** The server's clock then; null for no Date header. */
  readonly serverAt?: number | null;
  readonly limit?: number;
  readonly remaining?: number;
  /** Unix seconds. */
  readonly reset?: number;
  readonly status?: number;
  readonly isReused?: boolean;
  readonly headers?: readonly (readonly [string, string])[];
  readonly body?: string | Uint8Array;
  readonly request?: Request;
  /** The ranks of its request and its arrival among all moments. */
  readonly turns?: readonly [sent: number, received: number];
}

let turn = 0;

/** A response with these fields. */
export function response({
  at = start,
  serverAt = at,
  limit,
  remaining,
  reset,
  status = 200,
  headers = [],
  body = new Uint8Array(),
  request = listPets(bearer(apiKey)),
  isReused = true,
  turns = [++turn, ++turn],
}: ResponseFields): Response {
  const all = [
    ...(serverAt === null ? [] : [['Date', new Date(serverAt).toUTCString()] as const]),
    ...(limit === undefined ? [] : [['X-RateLimit-Limit', `${limit}`] as const]),
    ...(remaining === undefined ? [] : [['X-RateLimit-Remaining', `${remaining}`] as const]),
    ...(reset === undefined ? [] : [['X-RateLimit-Reset', `${reset}`] as const]),
    ...headers,
  ];
  const bytes = typeof body === 'string' ? Buffer.from(body) : body;
  const message = { status, isReused, headers: all, body: bytes };
  return new Response(request, message, { at, turn: turns[0] }, { at, turn: turns[1] });
}
