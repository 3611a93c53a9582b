/**
 * What one key can send around the border between two windows: all that remains just before the server's own `Reset`,
 * and all that is available just after it.
 *
 * The specification promises requests per minute, and leaves open when a minute begins. In 60 s around a border, fixed
 * windows admit twice the limit, a token bucket almost twice, and a sliding window once; none admits more. What each
 * window admitted is judged with the history of the key.
 *
 * The first request is sent in the middle of a clock minute. Otherwise a server whose windows start with a request, but
 * whose `Reset` is the end of the clock minute, could be right by chance.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { freshCost } from '../context.ts';
import { isFixed } from '../history.ts';
import { isAdmitted, isRefused, wrongIn, type Read, type Response } from '../responses.ts';
import type { Scenario } from '../scenario.ts';
import { mostAdmittedIn } from '../windows.ts';

/** Requests beyond the limit on either side, which show that it is enforced. A server may ban for a third refusal. */
const overdraft = 1;
/** How long before Reset the first responses must be received, because Reset may be two seconds late. */
const leadMs = 3_000;
/** A window that ends later than this after its first request may start with the request or with the clock minute. */
const wholeMs = 50_000;
/** How long after the start of a clock minute the next window is then used first. */
const offMinuteMs = 15_000;
/** How often the scenario is tried: again if the responses came too late. */
const attempts = 2;
const minuteMs = 60_000;

export const boundary: Scenario = {
  name: 'boundary',
  text: "what one key can send in any 60 s: its whole limit just before the server's own Reset, and again just after",
  demanded: 'no more than the limit admitted in either window, and so no more than twice the limit in any 60 s',
  cost: ({ limit, unlimitedKeys }) =>
    ({ withKey: attempts * (2 * (limit + overdraft + freshCost)), seconds: unlimitedKeys ? 50 : 110 }),

  async run(context) {
    const { settings: { connections }, client, clock } = context;
    let tookMs = 0;
    for (let attempt = 1; ; attempt++) {
      const key = await context.keys.spare();
      let start = await context.fresh(key);
      if (start.reading.reset * 1_000 - client.serverTime(start.sentAt) > wholeMs) {
        await context.untilServer(start.reading.reset * 1_000 + offMinuteMs, "until the middle of a clock minute");
        start = await context.fresh(key);
      }
      const { limit, remaining, reset } = start.reading;
      // Twice the duration of the last attempt, or an estimate: twice the first latency per response, at least 2 ms.
      const burstMs = Math.max(2 * tookMs, Math.ceil(remaining / connections) * Math.max(2, 2 * start.latencyMs));
      const startAt = client.ourTime(reset * 1_000) - client.marginMs - leadMs - burstMs;
      await context.sleep(startAt - clock.now(), "until just before the server's own Reset");
      context.doing(`${remaining + overdraft} requests before the border`);
      const began = clock.now();
      const before = await context.send({ key, amount: remaining + overdraft, connections });
      tookMs = clock.now() - began;
      const late = client.serverTime(clock.now()) >= reset * 1_000;
      await context.untilServer(reset * 1_000, "until the server's own Reset");
      context.doing(`${limit} requests after the border`);
      // If nothing is available yet, a whole limit of refused requests could get the key banned.
      const first = await context.probe(key);
      if (isRefused(first) && isLast(start, before.responses) && !((first.message.date ?? 0) >= reset * 1_000)) {
        throw new Inconclusive('nothing was admitted after Reset, and no Date shows that Reset had passed');
      }
      const room = isAdmitted(first) ? Math.min(first.reading?.remaining ?? 0, limit - 1) + overdraft : 0;
      const rest = await context.send({ key, amount: room, connections });
      const lost = before.lost + rest.lost;
      if (lost > 0) throw new Inconclusive(`${count(lost, 'request')} got no response`);
      const after = [first, ...rest.responses];
      const fixed = isFixed([start, ...before.responses, ...after]);
      if (late && fixed && attempt < attempts) continue;
      // What each window admitted can be judged even if this machine was too slow to end the burst before the border.
      const finding = judge(start, before.responses, after, fixed);
      finding.failures.push(...context.contradictions(key, start));
      if (!late || !fixed) return finding;
      return { ...finding, seen: `${finding.seen}; the requests before the border did not all end before it` };
    }
  },
};

/** Whether no response before the border had a later Reset than the first one. */
function isLast({ reading: { reset } }: Read, before: readonly Response[]): boolean {
  return before.every(({ reading }) => (reading?.reset ?? 0) <= reset);
}

function judge(start: Read, before: readonly Response[], after: readonly Response[], fixed: boolean) {
  const { limit } = start.reading;
  const all = [start, ...before, ...after];
  const admitted = { before: [start, ...before].filter(isAdmitted).length, after: after.filter(isAdmitted).length };
  const most = mostAdmittedIn(minuteMs, all);
  const failures = [...wrongIn(all)];
  const none = after.every(isRefused) && isLast(start, before);
  if (none) failures.push("nothing was admitted after the server's own Reset");
  if (most > 2 * limit) failures.push(`${most} requests were admitted within 60 s, more than twice ${limit}`);
  const sides = `${admitted.before} admitted before the border and ${admitted.after} after it`;
  const fullest = `${most} of these ${admitted.before + admitted.after} in the fullest 60 s (limit ${limit})`;
  const moves = fixed ? '' : '; the window moves';
  return {
    seen: `${sides}, ${fullest}${moves}`,
    failures,
    figures: {
      limit_requests: limit,
      before_requests: admitted.before,
      after_requests: admitted.after,
      most_in_60_s_requests: most,
      windows: fixed ? 'fixed' : 'move',
    },
  };
}
