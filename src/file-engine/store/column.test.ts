import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { firstIndex, Uint32Column } from './column.ts';

test('a column returns what was pushed, across its chunks', () => {
  const column = new Uint32Column();
  const length = 3 * 16_384 + 2;
  const value = (index: number): number => (index * 2_654_435_761) >>> 0;
  for (let index = 0; index < length; index++) {
    assert.equal(column.length, index);
    column.push(value(index));
  }
  for (let index = 0; index < length; index++) assert.equal(column.at(index), value(index));
  column.push(2 ** 32 - 1);
  assert.equal(column.at(length), 2 ** 32 - 1);
});

test('firstIndex finds the first index with a binary search', () => {
  fc.assert(
    fc.property(fc.nat(300), fc.nat(320), (length, border) => {
      let asked = 0;
      const found = firstIndex(length, (index) => {
        assert(index >= 0 && index < length);
        asked++;
        return index >= border;
      });
      assert.equal(found, Math.min(length, border));
      assert(asked <= Math.ceil(Math.log2(length + 1)));
    }),
  );
});
