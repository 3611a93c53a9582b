/** Ratios need enough latencies. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultOf, textOf } from './testing/runs.ts';

test('a ratio needs 200 latencies with the flood and without it', async (t) => {
  const few = await resultOf(t, 'strangers', { plan: 'pro', settings: { duration: 8 } });
  assert.ok(few.latencies['alone']!.n < 200 && !('p99_ratio' in few.figures), textOf([few]));
  const many = await resultOf(t, 'strangers', { plan: 'business', settings: { duration: 8 } });
  assert.ok(many.latencies['alone']!.n >= 200 && Number(many.figures['p99_ratio']) > 0, textOf([many]));
  const own = await resultOf(t, 'latency', { unlimitedKeys: true, plan: 'business' });
  assert.ok(Number(own.figures['p50_ratio']) > 0, textOf([own]));
});
