/**
 * What a quiet key notices of another that floods: its latencies alone and beside the flood, in turn. The flood is what the other
 * key is admitted, and not a request more: nothing is refused, and nobody banned. Where keys cost nothing there are several rounds,
 * each with a new one; with a key of few requests a minute a round is short.
 */
import { Skipped } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { freshCost } from '../bench.ts';
import { compared, quietConnections, quietPace } from '../quiet.ts';
import type { Asked, Scenario } from '../scenario.ts';
import type { Answer } from '../answer.ts';
import type { Sent } from '../drive.ts';

/** With keys of our own making. */
const maxRounds = 5;

/** What one key is admitted in a round, and how long that takes. */
function floodOf(
  { rate, duration }: Pick<Asked, 'rate' | 'duration'>,
  room: number,
): { readonly amount: number; readonly seconds: number } {
  const amount = Math.max(1, Math.min(room, rate * duration));
  return { amount, seconds: amount / rate };
}

function roundsOf({ rate, duration }: Pick<Asked, 'rate' | 'duration'>, plenty: boolean, limit: number): number {
  return plenty ? Math.min(maxRounds, Math.max(1, Math.ceil((rate * duration) / limit))) : 1;
}

export const neighbour = {
  name: 'neighbour',
  text: 'what a quiet key notices of another that floods: its latencies with and without (needs a second key)',
  demanded: 'no request of the quiet key is refused or lost; its latencies are told, not judged',
  cost: (asked) => {
    if (!asked.plenty && !asked.hasQuiet) return { withKey: 0, seconds: 0 };
    const rounds = roundsOf(asked, asked.plenty, asked.limit);
    const flood = floodOf(asked, asked.limit);
    return {
      withKey: rounds * (flood.amount + freshCost),
      // Of a key that was given nobody knows the plan.
      quiet: rounds * (2 * quietPace(asked.plenty ? Math.floor(asked.limit / 2) : Infinity, flood.seconds).amount + freshCost),
      seconds: rounds * (2 * Math.max(flood.seconds, 1) + 1) + (asked.plenty ? 0 : 40),
    };
  },

  async run(bench) {
    const met = { alone: { answers: [] as Answer[], lost: 0 }, beside: { answers: [] as Answer[], lost: 0 } };
    const add = (to: { answers: Answer[]; lost: number }, { answers, lost }: Sent): void => {
      to.answers.push(...answers);
      to.lost += lost;
    };
    let flooded = 0;
    let rounds = 1;
    for (let round = 1; round <= rounds; round++) {
      const quiet = await bench.keys.quiet();
      if (quiet === undefined) throw new Skipped('it needs a second key: NEIGHBOUR_KEY, or --neighbour-key KEY');
      const key = await bench.keys.spare();
      const [told, own] = [await bench.fresh(key), await bench.fresh(quiet)];
      rounds = roundsOf(bench.settings, bench.keys.plenty, told.standing.limit);
      const flood = floodOf(bench.settings, told.standing.remaining);
      const pace = {
        key: quiet,
        connections: quietConnections,
        ...quietPace(Math.floor(own.standing.remaining / 2), flood.seconds),
      };
      bench.doing(`round ${round} of ${rounds}: the quiet key alone`);
      add(met.alone, await bench.send(pace));
      bench.doing(`round ${round} of ${rounds}: beside the flood`);
      const { connections, rate } = bench.settings;
      const [beside, sent] = await bench.sendBoth({ ...pace, mayAllBeLost: true }, { key, amount: flood.amount, connections, rate });
      add(met.beside, beside);
      flooded += sent.answers.length + sent.lost;
    }
    const { seen, failures, figures } = compared(met);
    return {
      seen: `${seen}, beside a flood of ${count(flooded, 'request')} in ${count(rounds, 'round')}`,
      failures,
      figures: { ...figures, 'requests of the flood': flooded, rounds },
    };
  },
} as const satisfies Scenario<'neighbour'>;
