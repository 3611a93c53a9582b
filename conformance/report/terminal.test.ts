import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { fixture, hostile } from '../testing/report.ts';
import { rawCharacters } from '../testing/wellformed.ts';
import { reportHtml } from './html.ts';
import type { RequirementResult } from '../verdicts/results.ts';
import type { KnownResult } from '../verdicts/known.ts';
import type { Report } from './report.ts';
import { painter, resultLine, summaryText } from './terminal.ts';

const plain = painter(false);
const summary = summaryText(fixture, plain);

const lastLine = (report: Report): string => summaryText(report, plain).split('\n').at(-1)!;
const conforming: Report = {
  ...fixture,
  conforms: true,
  known: [],
  requirements: fixture.requirements.map((result) =>
    ['failed', 'known', 'inconclusive'].includes(result.verdict) ? { ...result, verdict: 'passed' } : result,
  ),
  totals: { passed: 55, failed: 0, known: 0, inconclusive: 0, skipped: fixture.totals.skipped },
  seed: 1234567,
  seconds: 75,
  sent: { ...fixture.sent, withKey: 1180, created: 1, unwanted429: 0 },
  mode: ['write'],
};

test('the last line has the verdict, how much was judged, and the totals', () => {
  const { passed, failed, known, inconclusive, skipped } = fixture.totals;
  const all = fixture.requirements.length;
  assert.equal(
    lastLine(fixture),
    `DOES NOT CONFORM: ${passed + failed + known} of ${all} requirements judged: ` +
      `${passed} passed, ${failed} failed, ${known} known, ${inconclusive} inconclusive, ${skipped} skipped` +
      ' (312 requests, 41 animals created, 1 × 429 that the kit did not provoke, seed 42, 8.1 s)',
  );
  assert.equal(
    lastLine(conforming),
    `CONFORMS: 55 of ${all} requirements judged: 55 passed, 0 failed, 0 inconclusive, ${skipped} skipped` +
      ' (1,202 requests, 1 animal created, seed 1234567, 1 min 15 s)',
  );
});

test('503 responses that were repeated are one finding with its rate', () => {
  const sent = { ...fixture.sent, withKey: 618, withoutKey: 22, recovered503: 16 };
  const text = summaryText({ ...fixture, sent }, plain);
  assert.match(text, /\n\nUnavailable at times\n {2}16 of 640 requests \(1 in 40\) got 503, and were served[^]*\n\nDOES/);
  assert.doesNotMatch(summary, /503/);
});

test('a run that judges less than a default run, or finds known deviations, does not conform', () => {
  const known = (state: KnownResult['state']) => [{ ...fixture.known[0]!, state }];
  const withFirst = (changes: Partial<RequirementResult>) => ({
    requirements: conforming.requirements.with(0, { ...conforming.requirements[0]!, ...changes }),
  });
  for (const [changes, headline] of [
    [{ requirements: conforming.requirements.slice(1) }, 'NO VIOLATION FOUND'],
    [withFirst({ verdict: 'skipped', restriction: 'read-only' }), 'NO VIOLATION FOUND'],
    [withFirst({ verdict: 'skipped', restriction: 'write' }), 'NO VIOLATION FOUND'],
    [withFirst({ verdict: 'skipped', restriction: 'exclude' }), 'NO VIOLATION FOUND'],
    [withFirst({ verdict: 'skipped', reason: 'too much for --max-requests 100' }), 'NO VIOLATION FOUND'],
    [withFirst({ verdict: 'inconclusive', reason: 'no response' }), 'NO VIOLATION FOUND'],
    [withFirst({ verdict: 'skipped', restriction: 'plan' }), 'CONFORMS'],
    [withFirst({ verdict: 'skipped', reason: 'the window is not fixed', inapplicable: true }), 'CONFORMS'],
    [{ known: known('not judged') }, 'CONFORMS'],
    [{ known: known('occurs'), totals: { ...conforming.totals, known: 1 } }, 'CONFORMS EXCEPT FOR KNOWN DEVIATIONS'],
    [
      {
        known: known('occurs'),
        totals: { ...conforming.totals, known: 1 },
        requirements: conforming.requirements.slice(1),
      },
      'ONLY KNOWN VIOLATIONS FOUND',
    ],
    [{ conforms: false, known: known('gone') }, 'KNOWN DEVIATIONS ARE OUT OF DATE'],
    [{ conforms: false, known: known('expired') }, 'KNOWN DEVIATIONS ARE OUT OF DATE'],
    [{ conforms: false, mode: ['strict'] }, 'NOT SHOWN TO CONFORM'],
    [{ conforms: false, mode: ['min-judged 60'] }, 'NOT SHOWN TO CONFORM'],
    [{ conforms: false, aborted: 'it is gone' }, 'NOT TESTED TO THE END'],
    [{ mode: ['write', 'exhaust'] }, 'CONFORMS'],
  ] as const) {
    const report = { ...conforming, ...changes } as Report;
    assert.equal(lastLine(report).split(':')[0], headline);
    assert.match(reportHtml(report), new RegExp(`<title>${headline}: `, 'i'));
  }
});

test('the last line counts what was excluded and what was not selected', () => {
  const total = fixture.requirements.length;
  const [first, ...others] = conforming.requirements.slice(0, 10);
  const excluded = { ...first!, verdict: 'skipped', restriction: 'exclude' } as const;
  const totals = { passed: 9, failed: 0, known: 0, inconclusive: 0, skipped: 1 };
  const report: Report = { ...conforming, totals, mode: ['only x', 'exclude y'], requirements: [excluded, ...others] };
  assert.match(
    lastLine(report),
    new RegExp(
      `^NO VIOLATION FOUND: 9 of ${total} requirements judged: 9 passed, 0 failed, 0 inconclusive, 0 skipped, ` +
        `1 excluded, ${total - 10} not selected \\(`,
    ),
  );
});

test('each known deviation has a block that says what must be changed', () => {
  const blockOf = (name: string) => summary.split('\n\n').find((one) => one.includes(`${name} (known deviation)`))!;
  const known = blockOf('! KNOWN create.null');
  assert.match(known, /\n {2}reason {9}PET-112,.*\(until 2027-03-31\)\n {2}required {7}400, because name is null\n/);
  assert.match(blockOf('✗ FAILED create.fraction'), /reason +it no longer occurs: remove line 3 of known\.txt$/);
  const expired = /reason +it expired on 2026-10-31: correct the server, or set a later date in line 4/;
  assert.match(blockOf('✗ FAILED list.limit'), expired);
  assert.match(blockOf('– SKIPPED limits.refuses'), /not judged in this run: PET-115 \(until 2027-03-31\)$/);
  assert.doesNotMatch(summary, /FAILED create\.null/);
  assert.doesNotMatch(summaryText(conforming, plain), /known deviation/);
});

test('failures are complete', () => {
  for (const result of fixture.requirements.filter(({ verdict }) => verdict === 'failed')) {
    assert.ok(summary.includes(`✗ FAILED ${result.id} (`));
    for (const { curl, replay } of result.failures) {
      assert.ok(
        summary.split('\n').some((line) => line.endsWith(curl)),
        curl,
      );
      if (replay !== undefined) assert.ok(summary.includes(replay));
    }
  }
  assert.match(
    summary,
    /\n {2}required {7}at most 1 animal\n {2}received {7}2 animals\n {2}smallest case {2}limit=1\n {2}reproduce {6}curl -sS/,
  );
  assert.match(summary, /FAILED list\.limit \(4\.1 List animals; 7 failures\)/);
});

test('inconclusive requirements have a reason, and only observed gaps are shown', () => {
  assert.match(summary, /\? INCONCLUSIVE list\.default-limit \(.*\)\n.*\n {2}reason +the list has 12 animals; more than 20 are needed/);
  assert.match(summary, /\n {2}What is the response to limit=101\? +taken for 100\n/);
  assert.doesNotMatch(summary, /What is the body of a 429/);
});

test('a server cannot send terminal escapes, and colours change only colours', () => {
  const evil: Report = {
    ...fixture,
    gaps: fixture.gaps.map((gap) => ({ ...gap, behaviour: `\u001b]0;owned\u0007${hostile}\n` })),
  };
  for (const report of [fixture, evil]) {
    const text = summaryText(report, plain);
    assert.deepEqual(rawCharacters(text), []);
    const coloured = summaryText(report, painter(true));
    assert.notEqual(coloured, text);
    assert.deepEqual(rawCharacters(coloured.replace(/\u001b\[\d+m/g, '')), []);
    assert.equal(stripVTControlCharacters(coloured), text);
  }
});

test('long values are truncated with a note; curl lines are not', () => {
  const long = 'x'.repeat(100_000);
  const requirements = fixture.requirements.map((result) => ({
    ...result,
    failures: result.failures.map((failure) => ({ ...failure, smallestCase: long, curl: `curl ${long}` })),
  }));
  const report: Report = { ...fixture, requirements };
  const text = summaryText(report, plain);
  assert.match(text, /smallest case {2}x{1500} … \(98,500 more characters\)\n/);
  assert.ok(text.includes(`curl ${long}\n`));
});

test('progress has one line for each requirement, with a sign and words', () => {
  const line = (id: string, changes: Partial<RequirementResult> = {}): string => {
    const result = fixture.requirements.find((one) => one.id === id);
    assert.ok(result);
    return resultLine({ ...result, ...changes }, plain);
  };
  assert.equal(
    line('list.answers'),
    '  ✓ list.answers                  GET /pets returns 200 and Pets.   (31 responses so far)',
  );
  assert.equal(line('list.answers', { judged: 1 }).slice(-19), '(1 response so far)');
  assert.equal(
    line('list.limit'),
    '  ✗ list.limit                    A list never has more animals than its limit, nor more than 100.   (FAILED)',
  );
  assert.match(line('list.default-limit'), /^ {2}\? list\.default-limit .* \(inconclusive: the list has 12 animals; /);
  assert.match(line('limits.refuses'), /^ {2}– limits\.refuses .* \(skipped: only with --exhaust\)$/);
  assert.deepEqual(rawCharacters(line('list.limit', { verdict: 'skipped', reason: `${hostile}\n` })), []);
  assert.doesNotMatch(line('list.limit', { verdict: 'skipped', reason: 'a\nb' }), /\n/);
});
