/**
 * A client that waits for `Retry-After` is admitted at once. One that retries early, at half the time and more than a
 * second early, is not.
 *
 * `Retry-After` is rounded up to whole seconds, so either is right in its last second. An early retry that is admitted
 * violates the requirement only if `Reset`, too, was still to come: a server that requires a longer wait than necessary
 * makes nobody exceed a limit.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { drainedCost, type ScenarioContext } from '../context.ts';
import { isAdmitted, isRefused, type Response } from '../responses.ts';
import type { Scenario } from '../scenario.ts';

/** Retry-After and Reset are whole seconds, rounded up. */
const roundingMs = 1_000;
/** The last retry that is certainly too early, and is received too early. */
const earlyMs = roundingMs + 250;
/** A client does not wait for less than Retry-After says: a tick of a clock. */
const tickMs = 20;
/** A run does not wait longer. */
const maxWaitMs = 120_000;

export const recovery: Scenario = {
  name: 'recovery',
  text: 'a refused client that waits for Retry-After, and one that retries early',
  demanded: 'admitted as soon as Retry-After has passed, and not earlier',
  cost: ({ limit }) => ({ withKey: limit + drainedCost + 3, seconds: 40 }),

  async run(context) {
    const { client, clock, keys } = context;
    const first = await context.drained(keys.main);
    const failures: string[] = [];
    const tries: string[] = [];
    let refusal = first;
    const firstAt = retryAtOf(context, first);
    const waitMs = firstAt - first.receivedAt;
    const resetMs = (first.reading?.reset ?? Infinity) * 1_000;
    const soonest = Math.min(firstAt, client.ourTime(resetMs));
    for (const at of [first.receivedAt + waitMs / 2, soonest - earlyMs]) {
      if (at < clock.now() || firstAt - at < earlyMs) continue;
      await context.sleep(at - clock.now(), `for an early retry (Retry-After was ${seconds(waitMs)})`);
      const response = await context.probe(keys.main);
      const early = seconds(firstAt - at);
      tries.push(`${early} early: ${response.status}`);
      if (isRefused(response)) refusal = response;
      else if (!isAdmitted(response)) failures.push(`a retry ${early} early returned ${response.status}`);
      else if (client.serverTime(response.receivedAt) < resetMs - roundingMs) {
        failures.push(`a retry ${early} early was admitted before both Retry-After and Reset`);
      }
    }
    const wait = retryAtOf(context, refusal) + tickMs - clock.now();
    await context.sleep(wait, `as long as Retry-After said (${seconds(waitMs)})`);
    const last = await context.probe(keys.main);
    const refused = `a client that waited for Retry-After (${seconds(waitMs)}) got ${last.status}`;
    if (!isAdmitted(last)) failures.push(refused);
    if (failures.length === 0 && tries.length === 0) {
      throw new Inconclusive(`Retry-After was only ${seconds(waitMs)}: no early retry could be judged`);
    }
    return {
      seen: [...tries, `after Retry-After: ${last.status}`].join(', '),
      failures,
      figures: { 'Retry-After': seconds(waitMs), 'early retries': tries.length, 'after Retry-After': last.status },
    };
  },
};

/** When the client may retry. */
function retryAtOf(context: ScenarioContext, refusal: Response): number {
  const at = context.retryAt(refusal);
  if (at === undefined) {
    const missing = refusal.message.all('Retry-After').length === 0;
    throw new Inconclusive(`a 429 has ${missing ? 'no' : 'neither whole seconds nor an HTTP date in'} Retry-After`);
  }
  const waitMs = at - refusal.receivedAt;
  if (waitMs > maxWaitMs) throw new Inconclusive(`Retry-After is ${seconds(waitMs)}, too long to wait for`);
  return at;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 10) / 100} s`;
}
