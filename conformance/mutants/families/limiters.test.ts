/** Each limiter keeps its plan, in the way its kind defines, and its own promises. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { freshState, hit, hits, limiters, look, type Decision, type Limiter } from './limiters.ts';
import { randomOf } from './random.ts';

const limits = { minute: 60, day: 1_000 };
const start = Date.UTC(2026, 10, 21, 12, 0, 5);

interface Arrival {
  readonly now: number;
  readonly decision: Decision;
}

/** Bursts, a trickle and pauses, for about half an hour. */
function history(limiter: Limiter, seed: number): readonly Arrival[] {
  const random = randomOf(`${limiter.id} ${seed}`);
  const arrivals: Arrival[] = [];
  let [state, now] = [freshState, start];
  for (let i = 0; i < 1_500; i += 1) {
    now += random.pick([0, 1, 7, 40, 300, 900, 1_000, 2_500, random.integer(0, i % 50 === 0 ? 90_000 : 100)]);
    const one = hit(limiter, state, limits, now);
    state = one.state;
    arrivals.push({ now, decision: one.decision });
  }
  return arrivals;
}

/** The greatest number of admitted requests that a function of the time puts into one window. */
function most(arrivals: readonly Arrival[], inWindow: (now: number, begin: number) => boolean): number {
  const times = arrivals.filter(({ decision }) => decision.admitted).map(({ now }) => now);
  return Math.max(...times.map((begin) => times.filter((now) => inWindow(now, begin)).length));
}

const minuteOf = (time: number) => Math.floor(time / 60_000);

describe('each limiter', () => {
  for (const limiter of limiters) {
    test(`${limiter.id} admits at most what its kind permits`, () => {
      for (const seed of [1, 2, 3]) {
        const arrivals = history(limiter, seed);
        assert.ok(
          arrivals.some(({ decision }) => !decision.admitted),
          'some requests are refused',
        );
        if (/shares|shifted|whole seconds|segments/.test(limiter.id)) {
          // Two windows can follow each other, or be partly counted.
          assert.ok(most(arrivals, (now, begin) => now >= begin && now < begin + 60_000) <= 120);
        } else if (/log/.test(limiter.id)) {
          assert.equal(
            most(arrivals, (now, begin) => now >= begin && now < begin + 60_000),
            60,
          );
        } else if (/clock/.test(limiter.id)) {
          assert.equal(
            most(arrivals, (now, begin) => minuteOf(now) === minuteOf(begin)),
            60,
          );
        } else if (/first|rolling/.test(limiter.id)) {
          for (let i = 0, begin = -60_000, used = 0; i < arrivals.length; i += 1) {
            const { now, decision } = arrivals[i]!;
            if (!decision.admitted) continue;
            [begin, used] = now >= begin + 60_000 ? [now, 1] : [begin, used + 1];
            assert.ok(used <= 60);
          }
        } else if (/counter/.test(limiter.id)) {
          const counted = new Map<number, number>();
          for (const { now, decision } of arrivals.filter(({ decision }) => decision.admitted)) {
            const minute = minuteOf(now);
            counted.set(minute, (counted.get(minute) ?? 0) + 1);
            const before = (counted.get(minute - 1) ?? 0) * (1 - (now - minute * 60_000) / 60_000);
            assert.ok((counted.get(minute) ?? 0) + before <= 60.001, `${decision.remaining}`);
          }
        } else {
          const steps: Readonly<Record<string, number>> = {
            'bucket in steps': 3,
            'bucket by the second': 1,
            'bucket in odd steps': 7,
            'bucket in large steps': 10,
            'bucket in one step': 60,
          };
          const step = steps[limiter.id] ?? 0;
          const times = arrivals.filter(({ decision }) => decision.admitted).map(({ now }) => now);
          for (let first = 0; first < times.length; first += 7) {
            for (let last = first; last < times.length; last += 1) {
              assert.ok(last - first + 1 <= 60.001 + step + (times[last]! - times[first]!) / 1_000);
            }
          }
        }
      }
    });

    test(`${limiter.id} admits what Remaining promises, and a request exactly at Retry-After and Reset`, () => {
      const random = randomOf(limiter.id);
      let [state, now, refusals] = [freshState, start, 0];
      for (let i = 0; i < 400; i += 1) {
        now += random.integer(0, 500);
        const { remaining } = look(limiter, state, limits, now);
        const promised = hits(limiter, state, limits, now, remaining + 1).decisions;
        assert.deepEqual(
          promised.map(({ admitted }) => admitted),
          [...Array<boolean>(remaining).fill(true), false],
        );
        const one = hit(limiter, state, limits, now);
        state = one.state;
        if (one.decision.admitted) continue;
        refusals += 1;
        const { retryAfterMs, resetMs } = one.decision;
        assert.ok(retryAfterMs > 0);
        assert.equal(look(limiter, state, limits, now + retryAfterMs).admitted, true);
        assert.equal(look(limiter, state, limits, now + retryAfterMs - 2).admitted, false);
        assert.equal(look(limiter, state, limits, resetMs).admitted, true);
      }
      assert.ok(refusals > 20);
    });

    test(`${limiter.id} refuses until the day allows it again`, () => {
      let [state, now, admitted] = [freshState, start, 0];
      for (let i = 0; i < 1_200; i += 1) {
        now += 4_000;
        const one = hit(limiter, state, limits, now);
        state = one.state;
        admitted += Number(one.decision.admitted);
      }
      assert.ok(admitted >= 1_000 && admitted <= 1_000 + (/of a day|in steps/.test(limiter.id) ? 60 : 0), `${admitted}`);
      const { remaining, retryAfterMs, resetMs } = look(limiter, state, limits, now);
      assert.equal(remaining, 0);
      assert.ok(resetMs - now > 60_000 && retryAfterMs > (/of a day/.test(limiter.id) ? 0 : 60_000));
    });
  }

  test('concurrent requests show what remains after the last of them', () => {
    const remaining = (id: string) => {
      const limiter = limiters.find((one) => one.id === id)!;
      return hits(limiter, freshState, limits, start, 3).decisions.map((decision) => decision.remaining);
    };
    assert.deepEqual(remaining('window by the clock'), [59, 58, 57]);
    assert.deepEqual(remaining('concurrent remaining by the clock'), [57, 57, 57]);
  });
});
