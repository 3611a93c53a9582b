import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';

test('property-based tests have the seed that the set-up has chosen', () => {
  assert.equal(fc.readConfigureGlobal().seed, Number(process.env['FC_SEED']));
  assert.equal(fc.sample(fc.nat(), 3).join(), fc.sample(fc.nat(), 3).join());
});
