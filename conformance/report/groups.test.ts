/** Failures with the same cause form a group with one example. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixture } from '../testing/report.ts';
import type { Failure, RequirementResult } from '../verdicts/results.ts';
import { examplesOf, failedGroups } from './groups.ts';
import { reportHtml } from './html.ts';
import { summaryText } from './terminal.ts';

let cases = 0;

/** A failure that has its own request. */
function failure(required: string, received: string, request = `request ${++cases}`): Failure {
  return { required, received, smallestCase: request, curl: `curl ${request}`, response: `HTTP of ${request}` };
}

function failed(id: RequirementResult['id'], ...failures: readonly Failure[]): RequirementResult {
  const result = fixture.requirements.find((one) => one.id === id)!;
  const { reason: _, ...rest } = result;
  return { ...rest, verdict: 'failed', failures, failed: failures.length };
}

const ids = (...results: readonly RequirementResult[]) =>
  failedGroups(results).map((group) => group.map(({ id }) => id).join(' '));

test('failures that differ in numbers, quoted values and reasons are of one kind', () => {
  for (const [one, other, count] of [
    [['at most 2 animals', '11 animals'], ['at most 1 animal', '1 animal'], 1],
    [['name "Aa", as it was sent', '"aa"'], ['name "\\"B", as it was sent', '"\\"b"'], 1],
    [['400, because it is null', '201'], ['400, because it is a list', '201'], 1],
    [['400, because it is null', '201'], ['400, because it is null', '500'], 2],
    [['400', '500'], ['401', '500'], 2],
    [['an array of objects', 'an object'], ['an array of objects', 'a string'], 2],
  ] as const) {
    const result = failed('list.limit', failure(one[0], one[1]), failure(other[0], other[1]));
    assert.equal(examplesOf(result).length, count, `${one} ${other}`);
  }
});

test('one response that violates several requirements is one cause', () => {
  const [limit, remaining] = (['Limit', 'Remaining'] as const).map((name) => failure(name, 'none in a 401', 'GET /pets'));
  assert.deepEqual(ids(failed('limits.limit-header', limit!), failed('limits.remaining-header', remaining!)), [
    'limits.limit-header limits.remaining-header',
  ]);
});

test('the same error status instead of the same other status is one cause; what was accepted is not', () => {
  const because = (received: string) => [failure('401, because it is empty', received), failure('401, because it is cut', received)];
  const auth = (received: string) => {
    const [empty, cut] = because(received);
    return ids(failed('auth.empty', empty!), failed('auth.cut', cut!));
  };
  assert.deepEqual(auth('400'), ['auth.empty auth.cut']);
  assert.deepEqual(auth('200'), ['auth.empty', 'auth.cut']);
});

test('a group has one example in the summary and in the page, and each requirement its own lines', () => {
  const requirements = [
    failed('auth.empty', failure('401, because it is empty', '400', 'first')),
    failed('auth.cut', failure('401, because it is cut', '400', 'second'), failure('401', '200', 'third')),
  ];
  const report = { ...fixture, requirements };
  const text = summaryText(report, { colour: false });
  const page = reportHtml(report);
  for (const shown of [text, page]) {
    for (const part of ['auth.empty', 'auth.cut', 'because it is empty', 'because it is cut', 'curl first', 'curl third'])
      assert.ok(shown.includes(part), part);
    assert.ok(!shown.includes('curl second'));
  }
  assert.match(text, /FAILED auth\.cut [^]*\n {2}same cause as {2}auth\.empty\n/);
  assert.match(page, /<dt>same cause as<\/dt><dd>auth\.empty<\/dd>/);
});
