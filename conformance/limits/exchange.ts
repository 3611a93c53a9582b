/** The history of a key: what its requests and their responses show of the limiter. */
import { nameOf, type Credential, type Request } from '../client/request.ts';
import type { Response } from '../client/response.ts';
import { dateToleranceMs } from '../client/limit-readings.ts';

/** A request and its response, whose rate limit headers are complete. */
export interface Exchange {
  readonly key: Credential['key'];
  readonly name: string;
  readonly status: number;
  readonly limit: number;
  readonly remaining: number;
  /** In Unix seconds. */
  readonly reset: number;
  /** The wait that Retry-After demands; undefined without a valid one. */
  readonly retryAfterMs?: number | undefined;
  /** The time of Date in milliseconds. */
  readonly date?: number | undefined;
  /** The kit's clock in milliseconds, and the ranks of the two moments among all moments of the run. */
  readonly sentAt: number;
  readonly receivedAt: number;
  readonly sentTurn: number;
  readonly receivedTurn: number;
  /**
   * Its rank among the requests of the key, how many of them had ended when it was sent, and how many had been sent
   * when it was received. They count requests without an exchange, too. NaN if unknown.
   */
  readonly number: number;
  readonly ended: number;
  readonly sentBy: number;
  readonly response: Response;
}

/** The exchange of a response, or undefined if a header is missing, repeated or not an integer. */
export function exchangeOf(response: Response): Exchange | undefined {
  const { rateLimits, request, status, date } = response;
  if (rateLimits === undefined) return undefined;
  const { sentAt, receivedAt, sentTurn, receivedTurn, number, ended, sentBy } = response;
  const moments = { sentAt, receivedAt, sentTurn, receivedTurn, number, ended, sentBy };
  const [retryAfterMs, name] = [status === 429 ? waitOf(response) : undefined, nameOf(request as Request)];
  const key = request.credential.key;
  return { key, name, status, ...rateLimits, retryAfterMs, date, ...moments, response: response.light() };
}

/** Whether a response arrived before the request of another was sent. Concurrent ones have no order. */
export function isBefore(one: Exchange, other: Exchange): boolean {
  return one.receivedTurn < other.sentTurn;
}

/** Only a success must count: the specification does not say whether other requests do. */
export function isAdmitted({ status }: Exchange): boolean {
  return status >= 200 && status < 300;
}

export function isRefused({ status }: Exchange): boolean {
  return status === 429;
}

/**
 * Bounds of the server's clock minus the kit's. Undefined without a Date, and if the Dates contradict each other: then
 * a clock was set.
 */
export function clockOf(exchanges: readonly Exchange[]): { readonly least: number; readonly most: number } | undefined {
  let [least, most] = [-Infinity, Infinity];
  for (const { date, sentAt, receivedAt } of exchanges) {
    if (date === undefined) continue;
    least = Math.max(least, date - receivedAt);
    most = Math.min(most, date + dateToleranceMs - sentAt);
  }
  return least > -Infinity && least <= most ? { least, most } : undefined;
}

/** A Retry-After in seconds, or as a date, which its Date shows how far away. */
function waitOf(response: Response): number | undefined {
  const value = response.all('retry-after')[0] ?? '';
  if (/^\d+$/.test(value)) return Number(value) * 1_000;
  const until = Date.parse(value);
  return Number.isNaN(until) || response.date === undefined ? undefined : Math.max(0, until - response.date);
}
