import assert from 'node:assert/strict';
import test from 'node:test';
import { ApiError, errorBody } from './api-error.ts';

test('an ApiError is an Error without a stack trace, and the next error has one', () => {
  const error = new ApiError('pet_not_found', 'There is no such animal.', { percent: 7 });
  assert(error instanceof Error);
  assert.doesNotMatch(error.stack ?? '', /\n\s+at /);
  assert.match(new Error('a bug').stack!, /\n\s+at /);
  assert.deepEqual(JSON.parse(errorBody(error)), {
    code: 'pet_not_found', message: 'There is no such animal.', status: 404, percent: 7,
  });
});
