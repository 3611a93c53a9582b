/** Section 8: the rate limit headers, below the limit. */
import { getPet, listOrders, listPets } from '../client/requests.ts';
import type { Response } from '../client/response.ts';
import { clearMs, isClear, isSameReset, windowMoves, windowsOf, type LimitReading } from '../client/limit-readings.ts';
import { check, observe, onEveryResponse, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import { Inconclusive, Skipped } from '../verdicts/outcome.ts';

/** The number of requests that are sent at the same time, during which Remaining must fall. */
const concurrent = 10;

/** The number of attempts, if the window ends too early. */
const attempts = 3;

export const limitChecks: readonly Check[] = [
  ...(
    [
      'limits.limit-header',
      'limits.remaining-header',
      'limits.reset-header',
      'limits.headers-once',
      'limits.headers-integers',
      'limits.remaining-range',
      'limits.reset-time',
    ] as const
  ).map(onEveryResponse),

  check('limits.remaining-falls', { requests: 1 + attempts * (concurrent + 2) }, async (t) => {
    const { readings } = t.history;
    // Orders, because no other check sends ten of them in a row. `unchanged` judges the other operations.
    const hasOrders = isSuccess(await t.send(listOrders(t.key)));
    const request = hasOrders ? listOrders(t.key) : listPets(t.key, { limit: 1 });
    for (let attempt = 1; attempt <= attempts; attempt++) {
      await t.room(concurrent + 1);
      if ((t.client.pacer('main').limit ?? Infinity) <= concurrent)
        throw new Inconclusive(`the limit is below ${concurrent + 1}, too low for ${concurrent} concurrent requests`);
      const before = await t.send(listPets(t.key, { limit: 1 }));
      if (!windowMoves(readings) && (await windowEnds(t, before))) continue;
      const responses = await t.sendTogether(Array.from({ length: concurrent }, () => request));
      await needFixedWindow(t);
      if (!Number.isSafeInteger(before.integer('x-ratelimit-limit') ?? 0))
        throw new Skipped('the limit is so large that it stands for no limit');
      const same = (name: string, isSame: (one: number, other: number) => boolean) =>
        [before, ...responses].every((response) =>
          isSame(response.integer(name) ?? NaN, before.integer(name) ?? NaN),
        );
      const remaining = before.integer('x-ratelimit-remaining');
      if (!responses.every(isSuccess)) continue;
      const isOneWindow = same('x-ratelimit-reset', isSameReset) && same('x-ratelimit-limit', Object.is);
      if (!isOneWindow || remaining === undefined) continue;
      const lowest = Math.min(...responses.map((response) => response.integer('x-ratelimit-remaining') ?? Infinity));
      t.require(
        lowest < remaining,
        responses[0]!,
        `Remaining below ${remaining} after ${concurrent} more requests in the same window`,
        `${lowest}`,
      );
      const still = unchanged(readings.filter((reading) => isClear(reading) && isSuccess(reading.response)));
      if (still === undefined) return;
      t.require(
        false,
        still.response,
        `a lower Remaining after ${concurrent} requests of ${still.response.request.operation} in one window`,
        `${still.remaining} after each of them`,
      );
    }
    throw new Inconclusive(`no ${concurrent + 1} successful responses in a row showed the same window`);
  }),
  check('limits.remaining-never-rises', { requests: 8 }, async (t) => {
    await windowEnds(t, await t.send(listPets(t.key, { limit: 1 })));
    for (let i = 0; i < 2; i++) await t.send(listPets(t.key, { limit: 1 }));
    const { readings } = t.history;
    await needFixedWindow(t);
    // If Reset varies, the window may slide: then requests leave it for a while after it has turned.
    const varies = windowsOf(readings).some((window) => window.some(({ reset }) => reset !== window[0]!.reset));
    if (varies) {
      await windowEnds(t, await t.send(listPets(t.key, { limit: 1 })), 3 * clearMs);
      await t.sleep(clearMs + 1_000, 'the start of a window whose Reset varies is not judged');
      await t.send(listPets(t.key, { limit: 1 }));
      await t.send(getPet(t.key, t.fixtures.unknownId()));
      await t.send(listPets(t.key, { limit: 1 }));
    }
    for (const all of windowsOf(readings.filter(isClear))) {
      const window = varies ? all.filter(({ time }) => time - all[0]!.time > clearMs) : all;
      // A response must not exceed those that arrived before its request was sent. Concurrent ones have no order.
      const byArrival = [...window].sort((a, b) => a.response.receivedTurn - b.response.receivedTurn);
      let lowest: number | undefined;
      let next = 0;
      for (const now of [...window].sort((a, b) => a.response.sentTurn - b.response.sentTurn)) {
        while (next < byArrival.length && byArrival[next]!.response.receivedTurn < now.response.sentTurn)
          lowest = Math.min(lowest ?? Infinity, byArrival[next++]!.remaining);
        if (lowest === undefined) continue;
        const earlier = `as in an earlier response of this window (Reset ${now.reset})`;
        const required = `Remaining of at most ${lowest}, ${earlier}`;
        t.require(now.remaining <= lowest, now.response, required, `${now.remaining}`);
      }
    }
  }),

  observe(['limits.window', 'limits.which-window', 'limits.without-key'], { requests: 1 }, async (t) => {
    const response = await t.send(listPets(t.key, { limit: 1 }));
    const { readings } = t.history;
    const reading = readings.findLast(({ key }) => key === 'main');
    if (reading === undefined) return;
    const fixed = windowsOf(readings).length > 1 ? 'fixed' : 'fixed, as far as one window shows';
    t.observe('limits.window', windowMoves(readings) ? 'sliding: Reset moves' : fixed, response);
    const isLong = reading.reset - reading.time / 1000 > 120;
    t.observe(
      'limits.which-window',
      isLong ? 'a day, or what is left of it' : 'a minute, or what is left of it',
      response,
    );
    const keyless = readings.find(({ key }) => key === 'none');
    if (keyless !== undefined) t.observe('limits.without-key', `a Limit of ${keyless.limit}`, keyless.response);
  }),
];

/**
 * If the window of a response is about to end, in less than `ms`, waits until it has, and returns true: too close to
 * its end nothing is judged.
 */
async function windowEnds(t: CheckContext, response: Response, ms = clearMs): Promise<boolean> {
  const reset = response.integer('x-ratelimit-reset');
  const aheadMs = reset === undefined ? Infinity : reset * 1000 - t.serverTime();
  if (aheadMs > ms) return false;
  await t.sleep(Math.max(0, aheadMs) + 50, 'the window is about to end');
  return true;
}

/**
 * Waits, if it has not become clear yet, whether Reset moves or only varies by a second or two.
 *
 * @throws Skipped if it moves
 */
async function needFixedWindow(t: CheckContext): Promise<void> {
  const { readings } = t.history;
  const { key: name, reset, limit } = readings.findLast(({ key }) => key === 'main') ?? {};
  const varies = readings.some(
    (reading) =>
      reading.key === name &&
      reading.limit === limit &&
      reading.reset !== reset &&
      isSameReset(reading.reset, reset ?? NaN),
  );
  if (varies && !windowMoves(readings)) {
    await t.sleep(clearMs, 'Reset varies, and may move with the time');
    await t.send(listPets(t.key, { limit: 1 }));
  }
  if (windowMoves(readings)) throw new Skipped('Reset moves between responses, so the window is not fixed');
}

/** Only these must count: the specification does not say whether refused requests do. */
function isSuccess({ status }: Response): boolean {
  return status >= 200 && status < 300;
}

/**
 * A reading that follows ten of the same operation, window and Remaining. Concurrent requests may all show what remains
 * when the last of them has been counted, so it was sent after the first of them was received.
 */
export function unchanged(readings: readonly LimitReading[]): LimitReading | undefined {
  let first = 0;
  return readings.find((now, i) => {
    const start = readings[first]!;
    const same =
      (['key', 'limit', 'remaining'] as const).every((field) => now[field] === start[field]) &&
      isSameReset(now.reset, start.reset) &&
      now.response.request.operation === start.response.request.operation;
    if (!same) first = i;
    const isLater = now.response.sentTurn > start.response.receivedTurn;
    return same && isLater && i - first >= concurrent && now.key !== 'none' && now.remaining > 0;
  });
}
