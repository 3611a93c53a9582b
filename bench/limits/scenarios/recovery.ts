/**
 * A client that sleeps `Retry-After` is admitted at once. One that retries early, at half the time and a second early, is not.
 *
 * `Retry-After` is rounded up to whole seconds, so its last second is nobody's; an early retry that is admitted breaks the demand
 * only if `Reset`, too, was still to come: who says to wait for longer than is needed makes nobody exceed a limit.
 */
import { Inconclusive } from '../../../conformance/verdicts/outcome.ts';
import { isAdmitted, isRefused, type Answer } from '../answer.ts';
import { drainedCost, type Bench } from '../bench.ts';
import type { Finding, Scenario } from '../scenario.ts';

/** Retry-After and Reset are whole seconds, rounded up. */
const roundingMs = 1_000;

/** The last that is certainly too early, and arrives so. */
const earlyMs = roundingMs + 250;

/** A client sleeps no shorter than it was told; a clock's tick. */
const tickMs = 20;

/** A longer wait is not worth anybody's while. */
const maxWaitMs = 120_000;

export const recovery = {
  name: 'recovery',
  text: 'a refused client that sleeps Retry-After, and one that retries early',
  demanded: 'admitted as soon as Retry-After has passed, and not earlier',
  cost: ({ limit }) => ({ withKey: limit + drainedCost + 3, seconds: 40 }),

  async run(bench) {
    const key = bench.keys.main;
    const first = await bench.drained(key);
    const early: { readonly ms: number; readonly answer: Answer; readonly unjustly: boolean }[] = [];
    let refusal = first;
    const firstAt = retryAtOf(bench, first);
    const waitMs = firstAt - first.receivedAt;
    const reset = first.standing?.reset;
    const soonest = Math.min(firstAt, reset === undefined ? Infinity : bench.serverClock.ours(reset * 1_000));
    for (const at of [first.receivedAt + waitMs / 2, soonest - earlyMs]) {
      if (at < bench.clock.now() || firstAt - at < earlyMs) continue;
      await bench.sleep(at - bench.clock.now(), `an early retry (Retry-After was ${seconds(waitMs)})`);
      const answer = await bench.probe(key);
      const before = reset === undefined || bench.serverClock.at(answer.receivedAt) < reset * 1_000 - roundingMs;
      early.push({ ms: firstAt - at, answer, unjustly: isAdmitted(answer) && before });
      if (isRefused(answer)) refusal = answer;
    }
    await bench.sleep(retryAtOf(bench, refusal) + tickMs - bench.clock.now(), `as long as Retry-After said (${seconds(waitMs)})`);
    const last = await bench.probe(key);
    return judged(waitMs, early, last);
  },
} as const satisfies Scenario<'recovery'>;

function judged(
  waitMs: number,
  early: readonly { readonly ms: number; readonly answer: Answer; readonly unjustly: boolean }[],
  last: Answer,
): Finding {
  const failures = [
    ...early
      .filter(({ unjustly }) => unjustly)
      .map(({ ms }) => `a retry ${seconds(ms)} early was admitted, though neither Retry-After nor Reset had come`),
    ...early
      .filter(({ answer }) => !isAdmitted(answer) && !isRefused(answer))
      .map(({ ms, answer }) => `a retry ${seconds(ms)} early was answered ${answer.status}`),
    ...(isAdmitted(last) ? [] : [`a client that slept Retry-After (${seconds(waitMs)}) was answered ${last.status}`]),
  ];
  if (failures.length === 0 && early.length === 0)
    throw new Inconclusive(`Retry-After was only ${seconds(waitMs)}: no early retry could be judged`);
  const tries = early.map(({ ms, answer }) => `${seconds(ms)} early: ${answer.status}`);
  return {
    seen: [
      ...tries,
      `after Retry-After: ${last.status}`,
    ].join(', '),
    failures,
    figures: { 'Retry-After': seconds(waitMs), 'early retries': early.length, 'after Retry-After': last.status },
  };
}

/** When the client may come again. */
function retryAtOf(bench: Bench, refusal: Answer): number {
  const at = bench.retryAt(refusal);
  if (at === undefined)
    throw new Inconclusive(
      refusal.retryAfter === undefined
        ? 'a 429 has no Retry-After'
        : 'the Retry-After of a 429 is neither whole seconds nor an HTTP date',
    );
  if (at - refusal.receivedAt > maxWaitMs)
    throw new Inconclusive(`Retry-After is ${seconds(at - refusal.receivedAt)}, too long to wait for`);
  return at;
}

function seconds(ms: number): string {
  return `${Math.round(ms / 10) / 100} s`;
}
