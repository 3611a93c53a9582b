/** Section 8: the rate limit headers, below the limit. */
import { listOrders, listPets } from '../client/requests.ts';
import { minuteMs } from '../client/limit-readings.ts';
import { hasSucceeded } from '../limits/exchange.ts';
import { familyOf } from '../limits/fit.ts';
import { check, observe, type Check } from '../session/check.ts';
import type { CheckContext } from '../session/context.ts';
import { Inconclusive, Skipped } from '../verdicts/outcome.ts';

/** The number of requests that are sent at the same time, during which Remaining must fall. */
const concurrent = 10;

/** A pause after which Reset has moved noticeably, if it is the time at which all requests are available again. */
const movesMs = 4_000;

export const limitChecks: readonly Check[] = [
  check('limits.remaining-falls', { requests: 2 * (concurrent + 4) }, async (t) => {
    // Orders, because no other check sends ten of them in a row. The history shows the other operations.
    const isWorking = (await t.send(listOrders(t.key))).status < 300;
    const request = isWorking ? listOrders(t.key) : listPets(t.key, { limit: 1 });
    for (let attempt = 1; attempt <= 2; attempt++) {
      await t.room(concurrent + 2);
      if ((t.client.pacers.main.limit ?? Infinity) <= concurrent)
        throw new Inconclusive(`the limit is below ${concurrent + 1}, too low for ${concurrent} concurrent requests`);
      await t.send(listPets(t.key, { limit: 1 }));
      const hasFew = () => (t.history.limits.of(t.key.key).at(-1)?.remaining ?? Infinity) < concurrent;
      if (hasFew()) {
        await t.sleep(minuteMs, 'at Reset, not all requests of the limit were available again');
        const { status } = await t.send(listPets(t.key, { limit: 1 }));
        if (status < 300 && hasFew())
          throw new Inconclusive(`fewer than ${concurrent} requests were available at once`);
      }
      await t.sendTogether(Array.from({ length: concurrent }, () => request));
      await t.send(listPets(t.key, { limit: 1 }));
      if (await isShown(t, 'limits.remaining-falls')) return;
    }
  }),
  check('limits.remaining-never-rises', { requests: 4 }, async (t) => {
    for (let i = 0; i < 2; i++) await t.send(listPets(t.key, { limit: 1 }));
    await isShown(t, 'limits.remaining-never-rises');
  }),

  observe(['limits.window', 'limits.which-window', 'limits.without-key'], { requests: 1 }, async (t) => {
    const response = await t.send(listPets(t.key, { limit: 1 }));
    const last = t.history.limits.of('main').at(-1);
    if (last === undefined) return;
    t.observe('limits.window', familyOf(t.history.limits.of('main')), response);
    const isLong = last.reset - (last.date ?? last.receivedAt) / 1000 > 120;
    t.observe(
      'limits.which-window',
      isLong ? 'a day, or what is left of it' : 'a minute, or what is left of it',
      response,
    );
    const keyless = t.history.limits.of('none')[0];
    if (keyless !== undefined) t.observe('limits.without-key', `a Limit of ${keyless.limit}`, keyless.response);
  }),
];

/** Whether the history could judge a requirement; if not at once, then after a pause that shows whether Reset moves. */
async function isShown(t: CheckContext, id: 'limits.remaining-falls' | 'limits.remaining-never-rises') {
  if (t.requireHistory(id)) return true;
  const last = t.history.limits.of(t.key.key).findLast(hasSucceeded);
  if (last !== undefined && !Number.isSafeInteger(last.limit))
    throw new Skipped('the limit is so large that it means “no limit”');
  await t.sleep(movesMs, 'to see whether Reset moves');
  for (let i = 0; i < 2; i++) await t.send(listPets(t.key, { limit: 1 }));
  return t.requireHistory(id);
}
