/** Fixed and other windows are distinguished by their headers, in any order of responses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { response, start, type ResponseFields } from '../testing/responses.ts';
import { nobody } from './credentials.ts';
import { listPets } from './requests.ts';
import { limitReading, windowMoves, windowsOf, type LimitReading } from './limit-readings.ts';

const second = Math.floor(start / 1000);
const minuteEnd = (Math.floor(second / 60) + 1) * 60;
const dayEnd = (Math.floor(second / 86_400) + 1) * 86_400;

/** The readings of responses with these headers. */
function readings(...all: ResponseFields[]): readonly LimitReading[] {
  return all.map((one) => limitReading(response({ limit: 60, remaining: 30, ...one }))!);
}

test('a Reset that changes after its time: fixed', () => {
  assert.equal(windowMoves(readings({ reset: minuteEnd }, { reset: minuteEnd })), false);
  assert.equal(windowMoves(readings({ reset: minuteEnd }, { reset: minuteEnd + 60, at: minuteEnd * 1000 })), false);
  assert.equal(
    windowMoves(readings({ reset: minuteEnd }, { reset: minuteEnd + 600, at: (minuteEnd + 541) * 1000 })),
    false,
  );
});

test('a Date that is a second late, or cached for one: fixed', () => {
  for (const late of [0, 1, 999, 1_000, 1_999]) {
    const at = minuteEnd * 1000;
    assert.equal(
      windowMoves(readings({ reset: minuteEnd }, { reset: minuteEnd + 60, at, serverAt: at - late })),
      false,
      `${late}`,
    );
  }
});

test('a Reset that changes before its time: not fixed', () => {
  assert.equal(windowMoves(readings({ reset: second + 60 }, { reset: second + 63, at: start + 3_000 })), true);
  const steps = [60, 61, 62, 63].map((ahead) => ({ reset: second + ahead, at: start + (ahead - 60) * 1_000 }));
  assert.equal(windowMoves(readings(...steps)), true, 'in small steps');
  assert.equal(windowMoves(readings({ reset: second + 60 }, { reset: second + 57 })), true, 'backwards');
  assert.equal(
    windowMoves(readings({ reset: second + 10 }, { reset: second + 10 }, { reset: second + 30, at: start + 3_000 })),
    true,
  );
});

test('a Reset that varies by a second or two, because it is computed from a duration: fixed, and one window', () => {
  const jittering = readings(...[0, 1, 0, 2, 1].map((late) => ({ reset: minuteEnd + late })));
  assert.equal(windowMoves(jittering), false);
  assert.deepEqual(
    windowsOf(jittering).map((window) => window.length),
    [5],
  );
});

test('the order of concurrent responses proves nothing', () => {
  const turned = { reset: minuteEnd + 60, at: minuteEnd * 1000 };
  assert.equal(
    windowMoves(
      readings(
        { reset: minuteEnd, turns: [1_001, 1_010] },
        { ...turned, turns: [1_002, 1_011] },
        { reset: minuteEnd, turns: [1_003, 1_012] },
      ),
    ),
    false,
  );
  // A later request does.
  assert.equal(
    windowMoves(readings({ ...turned, turns: [1_001, 1_010] }, { reset: minuteEnd, turns: [1_011, 1_012] })),
    true,
  );
});

test('minute and day in turn are two windows', () => {
  const both = readings(
    ...Array.from({ length: 6 }, (_, i) =>
      i % 2 === 0 ? { reset: minuteEnd, limit: 60 } : { reset: dayEnd, limit: 1_000 },
    ),
  );
  assert.equal(windowMoves(both), false);
  assert.deepEqual(
    windowsOf(both).map((window) => window.length),
    [3, 3],
  );
});

test('responses to requests without a key are ignored', () => {
  const stranger = { request: listPets(nobody), status: 401 };
  const mixed = readings(
    { reset: minuteEnd },
    { ...stranger, reset: second + 1 },
    { ...stranger, reset: second + 2 },
    { reset: minuteEnd },
  );
  assert.equal(windowMoves(mixed), false);
  assert.deepEqual(
    windowsOf(mixed).map((window) => window.length),
    [2],
  );
});

test('aligned windows are fixed, and sliding windows are not, at any pace', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(20_000), { minLength: 3, maxLength: 40 }),
      fc.nat(1_500),
      fc.integer({ min: -3_600_000, max: 3_600_000 }),
      (steps, late, ahead) => {
        let at = start;
        const times = steps.map((step) => (at += step));
        const aligned = times.map((at) => ({
          at,
          serverAt: at + ahead - late,
          reset: (Math.floor((at + ahead) / 60_000) + 1) * 60,
        }));
        assert.equal(windowMoves(readings(...aligned)), false);
        const sliding = times.map((at) => ({
          at,
          serverAt: at + ahead,
          reset: Math.ceil((at + ahead + 60_000) / 1000),
        }));
        const resets = sliding.map(({ reset }) => reset);
        const spread = Math.max(...resets) - Math.min(...resets);
        const jumps = sliding.some(({ reset, at }, i) => {
          const before = resets[i - 1] ?? reset;
          return reset - before > 2 && at + ahead < before * 1000 - 5_000;
        });
        const moves = windowMoves(readings(...sliding));
        if (spread <= 2) assert.equal(moves, false);
        if (jumps) assert.equal(moves, true);
      },
    ),
    { numRuns: 300 },
  );
});
