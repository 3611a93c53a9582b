/** Bans: caused by the scenario `ban`, and seen by the others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { base, type Exchange, type Hooks } from '../../conformance/mutants/server/hooks.ts';
import { variants } from '../../conformance/mutants/variants.ts';
import { fakeClock } from '../../conformance/testing/responses.ts';
import { reportOf, resultOf, textOf } from './testing/runs.ts';

const minuteMs = 60_000;

/**
 * Bans after a number of refusals (in all, or in a row), by default for five minutes. `late` is how much later than
 * announced the ban ends.
 */
function banning(
  after: number, { late = 0, status = 429, lengthMs = 5 * minuteMs, inARow = false } = {},
): Partial<Hooks> {
  const bans = ({ world, authorization }: Exchange) => ({
    refusals: Number(world.notes.get(`refusals ${authorization}`) ?? 0),
    until: Number(world.notes.get(`banned ${authorization}`) ?? 0),
  });
  return {
    admitted: (rates, exchange) => {
      const { refusals, until } = bans(exchange);
      if (until > 0) return exchange.now >= until + late && rates.remaining > 0;
      if (rates.remaining > 0) {
        if (inARow) exchange.world.notes.delete(`refusals ${exchange.authorization}`);
        return true;
      }
      exchange.world.notes.set(`refusals ${exchange.authorization}`, String(refusals + 1));
      if (refusals + 1 >= after)
        exchange.world.notes.set(`banned ${exchange.authorization}`, String(exchange.now + lengthMs));
      return false;
    },
    retryAfter: (ms, exchange) => {
      const { until } = bans(exchange);
      return base.retryAfter(until > exchange.now ? until - exchange.now : ms, exchange);
    },
    response: (answer, exchange) =>
      answer.status === 429 && bans(exchange).until > 0 ? Object.assign(answer, { status }) : answer,
  };
}

describe('bans', () => {
  const ban = (t: Parameters<typeof resultOf>[0], fault?: Partial<Hooks>) =>
    resultOf(t, 'ban', { ...(fault && { fault }), settings: { untilBan: true } });

  test('one that begins and ends', async (t) => {
    const result = await ban(t, banning(40));
    assert.equal(result.verdict, 'passed', textOf([result]));
    // When the fortieth request is refused, one on each other connection may be in flight.
    const refused = Number(result.figures['refused_requests']);
    assert.ok(refused >= 40 && refused <= 49, `${refused}`);
    assert.equal(result.figures['length_s'], 300);
  });

  test('one with another status, and one that outlasts its Retry-After', async (t) => {
    const [other, late] = [await ban(t, banning(70, { status: 403 })), await ban(t, banning(40, { late: 30_000 }))];
    assert.match(other.seen ?? '', /^banned \(403\) at refusal /);
    assert.match(late.failures.join(), /^429 after the 5 min 0 s of Retry-After: the ban did not end$/);
  });

  test('one that no Retry-After shows', async (t) => {
    const result = await ban(t, { ...banning(40), retryAfter: base.retryAfter });
    assert.match(result.failures.join(), /^429 after the \d+\.\d s of Retry-After: the ban did not end$/);
  });

  test('one that no scenario intends: the run waits for its end, unless that takes long', async (t) => {
    const names = ['latency', 'strangers'] as const;
    const long = await reportOf(t, { fault: banning(1), names });
    const [latency, strangers] = long.scenarios;
    assert.deepEqual([latency?.verdict, strangers?.verdict], ['passed', 'inconclusive'], textOf(long.scenarios));
    assert.equal(strangers?.reason, 'Retry-After is another 5 min 0 s: perhaps a ban');
    const short = await reportOf(t, { fault: banning(1, { lengthMs: 100_000 }), names });
    assert.equal(short.totals.passed, 2, textOf(short.scenarios));
  });

  test('one that a third refusal would cause: no scenario causes it without --until-ban', async (t) => {
    const careful = await reportOf(t, { fault: banning(3, { inARow: true }) });
    assert.deepEqual([careful.exitCode, careful.totals.passed], [0, 4], textOf(careful.scenarios));
    const asked = await reportOf(t, { fault: banning(3), names: ['ban'], settings: { untilBan: true } });
    assert.equal(asked.exitCode, 0, textOf(asked.scenarios));
    assert.ok(Number(asked.scenarios[0]!.figures['length_s']) > 290, textOf(asked.scenarios));
  });

  test('one after requests became available again, as from a bucket', async (t) => {
    const bucket = variants.find(({ id }) => id === 'token bucket')!.hooks;
    for (const [after, seen] of [[40, /^banned \(429\) at refusal \d+; /], [Infinity, /^no ban after \d+ refusals/]] as const) {
      const clock = fakeClock();
      const counted: Partial<Hooks> = {
        keyless: (exchange) => {
          clock.move(50);
          return base.keyless(exchange);
        },
        count: (usage, exchange) => {
          clock.move(50);
          (bucket.count ?? base.count)(usage, exchange);
        },
      };
      const fault = { ...bucket, ...(after < Infinity && banning(after)), ...counted };
      const result = await resultOf(t, 'ban', { fault, clock, settings: { untilBan: true } });
      assert.equal(result.verdict, 'passed', textOf([result]));
      assert.match(result.seen ?? '', seen);
    }
  });

  test('a server that never bans: no failure, and no more refusals than announced', async (t) => {
    const result = await ban(t);
    assert.deepEqual([result.verdict, result.figures['length_s']], ['passed', undefined]);
    assert.ok(result.refused <= 121 + 10, `${result.refused}`);
  });
});
