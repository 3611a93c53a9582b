/** Ratios need enough latencies, and the user's thresholds apply to them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Stops } from '../../conformance/client/clock.ts';
import { base, type Hooks } from '../../conformance/mutants/server/hooks.ts';
import { reportOf, resultOf, textOf, type TestOptions } from './testing/runs.ts';

/** A server on which each request without a valid key takes `takesMs`. */
function taking(takesMs: number): TestOptions {
  let ms = 0;
  const fault: Partial<Hooks> = {
    keyless: (exchange) => {
      ms += takesMs;
      return base.keyless(exchange);
    },
  };
  return { fault, stopwatch: () => (ms += 0.01) };
}

test('a ratio needs 200 latencies with the flood and without it', async (t) => {
  const few = await resultOf(t, 'strangers', { plan: 'pro', settings: { duration: 8 } });
  assert.ok(few.latencies['alone']!.n < 200 && !('p99_ratio' in few.figures), textOf([few]));
  const many = await resultOf(t, 'strangers', { plan: 'business', settings: { duration: 8 } });
  assert.ok(many.latencies['alone']!.n >= 200 && Number(many.figures['p99_ratio']) > 0, textOf([many]));
  const own = await resultOf(t, 'latency', { unlimitedKeys: true, plan: 'business' });
  assert.ok(Number(own.figures['p50_ratio']) > 0, textOf([own]));
});

test('thresholds: kept, exceeded, and without enough latencies', async (t) => {
  const settings = { duration: 8, thresholds: { 'max-p50-ratio': 1_000, 'max-p99-ratio': 50, 'max-p99-ms': 5 } };
  const kept = await reportOf(t, { ...taking(0), plan: 'business', settings, names: ['strangers'] });
  assert.equal(kept.exitCode, 0, textOf(kept.scenarios));
  const slow = await resultOf(t, 'strangers', { ...taking(1), plan: 'business', settings });
  assert.match(
    slow.failures.join('; '),
    /^p99_ratio is [\d.]+, more than --max-p99-ratio 50; latency_beside_p99_ms is [\d.]+, more than --max-p99-ms 5$/,
    textOf([slow]),
  );
  const names = ['latency', 'neighbour', 'strangers'];
  const few = await reportOf(t, { ...taking(0), settings, names });
  assert.deepEqual([few.totals.passed, few.totals.inconclusive, few.exitCode], [1, 2, 2], textOf(few.scenarios));
  for (const { reason = '', figures } of few.scenarios.slice(1)) {
    assert.match(reason, /^--max-p50-ratio needs 200 latencies without the flood and with it: 2\d and 2\d were/);
    assert.ok(Number(figures['flood_requests']) > 0, 'what was measured is reported');
  }
  const inMs = await reportOf(t, { ...taking(1), settings: { thresholds: { 'max-p99-ms': 5 } }, names: ['strangers'] });
  assert.equal(inMs.exitCode, 1, `a latency needs fewer of them: ${textOf(inMs.scenarios)}`);
});

test('a threshold that is exceeded while this process does not run: inconclusive', async (t) => {
  let now = 0;
  const stops = new Stops(() => (now += 60_000));
  const settings = { thresholds: { 'max-p99-ms': 5 } };
  const result = await resultOf(t, 'strangers', { ...taking(1), settings, stops });
  assert.equal(result.verdict, 'inconclusive', textOf([result]));
  assert.match(result.reason ?? '', /^this process did not run for some time during .*: latency_beside_p99_ms is /);
});
