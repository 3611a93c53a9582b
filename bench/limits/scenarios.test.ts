/** Every scenario against servers that conform, each in its own way, and cases in which no verdict is possible. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { base, type Hooks } from '../../conformance/mutants/server/hooks.ts';
import { limiterHooks, limiters } from '../../conformance/mutants/families/limiters.ts';
import type { Variant } from '../../conformance/mutants/variant.ts';
import { variants } from '../../conformance/mutants/variants.ts';
import { fakeClock } from '../../conformance/testing/responses.ts';
import { operations, type LoadOperation } from './operations.ts';
import { scenarios } from './scenarios.ts';
import { mainSecret, reportOf, resultOf, runAgainst, textOf, verdicts, type TestOptions } from './testing/runs.ts';

const minuteMs = 60_000;

/**
 * As many tokens as the minute has requests, given back evenly; Reset is when the bucket is full again, Retry-After the
 * next token.
 */
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

/** A token bucket whose Reset is always the next token, and in which tokens return while requests are in flight. */
const nextToken: Variant = {
  id: 'next token',
  text: 'A token bucket.',
  hooks: {
    ...bucket.hooks,
    left: (usage, limits, exchange) => {
      const { remaining, ...rates } = bucket.hooks.left!(usage, limits, exchange);
      const [, tokens = 0] = usage.times;
      return { ...rates, remaining, resetMs: exchange.now + ((1 - (tokens % 1)) * minuteMs) / limits.minute };
    },
  },
};

/** A token bucket whose Retry-After says when it is full, like its Reset. */
const fullBucket: Variant = {
  id: 'full bucket',
  text: 'A token bucket.',
  hooks: { ...variants.find(({ id }) => id === 'bucket')!.hooks, retryAfter: (ms) => String(Math.ceil(ms / 1_000)) },
};

describe('servers that conform', () => {
  test('a token bucket whose Reset is the next token, on a slow server', async (t) => {
    const clock = fakeClock();
    const slow: Partial<Hooks> = {
      count: (usage, exchange) => {
        nextToken.hooks.count!(usage, exchange);
        clock.move(45);
      },
    };
    const report = await reportOf(t, { variant: nextToken, fault: slow, clock });
    assert.deepEqual([report.exitCode, report.totals.passed], [0, 4], textOf(report.scenarios));
    // A step of a bucket could explain one request too many if Reset is always less than a second ahead, but not here.
    const lavish: Partial<Hooks> = {
      count: (usage, exchange) => {
        bucket.hooks.count!(usage, exchange);
        clock.move(45);
      },
      admitted: ({ remaining }) => remaining > -2,
    };
    const wrong = await resultOf(t, 'boundary', { variant: bucket, fault: lavish, clock: fakeClock() });
    assert.match(wrong.failures.join(), /^limits\.refuses: /, textOf([wrong]));
  });

  test('every operation as the load', async (t) => {
    for (const operation of Object.keys(operations) as LoadOperation[]) {
      const names = ['latency', 'neighbour', 'strangers', 'boundary'];
      const report = await reportOf(t, { settings: { operation }, names });
      assert.deepEqual([report.exitCode, report.totals.passed], [0, 4], textOf(report.scenarios));
    }
    const exempt = await resultOf(t, 'boundary', { fault: 'limits-get-exempt', settings: { operation: 'getPet' } });
    assert.match(exempt.failures.join(), /limits\.refuses: .* GET \/pets\/\d+ → 200/, textOf([exempt]));
  });

  for (const variant of [
    ...[undefined, 'sliding', 'first request', 'after 2030', 'late', 'after hits'],
    ...[bucket, nextToken, fullBucket],
    ...limiters.map((limiter) => ({ ...limiter, hooks: limiterHooks(limiter) })),
  ] as const)
    test(typeof variant === 'object' ? variant.id : (variant ?? 'fixed windows'), async (t) => {
      const report = await reportOf(t, { ...(variant !== undefined && { variant }), settings: { untilBan: true } });
      const expected = Object.fromEntries(scenarios.map(({ name }) => [name, 'passed']));
      assert.deepEqual(verdicts(report), expected, textOf(report.scenarios));
      assert.equal(report.exitCode, 0);
      assert.ok(report.sent.withKey + report.sent.withoutKey <= report.sent.most, JSON.stringify(report.sent));
    });

  test('keys created as needed, a plan with many requests, and a plan that is not known', async (t) => {
    for (const options of [{ unlimitedKeys: true }, { plan: 'pro', unpromised: true }] satisfies TestOptions[]) {
      const report = await reportOf(t, options);
      assert.equal(report.exitCode, 0, textOf(report.scenarios));
      assert.equal(report.totals.passed, 4);
      assert.equal(verdicts(report)['ban'], 'skipped');
    }
  });

  test('headers that show only the day: nothing is reported as wrong, and the day is not used up', async (t) => {
    const report = await reportOf(t, { variant: 'day' });
    assert.equal(report.totals.failed, 0, textOf(report.scenarios));
    assert.equal(report.exitCode, 2);
    assert.match(
      textOf(report.scenarios),
      /latency \| inconclusive \| the headers show a window that ends in \d+ minutes/,
    );
    assert.ok(report.sent.withKey < 100, `${report.sent.withKey}`);
  });
});

test('no third refusal of a key of the user in a minute without --until-ban', async (t) => {
  const refused = new Map<string, number>();
  const fault: Partial<Hooks> = {
    error: (status, message, exchange) => {
      const { now, authorization } = exchange;
      const name = `${Math.floor(now / minuteMs)} ${authorization}`;
      if (status === 429) refused.set(name, (refused.get(name) ?? 0) + 1);
      return base.error(status, message, exchange);
    },
  };
  for (const variant of [undefined, 'sliding', 'first request', bucket]) {
    refused.clear();
    await reportOf(t, { fault, ...(variant !== undefined && { variant }) });
    assert.ok(refused.size > 0 && Math.max(...refused.values()) <= 2, [...refused.values()].join());
  }
});

describe('what makes a verdict impossible', () => {
  test('a firewall that shuts out requests without a key: only their scenario cannot be judged', async (t) => {
    const report = await reportOf(t, {
      cuts: (_, authorization) => authorization !== `Bearer ${mainSecret}`,
      names: ['strangers', 'boundary'],
    });
    assert.match(
      textOf(report.scenarios),
      /^strangers \| inconclusive \| no request got a response: socket hang up[^|]* \| \nboundary \| passed/,
    );
    assert.deepEqual([report.aborted, report.exitCode], [undefined, 2]);
  });

  test('a server that closes every connection: all but its latencies can be judged', async (t) => {
    const fault: Partial<Hooks> = { response: (sent) => (sent.headers.push(['Connection', 'close']), sent) };
    const report = await reportOf(t, { fault, names: ['latency', 'strangers', 'boundary'] });
    assert.deepEqual(
      [report.totals.passed, report.scenarios.map(({ reason }) => reason).join('')],
      [2, 'the server closes every connection after one response, so every latency includes opening a connection'],
      textOf(report.scenarios),
    );
  });

  test('boundary: the figures add up, also if others have used the key', async (t) => {
    for (const variant of ['first request', undefined]) {
      let requests = 0;
      const fault: Partial<Hooks> = {
        count: (usage, exchange) => {
          base.count(usage, exchange);
          if (variant === undefined && ++requests === 1) usage.minuteUsed += 5; // somebody else's
        },
      };
      const result = await resultOf(t, 'boundary', { fault, ...(variant !== undefined && { variant }) });
      const [, before, after, most, all] =
        /^(\d+) admitted before the border and (\d+) after it, (\d+) of these (\d+) in/.exec(result.seen ?? '') ?? [];
      assert.equal(Number(before) + Number(after), Number(all), textOf([result]));
      assert.ok(Number(most) <= Number(all), textOf([result]));
      assert.equal(result.figures['before_requests'], Number(before), textOf([result]));
    }
  });

  test('a burst that always ends too late, as on a busy machine: the windows are still judged', async (t) => {
    const clock = fakeClock();
    let [requests, burst] = [0, 0];
    const fault: Partial<Hooks> = {
      count: (usage, exchange) => {
        base.count(usage, exchange);
        // The longer ago the last attempt was, the longer each request takes.
        if (++requests > 2) clock.move(requests < 65 ? 150 : Math.min(900, (burst += 12)));
      },
    };
    const report = await reportOf(t, { fault, clock, names: ['boundary'] });
    const [result] = report.scenarios;
    assert.deepEqual([result?.verdict, report.exitCode], ['passed', 0], textOf(report.scenarios));
    assert.match(result?.seen ?? '', /; the requests before the border did not all end before it$/);
  });

  test('a burst that takes longer than estimated: the second attempt starts earlier', async (t) => {
    const clock = fakeClock();
    const fault: Partial<Hooks> = {
      count: (usage, exchange) => {
        base.count(usage, exchange);
        clock.move(100);
      },
    };
    const result = await resultOf(t, 'boundary', { fault, clock });
    assert.equal(result.verdict, 'passed', textOf([result]));
    assert.ok(result.admitted > 150, `the first attempt was late: ${result.admitted}`);
  });

  test("the server's clock is set during any wait: nothing fails, and no time is negative", async (t) => {
    const names = ['latency', 'boundary'] as const;
    for (const set of [20_000, -20_000, -600_000]) {
      for (let nth = 1; ; nth++) {
        const clock = fakeClock();
        const time = (now: number) => (clock.waits.length < nth ? now : now + set);
        const report = await reportOf(t, { fault: { time }, clock, names });
        const where = `${set} ms during wait ${nth} of ${clock.waits.length}`;
        assert.equal(report.totals.failed, 0, `${where}: ${textOf(report.scenarios)}`);
        assert.ok(Math.max(...clock.waits) <= 121_000, `${where}: ${Math.max(...clock.waits)}`);
        const times = report.scenarios.flatMap(({ seconds, timeline }) => [seconds, ...timeline.map(({ at }) => at)]);
        assert.ok(Math.min(...times) >= 0, `${where}: ${times.join()}`);
        if (set > 0) assert.equal(report.exitCode, 0, `${where}: ${textOf(report.scenarios)}`);
        if (clock.waits.length < nth) break;
      }
    }
  });

  test('a second key of another plan', async (t) => {
    const report = await reportOf(t, { quietPlan: 'pro', names: ['neighbour'] });
    assert.equal(report.totals.passed, 1, textOf(report.scenarios));
    assert.ok(report.sent.withKey <= report.sent.most);
  });

  test('another machine: not more than 20,000 requests', async (t) => {
    const settings = { remote: true };
    const most = { ...settings, rate: 200, duration: 60 };
    await assert.rejects(
      reportOf(t, { settings: most }),
      /^Untestable: the scenarios may take [\d,]+ requests, and to another machine it sends 20,000 at most: name fewer/,
    );
    const business = await runAgainst(t, { settings, plan: 'business' });
    assert.ok((await business.open()).most <= 20_000);
  });

  test('getPet needs an animal, createPet does not', async (t) => {
    const created = await resultOf(t, 'latency', { settings: { operation: 'createPet' }, fault: { animals: () => 0 } });
    assert.equal(created.verdict, 'passed', textOf([created]));
    const settings = { operation: 'getPet' } as const;
    for (const [fault, status] of [[{ animals: () => 0 }, 200], [{ admitted: () => false }, 429]] as const) {
      const reason = `needs an animal, and GET /pets\\?limit=1 listed none \\(${status}\\)`;
      await assert.rejects(reportOf(t, { settings, fault }), new RegExp(`^Untestable: --operation getPet ${reason}$`));
    }
  });

  test('a key whose limit is not that of its plan: no scenario sends anything', async (t) => {
    const report = await reportOf(t, {
      plan: 'pro',
      settings: { plan: 'free' },
    });
    assert.deepEqual(
      [report.totals.failed, report.totals.passed, report.sent.withKey],
      [0, 0, 1],
      textOf(report.scenarios),
    );
    assert.match(
      textOf(report.scenarios),
      /latency \| inconclusive \| X-RateLimit-Limit is 300, which is no limit of the plan free/,
    );
  });

  test('a key that is refused for a long time before the run: the run does not wait for it', async (t) => {
    const clock = fakeClock();
    const fault: Partial<Hooks> = {
      left: (_, { minute }, { now }) => ({ limit: minute, remaining: 0, resetMs: now + 10 * minuteMs }),
    };
    const report = await reportOf(t, { fault, clock });
    assert.deepEqual(
      [report.totals.inconclusive, report.totals.failed, report.exitCode],
      [4, 0, 2],
      textOf(report.scenarios),
    );
    assert.deepEqual(clock.waits, []);
  });
});
