import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventQuota } from './event-quota.ts';

test('ten events of a kind a minute are logged, and then how many more there were', () => {
  const logged: string[] = [];
  const minutes: (() => void)[] = [];
  const quota = new EventQuota((message, level) => void logged.push(`${level}: ${message}`), (ms, task) => {
    assert.equal(ms, 60_000);
    minutes.push(task);
  });
  for (let i = 1; i <= 1_000; i++) quota.note('not_ready', 'warn', `n${i}`, {});
  quota.note('internal_error', 'error', 'bug', {});
  assert.deepEqual(logged.splice(0), [...Array.from({ length: 10 }, (_, i) => `warn: n${i + 1}`), 'error: bug']);
  for (const end of minutes.splice(0)) end();
  assert.deepEqual(logged.splice(0), ['warn: 990 more responses with not_ready within a minute']);
  for (let i = 1; i <= 12; i++) quota.note('not_ready', 'warn', `n${i}`, {});
  quota.end();
  assert.equal(logged.length, 11);
  assert.equal(logged.pop(), 'warn: 2 more responses with not_ready within a minute');
  assert.equal(minutes.length, 1);
  minutes[0]!();
  assert.equal(logged.length, 10);
});
