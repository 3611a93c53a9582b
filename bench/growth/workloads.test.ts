import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workloadsOf } from './workloads.ts';

test('every requested page is full, and pages are from the whole range', () => {
  const pages = workloadsOf(1_000, 2_000).filter(({ title }) => title.startsWith('page'));
  assert.equal(pages.length, 2);
  for (const { title, exchanges } of pages) {
    const places = new Set<number>();
    for (const { path, expected } of exchanges) {
      const { limit, after } = Object.fromEntries(new URL(path, 'http://a').searchParams);
      assert.equal((expected as readonly object[]).length, Number(limit), path);
      places.add(Number(after));
    }
    assert(places.size > 600 && Math.min(...places) < 20 && Math.max(...places) > 960, `${title}: ${places.size}`);
  }
});
