/**
 * A client that waits for `Retry-After` is admitted at once. A client that retries early shows whether the limit holds
 * until then.
 *
 * The specification does not demand that an early retry is refused: a client that is admitted before an unnecessarily
 * late `Retry-After` exceeds no limit, and a server may round `Retry-After` and `Reset` up by some seconds. What an
 * early retry that is admitted shows is judged with the history of the key. There is only one early retry that is
 * refused, because a server may ban for a third refusal, and none if `Retry-After` is too short for it.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { drainedCost, DemandNotMet, type ScenarioContext } from '../context.ts';
import { isAdmitted, isRefused, wrongIn, type Response } from '../responses.ts';
import type { Scenario } from '../scenario.ts';

/** How early the early retry is sent: before the end of the window even if Retry-After and Reset are 5 s late. */
const earlyMs = 5_250;
/** The number of requests that are sent after an early retry that was admitted as the last one. */
const furtherRequests = 3;
/** A tick of the clock, which is added to the wait so that it is never shorter than Retry-After. */
const tickMs = 20;
/** The longest Retry-After that a run waits for. */
const maxWaitMs = 120_000;

export const recovery: Scenario = {
  name: 'recovery',
  text: 'a refused client that waits for Retry-After, and one that retries early',
  demanded: 'admitted once Retry-After has passed; no limit exceeded before it',
  cost: ({ limit }) => ({ withKey: limit + drainedCost(limit) + 2 + furtherRequests, seconds: 40 }),

  async run(context) {
    const { client, clock, keys } = context;
    const first = await context.drained(keys.main);
    const early: Response[] = [];
    const firstAt = retryAtOf(context, first);
    const waitMs = firstAt - first.receivedAt;
    const earlyAt = Math.min(firstAt, client.ourTime((first.reading?.reset ?? Infinity) * 1_000)) - earlyMs;
    if (earlyAt >= clock.now()) {
      await context.sleep(earlyAt - clock.now(), `for an early retry (Retry-After was ${seconds(waitMs)})`);
      do early.push(await context.probe(keys.main));
      // Only the last request that the limit permits leaves none. Further ones show whether the limit holds.
      while (early.length <= furtherRequests && isAdmitted(early.at(-1)!) && early.at(-1)!.reading?.remaining === 0);
    }
    const refusal = early.findLast(isRefused) ?? first;
    const wait = retryAtOf(context, refusal) + tickMs - clock.now();
    await context.sleep(wait, `as long as Retry-After said (${seconds(waitMs)})`);
    const last = await context.probe(keys.main);
    const failures = [...wrongIn([...early, last]), ...context.contradictions(keys.main, first)];
    if (failures.length === 0 && !isAdmitted(last)) {
      const waited = `a client that waited for Retry-After (${seconds(waitMs)})`;
      throw new Inconclusive(`${waited} got ${last.status}: perhaps a ban`);
    }
    return {
      seen: [
        ...early.slice(0, 1).map(({ status }) => `${seconds(firstAt - earlyAt)} early: ${status}`),
        `after Retry-After: ${last.status}`,
      ].join(', '),
      failures,
      figures: { retry_after_s: waitMs / 1_000, early_requests: Math.min(early.length, 1), late_status: last.status },
    };
  },
};

/** When the client may retry. */
function retryAtOf(context: ScenarioContext, refusal: Response): number {
  const at = context.retryAt(refusal);
  if (at === undefined) {
    const missing = refusal.message.all('Retry-After').length === 0;
    throw new DemandNotMet(`a 429 has ${missing ? 'no' : 'neither whole seconds nor an HTTP date in'} Retry-After`);
  }
  const waitMs = at - refusal.receivedAt;
  if (waitMs > maxWaitMs) throw new Inconclusive(`Retry-After is ${seconds(waitMs)}, too long to wait for`);
  return at;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 10) / 100} s`;
}
