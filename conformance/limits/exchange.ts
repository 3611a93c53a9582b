/** An exchange, and what it shows of the limiter. */
import { nameOf, type Credential, type Request } from '../client/request.ts';
import type { Response } from '../client/response.ts';
import { dateToleranceMs, retryAfterMs } from '../client/limit-readings.ts';

type Moments = 'sentAt' | 'receivedAt' | 'sentTurn' | 'receivedTurn' | 'number' | 'ended' | 'sentBy';

/** A request and its response, whose rate limit headers are complete. */
export interface Exchange extends Pick<Response, 'status' | Moments> {
  readonly key: Credential['key'];
  readonly name: string;
  readonly limit: number;
  readonly remaining: number;
  /** In Unix seconds. */
  readonly reset: number;
  /** The wait that Retry-After demands; undefined without a valid one. */
  readonly retryAfterMs?: number | undefined;
  /** The time of Date in milliseconds. */
  readonly date?: number | undefined;
  readonly response: Response;
}

/** The exchange of a response, or undefined if a header is missing, repeated or not an integer. */
export function exchangeOf(response: Response): Exchange | undefined {
  const { rateLimits, request, status, date } = response;
  if (rateLimits === undefined) return undefined;
  const { sentAt, receivedAt, sentTurn, receivedTurn, number, ended, sentBy } = response;
  const moments = { sentAt, receivedAt, sentTurn, receivedTurn, number, ended, sentBy };
  const [waitMs, name] = [status === 429 ? retryAfterMs(response, date) : undefined, nameOf(request as Request)];
  const { key: usual, acceptedAs = usual } = request.credential;
  const key = status < 300 ? acceptedAs : usual;
  return { key, name, status, ...rateLimits, retryAfterMs: waitMs, date, ...moments, response: response.light() };
}

/** The same exchange, with the time at which the kit received it as its Date. */
export function datedByKit(one: Exchange): Exchange {
  const date = Math.floor(one.receivedAt / 1_000) * 1_000;
  return { ...one, date, retryAfterMs: isRefused(one) ? retryAfterMs(one.response, date) : undefined };
}

/** Whether one response arrived before the other request was sent. Concurrent exchanges have no order. */
export function isBefore(one: Exchange, other: Exchange): boolean {
  return one.receivedTurn < other.sentTurn;
}

/** Only successful requests must count: the specification does not say whether others do. */
export function hasSucceeded({ status }: Exchange): boolean {
  return status >= 200 && status < 300;
}

/** Whether the response is 429. */
export function isRefused({ status }: Exchange): boolean {
  return status === 429;
}

/**
 * Bounds of the difference between the server's clock and the kit's. Undefined if there is no Date, or if the Dates
 * contradict each other because a clock was set.
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
