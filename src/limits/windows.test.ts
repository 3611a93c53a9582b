import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs, minuteMs, Window } from './windows.ts';

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
