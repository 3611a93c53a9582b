/** A Remaining that does not fall. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limitReading } from '../client/limit-readings.ts';
import { response, start } from '../testing/responses.ts';
import { unchanged } from './limits.ts';

const reset = Math.floor(start / 1000) + 50;

/** Eleven readings of one Remaining, which were sent and received at these turns. */
function eleven(turns: (i: number) => readonly [sent: number, received: number]) {
  return Array.from({ length: 11 }, (_, i) => {
    return limitReading(response({ limit: 60, remaining: 29, reset, turns: turns(i) }))!;
  });
}

test('after ten requests in turn, the same Remaining is a failure', () => {
  const readings = eleven((i) => [2 * i, 2 * i + 1]);
  assert.equal(unchanged(readings), readings[10]);
  assert.equal(unchanged(readings.slice(1)), undefined);
});

test('eleven requests at once may all show what remains after the last of them', () => {
  assert.equal(unchanged(eleven((i) => [i, 11 + i])), undefined);
});
