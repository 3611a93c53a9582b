/** The scenarios against servers that violate what they require. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setHeader } from '../../conformance/mutants/table/changes.ts';
import { base, type Exchange, type Hooks, type MutantResponse as Answer } from '../../conformance/mutants/server/hooks.ts';
import type { ScenarioName } from './settings.ts';
import { mainSecret, quietSecret, resultOf, textOf, type TestOptions } from './testing/runs.ts';

const minuteMs = 60_000;

/** Refuses requests with a key once the server has had so many requests in this minute, from any client. */
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

/** Changes the Reset of a response. */
function withReset(answer: Answer, reset: (reset: number) => number): Answer {
  const [, text] = answer.headers.find(([name]) => name === 'X-RateLimit-Reset')!;
  setHeader(answer, 'X-RateLimit-Reset', String(reset(Number(text))));
  return answer;
}

/** Changes the status of some responses. */
function changed(status: number, which: (answer: Answer) => boolean): Partial<Hooks> {
  return { response: (answer) => (which(answer) ? Object.assign(answer, { status }) : answer) };
}

/** Removes the three headers from responses with a status, and returns whether it did. */
function bare(status: number, answer: Answer): boolean {
  if (answer.status === status) answer.headers = answer.headers.filter(([name]) => !name.startsWith('X-RateLimit'));
  return answer.status === status;
}

describe('servers with a fault', { concurrency: 4 }, () => {
  const broken: readonly (readonly [ScenarioName, TestOptions['fault'] & {}, RegExp])[] = [
    ['exact', 'limits-one-more', /59 requests were admitted, but only 58 remained/],
    ['exact', 'limits-never', /61 requests were admitted/],
    ['exact', 'limits-one-fewer', /only 57 requests of the 58 that remained were admitted/],
    ['exact', 'limits-list-counts-double', /only \d+ requests of the \d+ .*Remaining never was/],
    ['exact', 'limits-503', /3 × 503, but only 2xx and 429 are allowed/],
    ['exact', 'limits-second-refusal-admitted', /59 requests were admitted/],
    ['exact', 'limits-remaining-fixed', /Remaining never was .*Remaining was 60 more than once/],
    ['exact', 'plan-one-more', /X-RateLimit-Limit is 61, but the key is promised 60 a minute/],
    ['boundary', 'limits-one-more', /61 requests were admitted in the window after the border, 1 more than its limit/],
    ['boundary', 'limits-never', /requests were admitted in the window before the border/],
    ['recovery', 'retry-after-short', /a client that waited for Retry-After \(\d+ s\) got 429/],
    ['recovery', 'retry-after-then-refused', /a client that waited for Retry-After .* got 429/],
    [
      'exact',
      changed(500, (answer) => bare(429, answer)),
      /3 × 500, but only .*; 3 × 500 without the X-RateLimit headers/,
    ],
    [
      'exact',
      changed(429, (answer) => bare(429, answer)),
      /^3 × 429 without the X-RateLimit headers, which every response carries$/,
    ],
    ['boundary', changed(200, (answer) => bare(200, answer)), /^1 × 200 without the X-RateLimit headers/],
    [
      'boundary',
      { response: (answer) => withReset(answer, (reset) => reset * 1_000) },
      /^X-RateLimit-Reset is \d{13}, which is no Unix/,
    ],
    [
      'exact',
      { response: (answer) => withReset(answer, () => 40) },
      /^X-RateLimit-Reset is 40, which is no Unix timestamp$/,
    ],
    [
      'boundary',
      { response: (answer) => withReset(answer, (reset) => reset - 70) },
      /^X-RateLimit-Reset was \d+ s in the past/,
    ],
    [
      'boundary',
      { response: (answer) => withReset(answer, (reset) => reset - 20) },
      /^nothing was admitted after the server's own Reset$/,
    ],
    ['refusal', 'limits-never', /^64 requests were admitted, but only 59 remained$/],
    ['refusal', 'limits-second-refusal-admitted', /^6\d requests were admitted, but only 59 remained$/],
    [
      'strangers',
      changed(200, ({ status }) => status === 401),
      /^of the requests without a key, 100 × 200, but only 401/,
    ],
    ['refusal', 'limits-403', /5 × 403, but only 2xx and 429 are allowed/],
    ['neighbour', oneForAll(90), /of the quiet client's requests beside the flood, \d+ × 429/],
    ['strangers', oneForAll(90), /of the quiet client's requests beside the flood, \d+ × 429/],
  ];
  for (const [name, fault, failure] of broken)
    test(`${name}: ${typeof fault === 'string' ? fault : failure.source}`, async (t) => {
      const result = await resultOf(t, name, { fault });
      assert.equal(result.verdict, 'failed', textOf([result]));
      assert.match(result.failures.join('; '), failure);
    });

  test('a Reset that goes back and forth: no window that moves, but a failure', async (t) => {
    const fault: Partial<Hooks> = {
      response: (answer, { world }) => withReset(answer, (reset) => reset + (world.requests % 3)),
    };
    for (const [name, connections] of [
      ['exact', 1],
      ['boundary', 10],
    ] as const) {
      const result = await resultOf(t, name, { fault, settings: { connections } });
      assert.match(
        result.failures.join('; '),
        /^X-RateLimit-Reset went back while requests remained/,
        textOf([result]),
      );
    }
  });

  test('boundary: a server whose clock is behind by less than its Date shows has sent no wrong Reset', async (t) => {
    const behind: Partial<Hooks> = { time: (now) => now - 800 };
    const result = await resultOf(t, 'boundary', { fault: behind });
    assert.equal(result.verdict, 'passed', textOf([result]));
  });

  test('a Reset that is rounded now up, now down: the window is fixed', async (t) => {
    const fault: Partial<Hooks> = {
      response: (answer, { world }) => withReset(answer, (reset) => reset + (world.requests % 2)),
    };
    const result = await resultOf(t, 'exact', { fault, settings: { connections: 1 } });
    assert.deepEqual([result.verdict, result.figures['windows']], ['passed', 'fixed'], textOf([result]));
  });

  test('refusal: connections that close instead of a 429, and instead of a 200', async (t) => {
    const dropped = await resultOf(t, 'refusal', { cuts: (status) => status === 429 });
    assert.deepEqual(dropped.failures, ['5 requests got no response instead of a 429'], textOf([dropped]));
    let requests = 0;
    const lossy = await resultOf(t, 'refusal', { cuts: () => ++requests % 20 === 0 });
    assert.deepEqual([lossy.verdict, lossy.reason], ['inconclusive', '3 requests got no response'], textOf([lossy]));
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
        /^\d+ of the quiet client's requests beside the flood got no response, and without it none was lost$/,
        textOf([result]),
      );
    }
  });

  test('strangers: a flood that keeps the server busy makes clients wait; a little is not judged', async (t) => {
    for (const [takesMs, verdict] of [
      [100, 'failed'], // as hashing a password takes
      [1, 'passed'],
    ] as const) {
      let ms = 0;
      const busy: Partial<Hooks> = {
        keyless: (exchange) => {
          ms += takesMs;
          return base.keyless(exchange);
        },
      };
      const result = await resultOf(t, 'strangers', { fault: busy, stopwatch: () => (ms += 0.01) });
      assert.equal(result.verdict, verdict, textOf([result]));
      if (verdict === 'failed')
        assert.match(
          result.failures.join(),
          /^the flood slowed the key, 2 times: p50 .* ms without it, [\d,]{3,} ms with it/,
        );
    }
  });

  test('neighbour: a second key that is not valid is reported as such, and no window is waited for', async (t) => {
    const invalid: Partial<Hooks> = {
      response: (answer, { authorization }) =>
        authorization.includes(quietSecret) ? Object.assign(answer, { status: 401 }) : answer,
    };
    const result = await resultOf(t, 'neighbour', { fault: invalid });
    assert.deepEqual(
      [result.verdict, result.reason],
      ['inconclusive', 'the second key returned 401 instead of 200'],
      textOf([result]),
    );
    assert.ok(result.seconds < 60, textOf([result]));
  });

  test('recovery: an early retry is admitted before both Retry-After and Reset', async (t) => {
    const early: Partial<Hooks> = { admitted: (rates, { now }) => rates.remaining > 0 || now % minuteMs > 45_000 };
    const result = await resultOf(t, 'recovery', { fault: early });
    assert.match(result.failures.join(), /^a retry \d\.\d+ s early was admitted before both/, textOf([result]));
  });

  test('recovery: a Retry-After that is longer than necessary violates nothing', async (t) => {
    const long: Partial<Hooks> = { retryAfter: (ms, exchange) => base.retryAfter(ms + 30_000, exchange) };
    const result = await resultOf(t, 'recovery', { fault: long });
    assert.equal(result.verdict, 'passed', textOf([result]));
    assert.match(result.seen ?? '', /^\d+\.\d+ s early: 429, .*after Retry-After: 200/);
  });

  test('recovery: without a Retry-After nothing can be judged', async (t) => {
    const result = await resultOf(t, 'recovery', { fault: 'retry-after-missing' });
    assert.deepEqual([result.verdict, result.reason], ['inconclusive', 'a 429 has no Retry-After']);
  });
});
