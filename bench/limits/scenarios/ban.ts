/**
 * Goes on after the refusals, at a steady rate, until the key is banned or the number of refusals said beforehand is reached: at
 * which refusal the ban came, how long it lasts, and that it ends. The specification says "may": that no ban comes is no failure.
 *
 * A ban shows itself by a wait that ends well after that of the refusals before it, or by a status other than 429. The first two
 * seconds after the first refusal are waited out, since a server may forgive what was under way then.
 */
import { Inconclusive, Skipped } from '../../../conformance/verdicts/outcome.ts';
import { count, duration } from '../../../conformance/report/words.ts';
import { isAdmitted, isRefused, type Answer } from '../answer.ts';
import { banMs } from '../bans.ts';
import { drainedCost, type Bench } from '../bench.ts';
import type { Key } from '../keys.ts';
import type { Scenario } from '../scenario.ts';

/** So long after the first refusal no other is asked for. */
const graceMs = 2_500;

/** All of them must come within one window, which has so much left at least. */
const spanS = 40;

/** A longer ban is not waited for. */
const maxBanMs = 65 * 60_000;

const tickMs = 50;

/** The refusals that are asked for at most. */
function mostRefusals(limit: number): number {
  return Math.max(2 * limit, 120);
}

export const ban = {
  name: 'ban',
  text: 'goes on after the refusals until the key is banned, and waits for its end (only with --until-ban)',
  demanded: 'a ban may come; if it does, it ends when its Retry-After said',
  cost: ({ limit, untilBan }) =>
    untilBan
      ? // The key may be driven to its limit twice: the window must last for what follows.
        { withKey: 2 * (limit + drainedCost) + mostRefusals(limit) + 1, seconds: spanS + 5 * 60 + 40 }
      : { withKey: 0, seconds: 0 },

  async run(bench) {
    if (!bench.settings.untilBan) throw new Skipped('only with --until-ban');
    const key = await bench.keys.spare();
    const first = await atTheBeginning(bench, key);
    const most = mostRefusals(first.standing?.limit ?? 0);
    const endsAt = bench.retryAt(first);
    if (endsAt === undefined) throw new Inconclusive('a 429 has no Retry-After, so a ban could not be told from a refusal');
    await bench.sleep(graceMs, 'what was under way at the first refusal may be forgiven');

    const isBan = (answer: Answer): boolean =>
      (isRefused(answer) && (bench.retryAt(answer) ?? 0) > endsAt + banMs) || (!isRefused(answer) && !isAdmitted(answer));
    bench.doing(`at most ${most} refusals, until the key is banned`);
    const rate = Math.ceil(most / spanS);
    const { answers, lost } = await bench.send({
      key,
      amount: most,
      connections: Math.min(bench.settings.connections, rate),
      rate,
      until: (answer) => isBan(answer) || isAdmitted(answer),
    });
    const at = answers.findIndex(isBan);
    if (at < 0) {
      const refused = answers.filter(isRefused).length;
      const [refusals, unanswered] = [count(refused, 'refusal'), lost > 0 ? `, ${count(lost, 'request')} got no answer` : ''];
      const figures = { refusals: refused, banned: 'no' };
      if (answers.some(isAdmitted))
        return { seen: `no ban came in ${refusals}, until the key was admitted again${unanswered}`, failures: [], figures };
      // A ban need not show itself while the window lasts.
      const free = Math.max(endsAt, ...answers.map((answer) => bench.retryAt(answer) ?? 0));
      await bench.sleep(free + tickMs - bench.clock.now(), "the window's end, to see whether the key is admitted again");
      const after = await bench.probe(key);
      if (isAdmitted(after)) return { seen: `no ban came in ${refusals}${unanswered}`, failures: [], figures };
      return {
        seen: `${refusals} that named the window's end; after it: ${after.status}${unanswered}`,
        failures: [`a ban came that no Retry-After told of: ${after.status} after the time that the refusals had named`],
        figures: { ...figures, banned: 'yes', status: after.status },
      };
    }
    const until = bench.retryAt(answers[at]!);
    const figures = { 'refusals after the grace': at + 1, banned: 'yes', status: answers[at]!.status };
    const seen = `banned at the ${at + 1}${ordinal(at + 1)} refusal later than ${graceMs / 1_000} s after the first`;
    if (until === undefined)
      return { seen, failures: [`the ban (${answers[at]!.status}) does not say how long it lasts`], figures };
    const seconds = (until - answers[at]!.receivedAt) / 1_000;
    bench.bans.add(key, { from: answers[at]!.receivedAt, to: until });
    if (seconds * 1_000 > maxBanMs) throw new Inconclusive(`${seen}, for ${duration(seconds)}: too long to wait for`);
    await bench.sleep(until + tickMs - bench.clock.now(), 'the end of the ban');
    const after = await bench.probe(key);
    return {
      seen: `${seen}, for ${duration(seconds)}; after that: ${after.status}`,
      failures: isAdmitted(after)
        ? []
        : [`the ban did not end: ${after.status} after the ${duration(seconds)} that Retry-After had said`],
      figures: { ...figures, 'length, s': seconds },
    };
  },
} as const satisfies Scenario<'ban'>;

/** A first refusal in a window that lasts long enough for all that may follow. */
async function atTheBeginning(bench: Bench, key: Key): Promise<Answer> {
  const told = await bench.fresh(key);
  const leftMs = told.standing.reset * 1_000 - bench.serverClock.at(bench.clock.now());
  if (leftMs < spanS * 1_000 + graceMs + 5_000)
    await bench.untilServer(told.standing.reset * 1_000, 'a window that is long enough for a ban');
  return bench.drained(key);
}

function ordinal(n: number): string {
  return n % 100 >= 11 && n % 100 <= 13 ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th');
}
