/** What is computed from responses: latencies, and the sum of a minute. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { latencyOf, milliseconds } from './responses.ts';
import { response } from './testing/runs.ts';
import { mostAdmittedIn } from './scenarios/boundary.ts';

test('latencies: nearest rank, without those that opened a connection', () => {
  const all = Array.from({ length: 200 }, (_, i) => response({ latencyMs: i + 1 }));
  const latency = { n: 200, p50: 100, p90: 180, p99: 198, p999: 200 };
  assert.deepEqual(latencyOf([...all, response({ latencyMs: 9_999, isReused: false })]), latency);
  assert.equal(latencyOf([response({ isReused: false })]), undefined);
  assert.deepEqual([0.234, 12.34, 1_234.5].map(milliseconds), ['0.23 ms', '12.3 ms', '1,235 ms']);
});

test('the most admitted in any minute', () => {
  const at = (...times: number[]) => times.map((at) => response({ at }));
  assert.equal(mostAdmittedIn(60_000, at(0, 1, 59_999, 60_000, 60_000)), 4);
  assert.equal(mostAdmittedIn(60_000, [...at(0), response({ status: 429 })]), 1);
  assert.equal(mostAdmittedIn(60_000, []), 0);
});
