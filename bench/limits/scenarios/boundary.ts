/**
 * What one key can send across the border of two windows: all that remains just before the server's own `Reset`, and
 * all that has come back just after it.
 *
 * The specification promises requests per minute, and leaves open how minutes are cut. Fixed windows admit two limits
 * within a few seconds across a border, a bucket that fills admits two in a minute, a sliding window only one: none
 * admits more than two.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { freshCost } from '../context.ts';
import { isAdmitted, isRefused, wrongIn, type Read, type Response } from '../responses.ts';
import type { Finding, Scenario } from '../scenario.ts';
import { mostAdmittedIn, unsteady, windowsOf, type Windows } from '../windows.ts';

/** Requests beyond the limit, on either side, so that the limit shows. */
const overdraft = 2;
/** The requests before the border must have their responses so much earlier. */
const leadMs = 1_000;
/** How often it is tried, if they did not. */
const attempts = 2;
const minuteMs = 60_000;

export const boundary: Scenario = {
  name: 'boundary',
  text: "what one key can send in any 60 s: its whole limit just before the server's own Reset, and again just after",
  demanded: 'no more than the limit admitted in either window, and so no more than twice the limit in any 60 s',
  cost: ({ limit, unlimitedKeys }) =>
    ({ withKey: attempts * (2 * (limit + overdraft) + freshCost), seconds: unlimitedKeys ? 50 : 90 }),

  async run(context) {
    const { settings: { connections }, client, clock } = context;
    let tookMs = 0;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const key = await context.keys.spare();
      const start = await context.fresh(key);
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
      const windows = windowsOf([start, ...before.responses, ...after]);
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
  for (const side of ['before', 'after'] as const) {
    const more = admitted[side] - limit;
    if (windows !== 'fixed' || more <= 0) continue;
    const where = `in the window ${side} the border`;
    failures.push(`${admitted[side]} requests were admitted ${where}, ${more} more than its limit`);
  }
  if (most > 2 * limit) failures.push(`${most} requests were admitted within 60 s, more than twice ${limit}`);
  const sides = `${admitted.before} before the border, ${admitted.after} after it`;
  const moves = windows === 'move' ? '; the window moves, so only the 60 s are judged' : '';
  return {
    seen: `${most} admitted in the fullest 60 s (limit ${limit}): ${sides}${moves}`,
    failures,
    figures: {
      limit,
      'admitted before the border': admitted.before,
      'admitted after the border': admitted.after,
      'most admitted in any 60 s': most,
      windows,
    },
  };
}
