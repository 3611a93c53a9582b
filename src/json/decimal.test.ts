import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { decimal } from './decimal.ts';

test('formats a whole number as String does', () => {
  for (const value of [
    0, 7, 999, 1_000, 1_001, 9_999, 10_000, 999_999, 1_000_000, 2 ** 31, 2 ** 32 + 7, Number.MAX_SAFE_INTEGER,
  ]) {
    assert.equal(decimal(value), String(value));
  }
  fc.assert(fc.property(fc.maxSafeNat(), (value) => decimal(value) === String(value)));
  fc.assert(fc.property(fc.nat(3_000_000), (value) => decimal(value) === String(value)));
});
