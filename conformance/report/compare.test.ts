import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixture, hostile } from '../testing/report.ts';
import { rawCharacters } from '../testing/wellformed.ts';
import type { Verdict } from '../verdicts/results.ts';
import { compare, isUnchanged } from './compare.ts';
import { readReport } from './read.ts';
import type { Report } from './report.ts';
import { comparisonText } from './terminal.ts';

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

test('verdicts are compared in both directions', () => {
  const ids = (before: Report, now: Report): unknown =>
    compare(before, now).changed.map(({ id, before: was, now: is, direction }) => `${id} ${was} ${is} ${direction}`);
  assert.deepEqual(ids(earlier, fixture), [
    'list.limit passed failed worse',
    'list.status inconclusive passed other',
    'create.name skipped failed worse',
    'get.answers failed passed better',
    'limits.refuses passed skipped other',
  ]);
  assert.deepEqual(ids(fixture, earlier), [
    'list.limit failed passed better',
    'list.status passed inconclusive other',
    'create.name failed skipped other',
    'get.answers passed failed worse',
    'limits.refuses skipped passed other',
  ]);
});

test('a deviation that is known now is another change, and one that no longer occurs is better', () => {
  const withFirst = (verdict: Verdict): Report => ({
    ...fixture,
    requirements: fixture.requirements.map((result, i) => (i === 0 ? { ...result, verdict } : result)),
  });
  const [passed, known] = [withFirst('passed'), withFirst('known')];
  assert.match(comparisonText(compare(passed, known)), /Other: not judged, or a known deviation, in one of the two runs/);
  assert.match(comparisonText(compare(known, passed)), /Better: /);
});

test('requirements of only one report, and gaps, are compared in both directions', () => {
  const forth = compare(earlier, fixture);
  const back = compare(fixture, earlier);
  assert.deepEqual(
    [forth.onlyBefore.map(({ id }) => id), forth.onlyNow.map(({ id }) => id)],
    [['service.gone'], ['service.json']],
  );
  assert.deepEqual(
    [back.onlyBefore.map(({ id }) => id), back.onlyNow.map(({ id }) => id)],
    [['service.json'], ['service.gone']],
  );
  const changes = ({ gaps }: typeof forth): unknown => gaps.map(({ id, before, now }) => [id, before, now]);
  assert.deepEqual(changes(forth), [
    ['list.limit-0', '200, an empty list', 'refused with 400'],
    ['list.order', undefined, 'refused with 400'],
  ]);
  assert.deepEqual(changes(back), [
    ['list.limit-0', 'refused with 400', '200, an empty list'],
    ['list.order', 'refused with 400', undefined],
  ]);
  assert.deepEqual(forth.before, {
    target: 'https://old.example/v1',
    startedAt: '2026-11-18T08:00:00Z',
    conforms: false,
    headline: 'Does not conform',
  });
});

test('a gap that only one report has is a change', () => {
  const fewer = { ...fixture, gaps: fixture.gaps.slice(1) };
  assert.deepEqual(
    compare(fixture, fewer).gaps.map(({ id, before, now }) => [id, before, now]),
    [['list.limit-0', 'refused with 400', undefined]],
  );
  assert.deepEqual(
    compare(fewer, fixture).gaps.map(({ id, before, now }) => [id, before, now]),
    [['list.limit-0', undefined, 'refused with 400']],
  );
});

test('the text lists what is worse, then better, then other changes, then gaps', () => {
  const text = comparisonText(compare(earlier, fixture));
  const parts = [
    'https://old.example/v1',
    ...['Worse', 'list.limit: passed → failed', 'Better', 'get.answers: failed → passed', 'Other', 'limits.refuses'],
    ...['Only in the earlier', 'service.gone', 'Only in this', 'service.json'],
    ...['Gaps filled', 'before: 200, an empty list', 'Gaps that only one', 'list.order'],
  ];
  const places = parts.map((part) => text.indexOf(part));
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
  );
  assert.ok(!places.includes(-1));
});

test('for equal reports, the text says that nothing has changed', () => {
  const same = compare(fixture, { ...fixture, startedAt: '2027-01-01T00:00:00Z' });
  assert.ok(isUnchanged(same));
  assert.match(comparisonText(same), /^Nothing has changed/m);
  assert.ok(!isUnchanged(compare(earlier, fixture)));
});

test('text from a server is escaped', () => {
  const evil = {
    ...fixture,
    target: `http://x/${hostile}\n`,
    gaps: fixture.gaps.map((gap) => ({ ...gap, behaviour: `${hostile}\n${gap.behaviour ?? ''}` })),
  };
  assert.deepEqual(rawCharacters(comparisonText(compare(evil, fixture))), []);
});

test('a written report can be read', () => {
  const comparison = compare(earlier, fixture);
  const read = (report: object) => readReport(`\ufeff${JSON.stringify(report)}`, 'report.json');
  assert.deepEqual(compare(read(earlier), read(fixture)), comparison);
  const { known: _, ...totals } = fixture.totals;
  const old = read({ ...fixture, totals, known: undefined });
  assert.deepEqual([old.totals.known, old.known], [0, []], 'of a version without --known');
});

test('an invalid report is rejected with one line that names the file and the error', () => {
  const first = fixture.requirements[0];
  for (const [value, message] of [
    ['', /^r\.json: not JSON: /],
    ['<html>\n\u001b[2J', /^r\.json: not JSON: /],
    ['[]', /^r\.json: not a report of this kit: it must be an object, not a list$/],
    ['['.repeat(100_000) + ']'.repeat(100_000), /^r\.json: .* it must be an object, not a list$/],
    ['null', /^r\.json: not a report of this kit: it must be an object, not null$/],
    ['{}', /^r\.json: not a report of this kit: format is missing$/],
    [
      JSON.stringify({ ...fixture, format: '1' }),
      /^r\.json: not a report of this kit: format must be a number, not "1"$/,
    ],
    [JSON.stringify({ ...fixture, format: 2 }), /^r\.json: a report of format 2; this kit reads format 1$/],
    [JSON.stringify({ ...fixture, gaps: undefined }), /^r\.json: not a report of format 1: gaps is missing$/],
    [
      JSON.stringify({ ...fixture, requirements: {} }),
      /^r\.json: not a report of format 1: requirements must be a list, not an object$/,
    ],
    [
      JSON.stringify({ ...fixture, requirements: [{ ...first, verdict: 'ok' }] }),
      /: requirements\[0\]\.verdict must be passed or failed or known or inconclusive or skipped, not "ok"$/,
    ],
    [
      JSON.stringify({ ...fixture, requirements: [first, first] }),
      /^r\.json: not a report of format 1: service\.json is there twice$/,
    ],
    [
      JSON.stringify({ ...fixture, totals: { ...fixture.totals, failed: -1 } }),
      /: totals\.failed must be an integer, 0 or more, not -1$/,
    ],
  ] as const) {
    assert.throws(
      () => readReport(value, 'r.json'),
      (error: Error) => {
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /[\n\u001b]/);
        return true;
      },
    );
  }
});

test('every field that a comparison reads must be present and of its type', () => {
  for (const name of ['format', 'target', 'startedAt', 'totals', 'conforms', 'known', 'requirements', 'gaps']) {
    for (const wrong of name === 'known' ? [null] : [undefined, null]) {
      assert.throws(
        () => readReport(JSON.stringify({ ...fixture, [name]: wrong }), 'r'),
        new RegExp(`\\b${name} (is missing|must be)`),
      );
    }
  }
  const fields = {
    requirements: ['id', 'section', 'text', 'verdict', 'inapplicable', 'restriction'],
    gaps: Object.keys(fixture.gaps[0]!),
  };
  for (const list of ['requirements', 'gaps'] as const) {
    const element: object = fixture[list][0] ?? {};
    for (const name of fields[list]) {
      assert.throws(
        () => readReport(JSON.stringify({ ...fixture, [list]: [{ ...element, [name]: null }] }), 'r'),
        new RegExp(`${list}\\[0\\]\\.${name} must be`),
      );
    }
  }
});
