import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Cost } from './rounds.ts';
import { chartOf } from './report.ts';

const machine = { cpu: 'a processor', cores: 2, memory: 2 ** 34, os: 'Linux', node: 'v20', date: '2026-11-22', command: 'npm run bench:growth' };
const cost: Cost = { perSecond: 1, user: 1, system: 1, p50: 1, p99: 1 };
const requests = [{ name: 'first page' as const, ratio: 1.02, low: 1, high: 1.1, small: cost, large: cost }];
const ratios = (added: number) => ({ added: { ratio: added, low: added, high: added }, whole: { ratio: 9, low: 9, high: 9 } });

test('the chart shows what pages and creates cost, and what the animals add to a start', () => {
  const svg = chartOf({ machine, animals: { small: 1_000, large: 1_000_000 }, requests, start: { time: ratios(0.76), cpu: ratios(0.81) } });
  const start = '(Start with 1,000,000 animals − start with 1,000) ÷ reading and JSON.parse of the same bytes';
  assert.ok(svg.includes('>1,000,000 animals against 1,000<'), svg);
  assert.ok(svg.includes(`>User CPU a request: first page 1.02. ${start}: time 0.76, CPU 0.81.<`), svg);
});

test('where the start with more animals took less, by chance, the chart has no bars for it', () => {
  const svg = chartOf({ machine, animals: { small: 1_000, large: 2_000 }, requests, start: { time: ratios(-0.3), cpu: ratios(-0.1) } });
  assert.ok(svg.includes('>User CPU a request: first page 1.02.<'), svg);
});
