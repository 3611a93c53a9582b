/** What --compare reads and prints. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hostile } from '../../conformance/testing/report.ts';
import { rawCharacters } from '../../conformance/testing/wellformed.ts';
import { comparisonText, readEarlier } from './compare.ts';
import type { LimitsReport } from './report.ts';
import { reportOf } from './testing/runs.ts';

let [right, wrong]: LimitsReport[] = [];
before(async () => {
  right = await reportOf({ after }, { names: ['latency', 'boundary'] });
  wrong = await reportOf({ after }, { names: ['latency', 'boundary'], fault: 'limits-one-more' });
});

const read = (report: object) => readEarlier(JSON.stringify(report));

/** The lines of a comparison below the two runs. */
const changesOf = (earlier: LimitsReport, now: LimitsReport): readonly string[] =>
  comparisonText(read(earlier), now).split('\n').slice(3);

test('the two runs and the verdicts that differ, in both directions', () => {
  const worse = comparisonText(read(right!), wrong!);
  assert.match(worse, /^Before {2}http\S+, \S+ \S+ UTC: all demands met\nNow {5}http\S+, .*: not all demands met\n\n/);
  assert.match(worse, /\nVerdicts that differ\n {2}boundary: passed → failed(\n\n|$)/);
  assert.match(comparisonText(read(wrong!), right!), /\nVerdicts that differ\n {2}boundary: failed → passed(\n\n|$)/);
  const fewer = { ...right!, scenarios: right!.scenarios.slice(0, 1) };
  assert.deepEqual(changesOf(fewer, right!), ['Verdicts that differ', '  boundary: not run → passed']);
});

test('metrics that both runs have: counts differ by more than a tenth, latencies by more than a factor of two', () => {
  const chance = (value: number) => ({ 'a.x_p999_ms': value, 'a.duration_s': value });
  const before = { 'a.x_requests': 100, 'a.y_requests': 100, 'a.p99_ratio': 1, 'a.x_p50_ms': 1, ...chance(1) };
  const similar = { 'a.x_requests': 110, 'a.y_requests': 91, 'a.p99_ratio': 2, 'a.x_p50_ms': 0.5, ...chance(90) };
  const unlike = { 'a.x_requests': 111, 'a.y_requests': 90, 'a.p99_ratio': 2.01, 'a.x_p50_ms': 0.49, 'a.b_ms': 9 };
  const compared = (was: LimitsReport['metrics'], is: LimitsReport['metrics']) =>
    changesOf({ ...right!, metrics: was }, { ...right!, metrics: is }).map((line) => line.replace(/ +/g, ' '));
  const shares = 'latencies and ratios by more than a factor of 2, others by more than 10 %';
  const nothing = [`No verdict has changed, and no metric much: ${shares}.`];
  assert.deepEqual(compared(before, similar), nothing);
  assert.deepEqual(compared(similar, before), nothing);
  assert.deepEqual(compared(before, unlike), [
    `Metrics that differ: ${shares}`,
    ...[' a.x_requests 100 → 111 ×1.11', ' a.y_requests 100 → 90 ×0.90'],
    ...[' a.p99_ratio 1 → 2.01 ×2.01', ' a.x_p50_ms 1 → 0.49 ×0.49'],
  ]);
  assert.deepEqual(compared({ 'a.stalled_responses': 0 }, { 'a.stalled_responses': 3 }).slice(1),
    [' a.stalled_responses 0 → 3']);
  assert.deepEqual(compared({ 'a.stalled_responses': 0 }, { 'a.stalled_responses': 0 }), nothing);
});

test('two runs against the same server do not differ', () => {
  assert.match(changesOf(right!, right!).join(), /^No verdict has changed/);
});

test('settings that differ, because they explain other figures', () => {
  const { plan: _, ...settings } = right!.settings;
  const now = { ...right!, settings: { ...settings, operation: 'getPet', rate: 7 } } as const;
  assert.deepEqual(changesOf({ ...right!, settings: { ...settings, plan: 'free', rate: 5 } }, now), [
    'Settings that differ',
    ...['  operation: "listPets" → "getPet"', '  rate: 5 → 7', '  plan: "free" → not given'],
  ]);
});

test('text from a server or a file is escaped', () => {
  const evil = { ...right!, target: hostile, metrics: { ...right!.metrics, [`boundary.${hostile}_requests`]: 1 } };
  assert.deepEqual(rawCharacters(comparisonText(read(evil), { ...evil, metrics: { [`boundary.${hostile}`]: 2 } })), []);
});

test('a file that is not a report of this bench: one line', () => {
  for (const [text, problem] of [
    ['{', /^not JSON: /],
    ['null', /^not a report of this bench$/],
    ['{"bench":null}', /^not a report of this bench$/],
    ['{"kit":{"name":"petstore-conformance"},"format":1}', /^not a report of this bench$/],
    [JSON.stringify({ ...right!, metrics: undefined }), /^a report without the field metrics$/],
    [JSON.stringify({ ...right!, format: 2 }), /^a report of format 2; this bench reads format 3$/],
  ] as const) {
    assert.throws(() => readEarlier(text), (error: Error) => problem.test(error.message), text);
  }
});
