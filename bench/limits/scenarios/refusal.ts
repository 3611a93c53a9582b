/**
 * What a 429 costs against a 200: the latencies of a key that is driven beyond its limit, a handful of refusals a window. Where keys
 * cost nothing there are several rounds, each with a new one. As few connections as will do, so that no request waits for another.
 */
import { Inconclusive } from '../../../conformance/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { countsOf, isAdmitted, isRefused, otherInWords, type Answer } from '../answer.ts';
import { freshCost } from '../bench.ts';
import { latencyOf, milliseconds, ratio } from '../latency.ts';
import type { Scenario } from '../scenario.ts';

/** Refusals a round: no server has a reason to ban for so few. */
const refusals = 5;

/** With keys of our own making. */
const manyRounds = 10;

/** A round may take so long: well within a window. */
const roundMs = 8_000;

export const refusal = {
  name: 'refusal',
  text: 'what a 429 costs against a 200: both latencies, from a handful of refusals a window',
  demanded: 'every request beyond the limit is answered 429; its cost is told, not judged',
  cost: ({ limit, plenty }) => {
    const rounds = plenty ? manyRounds : 1;
    return { withKey: rounds * (limit + refusals + freshCost), seconds: plenty ? 5 : 40 };
  },

  async run(bench) {
    const rounds = bench.keys.plenty ? manyRounds : 1;
    const all: Answer[] = [];
    for (let round = 1; round <= rounds; round++) {
      const key = await bench.keys.spare();
      const { standing, latencyMs } = await bench.fresh(key);
      bench.doing(`round ${round} of ${rounds}: beyond the limit by ${refusals}`);
      const connections = Math.min(bench.settings.connections, Math.ceil((standing.remaining * latencyMs) / roundMs));
      all.push(...(await bench.send({ key, amount: standing.remaining + refusals, connections })).answers);
    }
    const other = otherInWords(countsOf(all));
    const [ok, refused] = [latencyOf(all.filter(isAdmitted)), latencyOf(all.filter(isRefused))];
    const failures = other === undefined ? [] : [`${other}, where only 2xx and 429 were due`];
    if (failures.length === 0 && refused === undefined)
      throw new Inconclusive(`no 429 came, though ${refusals} requests more were sent than remained`);
    const times = ratio(refused?.p50, ok?.p50);
    return {
      seen:
        ok === undefined || refused === undefined
          ? 'no latencies to compare'
          : `p50 ${milliseconds(refused.p50)} of ${count(refused.n, '429', '429s')} against ${milliseconds(ok.p50)} of ${count(ok.n, '200', '200s')}: ×${times ?? '?'}`,
      failures,
      figures: {
        ...(times !== undefined && { 'p50 of 429 against 200': times }),
        ...(ratio(refused?.p99, ok?.p99) !== undefined && { 'p99 of 429 against 200': ratio(refused?.p99, ok?.p99)! }),
        rounds,
      },
    };
  },
} as const satisfies Scenario<'refusal'>;
