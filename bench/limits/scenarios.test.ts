/** Every scenario against servers that conform, each in its own way, and against such as do not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { base, type Exchange, type Hooks, type Usage } from '../../conformance/mutants/hooks.ts';
import type { Variant } from '../../conformance/mutants/variants.ts';
import { fakeClock } from '../../conformance/testing/answers.ts';
import { scenarios, type ScenarioName } from './scenarios.ts';
import { reportOf, resultOf, told, verdicts, type TestOptions } from './testing.ts';

const minuteMs = 60_000;

/** As many tokens as the minute has requests, given back evenly; Reset is when the bucket is full again, Retry-After the next token. */
const bucket: Variant = {
  id: 'bucket',
  text: 'A token bucket.',
  hooks: {
    left: (usage, { minute }, { now }) => {
      const [at = now, tokens = minute] = usage.times;
      const filled = Math.min(minute, tokens + ((now - at) * minute) / minuteMs);
      usage.times = [now, filled];
      const missing = filled < 1 ? 1 - filled : minute - filled;
      return { limit: minute, remaining: Math.floor(filled), resetMs: now + (missing * minuteMs) / minute };
    },
    count: (usage) => void (usage.times = [usage.times[0]!, usage.times[1]! - 1]),
  },
};

/** Bans for five minutes after so many refusals; `ends` is how much later than said. */
function banning(after: number, { late = 0, status = 429 } = {}): Partial<Hooks> {
  const bans = ({ world, authorization }: Exchange) => ({
    refusals: Number(world.notes.get(`refusals ${authorization}`) ?? 0),
    until: Number(world.notes.get(`banned ${authorization}`) ?? 0),
  });
  return {
    admitted: (rates, exchange) => {
      const { refusals, until } = bans(exchange);
      if (until > 0) return exchange.now >= until + late && rates.remaining > 0;
      if (rates.remaining > 0) return true;
      exchange.world.notes.set(`refusals ${exchange.authorization}`, String(refusals + 1));
      if (refusals + 1 >= after)
        exchange.world.notes.set(`banned ${exchange.authorization}`, String(exchange.now + 5 * minuteMs));
      return false;
    },
    retryAfter: (ms, exchange) => {
      const { until } = bans(exchange);
      return base.retryAfter(until > exchange.now ? until - exchange.now : ms, exchange);
    },
    answer: (answer, exchange) =>
      answer.status === 429 && bans(exchange).until > 0 ? Object.assign(answer, { status }) : answer,
  };
}

/** Refuses whoever has a key while the server has had so many requests in this minute, from whomever. */
const oneForAll = (most: number): Partial<Hooks> => ({
  keyless: (exchange) => {
    noted(exchange);
    return base.keyless(exchange);
  },
  admitted: (rates, exchange) => noted(exchange) <= most && rates.remaining > 0,
});

function noted({ now, world }: Exchange): number {
  const name = `minute ${Math.floor(now / minuteMs)}`;
  const requests = Number(world.notes.get(name) ?? 0) + 1;
  world.notes.set(name, String(requests));
  return requests;
}

describe('servers that conform', () => {
  for (const variant of [undefined, 'sliding', 'first request', bucket, 'after 2030'] as const)
    test(typeof variant === 'object' ? variant.id : (variant ?? 'fixed windows'), async (t) => {
      const report = await reportOf(t, { ...(variant !== undefined && { variant }), settings: { untilBan: true } });
      const expected = Object.fromEntries(scenarios.map(({ name }) => [name, 'passed']));
      assert.deepEqual(verdicts(report), expected, told(report.scenarios));
      assert.equal(report.exitCode, 0);
      assert.ok(report.sent.withKey + report.sent.withoutKey <= report.sent.most, JSON.stringify(report.sent));
    });

  test('keys made as they are needed, a plan of many requests, and nothing promised', async (t) => {
    for (const options of [{ plenty: true }, { plan: 'pro', unpromised: true }] satisfies TestOptions[]) {
      const report = await reportOf(t, options);
      assert.equal(report.exitCode, 0, told(report.scenarios));
      assert.equal(report.totals.passed, 6);
      assert.equal(verdicts(report)['ban'], 'skipped');
    }
  });

  test('a Retry-After that is an HTTP date', async (t) => {
    const result = await resultOf(t, 'recovery', { variant: 'strict' });
    assert.equal(result.verdict, 'passed', told([result]));
  });

  test('headers that speak of the day only: nothing is said to be wrong, and the day is not used up', async (t) => {
    const report = await reportOf(t, { variant: 'day' });
    assert.equal(report.totals.failed, 0, told(report.scenarios));
    assert.equal(report.exitCode, 2);
    assert.match(told(report.scenarios), /exact \| inconclusive \| the headers speak of a window that ends in \d+ minutes/);
    assert.ok(report.sent.withKey < 100, `${report.sent.withKey}`);
  });
});

test('a handful of refusals a window, where nobody asked for a ban', async (t) => {
  const refused = new Map<string, number>();
  const fault: Partial<Hooks> = {
    error: (status, message, exchange) => {
      const { now, authorization } = exchange;
      const name = `${Math.floor(now / minuteMs)} ${authorization}`;
      if (status === 429) refused.set(name, (refused.get(name) ?? 0) + 1);
      return base.error(status, message, exchange);
    },
  };
  for (const options of [{ plenty: true }, { variant: 'sliding' }]) await reportOf(t, { fault, ...options });
  assert.ok(Math.max(...refused.values()) <= 7, [...refused.values()].join());
});

describe('servers with a fault', { concurrency: 4 }, () => {
  const broken: readonly (readonly [ScenarioName, TestOptions['fault'] & {}, RegExp])[] = [
    ['exact', 'limits-one-more', /59 requests were admitted, where 58 remained/],
    ['exact', 'limits-never', /61 requests were admitted/],
    ['exact', 'limits-one-fewer', /only 57 requests of the 58 that remained were admitted/],
    ['exact', 'limits-list-counts-double', /only \d+ requests of the \d+ .*Remaining never said/],
    ['exact', 'limits-503', /3 answered 503, where only 2xx and 429 were due/],
    ['exact', 'limits-second-refusal-admitted', /59 requests were admitted/],
    ['exact', 'limits-remaining-fixed', /Remaining never said .*Remaining said 60 more than once/],
    ['exact', 'plan-one-more', /X-RateLimit-Limit is 61, where the key is promised 60 a minute/],
    ['boundary', 'limits-one-more', /61 requests were admitted in the window after the border, 1 more than its limit/],
    ['boundary', 'limits-never', /requests were admitted in the window before the border/],
    ['recovery', 'retry-after-short', /a client that slept Retry-After \(\d+ s\) was answered 429/],
    ['recovery', 'retry-after-then-refused', /a client that slept Retry-After .* was answered 429/],
    ['refusal', 'limits-403', /5 answered 403, where only 2xx and 429 were due/],
    ['neighbour', oneForAll(90), /of the quiet client's requests beside the flood, \d+ answered 429/],
    ['strangers', oneForAll(90), /of the quiet client's requests beside the flood, \d+ answered 429/],
  ];
  for (const [name, fault, failure] of broken)
    test(`${name}: ${typeof fault === 'string' ? fault : 'one limit for all'}`, async (t) => {
      const result = await resultOf(t, name, { fault });
      assert.equal(result.verdict, 'failed', told([result]));
      assert.match(result.failures.join('; '), failure);
    });

  test('strangers: each of them keeps the server busy, and whoever has a key waits', async (t) => {
    const busy: Partial<Hooks> = {
      keyless: (exchange) => {
        const until = performance.now() + 30;
        while (performance.now() < until);
        return base.keyless(exchange);
      },
    };
    const result = await resultOf(t, 'strangers', { fault: busy, settings: { connections: 1, rate: 12 } });
    assert.match(
      result.failures.join(),
      /^the flood slowed the key, 2 times: p50 .* ms without it, \d+\.\d ms with it/,
      told([result]),
    );
  });

  test('recovery: who comes early is admitted, though neither Retry-After nor Reset has come', async (t) => {
    const early: Partial<Hooks> = { admitted: (rates, { now }) => rates.remaining > 0 || now % minuteMs > 45_000 };
    const result = await resultOf(t, 'recovery', { fault: early });
    assert.match(result.failures.join(), /^a retry 1\.55 s early was admitted, though neither/, told([result]));
  });

  test('recovery: a Retry-After that is longer than it need be breaks nothing', async (t) => {
    const long: Partial<Hooks> = { retryAfter: (ms, exchange) => base.retryAfter(ms + 30_000, exchange) };
    const result = await resultOf(t, 'recovery', { fault: long });
    assert.equal(result.verdict, 'passed', told([result]));
    assert.match(result.seen ?? '', /^\d+\.\d+ s early: 429, .*after Retry-After: 200/);
  });

  test('recovery: without a Retry-After nothing can be judged', async (t) => {
    const result = await resultOf(t, 'recovery', { fault: 'retry-after-missing' });
    assert.deepEqual([result.verdict, result.reason], ['inconclusive', 'a 429 has no Retry-After']);
  });
});

describe('bans', () => {
  const ban = (t: Parameters<typeof resultOf>[0], fault?: Partial<Hooks>) =>
    resultOf(t, 'ban', { ...(fault && { fault }), settings: { untilBan: true } });

  test('one that comes and ends', async (t) => {
    const result = await ban(t, banning(40));
    assert.equal(result.verdict, 'passed', told([result]));
    // The first refusal came while the key was driven to its limit.
    assert.equal(result.figures['refusals after the grace'], 39);
    assert.equal(result.figures['length, s'], 300);
  });

  test('one with another status, and one that outlasts its Retry-After', async (t) => {
    const [other, late] = [await ban(t, banning(70, { status: 403 })), await ban(t, banning(40, { late: 30_000 }))];
    assert.equal(other.figures['status'], 403);
    assert.match(late.failures.join(), /^the ban did not end: 429 after the 5 min 0 s that Retry-After had said/);
  });

  test('none that comes: no failure, and no more refusals than were said beforehand', async (t) => {
    const result = await ban(t);
    assert.deepEqual([result.verdict, result.figures['banned']], ['passed', 'no']);
    assert.ok(result.refused <= 121 + 10, `${result.refused}`);
  });
});

describe('what makes a verdict impossible', () => {
  test('somebody else uses the key: inconclusive, not failed', async (t) => {
    let usage: Usage | undefined;
    const clock = fakeClock();
    const shared = {
      ...clock,
      sleep: async (ms: number) => {
        await clock.sleep(ms);
        if (usage !== undefined) usage.minuteUsed += 4;
      },
    };
    const fault: Partial<Hooks> = {
      count: (of, exchange) => {
        usage = of;
        base.count(of, exchange);
      },
    };
    const result = await resultOf(t, 'exact', { fault, clock: shared });
    assert.deepEqual([result.verdict, result.reason], ['inconclusive', 'somebody else used the key meanwhile, 2 times']);
  });

  test('the window turns while the requests are under way: once more', async (t) => {
    let requests = 0;
    const clock = fakeClock();
    // The server's window turns in the midst of the first attempt.
    const fault: Partial<Hooks> = {
      count: (usage, exchange) => {
        base.count(usage, exchange);
        if (++requests === 30) clock.move(minuteMs);
      },
    };
    const result = await resultOf(t, 'exact', { fault, clock });
    assert.equal(result.verdict, 'passed', told([result]));
    assert.ok(result.admitted > 90, told([result]));
  });

  test('too little left of the day: skipped, and said so', async (t) => {
    const report = await reportOf(t, { settings: { promised: { perMinute: 60, perDay: 400 } } });
    assert.match(
      told(report.scenarios),
      /boundary \| skipped \| it may take 256 requests, and of the key's day only \d+ are left/,
    );
    assert.equal(report.totals.failed, 0, told(report.scenarios));
  });

  test('a key that is not what it was said to be: one failure, and nothing is sent for the rest', async (t) => {
    const report = await reportOf(t, { plan: 'pro', settings: { promised: { plan: 'free', perMinute: 60, perDay: 1_000 } } });
    assert.deepEqual([report.totals.failed, report.totals.passed, report.sent.withKey], [1, 0, 1], told(report.scenarios));
    assert.match(
      told(report.scenarios),
      /recovery \| inconclusive \| X-RateLimit-Limit is 300, where the key is promised 60 a minute/,
    );
  });

  test('a key that is refused for long before anything begins: nobody waits for it', async (t) => {
    const clock = fakeClock();
    const fault: Partial<Hooks> = {
      left: (_, { minute }, { now }) => ({ limit: minute, remaining: 0, resetMs: now + 10 * minuteMs }),
    };
    const report = await reportOf(t, { fault, clock });
    assert.deepEqual([report.totals.inconclusive, report.totals.failed, report.exitCode], [6, 0, 2], told(report.scenarios));
    assert.deepEqual(clock.waits, []);
  });
});
