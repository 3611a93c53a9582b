/**
 * A client that waits for `Retry-After` is admitted at once. One that retries more than two seconds early is not.
 *
 * `Retry-After` and `Reset` are rounded up to whole seconds, by some servers twice, so each may be up to two seconds
 * late. An early retry that is admitted is a failure only if it was also before `Reset`: with a `Retry-After` that is
 * longer than necessary, nobody exceeds a limit. Nor is it a failure if some requests remain after it, but not all of
 * the limit: then they return one by one, as in a token bucket whose Retry-After says when it is full. There is only
 * one early retry, because a server may ban for a third refusal, and none if `Retry-After` is too short for it, as that
 * of a token bucket is.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { drainedCost, DemandNotMet, type ScenarioContext } from '../context.ts';
import { isAdmitted, isRefused, type Response } from '../responses.ts';
import type { Scenario } from '../scenario.ts';

/** The most by which Retry-After and Reset may be late: `ceil(now + ceil(left))` is up to two seconds late. */
const roundingMs = 2_000;
/** How early the early retry is sent: the server receives it too early even if Retry-After is late. */
const earlyMs = roundingMs + 250;
/** A tick of the clock, which is added to the wait so that it is never shorter than Retry-After. */
const tickMs = 20;
/** The longest Retry-After that a run waits for. */
const maxWaitMs = 120_000;

export const recovery: Scenario = {
  name: 'recovery',
  text: 'a refused client that waits for Retry-After, and one that retries early',
  demanded: 'admitted as soon as Retry-After has passed, and not earlier',
  cost: ({ limit }) => ({ withKey: limit + drainedCost(limit) + 2, seconds: 40 }),

  async run(context) {
    const { client, clock, keys } = context;
    const first = await context.drained(keys.main);
    const failures: string[] = [];
    const tries: string[] = [];
    let refusal = first;
    const firstAt = retryAtOf(context, first);
    const waitMs = firstAt - first.receivedAt;
    const resetMs = (first.reading?.reset ?? Infinity) * 1_000;
    const earlyAt = Math.min(firstAt, client.ourTime(resetMs)) - earlyMs;
    if (earlyAt >= clock.now()) {
      await context.sleep(earlyAt - clock.now(), `for an early retry (Retry-After was ${seconds(waitMs)})`);
      const response = await context.probe(keys.main);
      const early = seconds(firstAt - earlyAt);
      tries.push(`${early} early: ${response.status}`);
      if (isRefused(response)) refusal = response;
      else if (!isAdmitted(response)) failures.push(`a retry ${early} early returned ${response.status}`);
      else if (client.serverTime(response.receivedAt) < resetMs - roundingMs && !returnsOneByOne(response)) {
        failures.push(`a retry ${early} early was admitted before both Retry-After and Reset`);
      }
    }
    const wait = retryAtOf(context, refusal) + tickMs - clock.now();
    await context.sleep(wait, `as long as Retry-After said (${seconds(waitMs)})`);
    const last = await context.probe(keys.main);
    const refused = `a client that waited for Retry-After (${seconds(waitMs)}) got ${last.status}`;
    if (!isAdmitted(last)) failures.push(refused);
    return {
      seen: [...tries, `after Retry-After: ${last.status}`].join(', '),
      failures,
      figures: { retry_after_s: waitMs / 1_000, early_requests: tries.length, late_status: last.status },
    };
  },
};

/** Whether some requests remain, but fewer than in a fresh window. */
function returnsOneByOne({ reading }: Response): boolean {
  return reading !== undefined && reading.remaining > 0 && reading.remaining < reading.limit - 1;
}

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
