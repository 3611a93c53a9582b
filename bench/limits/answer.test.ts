/** What is made of answers, one by one: the progress, latencies, a minute's sum, the server's clock, a wait. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterMs } from './answer.ts';
import { latencyOf, milliseconds } from './latency.ts';
import { Progress } from './progress.ts';
import { ServerClock } from './server-clock.ts';
import { answer } from './testing.ts';
import { mostAdmittedIn } from './windows.ts';

test('progress: what is measured, admitted and refused so far, and the time left', () => {
  let now = 0;
  let text = '';
  const progress = new Progress({ isTTY: false, write: (more) => (text += more) }, () => now);
  progress.begin('exact', 100);
  for (const status of [200, 200, 429]) progress.answered(answer({ status }), true);
  progress.answered(answer({ status: 401 }), false);
  progress.waiting('a fresh window of the key', 25_000);
  now += 2_000;
  assert.equal(
    progress.line(),
    'exact: 2 admitted, 1 refused, 1 without a key; about 1 min 38 s left; waiting 23 s: a fresh window of the key',
  );
  progress.waiting('a fresh window of the key', 110_000);
  assert.match(progress.line(), /about 1 min 50 s left; waiting 110 s/, 'never less than the wait that is under way');
  progress.end();
  assert.match(text, /^ {2}exact: begins, about 1 min 40 s left\n {2}exact: .*waiting 25 s/);
});

test('latencies: nearest rank, without those that opened a connection', () => {
  const all = Array.from({ length: 200 }, (_, i) => answer({ latencyMs: i + 1 }));
  assert.deepEqual(latencyOf([...all, answer({ latencyMs: 9_999, opening: true })]), { n: 200, p50: 100, p99: 198 });
  assert.equal(latencyOf([answer({ opening: true })]), undefined);
  assert.deepEqual([0.234, 12.34, 1_234.5].map(milliseconds), ['0.23 ms', '12.3 ms', '1,235 ms']);
});

test('the most admitted in any minute', () => {
  const at = (...times: number[]) => times.map((receivedAt) => answer({ receivedAt }));
  assert.equal(mostAdmittedIn(60_000, at(0, 1, 59_999, 60_000, 60_000)), 4);
  assert.equal(mostAdmittedIn(60_000, [...at(0), answer({ status: 429 })]), 1);
  assert.equal(mostAdmittedIn(60_000, []), 0);
});

test("the server's clock: ours where Date allows it, else as late as Date says", () => {
  const [same, ahead] = [new ServerClock(), new ServerClock()];
  same.answered(answer({ date: 10_000, sentAt: 10_700, receivedAt: 10_800 }));
  assert.deepEqual([same.at(20_000), same.marginMs], [20_000, 50]);
  ahead.answered(answer({ date: 70_000, sentAt: 10_700, receivedAt: 10_800 }));
  assert.deepEqual([ahead.at(10_800), ahead.ours(70_000), ahead.marginMs > 1_000], [70_000, 10_800, true]);
  assert.equal(new ServerClock().marginMs, 1_000);
});

test('Retry-After: whole seconds or an HTTP date, and nothing else', () => {
  const now = Date.UTC(2026, 10, 21, 12);
  const of = (retryAfter?: string) => retryAfterMs(answer({ retryAfter }), now);
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
