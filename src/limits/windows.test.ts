import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs, LimitsTime, minuteMs, Window } from './windows.ts';

const noon = Date.UTC(2026, 10, 21, 12);

test('the time of the limits follows the clock, and stands still after a step back of up to 60 s', () => {
  const time = new LimitsTime();
  const said = [0, 5, 5, -1, -59_995, 5, 6].map((ms) => time.at(noon + ms) - noon);
  assert.deepEqual(said, [0, 5, 5, 5, 5, 5, 6]);
});

test('the time of the limits follows a larger step back and any step forward', () => {
  const time = new LimitsTime();
  const said = [0, -60_000, -60_001, -60_000, 10 * dayMs, 10 * dayMs - 60_000, -dayMs].map(
    (ms) => time.at(noon + ms) - noon,
  );
  assert.deepEqual(said, [0, 0, -60_001, -60_000, 10 * dayMs, 10 * dayMs, -dayMs]);
});

test('windows start with the UTC minute and day', () => {
  const iso = (text: string, lengthMs: number): string => {
    const window = new Window(lengthMs);
    window.roll(Date.parse(text));
    return new Date(window.start).toISOString();
  };
  assert.equal(iso('2026-11-21T12:34:56.789Z', minuteMs), '2026-11-21T12:34:00.000Z');
  assert.equal(iso('2026-11-21T12:34:00.000Z', minuteMs), '2026-11-21T12:34:00.000Z');
  assert.equal(iso('2026-11-21T23:59:59.999Z', dayMs), '2026-11-21T00:00:00.000Z');
  assert.equal(iso('2028-02-29T00:00:00.000Z', dayMs), '2028-02-29T00:00:00.000Z');
  assert.equal(iso('1969-12-31T23:59:59.999Z', dayMs), '1969-12-31T00:00:00.000Z');
});
