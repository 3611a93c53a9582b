import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fixture } from '../testing/report.ts';
import { malformed, rawCharacters } from '../testing/wellformed.ts';
import { reportJunit } from './junit.ts';
import { isUnjudged } from '../verdicts/results.ts';
import type { Report } from './report.ts';

const strict: Report = { ...fixture, mode: ['strict'] };
const xml = reportJunit(fixture);

test('the XML is well-formed, and contains only characters of XML 1.0', () => {
  for (const one of [xml, reportJunit(strict)]) {
    assert.equal(malformed(one), undefined);
    assert.deepEqual(rawCharacters(one), []);
  }
  assert.ok(xml.includes('\\u0000\\u009b31m\\u202eevil'));
  assert.doesNotMatch(xml, /<script|\]\]>/);
});

test('xmllint accepts it', (context) => {
  const ran = spawnSync('xmllint', ['--noout', '-'], { input: xml, encoding: 'utf8' });
  if (ran.error !== undefined) return context.skip('xmllint is not installed (Debian: libxml2-utils)');
  assert.equal(ran.stderr, '');
  assert.equal(ran.status, 0);
});

test('the counts of each suite match its cases, and the totals match the suites', () => {
  const { failed, known, inconclusive, skipped } = fixture.totals;
  const open = fixture.requirements.filter(isUnjudged).length;
  // Two known deviations are out of date, and two are not.
  for (const [report, failures, left] of [
    [fixture, failed + 2, known + inconclusive + skipped + 2],
    [strict, failed + open + 2, known + inconclusive + skipped - open + 2],
  ] as const) {
    const [head = '', ...suites] = reportJunit(report).split('<testsuite ');
    const sums = { tests: 0, failures: 0, skipped: 0 };
    for (const suite of suites) {
      const counted = {
        tests: occurrences(suite, '<testcase '),
        failures: occurrences(suite, '<failure '),
        skipped: occurrences(suite, '<skipped '),
      };
      assert.deepEqual(attributes(suite), counted);
      for (const name of ['tests', 'failures', 'skipped'] as const) sums[name] += counted[name];
    }
    assert.deepEqual(sums, { tests: fixture.requirements.length + 4, failures, skipped: left });
    assert.deepEqual(attributes(head.slice(head.indexOf('<testsuites'))), sums);
  }
});

test('a case names section, requirement and text; a failure says what was required and received', () => {
  assert.ok(
    xml.includes(
      '<testcase classname="4.1 List animals" name="list.limit: A list never has more animals than its limit, nor more than 100." time="1.250">',
    ),
  );
  assert.ok(
    xml.includes(
      '<failure message="required: at most 1 animal; received: 2 animals" type="failed">required: at most 1 animal\nreceived: 2 animals\nsmallest case: limit=1\nreproduce: curl -sS',
    ),
  );
  assert.ok(xml.includes('required: a list of animals\n'), 'the second failure of the same requirement');
  assert.ok(xml.includes('<testsuites name="petstore-conformance https://staging.example/v1"'));
});

test('a case has the duration of its check, and the suites those of their cases', () => {
  assert.match(xml, /<testsuites [^>]* time="1\.250"/);
  assert.match(xml, /<testsuite name="4.1 List animals"[^>]* time="1\.250"/);
  assert.match(xml, /<testcase [^>]*name="list\.answers: [^>]* time="0\.000"/);
});

test('a requirement that was not judged is skipped, or a failure under --strict, with its reason', () => {
  const message =
    'message="inconclusive: the list has 12 animals; more than 20 are needed to see the default of limit"';
  assert.ok(xml.includes(`<skipped ${message}/>`));
  assert.ok(reportJunit(strict).includes(`<failure ${message} type="inconclusive"/>`));
  for (const one of [xml, reportJunit(strict)])
    for (const reason of ['it needs two servers', 'only with --exhaust'])
      assert.ok(one.includes(`<skipped message="skipped: ${reason}`), reason);
});

test('known deviations are skipped, and have a suite of their own, in which those that are out of date fail', () => {
  assert.match(xml, /name="create\.null: [^>]*>\n<skipped message="known: PET-112, .*>required: 400, /);
  const suite = xml.slice(xml.indexOf('<testsuite name="Known deviations"'));
  assert.match(suite, /name="create\.null" [^>]*>\n<skipped message="PET-112, /);
  assert.match(suite, /name="create\.fraction" [^>]*>\n<failure message="it no longer occurs: remove line 3 of known/);
  assert.match(suite, /name="list\.limit" [^>]*>\n<failure message="it expired on 2026-10-31: /);
  assert.match(suite, /name="limits\.refuses" [^>]*>\n<skipped message="not judged in this run: PET-115/);
  assert.doesNotMatch(reportJunit({ ...fixture, known: [] }), /Known deviations/);
});

function attributes(text: string): Record<'tests' | 'failures' | 'skipped', number> {
  const read = (name: string): number => Number(new RegExp(` ${name}="(\\d+)"`).exec(text)?.[1]);
  return { tests: read('tests'), failures: read('failures'), skipped: read('skipped') };
}

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}
