import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { overall, p99Ratio, rateRatio, requestsPerSecond, userCpu, type Used } from './figures.ts';
import { median, quantile } from './statistics.ts';

const round = (figures: Partial<Used>): Used => ({ requests: 1_000, seconds: 1, user: 50_000, system: 10_000, ...figures });

describe('figures', () => {
  it('have medians and quantiles', () => {
    assert.equal(median([3, 1, 2]), 2);
    assert.equal(median([4, 1, 2, 3]), 2.5);
    assert.deepEqual([0, 0.25, 0.99, 1].map((share) => quantile([10, 20, 30, 40, 50], share)), [10, 20, 49.6, 50]);
    assert.ok(Number.isNaN(median([])));
  });

  it('are those of all rounds together, not the mean of the rounds', () => {
    const rounds = [round({ requests: 100, user: 100 }), round({ requests: 900, user: 1_800, seconds: 4 })];
    assert.equal(overall(rounds, userCpu), 1.9);
    assert.equal(overall(rounds, requestsPerSecond), 200);
  });

  it('are compared by the ratio of sums, with the quartiles of the rounds', () => {
    const one = [round({ user: 10, requests: 10 }), round({ user: 60, requests: 20 }), round({ user: 50, requests: 10 })];
    const other = [round({ user: 10, requests: 10 }), round({ user: 20, requests: 20 }), round({ user: 10, requests: 10 })];
    assert.deepEqual(rateRatio(one, other, userCpu), { ratio: 3, low: 2, high: 4 });
  });

  it('compare p99 over all rounds together, with the quartiles of the rounds', () => {
    const one = { p99: 3, rounds: [10, 20, 900].map((p99) => ({ p99 })) };
    const other = { p99: 12, rounds: [10, 10, 10].map((p99) => ({ p99 })) };
    assert.deepEqual(p99Ratio(one, other), { ratio: 0.25, low: 1.5, high: 46 });
  });
});
