/** The estimate of the server's clock is never ahead of that clock, and follows it when it is corrected or set. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { response, start, type ResponseFields } from '../testing/responses.ts';
import { ServerClock } from './server-clock.ts';

/** A clock that has learned from these responses. */
function after(...fields: ResponseFields[]): ServerClock {
  const clock = new ServerClock();
  for (const one of fields) clock.learn(response(one));
  return clock;
}

/** A whole second, so that the Date of a response is exact. */
const at = Math.ceil(start / 1000) * 1000;

test("without Date, the server's clock is unknown, and its time is taken for the kit's", () => {
  const clock = after({ serverAt: null }, { headers: [['Date', 'soon']], serverAt: null });
  assert.deepEqual([clock.isKnown, clock.time(at)], [false, at]);
});

test('the estimate is never ahead of the server, and at most a second behind it, however the clocks differ', () => {
  const ahead = fc.integer({ min: -4_000_000, max: 4_000_000 });
  fc.assert(
    fc.property(ahead, fc.array(fc.nat(90_000), { minLength: 1, maxLength: 30 }), (ahead, steps) => {
      const clock = new ServerClock();
      let now = start;
      for (const step of steps) clock.learn(response({ at: (now += step), serverAt: now + ahead }));
      assert.ok(clock.time(now) <= now + ahead && clock.time(now) > now + ahead - 1_000);
      assert.ok(clock.time(0) <= ahead && clock.timeBefore(0) <= -ahead);
      assert.equal(clock.wasSetAfter(-Infinity), false);
    }),
  );
});

test('the Date with the largest difference determines the estimate, in any order', () => {
  // Date has whole seconds, so it seems to be behind by up to one.
  const fields = [0, 900, 400].map((late) => ({ at: at + late, serverAt: at + 3_000 }));
  for (const order of [[0, 1, 2], [1, 0, 2], [2, 1, 0]]) {
    assert.equal(after(...order.map((i) => fields[i]!)).time(at), at + 3_000, `${order}`);
  }
});

for (const set of [1_000, 5_000, 20_000, -1_500, -20_000, -600_000]) {
  test(`the estimate follows a clock that is set by ${set} ms`, () => {
    const before = [0, 250, 500, 750].map((late) => ({ at: at + late, serverAt: at + late }));
    const later = [60_000, 60_250, 60_500, 60_750].map((late) => ({ at: at + late, serverAt: at + late + set }));
    const clock = after(...before, ...later);
    const now = at + 60_750;
    assert.ok(clock.time(now) <= now + set && clock.time(now) > now + set - 1_000, `${clock.time(now) - now}`);
    if (Math.abs(set) < 3_000) return; // a step this small may be due to the rounding of a Date
    assert.deepEqual([clock.wasSetAfter(at + 750), clock.wasSetAfter(now)], [true, false]);
  });
}

test('the estimate follows a clock that is corrected gradually: only recent Dates count', () => {
  const clock = new ServerClock();
  for (let minute = 0; minute <= 60; minute++) {
    const [now, slewed] = [at + minute * 60_000, -30 * minute];
    clock.learn(response({ at: now, serverAt: now + slewed }));
    clock.learn(response({ at: now - slewed, serverAt: now }));
    assert.ok(clock.time(now) <= now + slewed + 120, `minute ${minute}: ${clock.time(now) - now}`);
  }
  assert.equal(clock.wasSetAfter(-Infinity), false);
});

test('a cached response has an old Date, to which its Age is added', () => {
  const clock = after({ at, serverAt: at }, { at: at + 500, serverAt: at - 59_000, headers: [['Age', '59']] });
  assert.deepEqual([clock.time(at), clock.wasSetAfter(-Infinity)], [at, false]);
});
