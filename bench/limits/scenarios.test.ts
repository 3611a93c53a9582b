/** Every scenario against servers that conform, each in its own way, and against such as do not. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setHeader } from '../../conformance/mutants/faults/fault.ts';
import { base, type Answer, type Exchange, type Hooks, type Usage } from '../../conformance/mutants/hooks.ts';
import type { Variant } from '../../conformance/mutants/variants.ts';
import { fakeClock } from '../../conformance/testing/answers.ts';
import { scenarios, type ScenarioName } from './scenarios.ts';
import { mainSecret, reportOf, resultOf, told, verdicts, type TestOptions } from './testing.ts';

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

/** Bans after so many refusals, for five minutes unless told; `late` is how much later than said it ends. */
function banning(after: number, { late = 0, status = 429, lengthMs = 5 * minuteMs } = {}): Partial<Hooks> {
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
        exchange.world.notes.set(`banned ${exchange.authorization}`, String(exchange.now + lengthMs));
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

/** Changes an answer's Reset. */
function tell(answer: Answer, reset: (reset: number) => number): Answer {
  const [, told] = answer.headers.find(([name]) => name === 'X-RateLimit-Reset')!;
  setHeader(answer, 'X-RateLimit-Reset', String(reset(Number(told))));
  return answer;
}

/** Gives some answers another status. */
function changed(status: number, which: (answer: Answer) => boolean): Partial<Hooks> {
  return { answer: (answer) => (which(answer) ? Object.assign(answer, { status }) : answer) };
}

/** Takes the three headers off a refusal. */
function bare(answer: Answer): boolean {
  if (answer.status === 429) answer.headers = answer.headers.filter(([name]) => !name.startsWith('X-RateLimit'));
  return answer.status === 429;
}

describe('servers that conform', () => {
  for (const variant of [undefined, 'sliding', 'first request', bucket, 'after 2030'] as const)
    test(typeof variant === 'object' ? variant.id : (variant ?? 'fixed windows'), async (t) => {
      const report = await reportOf(t, { ...(variant !== undefined && { variant }), settings: { untilBan: true } });
      const expected = Object.fromEntries(scenarios.map(({ name }) => [name, 'passed']));
      // Whose next token comes within a second leaves no time to come early.
      const untimely = variant === bucket ? { recovery: 'inconclusive' } : {};
      assert.deepEqual(verdicts(report), { ...expected, ...untimely }, told(report.scenarios));
      assert.equal(report.exitCode, variant === bucket ? 2 : 0);
      assert.deepEqual(report.timeline.bans, []);
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
    ['exact', changed(500, bare), /3 answered 500, where only .*; 3 answered 500 without the X-RateLimit headers/],
    ['exact', changed(429, bare), /^3 answered 429 without the X-RateLimit headers, which every response carries$/],
    ['exact', { answer: (answer) => tell(answer, () => 40) }, /^X-RateLimit-Reset is 40, which is no Unix timestamp$/],
    ['boundary', { answer: (answer) => tell(answer, (reset) => reset - 70) }, /^X-RateLimit-Reset was \d+ s in the past/],
    ['boundary', { answer: (answer) => tell(answer, (reset) => reset - 20) }, /^nothing was admitted after the server's own Reset$/],
    ['refusal', 'limits-never', /^64 requests were admitted, where 59 remained$/],
    ['refusal', 'limits-second-refusal-admitted', /^6\d requests were admitted, where 59 remained$/],
    ['strangers', changed(200, ({ status }) => status === 401), /^of the requests without a key, 100 answered 200, where only 401/],
    ['refusal', 'limits-403', /5 answered 403, where only 2xx and 429 were due/],
    ['neighbour', oneForAll(90), /of the quiet client's requests beside the flood, \d+ answered 429/],
    ['strangers', oneForAll(90), /of the quiet client's requests beside the flood, \d+ answered 429/],
  ];
  for (const [name, fault, failure] of broken)
    test(`${name}: ${typeof fault === 'string' ? fault : failure.source}`, async (t) => {
      const result = await resultOf(t, name, { fault });
      assert.equal(result.verdict, 'failed', told([result]));
      assert.match(result.failures.join('; '), failure);
    });

  test('a Reset that goes back and forth: no window that moves, but a failure', async (t) => {
    const fault: Partial<Hooks> = { answer: (answer, { world }) => tell(answer, (reset) => reset + (world.requests % 3)) };
    for (const [name, connections] of [
      ['exact', 1],
      ['boundary', 10],
    ] as const) {
      const result = await resultOf(t, name, { fault, settings: { connections } });
      assert.match(result.failures.join('; '), /^X-RateLimit-Reset went back while requests remained/, told([result]));
    }
  });

  test('boundary: a server whose clock is behind by less than its Date tells has named no wrong Reset', async (t) => {
    const behind: Partial<Hooks> = { time: (now) => now - 800 };
    const result = await resultOf(t, 'boundary', { fault: behind });
    assert.equal(result.verdict, 'passed', told([result]));
  });

  test('a Reset that is rounded now up, now down: the window is fixed', async (t) => {
    const fault: Partial<Hooks> = { answer: (answer, { world }) => tell(answer, (reset) => reset + (world.requests % 2)) };
    const result = await resultOf(t, 'exact', { fault, settings: { connections: 1 } });
    assert.deepEqual([result.verdict, result.figures['windows']], ['passed', 'fixed'], told([result]));
  });

  test('refusal: connections that end in place of a 429, and in place of a 200', async (t) => {
    const dropped = await resultOf(t, 'refusal', { cuts: (status) => status === 429 });
    assert.deepEqual(dropped.failures, ['5 requests got no answer, where a 429 was due'], told([dropped]));
    let requests = 0;
    const lossy = await resultOf(t, 'refusal', { cuts: () => ++requests % 20 === 0 });
    assert.deepEqual([lossy.verdict, lossy.reason], ['inconclusive', '3 requests got no answer'], told([lossy]));
  });

  test('a quiet key that the flood starves: some of its requests get no answer, or none does', async (t) => {
    for (const [name, every] of [
      ['strangers', 1],
      ['strangers', 2],
      ['neighbour', 1],
      ['neighbour', 2],
    ] as const) {
      let [flood, quiet] = [0, 0];
      const floods = (authorization?: string) =>
        name === 'strangers' ? authorization === undefined : authorization === `Bearer ${mainSecret}`;
      const cuts = (_: number, authorization?: string) => {
        if (floods(authorization)) flood++;
        // The first request tells where the key stands.
        return !floods(authorization) && flood > 1 && ++quiet % every === 0;
      };
      const result = await resultOf(t, name, { cuts });
      assert.match(
        result.failures.join(),
        /^of the quiet client's requests \d+ beside the flood got no answer, and without it none was lost$/,
        told([result]),
      );
    }
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

  test('one that no Retry-After tells of', async (t) => {
    const result = await ban(t, { ...banning(40), retryAfter: base.retryAfter });
    assert.deepEqual(result.failures, ['a ban came that no Retry-After told of: 429 after the time that the refusals had named']);
  });

  test('one that nobody asked for: it is told and marked, and waited for where it is short', async (t) => {
    const long = await reportOf(t, { fault: banning(2), names: ['exact', 'refusal'] });
    assert.match(told(long.scenarios), /exact \| passed .*; a 429 asked to wait 5 min 0 s, well beyond the window's end: a ban/);
    assert.match(told(long.scenarios), /refusal \| inconclusive \| the key is banned for another 5 min 0 s/);
    assert.equal(long.timeline.bans.length, 1);
    const short = await reportOf(t, { fault: banning(2, { lengthMs: 100_000 }), names: ['exact', 'refusal'] });
    assert.deepEqual([short.scenarios[1]!.verdict, short.scenarios[1]!.refused], ['passed', 5], told(short.scenarios));
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

  test('strangers whom a firewall shuts out: only their scenario cannot be judged', async (t) => {
    const report = await reportOf(t, { cuts: (_, authorization) => authorization === undefined, names: ['strangers', 'boundary'] });
    assert.match(
      told(report.scenarios),
      /^strangers \| inconclusive \| nothing was answered: it closes every connection without an answer \| \nboundary \| passed/,
    );
    assert.deepEqual([report.aborted, report.exitCode], [undefined, 2]);
  });

  test('a burst that takes longer than its first answer lets expect: the second attempt knows', async (t) => {
    const clock = fakeClock();
    const fault: Partial<Hooks> = {
      count: (usage, exchange) => {
        base.count(usage, exchange);
        clock.move(100);
      },
    };
    const result = await resultOf(t, 'boundary', { fault, clock });
    assert.equal(result.verdict, 'passed', told([result]));
    assert.ok(result.admitted > 150, `the first attempt was late: ${result.admitted}`);
  });

  test('a second key of another plan', async (t) => {
    const report = await reportOf(t, { quietPlan: 'pro', names: ['neighbour'] });
    assert.equal(report.totals.passed, 1, told(report.scenarios));
    assert.ok(report.sent.withKey <= report.sent.most);
  });

  test('too little left of the day: not tested, and said so', async (t) => {
    const report = await reportOf(t, { settings: { promised: { perMinute: 60, perDay: 400 } } });
    assert.match(
      told(report.scenarios),
      /boundary \| inconclusive \| it may take 256 requests, and of the key's day only \d+ are left/,
    );
    assert.deepEqual([report.totals.failed, report.exitCode], [0, 2], told(report.scenarios));
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
