/**
 * What a 429 costs against a 200: the latencies of a key that is driven beyond its limit, a handful of refusals a window. Where keys
 * cost nothing there are several rounds, each with a new one. As few connections as will do, so that no request waits for another.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { isAdmitted, isRefused, wrongOf, type Answer, type Told } from '../answer.ts';
import { freshCost } from '../bench.ts';
import type { Sent } from '../drive.ts';
import { latencyOf, milliseconds, ratio } from '../latency.ts';
import type { Scenario } from '../scenario.ts';
import { comingBack, windowsOf, windowTurned, type Windows } from '../windows.ts';

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
    const [all, failures]: [Answer[], string[]] = [[], []];
    let unjudged: string | undefined;
    for (let round = 1; round <= rounds; round++) {
      const key = await bench.keys.spare();
      const told = await bench.fresh(key);
      const { remaining } = told.standing;
      bench.doing(`round ${round} of ${rounds}: beyond the limit by ${refusals}`);
      const connections = Math.min(bench.settings.connections, Math.ceil((remaining * told.latencyMs) / roundMs));
      const sent = await bench.send({ key, amount: remaining + refusals, connections });
      all.push(...sent.answers);
      const verdict = judged(told, sent, windowsOf([told, ...sent.answers], bench.serverClock));
      if (verdict.failure !== undefined) failures.push(verdict.failure);
      unjudged ??= verdict.unjudged;
    }
    failures.push(...wrongOf(all));
    if (failures.length === 0 && unjudged !== undefined) throw new Inconclusive(unjudged);
    const [ok, refused] = [latencyOf(all.filter(isAdmitted)), latencyOf(all.filter(isRefused))];
    const times = ratio(refused?.p50, ok?.p50);
    return {
      seen:
        ok === undefined || refused === undefined
          ? 'no latencies to compare, the first answers on each connection left out'
          : `p50 ${milliseconds(refused.p50)} of ${count(refused.n, '429', '429s')} against ${milliseconds(ok.p50)} of ${count(ok.n, '200', '200s')}: ×${times ?? '?'}`,
      failures: [...new Set(failures)],
      figures: {
        ...(times !== undefined && { 'p50 of 429 against 200': times }),
        ...(ratio(refused?.p99, ok?.p99) !== undefined && { 'p99 of 429 against 200': ratio(refused?.p99, ok?.p99)! }),
        rounds,
      },
    };
  },
} as const satisfies Scenario<'refusal'>;

/** Whether all requests beyond the limit were refused; or why nobody can tell. */
function judged(
  told: Told,
  { answers, lost }: Sent,
  windows: Windows,
): { readonly failure?: string; readonly unjudged?: string } {
  const { limit, remaining } = told.standing;
  const [admitted, refused] = [answers.filter(isAdmitted).length, answers.filter(isRefused).length];
  if (windows === 'fixed' && windowTurned([told, ...answers]))
    return { unjudged: 'the window turned while the requests were under way' };
  const moves = windows === 'move';
  const room = remaining + (moves ? comingBack(limit, answers).requests : 0);
  if (admitted > room) return { failure: `${admitted} requests were admitted, where ${remaining} remained` };
  const without = `${count(lost, 'request')} got no answer`;
  // With all admitted that might be, what was lost was beyond the limit.
  if (lost > 0) return admitted === room ? { failure: `${without}, where a 429 was due` } : { unjudged: without };
  if (refused === 0 && moves)
    return { unjudged: `no 429 came, though ${refusals} requests more were sent than remained: the window moves` };
  return {};
}
