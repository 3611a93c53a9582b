import assert from 'node:assert/strict';
import test from 'node:test';
import { BearerTokens } from './bearer.ts';

test('the token of bearer credentials, whatever was asked for before', () => {
  const cases: [authorization: string, token: string | null][] = [
    ['', null], ['Bearer', null], ['Bearer ', null], ['Bearer    ', null], ['Bearer a', 'a'], ['Bearer a ', 'a '], ['Bearer   a', 'a'],
    ['bearer a', 'a'], ['BEARER b', 'b'], ['Bearer a b', 'a b'], ['Bearera', null], ['Bearer\ta', null], [' Bearer a', null],
    ['Basic a', null], ['a', null], ['Bearer Bearer a', 'Bearer a'],
  ];
  const tokens = new BearerTokens();
  for (const [before] of cases) {
    for (const [authorization, token] of cases) {
      tokens.in(before);
      assert.equal(tokens.in(authorization), token, `${before}, then ${authorization}`);
      assert.equal(tokens.in(authorization), token, `${authorization} again`);
    }
  }
});
