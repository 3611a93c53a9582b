/**
 * What a refusal costs compared with a request that is admitted: the latencies of 429 and 200. The key sends what
 * remains and some requests more, over as few connections as necessary, so that no request waits for another.
 *
 * If keys are created as needed, there are several rounds, each with a new key. A key of the user has one round with
 * few refusals, because a server may ban it for a third one.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { freshCost } from '../context.ts';
import {
  isAdmitted, isRefused, latencyOf, milliseconds, minRatioLatencies, ratioOf, wrongIn, type Response,
} from '../responses.ts';
import type { Scenario } from '../scenario.ts';

/** The rounds if keys are created as needed, and the longest duration of a round. */
const [maxRounds, roundMs] = [10, 8_000];
/** The requests beyond what remains: in each of these rounds, and with a key of the user. */
const [manyRefusals, fewRefusals] = [25, 2];

const beyond = (unlimitedKeys: boolean): number => (unlimitedKeys ? manyRefusals : fewRefusals);
const roundsOf = (unlimitedKeys: boolean): number => (unlimitedKeys ? maxRounds : 1);

export const latency: Scenario = {
  name: 'latency',
  text: 'what a refusal (429) costs compared with a 200; most refusals are those of keys of our own server',
  demanded: 'every response is 2xx or 429, with the X-RateLimit headers; the latencies are reported, not judged',
  cost: ({ limit, unlimitedKeys }) =>
    ({ withKey: roundsOf(unlimitedKeys) * (limit + beyond(unlimitedKeys) + freshCost), seconds: 5 }),

  async run(context) {
    const { settings, keys } = context;
    const all: Response[] = [];
    let lost = 0;
    for (let round = 0; round < roundsOf(keys.unlimited); round++) {
      const key = await keys.spare();
      const { reading: { remaining }, latencyMs } = await context.fresh(key);
      const connections = Math.min(settings.connections, Math.ceil((remaining * latencyMs) / roundMs));
      const sent = await context.send({ key, amount: remaining + beyond(keys.unlimited), connections });
      all.push(...sent.responses);
      lost += sent.lost;
    }
    const failures = wrongIn(all);
    if (failures.length === 0 && lost > 0) throw new Inconclusive(`${count(lost, 'request')} got no response`);
    const [ok, refused] = [latencyOf(all.filter(isAdmitted)), latencyOf(all.filter(isRefused))];
    const [p50, p99] = [ratioOf(refused, ok, 'p50'), ratioOf(refused, ok, 'p99')];
    return {
      seen: p50 === undefined || ok === undefined || refused === undefined
        ? `no ratio of latencies, which needs ${minRatioLatencies} of either status`
        : `p50 ${milliseconds(refused.p50)} of ${count(refused.n, '429', '429s')}, `
          + `${milliseconds(ok.p50)} of ${count(ok.n, '200', '200s')}: ×${p50}`,
      failures,
      figures: { ...(p50 !== undefined && { p50_ratio: p50 }), ...(p99 !== undefined && { p99_ratio: p99 }) },
    };
  },
};
