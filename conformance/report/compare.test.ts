import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixture, hostile } from '../testing/report.ts';
import { rawCharacters } from '../testing/wellformed.ts';
import type { Verdict } from '../verdicts/results.ts';
import { comparisonText, readReport } from './compare.ts';
import type { Report } from './report.ts';

const changed: Partial<Record<string, Verdict>> = {
  'list.limit': 'passed',
  'get.answers': 'failed',
  'limits.refuses': 'passed',
  'create.name': 'skipped',
  'list.status': 'inconclusive',
};

/** An earlier report: five other verdicts, one requirement less and one more, and two gaps that differ. */
const earlier: Report = {
  ...fixture,
  target: 'https://old.example/v1',
  startedAt: '2026-11-18T08:00:00Z',
  requirements: [
    ...fixture.requirements
      .filter(({ id }) => id !== 'service.json')
      .map((result) => ({ ...result, verdict: changed[result.id] ?? result.verdict })),
    ...fixture.requirements.slice(0, 1).map((result) => ({ ...result, id: 'service.gone' as typeof result.id })),
  ],
  gaps: fixture.gaps.map(({ behaviour, ...gap }) => {
    if (gap.id === 'list.limit-0') return { ...gap, behaviour: '200, an empty list' };
    return gap.id === 'list.order' || behaviour === undefined ? gap : { ...gap, behaviour };
  }),
};

/** The lines under the headings of a comparison, without the texts of requirements. */
const changesOf = (before: Report, now: Report): readonly string[] =>
  comparisonText(before, now).split('\n').slice(3).flatMap((line) => {
    const [, heading, change] = /^(\w+)|^ {2}(?: {4})?(\S.*?)(?:\. .*)?$/.exec(line) ?? [];
    return heading ?? change ?? [];
  });

const questionOf = (gap: string) => fixture.gaps.find(({ id }) => id === gap)!.question;

test('verdicts and gaps are compared in both directions, also those that only one report has', () => {
  assert.deepEqual(changesOf(earlier, fixture), [
    ...['Verdicts', 'service.json: not selected → passed', 'list.limit: passed → failed'],
    ...['list.status: inconclusive → passed', 'create.name: skipped → failed', 'get.answers: failed → passed'],
    ...['limits.refuses: passed → skipped', 'service.gone: passed → not selected'],
    ...['Gaps', `list.limit-0: ${questionOf('list.limit-0')}`],
    ...['before: 200, an empty list', 'now:    refused with 400'],
    ...[`list.order: ${questionOf('list.order')}`, 'before: not observed', 'now:    refused with 400'],
  ]);
  const back = changesOf(fixture, earlier).join('\n');
  assert.ok(back.includes('\nservice.gone: not selected → passed\n'), back);
  assert.match(back, /\nlist\.limit: failed → passed\n/);
  assert.match(comparisonText(earlier, fixture), /^Before {2}https:\/\/old\.example\/v1, .* UTC: does not/);
});

test('for equal reports, the text says that nothing has changed', () => {
  assert.match(comparisonText(fixture, { ...fixture, startedAt: '2027-01-01T00:00:00Z' }), /^Nothing has changed/m);
  assert.doesNotMatch(comparisonText(earlier, fixture), /Nothing/);
});

test('text from a server is escaped', () => {
  const evil = {
    ...fixture,
    target: `http://x/${hostile}\n`,
    gaps: fixture.gaps.map((gap) => ({ ...gap, behaviour: `${hostile}\n${gap.behaviour ?? ''}` })),
  };
  assert.deepEqual(rawCharacters(comparisonText(evil, fixture)), []);
});

test('a written report can be read', () => {
  assert.deepEqual(readReport(JSON.stringify(fixture)), JSON.parse(JSON.stringify(fixture)));
});

test('a file that is no report is rejected with one line that names the error', () => {
  for (const [value, message] of [
    ['', /^not JSON: /],
    ['<html>\n\u001b[2J', /^not JSON: /],
    ['null', /^not a report of this kit$/],
    ['{"kit":{"name":"x"},"format":1}', /^not a report of this kit$/],
    [JSON.stringify({ ...fixture, gaps: undefined }), /^a report without the field gaps$/],
    [JSON.stringify({ ...fixture, format: 2 }), /^a report of format 2; this kit reads format 1$/],
  ] as const) {
    assert.throws(
      () => readReport(value),
      (error: Error) => {
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /[\n\u001b]/);
        return true;
      },
    );
  }
});
