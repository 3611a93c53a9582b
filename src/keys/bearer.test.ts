import assert from 'node:assert/strict';
import test from 'node:test';
import { bearerToken } from './bearer.ts';

test('returns the token of Bearer credentials, or null', () => {
  const cases: [authorization: string, token: string | null][] = [
    ['', null], ['Bearer', null], ['Bearer ', null], ['Bearer    ', null], ['Bearer a', 'a'], ['Bearer a ', 'a '],
    ['Bearer   a', 'a'],
    ['bearer a', 'a'], ['BEARER b', 'b'], ['Bearer a b', 'a b'], ['Bearera', null], ['Bearer\ta', null],
    [' Bearer a', null],
    ['Basic a', null], ['a', null], ['Bearer Bearer a', 'Bearer a'],
  ];
  for (const [authorization, token] of cases) assert.equal(bearerToken(authorization), token, authorization);
});
