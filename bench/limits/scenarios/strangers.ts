/**
 * A flood without a key must neither slow nor refuse those who have one. The latencies of a quiet key are measured alone and beside
 * the flood. Refused it must never be.
 *
 * Slowed it counts only by a wide margin, and only if a second try says the same: a noisy machine swings by two, and the flood and the
 * quiet client share the bench's own process. The margin is what a client would notice, and what a server that does hard work for
 * every stranger (hashing a password, say, or asking a database) easily exceeds.
 */
import { count } from '../../../conformance/report/words.ts';
import { isRefused, statusesOf } from '../answer.ts';
import { freshCost, type Bench } from '../bench.ts';
import { milliseconds } from '../latency.ts';
import { compared, quietConnections, quietPace } from '../quiet.ts';
import type { Finding, Scenario } from '../scenario.ts';

/** So many times as long, and so many milliseconds longer, half of its answers take at least. */
const slowed = { times: 3, ms: 20 } as const;

/** How often it is measured until the key counts as slowed. */
const attempts = 2;

export const strangers = {
  name: 'strangers',
  text: 'what those who have a key notice of a flood without one: latencies with and without',
  demanded: `nobody without a key is served, and no request with one is refused or lost; its p50 is not more than ${slowed.times} times and ${slowed.ms} ms above that without the flood`,
  cost: ({ limit, rate, duration, plenty }) => ({
    withKey: attempts * (limit + freshCost),
    withoutKey: attempts * rate * duration,
    seconds: 2 * duration + (plenty ? 2 : 40),
  }),

  async run(bench) {
    for (let attempt = 1; ; attempt++) {
      const { finding, slow } = await measured(bench);
      if (slow === undefined || finding.failures.length > 0) return finding;
      if (attempt === attempts) return { ...finding, failures: [`the flood slowed the key, ${attempts} times: ${slow}`] };
    }
  },
} as const satisfies Scenario<'strangers'>;

/** One try, and how much the key was slowed; undefined where it was not, or by less than counts. */
async function measured(bench: Bench): Promise<{ readonly finding: Finding; readonly slow: string | undefined }> {
  const { connections, rate, duration } = bench.settings;
  const key = await bench.keys.spare();
  const { standing } = await bench.fresh(key);
  // Both halves fit into what remained; where the window turns meanwhile there is all the more room.
  const pace = { key, connections: quietConnections, ...quietPace(Math.floor(standing.remaining / 2), duration) };
  bench.doing('the key alone');
  const alone = await bench.send(pace);
  bench.doing('the key beside a flood without one');
  const [beside, { answers, lost }] = await bench.sendBoth(
    { ...pace, mayAllBeLost: true },
    { key: undefined, amount: rate * duration, connections, rate },
  );
  const { without, with: withFlood, seen, failures, figures } = compared({ alone, beside });
  const undue = statusesOf(answers.filter((answer) => answer.status !== 401 && !isRefused(answer)));
  const isSlow = withFlood.p50 > slowed.times * without.p50 && withFlood.p50 - without.p50 > slowed.ms;
  return {
    finding: {
      seen: `${seen}, beside ${count(answers.length + lost, 'request')} without a key (${[statusesOf(answers), ...(lost > 0 ? [`${lost} without an answer`] : [])].join(', ')})`,
      failures: [
        ...failures,
        ...(undue === undefined ? [] : [`of the requests without a key, ${undue}, where only 401 and 429 were due`]),
      ],
      figures: {
        ...figures,
        'requests of the flood': answers.length + lost,
        'refused of the flood': answers.filter(isRefused).length,
        'lost of the flood': lost,
      },
    },
    slow: isSlow ? `p50 ${milliseconds(without.p50)} without it, ${milliseconds(withFlood.p50)} with it` : undefined,
  };
}
