/** The number of requests that a check announces. */
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
  const options = { runs: 20, thoroughAuth: false };
  const cost = { requests: 2, keyless: 3, creates: 1, perCase: { requests: 1.5, creates: 1, share: 0.25 } };
  assert.deepEqual(totalCost(cost, options), { requests: 10, keyless: 3, creates: 6 });
  assert.deepEqual(totalCost({}, options), { requests: 0, keyless: 0, creates: 0 });
});

test('--thorough-auth increases the requests without a valid key, which then follow --runs up to a bound', () => {
  const cost = { keyless: 4, thorough: { keyless: 40, most: 60 } };
  const keyless = (runs: number, thoroughAuth: boolean) => totalCost(cost, { runs, thoroughAuth }).keyless;
  assert.deepEqual([keyless(20, false), keyless(20, true), keyless(10, true), keyless(80, true)], [4, 40, 20, 60]);
  assert.equal(keyless(1, true), 4); // never fewer than without the option
});
