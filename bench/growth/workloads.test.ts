import assert from 'node:assert/strict';
import { test } from 'node:test';
import { petsOn } from '../measure/pages.ts';
import { randomIntegers } from '../measure/random.ts';
import { workloads } from './workloads.ts';

const animals = 1_000;

test('every requested page is full and right, and pages are from the whole range', () => {
  for (const name of ['page', 'page by status'] as const) {
    const random = randomIntegers(1);
    const places = new Set<number>();
    for (let i = 0; i < 2_000; i++) {
      const { path, isRight } = workloads[name](random, animals);
      const { status, limit, after } = Object.fromEntries(new URL(path, 'http://a').searchParams);
      const filter = status === undefined ? {} : { status };
      const pets = petsOn({ ...filter, limit: Number(limit), after: Number(after) }, animals);
      assert.equal(pets.length, Number(limit), path);
      assert(isRight(pets) && !isRight(pets.slice(1)), path);
      places.add(Number(after));
    }
    assert(places.size > 600 && Math.min(...places) < 20 && Math.max(...places) > 960, `${name}: ${places.size}`);
  }
});

test('gets and creates name random animals, and their responses are compared', () => {
  const random = randomIntegers(1);
  const get = workloads.get(random, animals);
  assert.match(get.path, /^\/v1\/pets\/\d+$/);
  assert(!get.isRight({}));
  const create = workloads.create(random, animals);
  const pet = JSON.parse(create.body!) as object;
  assert(create.isRight({ id: 7, ...pet }) && !create.isRight({ id: 7, ...pet, name: 'x' }));
});
