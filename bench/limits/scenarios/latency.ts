/**
 * What a refusal costs compared with a request that is admitted: the latencies of 429 and 200. The key sends what
 * remains and some requests more, over as few connections as necessary, so that no request waits for another. A key of
 * the user has few refusals, because a server may ban it for a third one.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { freshCost } from '../context.ts';
import { isAdmitted, isRefused, latencyOf, milliseconds, minRatioLatencies, ratioOf, wrongIn } from '../responses.ts';
import type { Scenario } from '../scenario.ts';

/** The time for what remains of the key. */
const burstMs = 8_000;
/** The requests beyond what remains: with a key that was created for the run, and with one of the user. */
const beyond = (unlimitedKeys: boolean): number => (unlimitedKeys ? 250 : 2);

export const latency: Scenario = {
  name: 'latency',
  text: 'what a refusal (429) costs compared with a 200; most refusals are those of keys of our own server',
  demanded: 'every response is 2xx or 429; the latencies are reported, not judged',
  cost: ({ limit, unlimitedKeys }) =>
    ({ withKey: limit + beyond(unlimitedKeys) + freshCost, seconds: 5 }),

  async run(context) {
    const { settings, keys } = context;
    const key = await keys.spare();
    const { rateLimits: { remaining }, latencyMs } = await context.fresh(key);
    const connections = Math.min(settings.connections, Math.ceil((remaining * latencyMs) / burstMs));
    const { responses: all, lost } = await context.send({ key, amount: remaining + beyond(key.own), connections });
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
