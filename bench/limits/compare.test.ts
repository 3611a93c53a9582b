/** What --compare reads and prints. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { comparisonText, readEarlier } from './compare.ts';
import type { LimitsReport } from './report.ts';
import { reportOf } from './testing/runs.ts';

let [right, wrong]: LimitsReport[] = [];
before(async () => {
  right = await reportOf({ after }, { names: ['boundary', 'ban'] });
  wrong = await reportOf({ after }, { names: ['boundary', 'ban'], fault: 'limits-one-more' });
});

const read = (report: object) => readEarlier(JSON.stringify(report), 'limits.json');

test('verdicts and metrics that differ, in both directions; nothing if none does', () => {
  const worse = comparisonText(read(right!), wrong!);
  assert.match(worse, /^Before  http\S+, \S+ \S+ UTC: all demands met\nNow     http\S+, .*: not all demands met\n\n/);
  assert.match(worse, /\nVerdicts that differ\n  boundary: passed → failed\n/);
  assert.match(worse, /\nMetrics that differ\n[^]*  boundary\.before_requests +60 → +61   ×1\.02\n/);
  assert.doesNotMatch(worse, /limit_requests/);
  assert.match(comparisonText(read(wrong!), right!), /\nVerdicts that differ\n  boundary: failed → passed\n/);
  assert.deepEqual(comparisonText(read(right!), right!).split('\n').length, 2);
  const { 'boundary.before_requests': _, ...fewer } = right!.metrics;
  assert.match(comparisonText(read({ ...right!, metrics: fewer }), right!), /\n  boundary\.before_requests +– → +60$/);
});

test('a scenario that only one of the two runs had', () => {
  const more = { ...right!, metrics: { ...right!.metrics, 'neighbour.flood_requests': 2 } };
  assert.doesNotMatch(comparisonText(read(more), right!), /neighbour|Metrics/);
});

test('a file that is not a report of this bench: one line', () => {
  for (const [text, problem] of [
    ['{', /^limits\.json: not JSON: /],
    ['null', /^limits\.json: not a report of this bench$/],
    ['{"kit":{"name":"petstore-conformance"},"format":1}', /^limits\.json: not a report of this bench$/],
    [JSON.stringify({ ...right!, format: 2 }), /^limits\.json: a report of format 2; this bench reads format 3$/],
  ] as const) {
    assert.throws(() => readEarlier(text, 'limits.json'), (error: Error) => problem.test(error.message), text);
  }
});
