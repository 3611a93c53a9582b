/** The judgement of a long run takes little time. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limiters } from '../mutants/families/limiters.ts';
import { randomOf } from '../mutants/families/random.ts';
import { judge } from './judge.ts';
import { simulate, type Step } from './testing/simulate.ts';

const steps = Array.from({ length: 12 }, (_, i): Step => {
  return i % 2 === 1 ? { pauseMs: 9_000 } : { trickle: 250, everyMs: 20 };
});
const world = { limit: 1_000, latencyMs: 5, offsetMs: 0, round: 'up', cachesDate: false, others: false } as const;

for (const limiter of limiters.filter(({ id }) => /^(window by the clock|token bucket|sliding log)$/.test(id))) {
  test(`1,500 exchanges: ${limiter.id}`, (t) => {
    const all = simulate(limiter, steps, world, randomOf('long'));
    const begin = process.cpuUsage();
    judge(all, true);
    const { user, system } = process.cpuUsage(begin);
    t.diagnostic(`${all.length} exchanges: ${Math.round((user + system) / 1_000)} ms of CPU`);
    assert.ok(user + system < 3_000_000);
  });
}
