/** The number of requests that a check announces. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generatedCasesOf, totalCost, type CostOptions } from './cost.ts';

test('the number of cases follows --runs', () => {
  assert.equal(generatedCasesOf({}, 20), 0);
  assert.equal(generatedCasesOf({ perCase: { requests: 1 } }, 20), 20);
  assert.equal(generatedCasesOf({ perCase: { requests: 1, share: 0.01 } }, 20), 1);
  assert.equal(generatedCasesOf({ perCase: { requests: 1, share: 0.5 } }, 15), 8);
});

test('the cost of a check is that of all its cases, in whole requests', () => {
  const options = { runs: 20, thoroughAuth: false, seed: 1, write: true };
  const cost = { requests: 2, keyless: 3, creates: 1, perCase: { requests: 1.5, creates: 1, share: 0.25 } };
  assert.deepEqual(totalCost(cost, options), { requests: 10, keyless: 3, creates: 6 });
  assert.deepEqual(totalCost({}, options), { requests: 0, keyless: 0, creates: 0 });
});

test('the cost of a check includes the combinations that it sends', () => {
  const options = { runs: 20, thoroughAuth: false, seed: 1, write: true };
  const planned = ({ seed }: CostOptions) => ({ requests: seed, keyless: 2, creates: 3 });
  assert.deepEqual(totalCost({ requests: 4, planned }, options), { requests: 5, keyless: 2, creates: 3 });
});
