/**
 * The effort to judge a history grows hardly faster than the history. The tests count reads instead of measuring time,
 * so that a busy machine cannot make them fail.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limiters } from '../mutants/families/limiters.ts';
import { randomOf } from '../mutants/families/random.ts';
import { judge } from './judge.ts';
import { simulate, type Step } from './testing/simulate.ts';

/** How often `judge` reads a field of an exchange, for a history with this many rounds of 250 requests. */
function reads(id: string, rounds: number, others: boolean): number {
  const steps = Array.from({ length: rounds }, (): readonly Step[] => {
    return [{ burst: 150 }, { trickle: 100, everyMs: 9 }, { pauseMs: 2_000 }];
  });
  const server = { limit: 6_000, latencyMs: 5, offsetMs: 0, round: 'up', cachesDate: false } as const;
  const world = { ...server, others, failures: 'counts' } as const;
  const limiter = limiters.find((one) => one.id === id)!;
  let count = 0;
  const counting = <T extends object>(exchange: T) => new Proxy(exchange, {
    get: (target, field) => (count++, Reflect.get(target, field)),
  });
  judge(simulate(limiter, steps.flat(), world, randomOf('long')).map(counting), !others);
  return count;
}

for (const id of ['window by the clock', 'sliding log', 'sliding counter', 'token bucket', 'bucket in steps']) {
  for (const others of [false, true]) {
    test(`${id}${others ? ', other clients' : ''}`, () => {
      const [few, many] = [reads(id, 4, others), reads(id, 16, others)];
      assert.ok(many < 8 * few, `${few} reads for 1,000 exchanges, ${many} for 4,000`);
    });
  }
}
