/** The pacer waits until the window has ended, and not much longer, for any server clock. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { response, start, type ResponseFields } from '../testing/responses.ts';
import { Pacer, plans } from './pacing.ts';
import { ServerClock } from './server-clock.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** The Reset of the minute of `serverAt`. */
const endOfMinute = (serverAt: number) => (Math.floor(serverAt / minuteMs) + 1) * 60;

/** A pacer that has learned from these responses. */
function after(...fields: ResponseFields[]): Pacer {
  const pacer = new Pacer();
  for (const one of fields) pacer.learn(response(one));
  return pacer;
}

describe('a fixed window', () => {
  test('there is no wait before the first response and while requests remain', () => {
    assert.equal(new Pacer().wait(start), 0);
    assert.equal(after({ limit: 60, remaining: 1, reset: endOfMinute(start) }).wait(start), 0);
  });

  test('without remaining requests, it waits until the window has ended', () => {
    const reset = endOfMinute(start);
    const fields = { limit: 60, remaining: 0, reset };
    const at = reset * 1000 - 10_000;
    const pacer = after({ limit: 60, remaining: 1, reset, at }, { ...fields, at });
    assert.equal(pacer.wait(at), 10_050);
    assert.equal(pacer.wait(at + 10_049), 1);
    assert.equal(pacer.wait(at + 10_050), 0);
  });

  test("it waits until the server's clock reaches Reset, and at most about a second longer, however clocks differ", () => {
    const offset = fc.oneof(
      fc.integer({ min: -hourMs - 999, max: hourMs + 999 }),
      fc.constantFrom(-hourMs, hourMs, 0, 1, -1, 999),
    );
    fc.assert(
      fc.property(offset, fc.array(fc.nat(3000), { minLength: 1, maxLength: 30 }), (ahead, steps) => {
        const pacer = new Pacer();
        const [first] = [start];
        const reset = endOfMinute(first + ahead) + 60;
        let at = first;
        let remaining = steps.length;
        for (const step of steps) {
          at = Math.min(at + step, reset * 1000 - ahead - 1);
          pacer.learn(response({ at, serverAt: at + ahead, limit: 60, remaining: --remaining, reset }));
        }
        if (steps.length === 1) return; // a server that has only ever said 0 is not believed
        const serverTime = at + pacer.wait(at) + ahead;
        assert.ok(serverTime >= reset * 1000, `${reset * 1000 - serverTime} ms too early`);
        assert.ok(serverTime <= reset * 1000 + 1_050, `${serverTime - reset * 1000} ms late`);
      }),
      { numRuns: 500 },
    );
  });

  test('without Date, it uses its own clock and adds a second', () => {
    const reset = endOfMinute(start);
    const pacer = after(
      { limit: 60, remaining: 1, reset, serverAt: null },
      { limit: 60, remaining: 0, reset, serverAt: null },
    );
    assert.equal(pacer.wait(start), reset * 1000 - start + 1_000);
  });

  test('it waits for several requests, but not for more than the limit', () => {
    const reset = endOfMinute(start);
    const pacer = after({ limit: 60, remaining: 10, reset });
    assert.equal(pacer.wait(start, 10), 0);
    assert.ok(pacer.wait(start, 11) > 0);
    assert.equal(after({ limit: 5, remaining: 5, reset }).wait(start, 11), 0);
    assert.ok(after({ limit: 5, remaining: 4, reset }).wait(start, 11) > 0);
  });

  test('the lowest Remaining of concurrent responses counts, until the next window', () => {
    const reset = endOfMinute(start);
    const pacer = after(...[3, 0, 2, 1].map((remaining) => ({ limit: 60, remaining, reset })));
    assert.ok(pacer.wait(start) > 0);
    pacer.learn(response({ at: reset * 1000, limit: 60, remaining: 59, reset: reset + 60 }));
    assert.equal(pacer.wait(reset * 1000), 0);
  });

  test("it waits by the server's clock as recent responses to any key show it", () => {
    const reset = endOfMinute(start);
    const clock = new ServerClock();
    const pacer = new Pacer(undefined, clock);
    const fields = { limit: 60, reset };
    clock.learn(response({ at: start - 30_000, serverAt: start + 570_000 }));
    pacer.learn(response({ ...fields, remaining: 1, serverAt: start }));
    pacer.learn(response({ ...fields, remaining: 0, serverAt: start }));
    const wait = pacer.wait(start);
    assert.ok(wait >= reset * 1000 - start && wait <= reset * 1000 - start + 1_050, `${wait}`);
  });

  test('there is no wait after Reset', () => {
    const pacer = after({ limit: 60, remaining: 5, reset: 100 }, { limit: 60, remaining: 0, reset: 100 });
    assert.equal(pacer.wait(start), 0);
  });
});

test('a Reset more than a day ahead is not waited for: the window is taken for a minute', () => {
  for (const reset of [endOfMinute(start) * 1_000, endOfMinute(start) + 90_000, 9e15]) {
    // 1,000 is a limit per day of one plan, and per minute of another.
    const pacer = after({ limit: 1_000, remaining: 1, reset }, { limit: 1_000, remaining: 0, reset });
    assert.equal(pacer.wait(start), minuteMs + 50, `${reset}`);
    assert.equal(pacer.longWindow(start), undefined);
    const other = after({ limit: 1_000, remaining: 900, reset });
    for (let i = 0; i < 100; i++) other.sending(start);
    assert.equal(other.wait(start), 0, `${reset}`);
  }
});

test('Remaining is ignored if it demands many more waits than the limit explains', () => {
  const pacer = after({ limit: 60, remaining: 1, reset: endOfMinute(start) });
  let waited = 0;
  for (let at = start, i = 0; i < 600; i++) {
    const ms = pacer.wait(at);
    pacer.waited(ms);
    waited += ms;
    pacer.sending((at += ms));
    pacer.learn(response({ at, limit: 60, remaining: 0, reset: endOfMinute(at) }));
  }
  assert.ok(waited > 10 * minuteMs && waited < 35 * minuteMs, `${waited / minuteMs} minutes`);
});

test('Remaining 0 is ignored until it was above 0', () => {
  const reset = endOfMinute(start);
  const pacer = after(...Array.from({ length: 5 }, () => ({ limit: 60, remaining: 0, reset })));
  assert.equal(pacer.wait(start), 0);
  pacer.learn(response({ limit: 60, remaining: 1, reset }));
  pacer.learn(response({ limit: 60, remaining: 0, reset }));
  assert.ok(pacer.wait(start) > 0);
});

test('headers that are missing, repeated or not integers are ignored', () => {
  const reset = endOfMinute(start);
  for (const fields of [
    {},
    { limit: 60, remaining: 0 },
    { limit: 0, remaining: 0, reset },
    { limit: 60, remaining: 0, reset, headers: [['X-RateLimit-Reset', '1']] as const },
  ]) {
    const pacer = after({ limit: 60, remaining: 9, reset }, fields);
    assert.equal(pacer.wait(start), 0);
    assert.equal(pacer.limit, 60);
  }
});

test('a moving Reset of a sliding window is followed', () => {
  const pacer = new Pacer();
  for (let remaining = 5; remaining >= 0; remaining--) {
    pacer.learn(
      response({
        at: start + (5 - remaining) * 700,
        limit: 60,
        remaining,
        reset: Math.ceil((start + (5 - remaining) * 700 + minuteMs) / 1000),
      }),
    );
  }
  const at = start + 5 * 700;
  const wait = pacer.wait(at);
  assert.ok(wait >= minuteMs && wait <= minuteMs + 2_050, `${wait}`);
  pacer.learn(response({ at: at + 10_000, limit: 60, remaining: 1, reset: Math.ceil((at + 70_000) / 1000) }));
  assert.equal(pacer.wait(at + 10_000), 0);
});

describe('headers of the day', () => {
  const tomorrow = Math.floor(start / 86_400_000 + 1) * 86_400;
  for (const { perMinute, perDay } of Object.values(plans)) {
    test(`a limit of ${perDay} reveals ${perMinute} a minute`, () => {
      const pacer = new Pacer();
      for (let i = 0; i < perMinute; i++) {
        assert.equal(pacer.wait(start + i), 0, `request ${i + 1}`);
        pacer.sending(start + i);
        pacer.learn(response({ at: start + i, limit: perDay, remaining: perDay - 1 - i, reset: tomorrow }));
      }
      // Until the first request is a minute old.
      assert.equal(pacer.wait(start + perMinute), minuteMs + 50 - perMinute);
      assert.equal(pacer.reason, `its plan, as far as the limits show, allows ${perMinute} requests a minute`);
      assert.equal(pacer.wait(start + minuteMs + 50), 0);
    });
  }

  test('a window of a minute with such a limit does not reveal a plan', () => {
    const pacer = new Pacer();
    for (let i = 0; i < 300; i++) {
      pacer.sending(start);
      pacer.learn(response({ limit: 1_000, remaining: 999 - i, reset: endOfMinute(start) }));
    }
    assert.equal(pacer.wait(start), 0);
  });

  test('a known plan applies from the first request on', () => {
    const pacer = new Pacer(60);
    for (let i = 0; i < 60; i++) pacer.sending(start);
    assert.equal(pacer.wait(start), minuteMs + 50);
    assert.equal(pacer.wait(start, 1_000), minuteMs + 50);
  });
});

test('the estimate', () => {
  const reset = endOfMinute(start);
  const untilTurn = reset * 1000 - start;
  const free = after({ limit: 60, remaining: 59, reset });
  assert.equal(free.estimate(start, 59), 0);
  assert.ok(Math.abs(free.estimate(start, 60) - untilTurn) <= 1_050);
  assert.ok(Math.abs(free.estimate(start, 59 + 60 + 1) - untilTurn - minuteMs) <= 1_050);
  assert.equal(new Pacer().estimate(start, 1_000), 0);
  const past = after({ limit: 60, remaining: 59, reset: reset - 326_911 });
  assert.equal(past.estimate(start, 60), 0);
  assert.equal(past.estimate(start, 59 + 60 + 1), minuteMs);
  const ofTheDay = after({ limit: 1_000, remaining: 999, reset: reset + 40_000 });
  assert.equal(ofTheDay.estimate(start, 60), 0);
  assert.equal(ofTheDay.estimate(start, 500), 8 * minuteMs);
});
