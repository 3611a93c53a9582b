/**
 * Section 8: behaviour at the limit. One key is driven to its limit, once in a run, and all checks here look at what came.
 *
 * From a fresh window, one answer tells how many requests remain; just so many are sent at once and three more, then one to an
 * operation that has not been refused yet. Whoever is told when to come again comes then, once. So no window sees more than
 * five refusals: a server may ban who goes on regardless (section 8, behaviour 3).
 */
import { check, look, type Check } from '../check.ts';
import type { Answer, Credential, Operation } from '../exchange.ts';
import { Inconclusive, Skipped } from '../outcome.ts';
import { plans } from '../pacing.ts';
import { createPet, getPet, listOrders, listPets } from '../requests.ts';
import { retryAfterMs } from '../target.ts';
import type { Trial } from '../trial.ts';
import { windowMoves } from '../windows.ts';

/** Requests beyond what remains. */
const beyond = 3;

/** Refusals in one window, at most: a server may ban who goes on regardless. */
const maxRefusals = 5;

/** Requests more until a limit comes that should have come. */
const maxMore = 10;

/** Retry-After is rounded to seconds, and Reset too: so far apart they may be and mean the same moment. */
const sameMomentMs = 1_500;

/** How often it is tried again, if the window turned meanwhile. */
const attempts = 3;

/** A larger number of requests is not worth anybody's while. */
const maxRemaining = 5_000;

/** The headers must speak of a window that one can wait for. */
const maxWindowMs = 120_000;

/** What came of driving a key to its limit. */
export interface Exhaustion {
  /** What remained, and the answer that said so. */
  readonly remaining: number;
  readonly told: Answer;
  /** The window was fresh when it began: all the Limit remained, but for the first request. */
  readonly fresh: boolean;
  readonly admitted: readonly Answer[];
  readonly refused: readonly Answer[];
  /** How many requests more than `remaining` may rightly have been admitted: where a window slides, room comes back meanwhile. */
  readonly tolerance: number;
  /** The operations whose requests came after the key had reached its limit, with their answers. */
  readonly after: readonly Answer[];
  /** The first request after the time of Retry-After, and what it had said. */
  readonly retried?: { readonly answer: Answer; readonly said: string };
  /** The first request after Reset. */
  readonly reset?: Answer;
}

export const exhaustChecks: readonly Check[] = [
  check('limits.admits', { exhausts: true }, async (t) => {
    const { remaining, admitted, refused } = await exhausted(t);
    const example = admitted.length < remaining ? refused[0]! : admitted.at(-1)!;
    t.require(
      admitted.length >= remaining,
      example,
      `${remaining} requests admitted, as Remaining had said`,
      `${admitted.length}`,
    );
  }),
  check('limits.refuses', { exhausts: true }, async (t) => {
    const { remaining, admitted, refused, tolerance } = await exhausted(t);
    const most = remaining + tolerance;
    t.require(
      admitted.length <= most,
      admitted.at(-1)!,
      `no more than ${most} requests admitted: Remaining had said ${remaining}`,
      `${admitted.length} of ${remaining + beyond}`,
    );
    if (refused.length === 0) throw new Inconclusive('the window slides, and no request was refused');
    const other = refused.find(({ status }) => status !== 429);
    t.require(other === undefined, other ?? refused[0]!, '429');
  }),
  check('limits.all-operations', { exhausts: true }, async (t) => {
    const { after, refused } = await exhausted(t);
    if (refused.length === 0) throw new Inconclusive('no request was refused');
    await t.each(after, async (answer) => t.require(answer.status === 429, answer, '429, since the key has reached its limit'));
    for (const answer of refused) t.require(true, answer, '429');
  }),
  check('limits.retry-after', { exhausts: true }, async (t) => {
    await exhausted(t);
  }),
  check('limits.recovers', { exhausts: true }, async (t) => {
    const { retried } = await exhausted(t);
    if (retried === undefined) throw new Inconclusive('no 429 said when to come again');
    t.require(
      retried.answer.status !== 429,
      retried.answer,
      `the request admitted, since it came ${retried.said} after the 429, as Retry-After had said`,
    );
  }),
  check('limits.resets', { exhausts: true }, async (t) => {
    const { reset } = await exhausted(t);
    if (reset === undefined) throw new Inconclusive('no Reset to wait for');
    t.require(reset.status !== 429, reset, 'the request admitted, since Reset has come');
    const [limit, remaining] = [reset.integer('x-ratelimit-limit'), reset.integer('x-ratelimit-remaining')];
    if (limit !== undefined && remaining !== undefined && limit > 1 && !windowMoves(t.history.standings)) {
      t.require(remaining > 0, reset, 'requests remaining, since Reset has come', `Remaining ${remaining} of ${limit}`);
    }
  }),

  check('limits.plan', { requests: 1 }, async (t) => {
    const { plan } = t.options;
    if (plan === undefined) throw new Skipped('the plan was not told: --plan free, pro or business');
    const { perMinute, perDay } = plans[plan];
    await t.send(listPets(t.exhaustKey, { limit: 1 }));
    for (const { limit, answer } of t.history.standings.filter(({ key }) => key === t.exhaustKey.key)) {
      t.require(
        limit === perMinute || limit === perDay,
        answer,
        `X-RateLimit-Limit: ${perMinute} or ${perDay}, as the plan ${plan} has it`,
        `${limit}`,
      );
    }
    if (!t.options.exhaust) return;
    const { told, fresh, admitted, tolerance } = await exhausted(t);
    if (told.integer('x-ratelimit-limit') !== perMinute || !fresh) return;
    const count = 1 + admitted.length;
    t.require(
      count >= perMinute && count <= perMinute + tolerance,
      told,
      `${perMinute} requests admitted in a fresh minute, as the plan ${plan} has it`,
      `${count}`,
    );
  }),

  look(['limits.429-body', 'limits.retry-after-form'], { exhausts: true }, async (t) => {
    const { refused } = await exhausted(t);
    const [answer] = refused;
    if (answer === undefined) return;
    const type = answer.all('content-type')[0];
    t.observe(
      'limits.429-body',
      answer.body.length === 0 ? 'none' : `${type ?? 'no Content-Type'}${answer.json instanceof SyntaxError ? '' : ', JSON'}`,
      answer,
    );
    t.observe(
      'limits.retry-after-form',
      /^\d+$/.test(answer.all('retry-after')[0] ?? '') ? 'seconds' : 'a date or nothing',
      answer,
    );
  }),
];

/** What came of driving the key to its limit; done once in a run. */
export async function exhausted(t: Trial): Promise<Exhaustion> {
  return t.fixtures.once('exhausted', () => exhaust(t));
}

async function exhaust(t: Trial): Promise<Exhaustion> {
  const key = t.exhaustKey;
  for (let attempt = 1; attempt <= attempts; attempt++) {
    const result = await once(t, key);
    if (result !== undefined) return result;
  }
  throw new Inconclusive(`the window turned while the requests were under way, ${attempts} times`);
}

/** One attempt; undefined if the window turned meanwhile. */
async function once(t: Trial, key: Credential): Promise<Exhaustion | undefined> {
  const small = listPets(key, { limit: 1 });
  const first = await t.send(small);
  const moves = () => windowMoves(t.history.standings);
  await untilReset(t, first, moves() ? 60_000 : 0);

  const told = await t.send(small);
  const [limit, remaining, reset] = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'].map((name) =>
    told.integer(name),
  );
  if (limit === undefined || remaining === undefined || reset === undefined)
    throw new Inconclusive('an answer lacks the headers that say how many requests remain');
  if (remaining > maxRemaining) throw new Inconclusive(`${remaining} requests remain, more than ${maxRemaining}`);
  if (remaining < 1) throw new Inconclusive('Remaining is 0 at the beginning of a window');

  const gets = (await t.fixtures.getIsGone()) ? [] : [getPet(key, (await t.fixtures.animal()).id)];
  const creates = t.mayWrite ? [createPet(key, t.fixtures.newPet())] : [];
  const filtered = listPets(key, { limit: 1, status: 'available' });
  // Every kind of request counts, so there is one of each among the first; and those at the end are of as many kinds as can be.
  const kinds = [...creates, ...gets, filtered, listOrders(key)];
  const body = [...kinds.slice(0, remaining), ...Array.from({ length: Math.max(0, remaining - kinds.length) }, () => small)];
  const tail = [...kinds, small, small].slice(0, beyond);
  const startedAt = t.now();
  const answers = await t.together([...body, ...tail]);
  const seconds = (t.now() - startedAt) / 1000;

  const admitted = answers.filter(({ status }) => status < 300);
  const refused = answers.filter(({ status }) => status >= 300);
  if (!moves() && (admitted.some((a) => a.integer('x-ratelimit-reset') !== reset) || t.serverTime() >= reset * 1000))
    return undefined;

  const limited = refused.filter(({ status }) => status === 429);
  // Where more was admitted than was said, the limit may still come.
  for (let i = 0; limited.length === 0 && i < maxMore; i++)
    limited.push(...[await t.sendNow(small)].filter(({ status }) => status === 429));
  const result = {
    remaining,
    told,
    fresh: remaining === limit - 1,
    admitted,
    refused: [...new Set([...refused, ...limited])],
    tolerance: moves() ? Math.ceil((seconds * limit) / 60) + 1 : 0,
  };
  if (limited.length === 0) return { ...result, after: [] };
  const after: Answer[] = [];
  const seen = new Set<Operation>(limited.map(({ request }) => request.operation));
  for (const request of kinds.filter(({ operation }) => !seen.has(operation))) {
    if (limited.length + after.length < maxRefusals - 1) after.push(await t.sendNow(request));
  }

  // Two promises, each kept by itself: what Retry-After says, and what Reset says. The earlier is tried first.
  const latest = [...limited, ...after.filter(({ status }) => status === 429)].at(-1)!;
  const resetAt = reset * 1000;
  const wait = retryAfterMs(latest, t.serverTime() - (t.now() - latest.receivedAt));
  const retryAt = wait === undefined ? undefined : latest.receivedAt + wait;
  const retry = async (): Promise<Exhaustion['retried']> => {
    if (retryAt === undefined) return undefined;
    await t.sleep(Math.max(0, retryAt - t.now()), 'Retry-After says when the key may come again');
    return { answer: await t.sendNow(small), said: `${Math.ceil(wait! / 1000)} s` };
  };
  if (moves()) return { ...result, after, ...optional({ retried: await retry() }) };
  const resetIn = () => resetAt - t.serverTime();
  if (retryAt !== undefined && Math.abs(retryAt - t.now() - resetIn()) <= sameMomentMs) {
    const retried = await retry();
    return { ...result, after, ...optional({ retried, reset: retried?.answer }) };
  }
  const retryFirst = retryAt !== undefined && retryAt - t.now() < resetIn();
  let retried = retryFirst ? await retry() : undefined;
  await untilReset(t, told, 0);
  const atReset = await t.sendNow(small);
  if (!retryFirst) retried = await retry();
  return { ...result, after, ...optional({ retried, reset: atReset }) };
}

/** The members that are there. */
function optional<T extends object>(members: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** Waits until the window of an answer has turned, and `more` milliseconds. */
async function untilReset(t: Trial, answer: Answer, more: number): Promise<void> {
  const reset = answer.integer('x-ratelimit-reset');
  if (reset === undefined) throw new Inconclusive('an answer lacks X-RateLimit-Reset');
  const ms = reset * 1000 - t.serverTime();
  if (ms > maxWindowMs)
    throw new Inconclusive(`the headers speak of a window that ends in ${Math.ceil(ms / 60_000)} minutes, too long to wait for`);
  await t.sleep(Math.max(0, ms) + tickMs + more, 'a new window of the key that is to be driven to its limit');
}

/** What a window's turn is waited for beyond its Reset: a clock's tick. */
const tickMs = 50;
