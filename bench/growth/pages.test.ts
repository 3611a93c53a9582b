import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageKinds, pathOf, petsOn, type PageQuery } from './pages.ts';

const idsOn = (query: PageQuery, animals: number) =>
  petsOn(query, animals).map((pet) => (pet as { readonly id: number }).id);
const from = (first: number, length = 20, step = 1): number[] => Array.from({ length }, (_, i) => first + i * step);

test('a page has the next animals, or those that are sold', () => {
  assert.deepEqual(petsOn({}, 1_000)[1], { id: 2, name: 'Animal 2', categoryId: 3, status: 'pending' });
  assert.deepEqual(idsOn({}, 1_000), from(1));
  assert.deepEqual(idsOn({ after: 500 }, 1_000), from(501));
  assert.deepEqual(idsOn({ after: 990 }, 1_000), from(991, 10));
  assert.deepEqual(idsOn({ status: 'sold', after: 500 }, 1_000), from(501, 20, 3));
});

test('every requested page is full, and random pages are from the whole range', () => {
  const places = Object.entries(pageKinds).map(([name, query]) => {
    const queries: readonly PageQuery[] = Array.from({ length: 2_000 }, () => query(100));
    for (const one of queries) assert.equal(idsOn(one, 100).length, 20, `${name} ${JSON.stringify(one)}`);
    return new Set(queries.map(({ after = 0 }) => after)).size;
  });
  assert.deepEqual(places, [1, 81, 41, 1]);
  assert.equal(pathOf({}), '/pets?limit=20');
  assert.equal(pathOf({ status: 'sold', after: 7 }), '/pets?status=sold&limit=20&after=7');
});
