/**
 * A client that waits for `Retry-After` is admitted at once. A client that retries early shows whether the limit holds
 * until then.
 *
 * The specification does not demand that an early retry is refused: a client that is admitted before an unnecessarily
 * late `Retry-After` exceeds no limit, and a server may round `Retry-After` and `Reset` up by some seconds. An early
 * retry that is admitted is a failure in two cases: if it begins a new window well before both `Retry-After` and
 * `Reset`, so that the limit resets at neither; or if no request remains after it, and further ones are admitted
 * nevertheless. If requests return one by one, as in a token bucket, neither is the case. There is only one early
 * retry, because a server may ban for a third refusal, and none if `Retry-After` is too short for it.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { drainedCost, DemandNotMet, type ScenarioContext } from '../context.ts';
import { isAdmitted, isRefused, type Response } from '../responses.ts';
import type { Scenario } from '../scenario.ts';
import { comingBack } from '../windows.ts';

/** The most by which Retry-After and Reset may be later than the end of a window. */
const lateMs = 5_000;
/** How early the early retry is sent: early enough to be before the end of the window even if Retry-After is late. */
const earlyMs = lateMs + 250;
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
      else if (client.serverTime(response.receivedAt) < resetMs - lateMs) {
        const { limit, remaining } = response.reading ?? { limit: 0, remaining: -1 };
        const isNew = limit > 1 && remaining === limit - 1;
        if (isNew) failures.push(`a retry ${early} early began a new window, before both Retry-After and Reset`);
        if (remaining === 0) {
          const responses = [response];
          while (responses.length <= furtherRequests && isAdmitted(responses.at(-1)!)) {
            responses.push(await context.probe(keys.main));
          }
          const admitted = responses.filter(isAdmitted).length;
          if (isRefused(responses.at(-1)!)) refusal = responses.at(-1)!;
          if (admitted > 1 + comingBack(limit, responses)) {
            failures.push(`${admitted} requests were admitted ${early} early, although none remained`);
          }
        }
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
