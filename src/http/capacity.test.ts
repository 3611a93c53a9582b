import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { capacityOf, oldSpaceFor } from './capacity.ts';

const mib = 2 ** 20;

test('the number of connections follows from the heap limit', () => {
  assert.deepEqual(capacityOf(304 * mib, null), { served: 401, refused: 41 });
  assert.deepEqual(capacityOf(4144 * mib, null), { served: 5_486, refused: 549 });
  assert.deepEqual(capacityOf(100_000 * mib, null), { served: 10_000, refused: 1_000 });
  assert.deepEqual(capacityOf(304 * mib, 100), { served: 100, refused: 342 });
});

test('half of the heap has room for all connections, however many are requested', () => {
  const heap = fc.integer({ min: 10 * mib, max: 1e12 });
  fc.assert(fc.property(heap, fc.option(fc.integer({ min: 1, max: 1_000_000 })), (heapBytes, requested) => {
    const { served, refused } = capacityOf(heapBytes, requested);
    assert(served >= 1 && refused >= 1);
    assert((served + refused) * 360_000 <= heapBytes / 2);
    assert(served <= (requested ?? 10_000));
  }));
});

test('with the old space of oldSpaceFor, as many connections are served as are requested', () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 1_000_000 }), (requested) => {
    assert.equal(capacityOf(oldSpaceFor(requested) * mib, requested).served, requested);
  }));
});
