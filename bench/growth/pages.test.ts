import assert from 'node:assert/strict';
import { test } from 'node:test';
import { petsOn, type PageQuery } from '../measure/pages.ts';
import { pageKinds } from './pages.ts';

test('every requested page is full, and random pages are from the whole range', () => {
  const places = Object.entries(pageKinds).map(([name, query]) => {
    const queries: readonly PageQuery[] = Array.from({ length: 3_000 }, () => query(140));
    for (const one of queries) assert.equal(petsOn(one, 140).length, 20, `${name} ${JSON.stringify(one)}`);
    return new Set(queries.map(({ after = 0 }) => after)).size;
  });
  assert.deepEqual(places, [1, 121, 41, 1]);
});
