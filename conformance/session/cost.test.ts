/** What a check announces. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { casesOf, totalCost } from './cost.ts';

test('the number of cases follows --runs, within the bounds of the check', () => {
  assert.equal(casesOf({}, 20), 0);
  assert.equal(casesOf({ perCase: { requests: 1 } }, 20), 20);
  assert.equal(casesOf({ perCase: { requests: 1, share: 0.01 } }, 20), 1);
  assert.equal(casesOf({ perCase: { requests: 1, share: 0.5, most: 7 } }, 20), 7);
});

test('the cost of a check is that of all its cases, in whole requests', () => {
  const cost = { requests: 2, creates: 1, perCase: { requests: 1.5, keyless: 2, creates: 1, share: 0.25 } };
  assert.deepEqual(totalCost(cost, 20), { requests: 10, keyless: 10, creates: 6 });
  assert.deepEqual(totalCost({}, 20), { requests: 0, keyless: 0, creates: 0 });
});
