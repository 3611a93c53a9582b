/**
 * What one key can send across the border of two windows: all that remains just before the server's own `Reset`, and
 * all that has come back just after it.
 *
 * The specification promises requests per minute, and leaves open how minutes are cut. Fixed windows admit two limits
 * within a few seconds across a border, a bucket that fills admits two in a minute, a sliding window only one: none
 * admits more than two. What each window admitted is counted by the `Reset` that each response names, since a `Reset`
 * may be up to two seconds late, so that the window has ended before.
 *
 * The first request comes in the midst of the clock's minute: otherwise a server whose windows start with a request,
 * but whose `Reset` names the end of the clock's minute, would be right by chance.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { freshCost } from '../context.ts';
import { isAdmitted, isRefused, wrongIn, type Read, type Response } from '../responses.ts';
import type { Finding, Scenario } from '../scenario.ts';
import { admittedByReset, mostAdmittedIn, unsteady, type Windows } from '../windows.ts';

/** Requests beyond the limit, on either side, so that the limit shows. A server may ban for a third refusal. */
const overdraft = 1;
/** The requests before the border must have their responses so much earlier: a Reset may be two seconds late. */
const leadMs = 3_000;
/** A window that ends so long after its first request may have begun with it, or with the clock's minute. */
const wholeMs = 50_000;
/** In the second case, the next window begins this long after the minute. */
const offMinuteMs = 15_000;
/** How often it is tried, if they did not. */
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
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const key = await context.keys.spare();
      let start = await context.fresh(key);
      if (start.reading.reset * 1_000 - client.serverTime(start.sentAt) > wholeMs) {
        await context.untilServer(start.reading.reset * 1_000 + offMinuteMs, "until the midst of the clock's minute");
        start = await context.fresh(key);
      }
      const { limit, remaining, reset } = start.reading;
      // As long as it took, or takes if each response takes twice as long as the first, and at least 2 ms.
      const burstMs = Math.max(tookMs, Math.ceil(remaining / connections) * Math.max(2, 2 * start.latencyMs));
      const startAt = client.ourTime(reset * 1_000) - client.marginMs - leadMs - burstMs;
      await context.sleep(startAt - clock.now(), "until just before the server's own Reset");
      context.doing(`${remaining + overdraft} requests before the border`);
      const began = clock.now();
      const before = await context.send({ key, amount: remaining + overdraft, connections });
      tookMs = clock.now() - began;
      const late = client.serverTime(clock.now()) >= reset * 1_000;
      await context.untilServer(reset * 1_000, "until the server's own Reset");
      context.doing(`${limit} requests after the border`);
      // If nothing has come back, a whole limit of refusals would ask for a ban.
      const first = await context.probe(key);
      if (isRefused(first) && isLast(start, before.responses) && !client.knowsServerTime) {
        throw new Inconclusive('nothing was admitted after Reset, and no Date shows whether it had come');
      }
      const room = isAdmitted(first) ? Math.min(first.reading?.remaining ?? 0, limit - 1) + overdraft : 0;
      const rest = await context.send({ key, amount: room, connections });
      const lost = before.lost + rest.lost;
      if (lost > 0) throw new Inconclusive(`${count(lost, 'request')} got no response`);
      const after = [first, ...rest.responses];
      const windows = context.windowsFrom(start, [...before.responses, ...after]);
      if (!late || windows === 'move') return judge(start, before.responses, after, windows);
    }
    throw new Inconclusive(`the requests before the border took longer than until the border, ${attempts} times`);
  },
};

/** Whether no later Reset was shown than the first one. */
function isLast({ reading: { reset } }: Read, before: readonly Response[]): boolean {
  return before.every(({ reading }) => (reading?.reset ?? 0) <= reset);
}

function judge(start: Read, before: readonly Response[], after: readonly Response[], windows: Windows): Finding {
  const { limit, remaining } = start.reading;
  const all = [start, ...before, ...after];
  const admitted = {
    before: limit - remaining + before.filter(isAdmitted).length, // with what others have used of the window
    after: after.filter(isAdmitted).length,
  };
  const most = mostAdmittedIn(minuteMs, all);
  const failures = [...wrongIn(all)];
  if (windows === 'unsteady') failures.push(unsteady);
  const none = after.every(isRefused) && isLast(start, before);
  if (none) failures.push("nothing was admitted after the server's own Reset");
  for (const [i, { reset, count: own }] of admittedByReset(all).entries()) {
    const inAll = own + (i === 0 ? limit - remaining - 1 : 0); // with what others have used of the window
    if (windows !== 'fixed' || inAll <= limit) continue;
    const where = `in the window that ended at X-RateLimit-Reset ${reset}`;
    failures.push(`${inAll} requests were admitted ${where}, ${inAll - limit} more than its limit`);
  }
  if (most > 2 * limit) failures.push(`${most} requests were admitted within 60 s, more than twice ${limit}`);
  const sides = `${admitted.before} before the border, ${admitted.after} after it`;
  const moves = windows === 'move' ? '; the window moves, so only the 60 s are judged' : '';
  return {
    seen: `${most} admitted in the fullest 60 s (limit ${limit}): ${sides}${moves}`,
    failures,
    figures: {
      limit_requests: limit,
      before_requests: admitted.before,
      after_requests: admitted.after,
      most_in_60_s_requests: most,
      windows,
    },
  };
}
