/** Failures of a requirement with the same cause have one example. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixture } from '../testing/report.ts';
import type { Failure, RequirementResult } from '../verdicts/results.ts';
import { examplesOf } from './groups.ts';

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
