/** Section 8: the headers of the limits, within them. What happens at the limit is in exhaust.ts. */
import { check, observe, onEveryResponse, type Check } from '../session/check.ts';
import { Inconclusive, Skipped } from '../verdicts/outcome.ts';
import type { Response } from '../client/response.ts';
import type { LimitReading } from '../verdicts/history.ts';
import { listOrders, listPets } from '../client/requests.ts';
import type { CheckContext } from '../session/context.ts';
import { clearMs, isClear, windowMoves, windowsOf } from '../verdicts/windows.ts';

/** Requests sent at once, over which Remaining must fall. */
const atOnce = 10;

/** How often that is tried again, if the window turned meanwhile. */
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

  check('limits.remaining-falls', { requests: attempts * (atOnce + 1) }, async (t) => {
    const { readings } = t.history;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      await t.room(atOnce + 1);
      if ((t.client.pacer('main').limit ?? Infinity) <= atOnce)
        throw new Inconclusive(`a limit of ${atOnce} or less has no room for ${atOnce} requests at once`);
      const before = await t.send(listPets(t.key, { limit: 1 }));
      if (!windowMoves(readings) && (await turned(t, before))) continue;
      // Orders: the other operations have come ten times in a row elsewhere, and are looked at below.
      const responses = await t.sendTogether(Array.from({ length: atOnce }, () => listOrders(t.key)));
      if (windowMoves(readings)) throw new Skipped('Reset moves between responses, so there is no fixed window');
      if (!Number.isSafeInteger(before.integer('x-ratelimit-limit') ?? 0))
        throw new Skipped('the Limit is so large that it stands for none');
      const left = (a: typeof before) => a.integer('x-ratelimit-remaining');
      const same = (name: string) =>
        responses.every((a) => a.integer(name) !== undefined && a.integer(name) === before.integer(name));
      if (!same('x-ratelimit-reset') || !same('x-ratelimit-limit') || left(before) === undefined) continue;
      const lowest = Math.min(...responses.map((a) => left(a) ?? Infinity));
      t.require(
        lowest < left(before)!,
        responses[0]!,
        `a Remaining below ${left(before)} after ${atOnce} requests more in the same window`,
        `${lowest}`,
      );
      const still = standsStill(readings.filter(isClear));
      if (still !== undefined)
        t.require(
          false,
          still.response,
          `a Remaining that falls while ${atOnce} requests of ${still.response.request.operation} follow each other in one window`,
          `${still.remaining} after each of them`,
        );
      return;
    }
    throw new Inconclusive(`no ${atOnce + 1} responses in a row spoke of one window`);
  }),
  check('limits.remaining-never-rises', { requests: 3 }, async (t) => {
    await turned(t, await t.send(listPets(t.key, { limit: 1 })));
    for (let i = 0; i < 2; i++) await t.send(listPets(t.key, { limit: 1 }));
    const { readings } = t.history;
    if (windowMoves(readings)) throw new Skipped('Reset moves between responses, so there is no fixed window');
    for (const window of windowsOf(readings.filter(isClear))) {
      // A response counts against those that were there before its request was sent: of others the order is unknown.
      const earlier = [...window].sort((a, b) => a.response.receivedTurn - b.response.receivedTurn);
      let lowest: number | undefined;
      let next = 0;
      for (const now of [...window].sort((a, b) => a.response.sentTurn - b.response.sentTurn)) {
        while (next < earlier.length && earlier[next]!.response.receivedTurn < now.response.sentTurn)
          lowest = Math.min(lowest ?? Infinity, earlier[next++]!.remaining);
        if (lowest === undefined) continue;
        t.require(
          now.remaining <= lowest,
          now.response,
          `a Remaining of at most ${lowest}, as a response before has said of the same window (Reset ${now.reset})`,
          `${now.remaining}`,
        );
      }
    }
  }),

  observe(['limits.window', 'limits.which-window', 'limits.without-key'], { requests: 1 }, async (t) => {
    const response = await t.send(listPets(t.key, { limit: 1 }));
    const { readings } = t.history;
    const [reading] = readings.filter((s) => s.key === 'main').slice(-1);
    if (reading === undefined) return;
    const turned = windowsOf(readings).length > 1;
    t.observe(
      'limits.window',
      windowMoves(readings) ? 'sliding: Reset moves' : turned ? 'fixed' : 'fixed, as far as one window shows',
      response,
    );
    const ahead = reading.reset - reading.time / 1000;
    t.observe('limits.which-window', ahead > 120 ? 'a day, or what is left of it' : 'a minute, or what is left of it', response);
    const stranger = readings.find((s) => s.key === 'none');
    if (stranger !== undefined) t.observe('limits.without-key', `a Limit of ${stranger.limit}`, stranger.response);
  }),
];

/** Where the window of a response is about to turn, waits until it has, and gives true: so late in it nothing is judged. */
async function turned(t: CheckContext, response: Response): Promise<boolean> {
  const reset = response.integer('x-ratelimit-reset');
  const ahead = reset === undefined ? Infinity : reset * 1000 - t.serverTime();
  if (ahead > clearMs) return false;
  await t.sleep(Math.max(0, ahead) + 50, 'the window is about to turn');
  return true;
}

/** A response before which ten of the same operation have said the same Remaining of the same window, one after the other. */
function standsStill(readings: readonly LimitReading[]): LimitReading | undefined {
  let first = 0;
  return readings.find((now, i) => {
    const start = readings[first]!;
    const same =
      (['key', 'limit', 'reset', 'remaining'] as const).every((field) => now[field] === start[field]) &&
      now.response.request.operation === start.response.request.operation;
    if (!same) first = i;
    return same && i - first >= atOnce && now.key !== 'none' && now.remaining > 0;
  });
}
