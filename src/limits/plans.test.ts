import assert from 'node:assert/strict';
import { test } from 'node:test';
import { OperatorError } from '../domain/operator-error.ts';
import { planOf } from './plans.ts';

const refusal = (pattern: RegExp) => (error: unknown): boolean => {
  assert.ok(error instanceof OperatorError);
  assert.equal(error.exitCode, 2);
  assert.match(error.message, pattern);
  return true;
};

test('planOf returns the plans of the specification', () => {
  for (const name of ['free', 'pro', 'business']) assert.deepEqual(planOf(name, undefined, undefined), { name });
});

test('enterprise requires two limits, whole numbers from 1', () => {
  assert.deepEqual(planOf('enterprise', 1, 1), { name: 'enterprise', perMinute: 1, perDay: 1 });
  const most = Number.MAX_SAFE_INTEGER;
  assert.deepEqual(planOf('enterprise', most, most), { name: 'enterprise', perMinute: most, perDay: most });
  for (const bad of [undefined, null, 0, -1, 1.5, NaN, Infinity, 2 ** 53, '5', [5], true]) {
    assert.throws(
      () => planOf('enterprise', bad, 5),
      refusal(/needs its requests per minute and per day, whole numbers from 1$/),
      String(bad),
    );
    assert.throws(
      () => planOf('enterprise', 5, bad),
      refusal(/needs its requests per minute and per day/),
      String(bad),
    );
  }
});

test('the other plans accept no limits', () => {
  for (const name of ['free', 'pro', 'business']) {
    assert.throws(
      () => planOf(name, 5, undefined),
      refusal(/^the \w+ plan has fixed limits; only enterprise takes requests per minute and per day$/),
    );
    assert.throws(
      () => planOf(name, undefined, 5),
      refusal(/^the \w+ plan has fixed limits; only enterprise takes requests per minute and per day$/),
    );
    assert.throws(
      () => planOf(name, null, undefined),
      refusal(/^the \w+ plan has fixed limits; only enterprise takes requests per minute and per day$/),
    );
  }
});

test('planOf refuses any other name', () => {
  for (const name of ['', 'Free', ' free', 'gold', 'toString', '__proto__', null, undefined, 0, ['free'], {}]) {
    assert.throws(
      () => planOf(name, undefined, undefined),
      refusal(/^the plan must be free \(up to 60 a minute and 1,000 a day\), pro \(.*\) or enterprise \(custom limits\)$/),
      String(name),
    );
  }
});
