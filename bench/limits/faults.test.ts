/** The scenarios against servers that do not meet their demands. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { variants } from '../../conformance/mutants/variants.ts';
import { Stops } from '../../conformance/client/clock.ts';
import { fakeClock, start } from '../../conformance/testing/responses.ts';
import { setHeader } from '../../conformance/mutants/table/changes.ts';
import {
  base, type Exchange, type Hooks, type MutantResponse,
} from '../../conformance/mutants/server/hooks.ts';
import { slownessOf } from './scenarios/floods.ts';
import { mainSecret, quietSecret, reportOf, response, resultOf, textOf, type TestOptions } from './testing/runs.ts';

const minuteMs = 60_000;

/** Refuses requests with a key as soon as all clients together have sent `most` requests in the current minute. */
const oneForAll = (most: number): Partial<Hooks> => ({
  keyless: (exchange) => {
    noted(exchange);
    return base.keyless(exchange);
  },
  admitted: (rates, exchange) => noted(exchange) <= most && rates.remaining > 0,
});

const remainingIn = ({ headers }: MutantResponse): number =>
  Number(headers.find(([name]) => name === 'X-RateLimit-Remaining')?.[1]);

function noted({ now, world }: Exchange): number {
  const name = `minute ${Math.floor(now / minuteMs)}`;
  const requests = Number(world.notes.get(name) ?? 0) + 1;
  world.notes.set(name, String(requests));
  return requests;
}

/** Changes the Reset of a response. */
function withReset(sent: MutantResponse, reset: (reset: number) => number): MutantResponse {
  const [, text] = sent.headers.find(([name]) => name === 'X-RateLimit-Reset')!;
  setHeader(sent, 'X-RateLimit-Reset', String(reset(Number(text))));
  return sent;
}

/** Changes the status of some responses. */
function changed(status: number, which: (sent: MutantResponse) => boolean): Partial<Hooks> {
  return { response: (sent) => (which(sent) ? Object.assign(sent, { status }) : sent) };
}

/** Removes the three headers from responses with a status, and returns whether it did. */
function bare(status: number, sent: MutantResponse): boolean {
  if (sent.status === status) sent.headers = sent.headers.filter(([name]) => !name.startsWith('X-RateLimit'));
  return sent.status === status;
}

const windowsFromFirst = variants.find(({ id }) => id === 'first request')!.hooks.left!;

describe('servers with a fault', { concurrency: 4 }, () => {
  const broken: readonly (readonly [name: string, fault: TestOptions['fault'] & {}, RegExp])[] = [
    ['latency', 'limits-503', /^2 × 503, but only 2xx and 429 are allowed/],
    ['latency', 'limits-403', /^2 × 403, but only 2xx and 429 are allowed/],
    ['latency', changed(500, ({ status }) => status === 429), /^2 × 500, but only 2xx and 429 are allowed$/],
    ['boundary', 'limits-one-more', /^122 requests were admitted within 60 s, more than twice 60; limits\.refuses: /],
    ['boundary', 'limits-never', /^1\d\d requests were admitted within 60 s, .*; limits\.refuses: /],
    ['boundary', 'limits-one-fewer', /^limits\.admits: required admitted, because 1 of the promised /],
    [
      'boundary',
      { response: (sent) => withReset(sent, (reset) => reset - 20) },
      /^nothing was admitted after the server's own Reset/,
    ],
    [
      'boundary',
      { response: (sent) => withReset(sent, (reset) => reset - 70) },
      /limits\.reset-time in \d+ responses: required Reset in Unix seconds, not before Date /,
    ],
    [
      'latency',
      { response: (sent) => withReset(sent, () => 40) },
      /limits\.reset-time in \d+ responses: .*received 40,/,
    ],
    [
      'boundary',
      { response: (sent) => withReset(sent, (reset) => reset * 1_000) },
      /^limits\.reset-time in \d+ responses?: .*; received \d{13},/,
    ],
    ...(['latency', 'boundary'] as const).flatMap((name) =>
      [200, 429].map((status) => [
        name,
        { response: (sent: MutantResponse) => (bare(status, sent), sent) },
        RegExp(`limits\\.limit-header in \\d+ responses?: .*received none in a ${status}`),
      ] as const)),
    [
      'strangers',
      { response: (sent) => (bare(401, sent), sent) },
      /^limits\.limit-header in 100 responses: .*received none in a 401/,
    ],
    [
      'strangers',
      changed(200, ({ status }) => status === 401),
      /^of the requests without a valid key, 100 × 200, but only 401/,
    ],
    ['neighbour', oneForAll(90), /of the quiet client's requests during the flood, \d+ × 429/],
    ['strangers', oneForAll(90), /of the quiet client's requests during the flood, \d+ × 429/],
  ];
  for (const [name, fault, failure] of broken)
    test(`${name}: ${typeof fault === 'string' ? fault : failure.source}`, async (t) => {
      const result = await resultOf(t, name, { fault });
      assert.equal(result.verdict, 'failed', textOf([result]));
      assert.match(result.failures.join('; '), failure);
    });

  test('boundary: the Reset of a server whose clock is behind by less than Date can show is not wrong', async (t) => {
    const behind: Partial<Hooks> = { time: (now) => now - 800 };
    const result = await resultOf(t, 'boundary', { fault: behind });
    assert.equal(result.verdict, 'passed', textOf([result]));
  });

  test('a Reset that is sometimes rounded up, or from some time on: the window is fixed', async (t) => {
    for (const up of [(nth: number) => nth % 2, (nth: number) => (nth > 20 ? 1 : 0)]) {
      const fault: Partial<Hooks> = {
        response: (sent, { world }) => withReset(sent, (reset) => reset + up(world.requests)),
      };
      const result = await resultOf(t, 'boundary', { fault, settings: { connections: 1 } });
      assert.equal(result.verdict, 'passed', textOf([result]));
      assert.equal(result.figures['windows'], 'fixed, as far as one window shows');
    }
  });

  test('a quiet key that the flood starves: some of its requests get no response, or none does', async (t) => {
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
        // The first request shows what remains of the key.
        return !floods(authorization) && flood > 1 && ++quiet % every === 0;
      };
      const result = await resultOf(t, name, { cuts });
      assert.match(
        result.failures.join(),
        /^\d+ of the quiet client's requests during the flood got no response, and without it none was lost$/,
        textOf([result]),
      );
    }
  });

  test('requests of the flood that count against the quiet key, although enough remain', async (t) => {
    for (const [name, floods] of [
      ['neighbour', ({ authorization }: Exchange) => authorization.includes(mainSecret)],
      ['strangers', ({ authorization }: Exchange) => authorization !== '' && !authorization.includes(mainSecret)],
    ] as const) {
      let flood = 0;
      const fault: Partial<Hooks> = {
        response: (sent, exchange) => {
          if (floods(exchange)) flood++;
          else if (sent.status === 200)
            setHeader(sent, 'X-RateLimit-Remaining', `${Math.max(0, remainingIn(sent) - flood)}`);
          return sent;
        },
      };
      const result = await resultOf(t, name, { fault, plan: 'business' });
      assert.equal(result.verdict, 'failed', textOf([result]));
      assert.match(result.failures.join(), /limits\.remaining-falls: required /);
    }
  });

  test('strangers: a flood that keeps the server busy slows clients; a small delay is not judged', async (t) => {
    for (const [takesMs, which, verdict] of [
      [100, () => true, 'failed'], // as hashing a password takes
      [100, ({ authorization }: Exchange) => authorization !== '', 'failed'],
      [1, () => true, 'passed'],
    ] as const) {
      let ms = 0;
      const busy: Partial<Hooks> = {
        keyless: (exchange) => {
          ms += which(exchange) ? takesMs : 0;
          return base.keyless(exchange);
        },
      };
      const result = await resultOf(t, 'strangers', { fault: busy, stopwatch: () => (ms += 0.01) });
      assert.equal(result.verdict, verdict, textOf([result]));
      if (verdict === 'failed')
        assert.match(
          result.failures.join(),
          /^the flood slowed the key \(p50 .* ms without it, [\d,]{3,} ms with it\), 2 times$/,
        );
    }
  });

  test('strangers: on a busy machine, everything except the latencies is judged', async (t) => {
    let ms = 0;
    const slow: Partial<Hooks> = {
      keyless: (exchange) => {
        ms += 100;
        return base.keyless(exchange);
      },
    };
    const clock = fakeClock();
    const late = { ...clock, sleep: async (sleepMs: number) => {
      await clock.sleep(sleepMs);
      ms += sleepMs + 60; // the machine wakes the bench too late
    } };
    const options = { fault: slow, clock: late, stopwatch: () => (ms += 0.01), paced: true };
    const result = await resultOf(t, 'strangers', options);
    assert.equal(result.verdict, 'passed', textOf([result]));
    assert.match(result.seen ?? '', /; its latencies are not judged, because the machine is busy: .* late$/);
    const limited = await resultOf(t, 'strangers', { ...options, settings: { thresholds: { 'max-p99-ms': 5 } } });
    assert.equal(limited.verdict, 'inconclusive', textOf([limited]));
    assert.match(limited.reason ?? '', /^--max-p99-ms is not judged, because the machine is busy: .* late$/);
  });

  test('strangers: a server that stalls a quarter of the time, and one that is always slow', async (t) => {
    for (const [stalls, verdict] of [
      [(nth: number) => nth % 12 === 0, 'failed'], // each stalls the requests of all three connections
      [() => true, 'passed'],
    ] as const) {
      let [ms, nth] = [0, 0];
      const slow: Partial<Hooks> = {
        count: (usage, exchange) => {
          base.count(usage, exchange);
          ms += stalls(nth++) ? 1_000 : 0;
        },
      };
      const result = await resultOf(t, 'strangers', { fault: slow, stopwatch: () => (ms += 0.01) });
      assert.equal(result.verdict, verdict, textOf([result]));
      if (verdict === 'failed') assert.match(result.failures.join(), /^the server stalled \(.*\), 2 times$/);
    }
  });

  test('strangers: what counts as slowed or stalled, and how late the bench was meanwhile', () => {
    const sent = (lateMs: number, ...latencies: readonly number[]) =>
      ({ responses: latencies.map((latencyMs) => response({ latencyMs })), lost: 0, lateMs });
    const usual = Array.from({ length: 57 }, () => 10);
    const [alone, flood] = [sent(3, ...usual), sent(12)];
    assert.equal(slownessOf({ alone, flood, beside: sent(9, ...usual, 900, 900) }), undefined);
    const stalled = slownessOf({ alone, flood, beside: sent(9, ...usual, 900, 900, 900) });
    const long = '3 of 60 responses took 250 ms longer than p50; 0 without the flood';
    assert.deepEqual(stalled, { failure: `the server stalled (${long})`, lateMs: 12 });
    assert.equal(slownessOf({ alone, flood, beside: sent(9, 29, 29, 29) }), undefined);
    // Its requests wait for each other.
    const always = sent(3, ...usual.map(() => 251));
    assert.equal(slownessOf({ alone: always, flood, beside: sent(9, ...usual.map(() => 251), 900, 900, 900) }), undefined);
    const slow = slownessOf({ alone, flood, beside: sent(9, 31, 31, 31) });
    const failure = 'the flood slowed the key (p50 10.0 ms without it, 31.0 ms with it)';
    assert.deepEqual(slow, { failure, lateMs: 12 });
  });

  test('boundary: a Reset that is up to two seconds late; and a server that also admits one more', async (t) => {
    for (const ms of [0, 300, 999]) {
      for (const [more, verdict] of [[0, 'passed'], [1, 'failed']] as const) {
        const clock = fakeClock(start + ms);
        const late: Partial<Hooks> = {
          left: (usage, limits, exchange) => {
            const rates = windowsFromFirst(usage, limits, exchange);
            const { now } = exchange;
            return { ...rates, resetMs: now + Math.ceil((rates.resetMs - now) / 1_000) * 1_000 };
          },
          admitted: ({ remaining }) => remaining > -more,
          count: (usage, exchange) => {
            base.count(usage, exchange);
            clock.move(7);
          },
        };
        const report = await reportOf(t, { fault: late, clock, names: ['boundary'] });
        assert.equal(report.scenarios[0]!.verdict, verdict, textOf(report.scenarios));
        assert.equal(report.exitCode, verdict === 'passed' ? 0 : 1, textOf(report.scenarios));
      }
    }
  });

  test('neighbour: an invalid second key is reported as such, and the run waits for no window', async (t) => {
    const invalid: Partial<Hooks> = {
      response: (sent, { authorization }) =>
        authorization.includes(quietSecret) ? Object.assign(sent, { status: 401 }) : sent,
    };
    const result = await resultOf(t, 'neighbour', { fault: invalid });
    assert.deepEqual(
      [result.verdict, result.reason],
      ['inconclusive', 'listPets with the second key returned 401 instead of 2xx'],
      textOf([result]),
    );
    assert.ok(result.seconds < 60, textOf([result]));
  });

  test('an operation that the server refuses is reported as such, and the run waits for no window', async (t) => {
    const refusing: Partial<Hooks> = {
      response: (sent, { method }) => (method === 'POST' ? Object.assign(sent, { status: 403 }) : sent),
    };
    // Too late in the window for a load, so that the scenario needs a request of its own to see the next window.
    const clock = fakeClock(start + 45_000);
    const result = await resultOf(t, 'latency', { fault: refusing, clock, settings: { operation: 'createPet' } });
    assert.equal(result.reason, 'createPet with the key returned 403 instead of 2xx', textOf([result]));
    assert.ok(result.seconds < 60, textOf([result]));
  });

  test('a failure during which the process stopped is inconclusive', async (t) => {
    let now = 0;
    const stops = new Stops(() => (now += 60_000));
    const result = await resultOf(t, 'latency', { fault: 'limits-403', stops });
    assert.equal(result.verdict, 'inconclusive', textOf([result]));
    assert.match(result.reason ?? '', /^this process did not run for some time during the scenario: /);
    assert.deepEqual(result.failures, []);
  });
});
