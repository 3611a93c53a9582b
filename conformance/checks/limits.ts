/** Section 8: the headers of the limits, within them. What happens at the limit is in exhaust.ts. */
import { check, look, onEveryAnswer, type Check } from '../session/check.ts';
import { Inconclusive, Skipped } from '../verdicts/outcome.ts';
import type { Answer } from '../client/exchange.ts';
import type { Standing } from '../verdicts/history.ts';
import { listOrders, listPets } from '../client/requests.ts';
import type { Trial } from '../session/trial.ts';
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
  ).map(onEveryAnswer),

  check('limits.remaining-falls', { requests: attempts * (atOnce + 1) }, async (t) => {
    const { standings } = t.history;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      await t.room(atOnce + 1);
      if ((t.target.pacer('main').limit ?? Infinity) <= atOnce)
        throw new Inconclusive(`a limit of ${atOnce} or less has no room for ${atOnce} requests at once`);
      const before = await t.send(listPets(t.key, { limit: 1 }));
      if (!windowMoves(standings) && (await turned(t, before))) continue;
      // Orders: the other operations have come ten times in a row elsewhere, and are looked at below.
      const answers = await t.together(Array.from({ length: atOnce }, () => listOrders(t.key)));
      if (windowMoves(standings)) throw new Skipped('Reset moves between answers, so there is no fixed window');
      if (!Number.isSafeInteger(before.integer('x-ratelimit-limit') ?? 0))
        throw new Skipped('the Limit is so large that it stands for none');
      const left = (a: typeof before) => a.integer('x-ratelimit-remaining');
      const same = (name: string) =>
        answers.every((a) => a.integer(name) !== undefined && a.integer(name) === before.integer(name));
      if (!same('x-ratelimit-reset') || !same('x-ratelimit-limit') || left(before) === undefined) continue;
      const lowest = Math.min(...answers.map((a) => left(a) ?? Infinity));
      t.require(
        lowest < left(before)!,
        answers[0]!,
        `a Remaining below ${left(before)} after ${atOnce} requests more in the same window`,
        `${lowest}`,
      );
      const still = standsStill(standings.filter(isClear));
      if (still !== undefined)
        t.require(
          false,
          still.answer,
          `a Remaining that falls while ${atOnce} requests of ${still.answer.request.operation} follow each other in one window`,
          `${still.remaining} after each of them`,
        );
      return;
    }
    throw new Inconclusive(`no ${atOnce + 1} answers in a row spoke of one window`);
  }),
  check('limits.remaining-never-rises', { requests: 3 }, async (t) => {
    await turned(t, await t.send(listPets(t.key, { limit: 1 })));
    for (let i = 0; i < 2; i++) await t.send(listPets(t.key, { limit: 1 }));
    const { standings } = t.history;
    if (windowMoves(standings)) throw new Skipped('Reset moves between answers, so there is no fixed window');
    for (const window of windowsOf(standings.filter(isClear))) {
      // An answer counts against those that were there before its request was sent: of others the order is unknown.
      const earlier = [...window].sort((a, b) => a.answer.receivedTurn - b.answer.receivedTurn);
      let lowest: number | undefined;
      let next = 0;
      for (const now of [...window].sort((a, b) => a.answer.sentTurn - b.answer.sentTurn)) {
        while (next < earlier.length && earlier[next]!.answer.receivedTurn < now.answer.sentTurn)
          lowest = Math.min(lowest ?? Infinity, earlier[next++]!.remaining);
        if (lowest === undefined) continue;
        t.require(
          now.remaining <= lowest,
          now.answer,
          `a Remaining of at most ${lowest}, as an answer before has said of the same window (Reset ${now.reset})`,
          `${now.remaining}`,
        );
      }
    }
  }),

  look(['limits.window', 'limits.which-window', 'limits.without-key'], { requests: 1 }, async (t) => {
    const answer = await t.send(listPets(t.key, { limit: 1 }));
    const { standings } = t.history;
    const [standing] = standings.filter((s) => s.key === 'main').slice(-1);
    if (standing === undefined) return;
    const turned = windowsOf(standings).length > 1;
    t.observe(
      'limits.window',
      windowMoves(standings) ? 'sliding: Reset moves' : turned ? 'fixed' : 'fixed, as far as one window shows',
      answer,
    );
    const ahead = standing.reset - standing.time / 1000;
    t.observe('limits.which-window', ahead > 120 ? 'a day, or what is left of it' : 'a minute, or what is left of it', answer);
    const stranger = standings.find((s) => s.key === 'none');
    if (stranger !== undefined) t.observe('limits.without-key', `a Limit of ${stranger.limit}`, stranger.answer);
  }),
];

/** Where the window of an answer is about to turn, waits until it has, and gives true: so late in it nothing is judged. */
async function turned(t: Trial, answer: Answer): Promise<boolean> {
  const reset = answer.integer('x-ratelimit-reset');
  const ahead = reset === undefined ? Infinity : reset * 1000 - t.serverTime();
  if (ahead > clearMs) return false;
  await t.sleep(Math.max(0, ahead) + 50, 'the window is about to turn');
  return true;
}

/** An answer before which ten of the same operation have said the same Remaining of the same window, one after the other. */
function standsStill(standings: readonly Standing[]): Standing | undefined {
  let first = 0;
  return standings.find((now, i) => {
    const start = standings[first]!;
    const same =
      (['key', 'limit', 'reset', 'remaining'] as const).every((field) => now[field] === start[field]) &&
      now.answer.request.operation === start.answer.request.operation;
    if (!same) first = i;
    return same && i - first >= atOnce && now.key !== 'none' && now.remaining > 0;
  });
}
