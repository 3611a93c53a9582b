import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costOf, type Round } from './rounds.ts';
import { startRatios, type Start } from './start-up.ts';

const round = (requests: number, user: number): Round => ({ requests, user, system: user / 2, seconds: 2, latencies: [1, 3] });

test('what rounds come to', () => {
  assert.deepEqual(costOf([round(100, 1_000), round(300, 5_000)]), { perSecond: 100, user: 15, system: 7.5, p50: 2, p99: 3 });
});

test('a start is what the animals add to it, or all of it, by their parse', () => {
  const start = (ms: number): Start => ({ ms, cpuMs: ms / 2, resident: 0 });
  const starts = { small: [start(100), start(120), start(80)], large: [start(500), start(450), start(900)], parse: [start(800), start(800), start(1_640)] };
  const { added, whole } = startRatios(starts, ({ ms }) => ms);
  assert.deepEqual(added, { ratio: 0.5, low: 0.45625, high: 0.5 });
  assert.equal(whole.ratio, 0.625);
  assert.equal(startRatios(starts, ({ cpuMs }) => cpuMs).added.ratio, 0.5);
});
