import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeyUsage } from './key-usage.ts';
import { Limiter } from './limiter.ts';
import { limitsOf } from './plans.ts';

const day = 86_400_000;
const second = 1_000;
const noon = Date.UTC(2026, 10, 21, 12);

test('the time of the limits follows the clock, and stands still after a step back of up to 60 s', () => {
  const limiter = new Limiter(new Map(), noon, () => {});
  const said = [0, 5, 5, -1, -59_995, 5, 6].map((ms) => limiter.timeAt(noon + ms) - noon);
  assert.deepEqual(said, [0, 5, 5, 5, 5, 5, 6]);
});

test('the time of the limits follows a larger step back and any step forward', () => {
  const limiter = new Limiter(new Map(), noon, () => {});
  const said = [0, -60_000, -60_001, -60_000, 10 * day, 10 * day - 60_000, -day].map(
    (ms) => limiter.timeAt(noon + ms) - noon,
  );
  assert.deepEqual(said, [0, 0, -60_001, -60_000, 10 * day, 10 * day, -day]);
});

test('the time that a request has waited is not affected by a step of the clock', () => {
  const limiter = new Limiter(new Map(), noon, () => {});
  const free = limitsOf({ name: 'free' });
  const send = (count: number, now: number, waitedMs: number): void => {
    for (let i = 0; i < count; i += 1) limiter.admitKey('k1', free, now, waitedMs);
  };
  send(61, noon, 0);
  send(1, noon + 30 * second, 0);
  send(500, noon - 10 * second, 29 * second); // they arrived 1 s after the first refusal; then the clock was set back
  assert.equal(limiter.usageOf('k1', noon).refusals, 1);
  send(59, noon - 10 * second, 0);
  assert.notEqual(limiter.usageOf('k1', noon).ban, null);
});

test('keys that have not been used today take no memory', () => {
  const keys = new Map<string, KeyUsage>();
  const limiter = new Limiter(keys, noon, () => {});
  for (const id of ['k1', 'k2']) limiter.admitKey(id, limitsOf({ name: 'free' }), noon, 0);
  assert.deepEqual([...limiter.usages(() => noon)].map(([id]) => id), ['k1', 'k2']);
  assert.deepEqual([...limiter.usages(() => noon + day)], []);
  assert.equal(keys.size, 0);
});
