import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf, petsOn, type PageQuery } from './pages.ts';

const idsOn = (query: PageQuery, animals: number) =>
  petsOn(query, animals).map((pet) => (pet as { readonly id: number }).id);
const from = (first: number, length = 20, step = 1): number[] => Array.from({ length }, (_, i) => first + i * step);

test('a page has the next animals, or those with a status', () => {
  assert.deepEqual(petsOn({}, 1_000)[1], { id: 2, name: 'Żubr', categoryId: 3, status: 'available' });
  assert.deepEqual(idsOn({}, 1_000), from(1));
  assert.deepEqual(idsOn({ after: 500, limit: 100 }, 1_000), from(501, 100));
  assert.deepEqual(idsOn({ after: 990 }, 1_000), from(991, 10));
  assert.deepEqual(idsOn({ status: 'sold', after: 500 }, 1_000), from(501, 20, 5));
  assert.deepEqual(idsOn({ status: 'pending', limit: 3 }, 1_000), [50, 100, 150]);
});

test('a path has the parameters that are given', () => {
  assert.equal(pathOf({}), '/pets');
  assert.equal(pathOf({ after: 7, limit: 20, status: 'sold' }), '/pets?status=sold&limit=20&after=7');
});
