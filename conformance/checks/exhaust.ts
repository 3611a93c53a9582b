/**
 * Brings a key to its limit, and waits until it recovers.
 *
 * In a fresh window, one response says how many requests remain. Half of them are sent at once, then half of the rest,
 * so that a server which admits fewer refuses only a few. The last few are sent at once with three more, then one
 * request of each operation that was not refused yet. One request is sent after Retry-After, and one after Reset. A
 * conforming server thus refuses at most five requests in a window, because it may ban a key that continues after a 429
 * (section 8, behaviour 3).
 *
 * Reset has whole seconds, so a server may cut off the fraction of a window that starts with its first request. The
 * first request is therefore sent early in a second of the server's clock, and the one after Reset late in a second.
 */
import { longWindowMs } from '../client/pacing.ts';
import type { Operation, Request } from '../client/request.ts';
import { createPet, getPet, listOrders, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { explainedMs, isSameReset, retryAfterMs, toleranceMs, windowMoves } from '../client/limit-readings.ts';
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

/** How long after its Reset a window has ended, even if Reset lacks a fraction of a second or is a second early. */
const turnMs = 1_050;

/** When a request is sent to see whether requests are available at Reset: later than any fraction that was cut off. */
const afterResetMs = 800;

/** A request after Retry-After also shows whether requests are available at Reset, if it was sent this much earlier. */
const sameMomentMs = 1_500;

/** The accuracy with which the server's clock is determined, in seconds: a Date has whole seconds. */
const clockAccuracy = 1 / 32;

/** How many more seconds to wait for the end of a window that has not ended at its Reset. */
const maxLate = 30;

/** How long to send nothing, to see whether requests become available meanwhile. */
const refillMs = 3_000;

/** How much of a window must be left for it to be used without waiting for the next one. */
const enoughMs = 20_000;

interface Exhaustion {
  /** What remained, according to the first response. */
  readonly remaining: number;
  readonly first: Response;
  /** Whether the first response was the first of its window. */
  readonly fresh: boolean;
  /** The number of requests that were admitted before those of `admitted`, the first included. */
  readonly before: number;
  readonly admitted: readonly Response[];
  readonly refused: readonly Response[];
  /** How many requests got 503 before they were served: the server may have counted those, too. */
  readonly unavailable: number;
  /** How many requests more than `remaining` a server may admit, because requests become available one by one. */
  readonly tolerance: number;
  /** Responses to requests that were sent when the key was at its limit. */
  readonly beyond: readonly Response[];
  /** The operations without a response in `beyond`. */
  readonly missing: readonly Operation[];
  /** The first response after the Retry-After of a refusal, with the refusal and the duration of the wait. */
  readonly retried?: { readonly response: Response; readonly refusal: Response; readonly retryAfter: string };
  /** The first response after Reset. */
  readonly reset?: Response;
}

/**
 * Brings the key to its limit, once in a run.
 *
 * @throws Inconclusive if the headers do not allow it
 */
export async function exhaust(t: CheckContext): Promise<Exhaustion> {
  t.assertCost('exhausts');
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
  const small = listPets(t.exhaustKey, { limit: 1 });
  resetIn(t, await t.send(small));
  const operations = await operationsOf(t);
  // Only an operation that succeeds shows whether a request is admitted.
  const kinds = [small];
  for (const request of operations) if ((await t.send(request)).status < 300) kinds.push(request);
  await learnClock(t, small);
  const first = await exhaustWindow(t, { operations, kinds, isFirst: true });
  let { beyond, missing } = first;
  // Concurrent requests are handled in any order, so an operation may not have been refused yet.
  for (let window = 2; window <= maxWindows && beyond.length > 0 && missing.length > 0; window++) {
    const missingFirst = (requests: readonly Request[]) =>
      requests.toSorted((a, b) => Number(missing.includes(b.operation)) - Number(missing.includes(a.operation)));
    const next = await exhaustWindow(t, {
      operations: missingFirst(operations),
      kinds: [small, ...missingFirst(kinds.slice(1))],
      isFirst: false,
    });
    beyond = [...beyond, ...next.beyond];
    missing = missing.filter((operation) => next.missing.includes(operation));
  }
  return { ...first, beyond, missing };
}

interface Window {
  /** The requests that are sent at the limit, in this order. */
  readonly operations: readonly Request[];
  /** The requests that bring the key to its limit. */
  readonly kinds: readonly Request[];
  /** Whether it is the first window, after which the recovery is observed. */
  readonly isFirst: boolean;
}

/** Halves the uncertainty about the server's clock with each request, and lets enough time pass for Reset to move. */
async function learnClock(t: CheckContext, small: Request): Promise<void> {
  for (let part = 1 / 2; part >= clockAccuracy; part /= 2) {
    const ahead = (1 - part) * 1_000 - (t.serverTime() % 1_000);
    await t.sleep(ahead + (ahead < 0 ? 2_000 : 1_000), "the server's clock is being determined");
    await t.send(small);
  }
}

/** A request of each operation. The first ones are sent at the limit in the first window. */
async function operationsOf(t: CheckContext): Promise<readonly Request[]> {
  const key = t.exhaustKey;
  const gets = (await t.fixtures.getIsRemoved()) ? [] : [getPet(key, await t.fixtures.anyId())];
  const creates = t.mayWrite ? [createPet(key, t.fixtures.newPet())] : [];
  return [...creates, ...gets, listPets(key, { limit: 1, status: 'available' }), listOrders(key)];
}

async function exhaustWindow(t: CheckContext, window: Window): Promise<Exhaustion> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const result = await tryWindow(t, window);
    if (result !== undefined) return result;
    // Otherwise refusals could accumulate in a window that is not what it seems.
    if (attempt < attempts) await t.sleep(pauseMs, 'the window ended during the requests; trying again');
  }
  throw new Inconclusive(`the window ended during the requests, ${attempts} times`);
}

/** One attempt. Returns undefined if the window ended too early. */
async function tryWindow(t: CheckContext, { operations, kinds, isFirst }: Window): Promise<Exhaustion | undefined> {
  const small = listPets(t.exhaustKey, { limit: 1 });
  const moves = () => windowMoves(t.history.readings);
  const first = await newWindow(t, small, isFirst);
  let last = first;
  // Some servers make requests available one by one, others only when older ones have left the window.
  if (moves()) {
    await t.sleep(refillMs, 'to see whether requests become available one by one');
    last = await t.send(small);
  }
  const { limit, remaining: firstRemaining, reset } = limitsOf(first);
  const { remaining } = limitsOf(last);
  if (remaining > maxRemaining) throw new Inconclusive(`${remaining} requests remain, more than ${maxRemaining}`);
  if (remaining < 1) throw new Inconclusive('Remaining is 0 at the start of a window');

  const unavailableBefore = t.client.sent.recovered503;
  const { admitted, refused } = await overdraw(t, remaining, kinds);
  const unavailable = t.client.sent.recovered503 - unavailableBefore;
  const seconds = (t.now() - last.sentAt) / 1000;
  const otherReset = admitted.some((response) => !isSameReset(response.integer('x-ratelimit-reset') ?? NaN, reset));
  if (!moves() && (otherReset || t.serverTime() >= reset * 1000)) return undefined;
  const refills = last !== first && remaining >= firstRemaining;

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
    fresh: firstRemaining === limit - 1,
    before: last === first || refills ? 1 : 2,
    admitted,
    refused: refused.length > 0 ? refused : refusals,
    unavailable,
    // By then the first requests have left a sliding window of a minute.
    tolerance: refills || (moves() && seconds > 50) ? Math.ceil((seconds * limit) / 60) : 0,
    beyond,
    missing: missing().map(({ operation }) => operation),
    ...(isFirst && (await recover(t, refusals, first, reset, moves()))),
  };
}

/** The first response of a new window, if possible. */
async function newWindow(t: CheckContext, small: Request, isFirst: boolean): Promise<Response> {
  const moves = () => windowMoves(t.history.readings);
  let first = await t.send(small);
  const leftMs = limitsOf(first).reset * 1000 - t.serverTime();
  if (!isFirst && !moves() && leftMs > enoughMs && leftMs <= maxWindowMs && limitsOf(first).remaining > lastFew)
    return first;
  const { reset } = limitsOf(first);
  await waitForReset(t, first, turnMs + (moves() ? 60_000 : 0));
  first = await t.send(small);
  for (let i = 0; i < maxLate && !moves() && isSameReset(limitsOf(first).reset, reset); i++) {
    await t.sleep(1_000, 'the window has not ended at its Reset');
    first = await t.send(small);
  }
  const { limit, remaining } = limitsOf(first);
  if (remaining === limit - 1) return first;
  // Reset was not the end of a window, only the time at which the first requests become available again.
  await t.sleep(60_000, 'older requests still count');
  return t.send(small);
}

function limitsOf(response: Response): NonNullable<Response['rateLimits']> {
  const { rateLimits } = response;
  if (rateLimits === undefined)
    throw new Inconclusive('a response lacks the headers that say how many requests remain');
  return rateLimits;
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
 * enough. If the key is banned, only Retry-After shows when it is admitted again.
 */
async function recover(
  t: CheckContext,
  refusals: readonly Response[],
  first: Response,
  reset: number,
  moves: boolean,
): Promise<Pick<Exhaustion, 'retried' | 'reset'>> {
  const refusal = refusals.at(-1);
  if (refusal === undefined) return {};
  const small = listPets(t.exhaustKey, { limit: 1 });
  const refusedAt = t.client.serverClock.time(refusal.receivedAt);
  const waitMs = retryAfterMs(refusal, refusedAt);
  const retryAt = waitMs === undefined ? undefined : refusal.receivedAt + waitMs;
  const endsAt = refusals.map((one) => one.receivedAt + (retryAfterMs(one, refusedAt) ?? Infinity));
  const isBanned = retryAt !== undefined && retryAt - Math.min(...endsAt) > toleranceMs;
  const retry = async (): Promise<Pick<Exhaustion, 'retried'>> => {
    if (retryAt === undefined) return {};
    await t.sleep(Math.max(0, retryAt - t.now()), 'Retry-After of a 429');
    return { retried: { response: await t.sendNow(small), refusal, retryAfter: `${Math.ceil(waitMs! / 1000)} s` } };
  };
  const atReset = async (): Promise<Pick<Exhaustion, 'reset'>> => {
    await waitForReset(t, first, afterResetMs);
    return { reset: await t.sendNow(small) };
  };
  // A ban may begin with any refusal after the first one, and then lasts beyond Reset.
  if (isBanned) return retryAt - t.now() > longWindowMs ? {} : retry();
  if (waitMs !== undefined && waitMs > explainedMs(refusal, refusedAt)) {
    // A request that is admitted earlier shows that Retry-After is wrong: the rule limits.retry-after judges it.
    await t.sleep(
      Math.max(0, refusal.receivedAt + explainedMs(refusal, refusedAt) - t.now()),
      'a window, because Retry-After is longer',
    );
    const early = await t.sendNow(small);
    const reset = moves ? {} : { reset: early };
    return early.status !== 429 || retryAt! - t.now() > longWindowMs ? reset : { ...reset, ...(await retry()) };
  }
  if (moves) return retry();
  const probeIn = reset * 1000 + afterResetMs - t.serverTime();
  const retryIn = retryAt === undefined ? Infinity : retryAt - t.now();
  if (retryIn > probeIn) return { ...(await atReset()), ...(await retry()) };
  const { retried } = await retry();
  const isEnough = retried !== undefined && retried.response.status < 300 && probeIn - retryIn <= sameMomentMs;
  return { ...(retried && { retried }), ...(isEnough ? { reset: retried.response } : await atReset()) };
}

/** Waits until the window of a response has ended, and `more` milliseconds. */
async function waitForReset(t: CheckContext, response: Response, more: number): Promise<void> {
  await t.sleep(Math.max(0, resetIn(t, response) + more), 'a new window of the key that is brought to its limit');
}

/**
 * The milliseconds until the Reset of a response.
 *
 * @throws Inconclusive if they are too many to wait
 */
function resetIn(t: CheckContext, response: Response): number {
  const ms = limitsOf(response).reset * 1000 - t.serverTime();
  if (ms > maxWindowMs)
    throw new Inconclusive(
      `the window of the headers ends in ${Math.ceil(ms / 60_000)} minutes, too late to wait for it`,
    );
  return ms;
}
