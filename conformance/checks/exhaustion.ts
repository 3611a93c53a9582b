/**
 * Drives a key to its limit, and waits until it has recovered.
 *
 * From a fresh window, one response tells how many requests remain. Half of them are sent at once, then half of what is left, so
 * that a server which admits fewer than it said refuses few; the last few, and three more, are sent at once; then one more of an
 * operation that has not been refused yet. Whoever is told when to come again comes then, once. So no window sees more than five
 * refusals of a server that keeps its word: one may ban who goes on regardless (section 8, behaviour 3).
 */
import type { Credential, Operation, Request } from '../client/request.ts';
import type { Response } from '../client/response.ts';
import { Inconclusive } from '../verdicts/outcome.ts';
import { createPet, getPet, listOrders, listPets } from '../client/requests.ts';
import { retryAfterMs } from '../client/client.ts';
import type { CheckContext } from '../session/context.ts';
import { windowMoves } from '../verdicts/windows.ts';

/** Requests beyond what remains. */
const overdraft = 3;

/** So few that remain are sent together with the overdraft. */
const lastFew = 10;

/** Refusals in one window, at most. */
const maxRefusals = 5;

/** Requests more until a limit comes that should have come. */
const maxMore = 10;

/** How often it is tried again, if the window turned meanwhile. */
const attempts = 3;

/** Windows in which an operation is asked for that did not get its turn in the first. */
const maxWindows = 3;

/** A larger number of requests is not worth anybody's while. */
const maxRemaining = 5_000;

/** The headers must speak of a window that one can wait for. */
const maxWindowMs = 120_000;

/** Before another attempt. */
const calmMs = 60_000;

/** What a window's turn is waited for beyond its Reset: a clock's tick. */
const tickMs = 50;

/** Retry-After is rounded to seconds, and Reset too: so far apart they may be and mean the same moment. */
const sameMomentMs = 1_500;

/** What came of driving a key to its limit. */
interface Exhaustion {
  /** What remained, and the response that said so. */
  readonly remaining: number;
  readonly told: Response;
  /** The window was fresh when it began: all the Limit remained, but for the first request. */
  readonly fresh: boolean;
  readonly admitted: readonly Response[];
  readonly refused: readonly Response[];
  /** How many requests more than `remaining` may rightly have been admitted: where a window slides, room comes back meanwhile. */
  readonly tolerance: number;
  /** The responses to requests that came when the key had certainly reached its limit, or were refused for it. */
  readonly beyond: readonly Response[];
  /** The operations that are not among them. */
  readonly unasked: readonly Operation[];
  /** The first request after the time of Retry-After, and what it had said. */
  readonly retried?: { readonly response: Response; readonly said: string };
  /** The first request after Reset. */
  readonly reset?: Response;
}

/**
 * What came of driving the key to its limit; done once in a run.
 *
 * @throws Inconclusive where the headers do not allow it
 */
export async function exhausted(t: CheckContext): Promise<Exhaustion> {
  return t.fixtures.once('exhausted', async () => {
    const operations = await operationsOf(t, t.exhaustKey);
    const first = await inAWindow(t, operations);
    let { beyond, unasked } = first;
    // Requests that are sent at once may come in any order: who had no turn gets one in another window.
    for (let window = 2; window <= maxWindows && beyond.length > 0 && unasked.length > 0; window++) {
      const rest = operations.filter(({ operation }) => unasked.includes(operation));
      const again = await inAWindow(t, [...rest, ...operations.filter((request) => !rest.includes(request))]);
      beyond = [...beyond, ...again.beyond];
      unasked = unasked.filter((operation) => again.unasked.includes(operation));
    }
    return { ...first, beyond, unasked };
  });
}

/** A request of every operation, those first that must be seen refused above all. */
async function operationsOf(t: CheckContext, key: Credential): Promise<readonly Request[]> {
  const gets = (await t.fixtures.getIsRemoved()) ? [] : [getPet(key, (await t.fixtures.animal()).id)];
  const creates = t.mayWrite ? [createPet(key, t.fixtures.newPet())] : [];
  return [...creates, ...gets, listPets(key, { limit: 1, status: 'available' }), listOrders(key)];
}

async function inAWindow(t: CheckContext, operations: readonly Request[]): Promise<Exhaustion> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const result = await once(t, operations);
    if (result !== undefined) return result;
    // Where the window is not what it seemed, refusals must not pile up in it.
    if (attempt < attempts) await t.sleep(calmMs, 'the window turned while the requests were under way; once more, in peace');
  }
  throw new Inconclusive(`the window turned while the requests were under way, ${attempts} times`);
}

/** One attempt; undefined if the window turned meanwhile. */
async function once(t: CheckContext, operations: readonly Request[]): Promise<Exhaustion | undefined> {
  const small = listPets(t.exhaustKey, { limit: 1 });
  // Only what is answered with success can tell an admitted request from a refused one.
  const answered = [small];
  for (const request of operations) if ((await t.send(request)).status < 300) answered.push(request);
  const moves = () => windowMoves(t.history.readings);
  await untilReset(t, await t.send(small), moves() ? 60_000 : 0);

  const told = await t.send(small);
  const [limit, remaining, reset] = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) =>
    told.integer(name),
  );
  if (limit === undefined || remaining === undefined || reset === undefined)
    throw new Inconclusive('a response lacks the headers that say how many requests remain');
  if (remaining > maxRemaining) throw new Inconclusive(`${remaining} requests remain, more than ${maxRemaining}`);
  if (remaining < 1) throw new Inconclusive('Remaining is 0 at the beginning of a window');

  const startedAt = t.now();
  const { admitted, refused } = await overdraw(t, remaining, answered);
  const seconds = (t.now() - startedAt) / 1000;
  const turned = admitted.some((a) => a.integer('x-ratelimit-reset') !== reset) || t.serverTime() >= reset * 1000;
  if (!moves() && turned) return undefined;

  const beyond = refused.filter(({ status }) => status === 429);
  // Where more was admitted than was said, the limit may still come.
  for (let i = 0; beyond.length === 0 && i < maxMore; i++) {
    const response = await t.sendNow(small);
    if (response.status === 429) beyond.push(response);
  }
  const unasked = () => operations.filter(({ operation }) => !beyond.some(({ request }) => request.operation === operation));
  if (beyond.length > 0) {
    for (const request of unasked()) if (beyond.length < maxRefusals - 1) beyond.push(await t.sendNow(request));
  }
  return {
    remaining,
    told,
    fresh: remaining === limit - 1,
    admitted,
    refused: refused.length > 0 ? refused : beyond.filter(({ status }) => status === 429),
    tolerance: moves() ? Math.ceil((seconds * limit) / 60) + 1 : 0,
    beyond,
    unasked: unasked().map(({ operation }) => operation),
    ...(await recovery(t, beyond.filter(({ status }) => status === 429).at(-1), told, reset, moves())),
  };
}

/**
 * Sends as many requests as remain, and three more: one of every kind first, and those at the end of as many kinds as can be.
 * Between them stands the first kind alone, so that a server which counts each kind by itself comes to its limit, too.
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
    const requests = left === remaining ? [...kinds, ...plain(count)].slice(0, count) : plain(count);
    const lowest = Math.min(...(await send(requests)).map((response) => response.integer('x-ratelimit-remaining') ?? Infinity));
    left = Math.min(lowest, left - count);
  }
  if (refused.length === 0) await send([...plain(left), ...[...kinds.slice(1), ...plain(2)].slice(0, overdraft)]);
  return { admitted, refused };
}

/** Two promises, each kept by itself: what Retry-After says, and what Reset says. The earlier is tried first. */
async function recovery(
  t: CheckContext,
  latest: Response | undefined,
  told: Response,
  reset: number,
  moves: boolean,
): Promise<Pick<Exhaustion, 'retried' | 'reset'>> {
  if (latest === undefined) return {};
  const small = listPets(t.exhaustKey, { limit: 1 });
  const wait = retryAfterMs(latest, t.serverTime() - (t.now() - latest.receivedAt));
  const retryAt = wait === undefined ? undefined : latest.receivedAt + wait;
  const retry = async (): Promise<Pick<Exhaustion, 'retried'>> => {
    if (retryAt === undefined) return {};
    await t.sleep(Math.max(0, retryAt - t.now()), 'Retry-After says when the key may come again');
    return { retried: { response: await t.sendNow(small), said: `${Math.ceil(wait! / 1000)} s` } };
  };
  const atReset = async (): Promise<Pick<Exhaustion, 'reset'>> => {
    await untilReset(t, told, 0);
    return { reset: await t.sendNow(small) };
  };
  if (moves) return retry();
  const resetIn = reset * 1000 - t.serverTime();
  const retryIn = retryAt === undefined ? Infinity : retryAt - t.now();
  if (Math.abs(retryIn - resetIn) <= sameMomentMs) {
    const { retried } = await retry();
    return retried === undefined ? {} : { retried, reset: retried.response };
  }
  return retryIn < resetIn ? { ...(await retry()), ...(await atReset()) } : { ...(await atReset()), ...(await retry()) };
}

/** Waits until the window of a response has turned, and `more` milliseconds. */
async function untilReset(t: CheckContext, response: Response, more: number): Promise<void> {
  const reset = response.integer('x-ratelimit-reset');
  if (reset === undefined) throw new Inconclusive('a response lacks X-RateLimit-Reset');
  const ms = reset * 1000 - t.serverTime();
  if (ms > maxWindowMs)
    throw new Inconclusive(`the headers speak of a window that ends in ${Math.ceil(ms / 60_000)} minutes, too long to wait for`);
  await t.sleep(Math.max(0, ms) + tickMs + more, 'a new window of the key that is to be driven to its limit');
}
