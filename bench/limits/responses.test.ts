/** What is computed from responses: latencies, the sum of a minute, a wait. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { latencyOf, milliseconds, retryAt } from './responses.ts';
import { response } from './testing/runs.ts';
import { mostAdmittedIn } from './windows.ts';

test('latencies: nearest rank, without those that opened a connection', () => {
  const all = Array.from({ length: 200 }, (_, i) => response({ latencyMs: i + 1 }));
  const latency = { n: 200, p50: 100, p90: 180, p99: 198, p999: 200 };
  assert.deepEqual(latencyOf([...all, response({ latencyMs: 9_999, opening: true })]), latency);
  assert.equal(latencyOf([response({ opening: true })]), undefined);
  assert.deepEqual([0.234, 12.34, 1_234.5].map(milliseconds), ['0.23 ms', '12.3 ms', '1,235 ms']);
});

test('the most admitted in any minute', () => {
  const at = (...times: number[]) => times.map((receivedAt) => response({ receivedAt }));
  assert.equal(mostAdmittedIn(60_000, at(0, 1, 59_999, 60_000, 60_000)), 4);
  assert.equal(mostAdmittedIn(60_000, [...at(0), response({ status: 429 })]), 1);
  assert.equal(mostAdmittedIn(60_000, []), 0);
});

test('Retry-After: whole seconds or an HTTP date, and nothing else', () => {
  const now = Date.UTC(2026, 10, 21, 12);
  const of = (retryAfter?: string) => retryAt(response(retryAfter === undefined ? {} : { retryAfter }), now);
  assert.deepEqual(['30', 'Sat, 21 Nov 2026 12:00:30 GMT', '30.5', '30s', '2026-11-21T12:00:30Z', '-5'].map(of), [
    30_000,
    30_000,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
  assert.equal(of(undefined), undefined);
});
