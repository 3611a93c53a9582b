/**
 * What one key can push through across a border: all that remains just before the server's own `Reset`, and all
 * that has come back just after it.
 *
 * The specification promises requests per minute and leaves open how minutes are cut. Fixed windows let through two limits in a few
 * seconds across a border, a bucket that fills lets through two in a minute, a sliding window only one: none is more than two.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { count } from '../../../conformance/report/words.ts';
import { isAdmitted, isRefused, wrongOf, type Answer, type Told } from '../answer.ts';
import { freshCost, type Bench } from '../bench.ts';
import type { Key } from '../keys.ts';
import type { Finding, Scenario } from '../scenario.ts';
import { mostAdmittedIn, unsteady, windowsOf, type Windows } from '../windows.ts';

/** Requests beyond the limit, on either side, so that the limit shows. */
const overdraft = 2;

/** The requests before the border must have been answered by then. */
const leadMs = 1_000;

/** How often it is tried, where they were not. */
const attempts = 2;

const minuteMs = 60_000;

export const boundary = {
  name: 'boundary',
  text: "what one key can push through in any 60 s: its whole limit just before the server's own Reset, and again just after",
  demanded: 'no more than the limit admitted in either window, and so no more than twice the limit in any 60 s',
  cost: ({ limit, plenty }) => ({ withKey: attempts * (2 * (limit + overdraft) + freshCost), seconds: plenty ? 50 : 90 }),

  async run(bench) {
    const { connections } = bench.settings;
    let tookMs = 0;
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const key = await bench.keys.spare();
      const told = await bench.fresh(key);
      const { limit, remaining, reset } = told.standing;
      // As long as it took, or takes if each answer takes as long as the slower of twice the first, and 2 ms.
      const burstMs = Math.max(tookMs, Math.ceil(remaining / connections) * Math.max(2, 2 * told.latencyMs));
      const start = bench.serverClock.ours(reset * 1_000) - bench.serverClock.marginMs - leadMs - burstMs;
      await bench.sleep(start - bench.clock.now(), "the last moment before the server's own Reset");
      bench.doing(`${remaining + overdraft} requests before the border`);
      const began = bench.clock.now();
      const before = await bench.send({ key, amount: remaining + overdraft, connections });
      tookMs = bench.clock.now() - began;
      const late = bench.serverClock.at(bench.clock.now()) >= reset * 1_000;
      await bench.untilServer(reset * 1_000, "the server's own Reset");
      bench.doing(`${limit} requests after the border`);
      // Where nothing has come back, a whole limit of refusals would ask for a ban.
      const probed = await probedAfter(bench, key, told, before.answers);
      const first = probed.at(-1)!;
      const room = isAdmitted(first) ? Math.min(first.standing?.remaining ?? 0, limit - 1) + overdraft + 1 - probed.length : 0;
      const rest = await bench.send({ key, amount: room, connections });
      if (before.lost + rest.lost > 0) throw new Inconclusive(`${count(before.lost + rest.lost, 'request')} got no answer`);
      const after = [...probed, ...rest.answers];
      const windows = windowsOf([told, ...before.answers, ...after], bench.serverClock);
      if (!late || windows === 'move') return judged(told, before.answers, after, windows);
    }
    throw new Inconclusive(`the requests before the border took longer than until it came, ${attempts} times`);
  },
} as const satisfies Scenario<'boundary'>;

/** Whether the Reset that was told first is also the last that was named. */
function lastNamed({ standing: { reset } }: Told, before: readonly Answer[]): boolean {
  return before.every(({ standing }) => (standing?.reset ?? 0) <= reset);
}

/** The first answer after the border, or the first two. */
async function probedAfter(bench: Bench, key: Key, told: Told, before: readonly Answer[]): Promise<readonly Answer[]> {
  const first = await bench.probe(key);
  if (!isRefused(first) || !lastNamed(told, before)) return [first];
  if (!bench.serverClock.known)
    throw new Inconclusive('nothing was admitted after Reset, and no Date tells whether it had come');
  // The server's clock may be behind ours by as much as its Date leaves open.
  await bench.sleep(bench.serverClock.passed(told.standing.reset * 1_000) - bench.clock.now(), "the server's own Reset, for certain");
  return [first, await bench.probe(key)];
}

function judged(told: Told, before: readonly Answer[], after: readonly Answer[], windows: Windows): Finding {
  const { limit, remaining } = told.standing;
  const all = [told, ...before, ...after];
  // What others used of the window counts, too.
  const [first, second] = [limit - remaining + before.filter(isAdmitted).length, after.filter(isAdmitted).length];
  const most = mostAdmittedIn(minuteMs, all);
  const failures = [...wrongOf(all)];
  const fixed = windows === 'fixed';
  if (windows === 'unsteady') failures.push(unsteady);
  // Who is refused at a Reset that was the last one named has been told a wrong one.
  if (after.every(isRefused) && lastNamed(told, before))
    failures.push("nothing was admitted after the server's own Reset");
  if (fixed && first > limit)
    failures.push(`${first} requests were admitted in the window before the border, ${first - limit} more than its limit`);
  if (fixed && second > limit)
    failures.push(`${second} requests were admitted in the window after the border, ${second - limit} more than its limit`);
  if (most > 2 * limit) failures.push(`${most} requests were admitted within 60 s, more than twice the limit of ${limit}`);
  return {
    seen: `${most} admitted in the fullest 60 s (limit ${limit}): ${first} before the border, ${second} after it${windows === 'move' ? '; the window moves, so only the 60 s are judged' : ''}`,
    failures,
    figures: {
      limit,
      'admitted before the border': first,
      'admitted after the border': second,
      'most admitted in any 60 s': most,
      windows,
    },
  };
}
