import assert from 'node:assert/strict';
import { test } from 'node:test';
import { animal } from '../measure/animal.mjs';
import { wrongPage, type Answer } from './right.ts';
import { pathOf, reads, type PageQuery } from './shop.ts';

const shopSize = 1_000;
const link = '</v1/pets?limit=20&after=1>; rel="next"';

function answer(ids: readonly number[], changed: Partial<Answer> = {}): Answer {
  return { status: 200, link, body: JSON.stringify(ids.map((id) => ({ id, ...animal(id) }))), ...changed };
}

const from = (first: number, length = 20, step = 1): number[] => Array.from({ length }, (_, i) => first + i * step);

test('right pages', () => {
  const right: readonly (readonly [PageQuery, Answer])[] = [
    [{}, answer(from(1))],
    [{ after: 500 }, answer(from(501))],
    [{ after: 980 }, answer(from(981), { link: null })],
    [{ after: 979 }, answer(from(980))],
    [{ status: 'sold', after: 500 }, answer(from(501, 20, 3))],
    [{ status: 'sold', after: 940 }, answer(from(942, 20, 3), { link: null })],
    [{ status: 'sold', after: 936 }, answer(from(939, 20, 3))],
  ];
  for (const [query, given] of right) assert.equal(wrongPage(query, shopSize, given), undefined, pathOf(query));
});

test('wrong pages', () => {
  assert.equal(wrongPage({}, shopSize, answer(from(1), { status: 429 })), 'the status is 429');
  assert.match(wrongPage({}, shopSize, answer(from(2)))!, /^due were \[\{"id":1,.*, and came \[\{"id":2,/);
  assert.match(wrongPage({}, shopSize, answer(from(1, 19)))!, /^due were/);
  assert.match(wrongPage({ after: 30, status: 'sold' }, shopSize, answer(from(31)))!, /^due were \[\{"id":33,/);
  assert.equal(wrongPage({}, shopSize, answer(from(1), { link: null })), 'a link to the next page is missing');
  assert.equal(wrongPage({ after: 980 }, shopSize, answer(from(981))), 'a link to the next page is one too many');
});

test('every page asked for is full, and all of the range is', () => {
  for (const { name, query } of reads) {
    const asked = Array.from({ length: 2_000 }, () => query(100));
    for (const { after = 0, status } of asked) assert.ok(after >= 0 && after <= (status === undefined ? 80 : 40), `${name} after ${after}`);
    const places = new Set(asked.map(({ after = 0 }) => after)).size;
    assert.equal(places, { 'first page': 1, 'random page': 81, 'filtered page': 41, 'last page': 1 }[name], name);
  }
  assert.equal(pathOf({}), '/pets?limit=20');
  assert.equal(pathOf({ status: 'sold', after: 7 }), '/pets?status=sold&limit=20&after=7');
});
