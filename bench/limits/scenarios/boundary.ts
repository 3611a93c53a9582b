/**
 * What one key can send around the border between two windows: all that remains just before the server's own `Reset`,
 * and all that is available just after it.
 *
 * The specification promises requests per minute, and leaves open when a minute begins. In 60 s around a border, fixed
 * windows admit twice the limit, a token bucket almost twice, and a sliding window once; none admits more. What each
 * window admitted is judged with the history of the key.
 */
import { familyOf } from '../../../conformance/limits/fit.ts';
import { count } from '../../../conformance/report/words.ts';
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { freshCost } from '../context.ts';
import { contradictionsIn, exchangesOf } from '../log.ts';
import { isAdmitted, isRefused, wrongIn, type Response } from '../responses.ts';
import type { Scenario } from '../scenario.ts';

/**
 * Requests beyond the limit on either side, which show that it is enforced. With a key of the user it is one, because a
 * server may ban a key for a third refusal. Otherwise they use every connection: a server may forget a limit on one.
 */
const overdraftOf = (unlimitedKeys: boolean, connections: number): number => (unlimitedKeys ? 2 * connections : 1);
/** How long before Reset the first responses must be received, because Reset may be two seconds late. */
const leadMs = 3_000;
/** How often the scenario is tried: again if the responses came too late. */
const attempts = 2;
const minuteMs = 60_000;

export const boundary: Scenario = {
  name: 'boundary',
  text: "what one key can send in any 60 s: its whole limit just before the server's own Reset, and again just after",
  demanded: 'no more than the limit admitted in either window, and so no more than twice the limit in any 60 s',
  cost: ({ limit, unlimitedKeys, connections }) => ({
    withKey: attempts * (2 * (limit + overdraftOf(unlimitedKeys, connections) + freshCost)),
    seconds: unlimitedKeys ? 50 : 110,
  }),

  async run(context) {
    const { settings: { connections }, client, clock } = context;
    let tookMs = 0;
    for (let attempt = 1; ; attempt++) {
      const key = await context.keys.spare();
      const overdraft = overdraftOf(key.own, connections);
      const start = await context.fresh(key);
      const { limit, remaining, reset } = start.rateLimits;
      // Twice the duration of the last attempt, or an estimate: twice the first latency per response, at least 2 ms.
      const burstMs = Math.max(2 * tookMs, Math.ceil(remaining / connections) * Math.max(2, 2 * start.latencyMs));
      const endBy = client.serverClock.timeBefore(reset * 1_000);
      await context.sleep(endBy - leadMs - burstMs - clock.now(), "until just before the server's own Reset");
      context.doing(`${remaining + overdraft} requests before the border`);
      const began = clock.now();
      const burst = await context.send({ key, amount: remaining + overdraft, connections });
      tookMs = clock.now() - began;
      await context.untilServer(reset * 1_000, "until the server's own Reset");
      context.doing(`${limit} requests after the border`);
      // If nothing is available yet, a whole limit of refused requests could get the key banned.
      const first = await context.probe(key);
      const isMoved = burst.responses.some(({ rateLimits }) => (rateLimits?.reset ?? 0) > reset);
      const isEarly = isRefused(first) && !isMoved;
      if (isEarly && !((first.date ?? 0) >= reset * 1_000))
        throw new Inconclusive('nothing was admitted after Reset, and no Date shows that Reset had passed');
      const room = isAdmitted(first) ? Math.min(first.rateLimits?.remaining ?? 0, limit - 1) + overdraft : 0;
      const rest = await context.send({ key, amount: room, connections });
      const lost = burst.lost + rest.lost;
      if (lost > 0) throw new Inconclusive(`${count(lost, 'request')} got no response`);
      const [before, after] = [[start, ...burst.responses], [first, ...rest.responses]];
      const all = [...before, ...after];
      const windows = familyOf(exchangesOf(all));
      const isLate = began + tookMs > endBy && windows.startsWith('fixed');
      if (isLate && attempt < attempts) continue;
      const [early, late] = [before.filter(isAdmitted).length, after.filter(isAdmitted).length];
      const most = mostAdmittedIn(minuteMs, all);
      const failures = [...wrongIn(all), ...(isEarly ? ["nothing was admitted after the server's own Reset"] : [])];
      if (most > 2 * limit) failures.push(`${most} requests were admitted within 60 s, more than twice ${limit}`);
      failures.push(...contradictionsIn(context.responsesOf(key)));
      // What each window admitted can be judged even if this machine was too slow to end the burst before the border.
      const note = isLate ? '; the requests before the border did not all end before it' : '';
      return {
        seen: `${early} admitted before the border and ${late} after it, ${most} of these ${early + late} in the `
          + `fullest 60 s (limit ${limit}); windows: ${windows}${note}`,
        failures,
        figures: {
          ...{ limit_requests: limit, before_requests: early, after_requests: late },
          ...{ most_in_60_s_requests: most, windows },
        },
      };
    }
  },
};

/** The most requests that were admitted in any span of `spanMs`, by the times at which responses were received. */
export function mostAdmittedIn(spanMs: number, responses: readonly Response[]): number {
  const times = responses.filter(isAdmitted).map(({ receivedAt }) => receivedAt).sort((a, b) => a - b);
  let most = 0;
  for (let from = 0, to = 0; to < times.length; to++) {
    while (times[to]! - times[from]! >= spanMs) from++;
    most = Math.max(most, to - from + 1);
  }
  return most;
}
