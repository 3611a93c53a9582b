/** The comparison of failed requirements with the expected ones. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requirements } from '../requirements/requirements.ts';
import { differences, expectedFailures } from './expected.ts';

test('README.md has requirements for each server that fails one', () => {
  for (const server of ['fastapi', 'go', 'fastify', 'php']) {
    const expected = expectedFailures(server);
    assert.ok(expected.length > 0, server);
    const unknown = expected.filter((expectedId) => !requirements.some(({ id }) => id === expectedId));
    assert.deepEqual(unknown, []);
  }
  assert.deepEqual(expectedFailures('none'), []);
});

test('a difference is a failure that is not expected, or an expected one that is missing', () => {
  const failure = { required: '400', received: '201', smallestCase: '{}', curl: '', response: '' };
  const failed = { id: 'create.null', verdict: 'failed', failures: [failure] } as const;
  const passed = { id: 'create.empty', verdict: 'passed', failures: [] } as const;
  assert.deepEqual(differences(['create.null'], [failed, passed]), []);
  assert.deepEqual(differences([], [failed, passed]), [
    'create.null failed: required 400, received 201, smallest case {}',
  ]);
  assert.deepEqual(differences(['create.null', 'create.empty', 'get.answers'], [failed, passed]), [
    'create.empty should have failed: passed',
    'get.answers should have failed: it was not checked',
  ]);
});
