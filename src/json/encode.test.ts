import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { jsonString } from './encode.ts';

test('returns what JSON.stringify returns, for any UTF-16', () => {
  const unit = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
    fc.constantFrom('\ud800', '\udbff', '\udc00', '\udfff', '"', '\\', '\n', '\0', '\x7f', 'ä', '🐕', 'a'),
  );
  fc.assert(fc.property(fc.string({ unit }), (text) => {
    assert.equal(jsonString(text), JSON.stringify(text));
  }), { numRuns: 2_000 });
});
