import assert from 'node:assert/strict';
import test from 'node:test';
import { keyLimited } from './refusals.ts';
import type { LimitStatus } from '../limits/limit-status.ts';

test('a refusal names the window and its limit, or the ban, and the seconds to wait', () => {
  const minute: LimitStatus = { window: 'minute', limit: 60, remaining: 0, reset: 100, refusedBy: 'window' };
  const day: LimitStatus = { ...minute, window: 'day', limit: 1_000 };
  const refusals = [
    [minute, 90_000, 'rate_limited', "The key's 60 requests a minute are used up; try again in 10 s."],
    [
      { ...minute, limit: 300 },
      90_000,
      'rate_limited',
      "The key's 300 requests a minute are used up; try again in 10 s.",
    ],
    [day, 90_000, 'rate_limited', "The key's 1000 requests a day are used up; try again in 10 s."],
    [
      { ...minute, limit: 1_000 },
      90_000,
      'rate_limited',
      "The key's 1000 requests a minute are used up; try again in 10 s.",
    ],
    [
      { ...minute, refusedBy: 'ban' },
      90_000,
      'key_banned',
      'The key is banned because too many requests were sent after a 429; try again in 10 s.',
    ],
    [minute, 90_001, 'rate_limited', "The key's 60 requests a minute are used up; try again in 10 s."],
    [minute, 91_000, 'rate_limited', "The key's 60 requests a minute are used up; try again in 9 s."],
    [
      { ...minute, reset: 160 },
      151_000,
      'rate_limited',
      "The key's 60 requests a minute are used up; try again in 9 s.",
    ],
  ] as const;
  for (const [status, now, code, message] of refusals) {
    const retryAfterSeconds = Number(/(\d+) s\.$/.exec(message)![1]);
    assert.deepEqual(keyLimited(status, now), { code, message, status: 429, retryAfterSeconds });
  }
});
