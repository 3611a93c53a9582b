/**
 * Brings a key to its limit, and waits until it recovers.
 *
 * In a fresh window, one response says how many requests remain. Half of them are sent at once, then half of the rest,
 * so that a server which admits fewer refuses only a few. The last few are sent at once with three more, then one
 * request of each operation that was not refused yet. After Retry-After, one request is retried. A conforming server
 * thus refuses at most five requests in a window, because it may ban a key that continues after a 429 (section 8,
 * behaviour 3).
 */
import { longWindowMs } from '../client/pacing.ts';
import type { Operation, Request } from '../client/request.ts';
import { createPet, getPet, listOrders, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { explainedMs, retryAfterMs, windowMoves } from '../client/windows.ts';
import type { CheckContext } from '../session/context.ts';
import { Inconclusive } from '../verdicts/outcome.ts';

/** The number of requests that are sent beyond Remaining. */
const overdraft = 3;

/** If no more requests than this remain, they are sent together with the overdraft. */
const lastFew = 10;

/** The maximum number of refusals in one window. */
const maxRefusals = 5;

/** If the overdraft is admitted, the number of requests after which the limit is no longer expected. */
const maxMore = 10;

/** The number of attempts, if the window ends too early. */
const attempts = 3;

/** The number of windows in which operations are tried at the limit. */
const maxWindows = 3;

/** The largest Remaining that is used up. */
const maxRemaining = 5_000;

/** The longest window that is waited for. */
const maxWindowMs = 120_000;

/** The pause before another attempt. */
const pauseMs = 60_000;

/** How long after its Reset a window is considered to have ended. */
const tickMs = 50;

/** Retry-After and Reset have whole seconds, so they may differ by this much and mean the same moment. */
const sameMomentMs = 1_500;

interface Exhaustion {
  /** What remained, according to the first response. */
  readonly remaining: number;
  readonly first: Response;
  /** Whether the first response was the first of its window. */
  readonly fresh: boolean;
  readonly admitted: readonly Response[];
  readonly refused: readonly Response[];
  /** How many requests got 503 before they were served: the server may have counted those, too. */
  readonly unavailable: number;
  /** How many requests more than `remaining` a server may admit, because a window slides. */
  readonly tolerance: number;
  /** Responses to requests that were sent when the key was at its limit. */
  readonly beyond: readonly Response[];
  /** The operations without a response in `beyond`. */
  readonly missing: readonly Operation[];
  /** The first response after the time in Retry-After, and that time. */
  readonly retried?: { readonly response: Response; readonly retryAfter: string };
  /** The first response after Reset. */
  readonly reset?: Response;
}

/**
 * Brings the key to its limit, once in a run.
 *
 * @throws Inconclusive if the headers do not allow it
 */
export async function exhaust(t: CheckContext): Promise<Exhaustion> {
  // A second attempt would take as long, and end in the same way.
  const exhaustion = await t.fixtures.once('exhaustion', () => bringToLimit(t).catch(inconclusive));
  if (exhaustion instanceof Inconclusive) throw exhaustion;
  return exhaustion;
}

function inconclusive(error: unknown): Inconclusive {
  if (error instanceof Inconclusive) return error;
  throw error;
}

async function bringToLimit(t: CheckContext): Promise<Exhaustion> {
  const operations = await operationsOf(t);
  const first = await exhaustWindow(t, operations);
  let { beyond, missing } = first;
  // Concurrent requests are handled in any order, so an operation may not have been refused yet.
  for (let window = 2; window <= maxWindows && beyond.length > 0 && missing.length > 0; window++) {
    const rest = operations.filter(({ operation }) => missing.includes(operation));
    const next = await exhaustWindow(t, [...rest, ...operations.filter((request) => !rest.includes(request))]);
    beyond = [...beyond, ...next.beyond];
    missing = missing.filter((operation) => next.missing.includes(operation));
  }
  return { ...first, beyond, missing };
}

/** A request of each operation. The first ones are sent at the limit in the first window. */
async function operationsOf(t: CheckContext): Promise<readonly Request[]> {
  const key = t.exhaustKey;
  const gets = (await t.fixtures.getIsRemoved()) ? [] : [getPet(key, (await t.fixtures.animal()).id)];
  const creates = t.mayWrite ? [createPet(key, t.fixtures.newPet())] : [];
  return [...creates, ...gets, listPets(key, { limit: 1, status: 'available' }), listOrders(key)];
}

async function exhaustWindow(t: CheckContext, operations: readonly Request[]): Promise<Exhaustion> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const result = await tryWindow(t, operations);
    if (result !== undefined) return result;
    // Otherwise refusals could accumulate in a window that is not what it seems.
    if (attempt < attempts) await t.sleep(pauseMs, 'the window ended during the requests; trying again');
  }
  throw new Inconclusive(`the window ended during the requests, ${attempts} times`);
}

/** One attempt. Returns undefined if the window ended too early. */
async function tryWindow(t: CheckContext, operations: readonly Request[]): Promise<Exhaustion | undefined> {
  const small = listPets(t.exhaustKey, { limit: 1 });
  // Only an operation that succeeds shows whether a request is admitted.
  const succeeding = [small];
  for (const request of operations) if ((await t.send(request)).status < 300) succeeding.push(request);
  const moves = () => windowMoves(t.history.readings);
  await waitForReset(t, await t.send(small), moves() ? 60_000 : 0);

  const first = await t.send(small);
  const { rateLimits } = first;
  if (rateLimits === undefined)
    throw new Inconclusive('a response lacks the headers that say how many requests remain');
  const { limit, remaining, reset } = rateLimits;
  if (remaining > maxRemaining) throw new Inconclusive(`${remaining} requests remain, more than ${maxRemaining}`);
  if (remaining < 1) throw new Inconclusive('Remaining is 0 at the start of a window');

  const startedAt = t.now();
  const unavailableBefore = t.client.sent.recovered503;
  const { admitted, refused } = await overdraw(t, remaining, succeeding);
  const unavailable = t.client.sent.recovered503 - unavailableBefore;
  const seconds = (t.now() - startedAt) / 1000;
  const otherReset = admitted.some((response) => response.integer('x-ratelimit-reset') !== reset);
  if (!moves() && (otherReset || t.serverTime() >= reset * 1000)) return undefined;

  const beyond = refused.filter(({ status }) => status === 429);
  // If the server has admitted more than it said, the limit may still follow.
  for (let i = 0; beyond.length === 0 && i < maxMore; i++) {
    const response = await t.sendNow(small);
    if (response.status === 429) beyond.push(response);
  }
  const missing = () =>
    operations.filter(({ operation }) => !beyond.some(({ request }) => request.operation === operation));
  if (beyond.length > 0) {
    for (const request of missing()) if (beyond.length < maxRefusals - 1) beyond.push(await t.sendNow(request));
  }
  const refusals = beyond.filter(({ status }) => status === 429);
  return {
    remaining,
    first,
    fresh: remaining === limit - 1,
    admitted,
    refused: refused.length > 0 ? refused : refusals,
    unavailable,
    tolerance: moves() ? Math.ceil((seconds * limit) / 60) + 1 : 0,
    beyond,
    missing: missing().map(({ operation }) => operation),
    ...(await recover(t, refusals.at(-1), first, reset, moves())),
  };
}

/**
 * Sends as many requests as remain, and three more: first one of every kind, at the end as many kinds as possible, and
 * in between only the first kind, so that a server that counts each kind separately reaches its limit too.
 */
async function overdraw(
  t: CheckContext,
  remaining: number,
  kinds: readonly Request[],
): Promise<{ admitted: Response[]; refused: Response[] }> {
  const admitted: Response[] = [];
  const refused: Response[] = [];
  const send = async (requests: readonly Request[]) => {
    const responses = await t.sendTogether(requests);
    for (const response of responses) (response.status < 300 ? admitted : refused).push(response);
    return responses;
  };
  const plain = (count: number) => Array.from({ length: count }, () => kinds[0]!);
  let left = remaining;
  while (left > lastFew && refused.length === 0) {
    const count = Math.ceil(left / 2);
    const responses = await send(left === remaining ? [...kinds, ...plain(count)].slice(0, count) : plain(count));
    const lowest = Math.min(...responses.map((response) => response.integer('x-ratelimit-remaining') ?? Infinity));
    left = Math.min(lowest, left - count);
  }
  if (refused.length === 0) await send([...plain(left), ...[...kinds.slice(1), ...plain(2)].slice(0, overdraft)]);
  return { admitted, refused };
}

/**
 * Sends a request after Retry-After and one after Reset, the earlier first. If they are the same moment, one request is
 * enough.
 */
async function recover(
  t: CheckContext,
  refusal: Response | undefined,
  first: Response,
  reset: number,
  moves: boolean,
): Promise<Pick<Exhaustion, 'retried' | 'reset'>> {
  if (refusal === undefined) return {};
  const small = listPets(t.exhaustKey, { limit: 1 });
  const refusedAt = t.serverTime() - (t.now() - refusal.receivedAt);
  const waitMs = retryAfterMs(refusal, refusedAt);
  const retryAt = waitMs === undefined ? undefined : refusal.receivedAt + waitMs;
  const retry = async (): Promise<Pick<Exhaustion, 'retried'>> => {
    if (retryAt === undefined) return {};
    await t.sleep(Math.max(0, retryAt - t.now()), 'Retry-After of a 429');
    return { retried: { response: await t.sendNow(small), retryAfter: `${Math.ceil(waitMs! / 1000)} s` } };
  };
  const atReset = async (): Promise<Pick<Exhaustion, 'reset'>> => {
    await waitForReset(t, first, 0);
    return { reset: await t.sendNow(small) };
  };
  if (waitMs !== undefined && waitMs > explainedMs(refusal, refusedAt)) {
    // Whoever is admitted before shows that Retry-After is wrong: the rule limits.retry-after judges it.
    await t.sleep(
      Math.max(0, refusal.receivedAt + explainedMs(refusal, refusedAt) - t.now()),
      'a window, because Retry-After is longer',
    );
    const early = await t.sendNow(small);
    const reset = moves ? {} : { reset: early };
    return early.status !== 429 || retryAt! - t.now() > longWindowMs ? reset : { ...reset, ...(await retry()) };
  }
  if (moves) return retry();
  const resetIn = reset * 1000 - t.serverTime();
  const retryIn = retryAt === undefined ? Infinity : retryAt - t.now();
  if (Math.abs(retryIn - resetIn) <= sameMomentMs) {
    const { retried } = await retry();
    return retried === undefined ? {} : { retried, reset: retried.response };
  }
  return retryIn < resetIn
    ? { ...(await retry()), ...(await atReset()) }
    : { ...(await atReset()), ...(await retry()) };
}

/** Waits until the window of a response has ended, and `more` milliseconds. */
async function waitForReset(t: CheckContext, response: Response, more: number): Promise<void> {
  const reset = response.integer('x-ratelimit-reset');
  if (reset === undefined) throw new Inconclusive('a response lacks X-RateLimit-Reset');
  const ms = reset * 1000 - t.serverTime();
  if (ms > maxWindowMs)
    throw new Inconclusive(
      `the window of the headers ends in ${Math.ceil(ms / 60_000)} minutes, too late to wait for it`,
    );
  await t.sleep(Math.max(0, ms) + tickMs + more, 'a new window of the key that is brought to its limit');
}
