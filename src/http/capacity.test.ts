import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { capacityOf, oldSpaceMiB } from './capacity.ts';

const mib = 2 ** 20;

test('the number of connections follows from the heap limit', () => {
  assert.deepEqual(capacityOf(304 * mib, null), { maxServed: 401, maxRefused: 41 });
  assert.deepEqual(capacityOf(4144 * mib, null), { maxServed: 5_486, maxRefused: 549 });
  assert.deepEqual(capacityOf(100_000 * mib, null), { maxServed: 10_000, maxRefused: 1_000 });
  assert.deepEqual(capacityOf(304 * mib, 100), { maxServed: 100, maxRefused: 342 });
});

test('half of the heap has room for all connections, however many are requested', () => {
  const heap = fc.integer({ min: 10 * mib, max: 1e12 });
  fc.assert(fc.property(heap, fc.option(fc.integer({ min: 1, max: 1_000_000 })), (heapBytes, requested) => {
    const { maxServed, maxRefused } = capacityOf(heapBytes, requested);
    assert(maxServed >= 1 && maxRefused >= 1);
    assert((maxServed + maxRefused) * 360_000 <= heapBytes / 2);
    assert(maxServed <= (requested ?? 10_000));
  }));
});

test('with the old space of oldSpaceMiB, as many connections are served as are requested', () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 1_000_000 }), (requested) => {
    assert.equal(capacityOf(oldSpaceMiB(requested) * mib, requested).maxServed, requested);
  }));
});
