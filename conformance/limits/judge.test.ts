/** No history of a conforming limiter is a violation, nor is any part of one. Each fault violates a requirement. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import * as fc from 'fast-check';
import { fixedByClock, hit, limiters, look, steppedBucket, type Limiter } from '../mutants/families/limiters.ts';
import { randomOf } from '../mutants/families/random.ts';
import type { Exchange } from './exchange.ts';
import { judge } from './judge.ts';
import { exhaust } from './probes.ts';
import { failing, simulate, simulation, type Fault, type Step, type World } from './testing/simulate.ts';

/** Buckets that refill in steps, and how many seconds there are between two. */
const stepped = [1, 2, 7, 10, 30, 60].flatMap((seconds) => {
  return [{}, { resetIsFull: true }, { byClock: true }, { resetIsFull: true, byClock: true }].map((how) => {
    const id = `bucket that refills every ${seconds} s${Object.keys(how).map((name) => `, ${name}`).join('')}`;
    const minute = steppedBucket(seconds * 1_000, how);
    const limiter = { id, text: '', minute, day: fixedByClock, shows: 'minute', readsAfterHits: false } as const;
    return { seconds, limiter };
  });
});

const worlds: fc.Arbitrary<World> = fc.record({
  limit: fc.constantFrom(10, 60, 100),
  latencyMs: fc.constantFrom(1, 15, 200, 2_500),
  offsetMs: fc.constantFrom(0, -3_600_000, 777, 20_400),
  round: fc.constantFrom('up', 'down', 'now+duration'),
  cachesDate: fc.boolean(),
  others: fc.boolean(),
  failures: fc.constantFrom('counts', 'gives back', 'does not count'),
});

const steps: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof(
    fc.record({ burst: fc.constantFrom(1, 3, 9, 13, 30, 64) }),
    fc.record({ burst: fc.constantFrom(9, 30, 64), connections: fc.constantFrom(2, 4, 10) }),
    fc.record({
      trickle: fc.integer({ min: 1, max: 12 }),
      everyMs: fc.constantFrom(0, 3, 90, 700, 2_500),
      names: fc.constantFrom(['small'], [failing], ['small', failing, 'small']),
    }),
    fc.record({ pauseMs: fc.constantFrom(200, 1_000, 3_000, 11_000, 30_000, 61_000, 125_000) }),
    fc.record({ wait: fc.constantFrom('Retry-After' as const, 'Reset' as const) }),
  ),
  { minLength: 2, maxLength: 14 },
);

type History = [world: World, taken: readonly Step[], seed: string, lost: number];

const world10: World = {
  ...{ limit: 10, latencyMs: 1, offsetMs: 0, round: 'up', cachesDate: false, others: false },
  failures: 'counts',
};

/** Histories in which a conforming limiter once failed, by its id. */
const histories: Readonly<Record<string, readonly History[]>> = {
  'bucket that refills every 10 s, resetIsFull': [[
    { ...world10, limit: 100, latencyMs: 2_500, round: 'down' },
    [
      { burst: 64, connections: 2 }, { trickle: 1, everyMs: 700, names: ['small'] },
      { trickle: 9, everyMs: 0, names: ['small'] }, { burst: 30, connections: 4 }, { wait: 'Retry-After' },
      { trickle: 1, everyMs: 0, names: ['small'] },
    ],
    'Y;', 0,
  ]],
  'bucket that refills every 30 s, resetIsFull': [[
    { ...world10, latencyMs: 2_500, failures: 'gives back' },
    [{ trickle: 2, everyMs: 0, names: [failing] }, { burst: 64, connections: 2 }, { pauseMs: 200 }],
    '', 0,
  ]],
  'shares from first': [[
    world10,
    [
      { trickle: 22, everyMs: 2_500, names: ['small'] }, { pauseMs: 61_000 },
      { trickle: 6, everyMs: 700, names: ['small'] }, { burst: 1 }, { trickle: 1, everyMs: 0, names: ['small'] },
    ],
    '', 0,
  ]],
};

function violations(exchanges: readonly Exchange[], isExclusive: boolean) {
  return [...judge(exchanges, isExclusive)].flatMap(([, { contradiction }]) => contradiction ?? []);
}

function shown(exchanges: readonly Exchange[]): string {
  return exchanges.map((one) => {
    const { number, status, remaining, reset, date, sentAt, receivedAt, sentTurn, receivedTurn, retryAfterMs } = one;
    const base = Date.UTC(2026, 10, 21, 12, 0, 0);
    return `#${number} ${sentAt - base}-${receivedAt - base} (${sentTurn}-${receivedTurn}): ${status}, ${remaining}, ` +
      `Reset ${reset - Math.floor(base / 1_000)}, Date ${(date ?? NaN) - base}, ${retryAfterMs ?? ''}`;
  }).join('\n');
}

describe('no history of a conforming limiter, and no part of one, is a violation', () => {
  for (const limiter of [...limiters, ...stepped.map(({ limiter }) => limiter)]) {
    test(limiter.id, () => {
      fc.assert(
        fc.property(worlds, steps, fc.string(), fc.constantFrom(0, 0, 0.1, 0.5, 0.9), (world, taken, seed, lost) => {
          const random = randomOf(seed);
          const all = simulate(limiter, taken, world, random);
          const part = all.filter(() => random.next() >= lost);
          const [found] = violations(part, !world.others);
          if (found !== undefined) {
            const { id, at, from, required, received } = found;
            assert.fail(`${id}: #${from.number} then #${at.number}: ${required}: ${received}\n${shown(part)}`);
          }
        }),
        { numRuns: 60, examples: [...(histories[limiter.id] ?? [])] },
      );
    });
  }
});

const near: World = {
  ...{ limit: 60, latencyMs: 4, offsetMs: 777, round: 'up', cachesDate: false, others: false },
  failures: 'counts',
};

/** The history of the probes of --exhaust. */
async function planned(limiter: Limiter, world: World, seed: string, fault?: Fault) {
  const { exchanges, together, pause, now } = simulation(limiter, world, randomOf(seed), fault);
  const prober = {
    send: async (names: readonly string[]) => together(names.length, names),
    sendOther: async () => {},
    sendKeyless: async () => {},
    sleep: async (ms: number) => pause(Math.ceil(ms)),
    serverTime: () => Math.max(...exchanges.map((one) => (one.date ?? 0) - one.receivedAt), 0 - 1e15) + now(),
  };
  const begin = now();
  for (const name of ['small', failing, 'small']) together(1, [name]);
  const reads = ['get', 'filter', 'orders'];
  await exhaust(prober, { small: 'small', others: ['create', ...reads], reads, clients: ['small'], failing: [failing] });
  return { exchanges, seconds: (now() - begin) / 1_000 };
}

describe('the probes of --exhaust', () => {
  for (const limiter of limiters) {
    for (const [limit, latencyMs, round] of [[60, 4, 'up'], [60, 300, 'down'], [300, 30, 'now+duration']] as const) {
      test(`${limiter.id}, ${limit} a minute, ${latencyMs} ms, Reset rounded ${round}`, async () => {
        for (let seed = 0; seed < 4; seed++) {
          const world = { ...near, limit, latencyMs, round, offsetMs: seed * 13_777 };
          const { exchanges, seconds } = await planned(limiter, world, `${seed}`);
          const verdicts = judge(exchanges, true);
          const found = [...verdicts].flatMap(([, { contradiction }]) => contradiction ?? []);
          const text = found.map((c) => `${c.id}: #${c.from.number} #${c.at.number} ${c.required}: ${c.received}`);
          assert.deepEqual(text, [], shown(exchanges));
          for (const id of ['limits.refuses', 'limits.admits', 'limits.recovers', 'limits.resets'] as const)
            assert.ok((verdicts.get(id)?.judged.length ?? 0) > 0, id);
          if (!/counter/.test(limiter.id)) assert.ok(seconds < 320, `${seconds} s`);
        }
      });
    }
  }
});

test('each operation is refused by a bucket, although requests return to it', async () => {
  const bucket = limiters.find(({ id }) => id === 'token bucket')!;
  for (let seed = 0; seed < 10; seed++) {
    const { exchanges } = await planned(bucket, { ...near, limit: 120, latencyMs: 150 }, `${seed}`);
    const refused = new Set(exchanges.filter(({ status }) => status === 429).map(({ name }) => name));
    for (const name of ['create', 'get', 'filter', 'orders']) assert.ok(refused.has(name), `${seed}: ${name}`);
  }
});

const clock = limiters.find(({ id }) => id === 'window by the clock')!;
const first = limiters.find(({ id }) => id === 'window from the first request')!;
const log = limiters.find(({ id }) => id === 'sliding log')!;
const counter = limiters.find(({ id }) => id === 'sliding counter')!;
const bucket = limiters.find(({ id }) => id === 'token bucket')!;
const limits = { minute: 60, day: 1_000_000 };

/** Admits a request that the limiter refuses. */
const admitting = (which: (n: number, request: Parameters<Fault>[1]) => boolean): Fault => (reply, request) => {
  if (reply.decision.admitted) return reply;
  const n = (request.notes.get('refused') ?? 0) + 1;
  request.notes.set('refused', n);
  return which(n, request) ? { ...reply, decision: { ...reply.decision, admitted: true } } : reply;
};
const headers = (change: (decision: ReturnType<typeof look>, request: Parameters<Fault>[1]) => object): Fault =>
  (reply, request) => ({ ...reply, decision: { ...reply.decision, ...change(reply.decision, request) } });

const refusesLast: Fault = (reply, { before, now }) => (reply.decision.admitted && reply.decision.remaining === 0
  ? { state: before, decision: { ...reply.decision, admitted: false, retryAfterMs: reply.decision.resetMs - now } }
  : reply);

/** The requirement that a fault violates, the limiter that has it, and the fault. */
const faults: readonly (readonly [text: string, id: string, of: readonly Limiter[], fault: Fault])[] = [
  ['never refuses', 'limits.refuses', [clock, first, log, bucket], admitting(() => true)],
  ['admits every tenth beyond', 'limits.refuses', [clock, first], admitting((n) => n % 10 === 0)],
  ['admits every third beyond', 'limits.refuses', [clock, first, log], admitting((n) => n % 3 === 0)],
  ['admits the first beyond of each window', 'limits.refuses', [clock, first, log],
    admitting((_, { now, notes }) => {
      const minute = Math.floor(now / 60_000);
      const known = notes.get('minute') === minute;
      notes.set('minute', minute);
      return !known;
    })],
  ['exempts an operation', 'limits.all-operations', [clock, first], admitting((_, { name }) => name === 'orders')],
  ['exempts a request that fails, but counts it', 'limits.refuses', [clock, first, log, counter, bucket],
    admitting((_, { name }) => name === failing)],
  ['refuses the last request', 'limits.admits', [clock, first, log], refusesLast],
  ['refuses every 25th', 'limits.admits', [clock, first, log, bucket],
    (reply, { nth, before }) => (nth % 25 === 0 && reply.decision.remaining > 3
      ? { state: before, decision: { ...reply.decision, admitted: false, retryAfterMs: 1_000 } } : reply)],
  ['counts every fourth twice', 'limits.remaining-falls', [clock, first, log, bucket],
    (reply, { nth, now }) =>
      (nth % 4 === 0 && reply.decision.remaining > 1 ? hit(clock, reply.state, limits, now) : reply)],
  ['counts no more than half', 'limits.remaining-falls', [clock, first, log],
    (reply, { nth, before, now }) => (nth % 2 === 0 && reply.decision.admitted
      ? { state: before, decision: { ...look(clock, before, limits, now), admitted: true } } : reply)],
  ['Reset is a second early', 'limits.resets', [clock], headers(({ resetMs }) => ({ resetMs: resetMs - 1_000 }))],
  ['Reset is five seconds early', 'limits.resets', [clock, first],
    headers(({ resetMs }) => ({ resetMs: resetMs - 5_000 }))],
  ['Reset is always now', 'limits.resets', [clock, first, log], headers((_, { now }) => ({ resetMs: now }))],
  ['Reset is always in a minute', 'limits.', [clock],
    headers((_, { now }) => ({ resetMs: now + 60_000 }))],
  ['Reset moves away with refusals', 'limits.resets', [clock, first, log],
    headers(({ admitted, resetMs }, { notes }) => {
      if (!admitted) notes.set('away', (notes.get('away') ?? 0) + 10_000);
      return admitted ? {} : { resetMs: resetMs + notes.get('away')! };
    })],
  ['Reset of a 429 is minutes late', 'limits.resets', [clock, first, log],
    headers(({ admitted, resetMs }) => (admitted ? {} : { resetMs: resetMs + 300_000 }))],
  ['Retry-After is a second short', 'limits.recovers', [clock, first, log],
    headers(({ retryAfterMs }) => ({ retryAfterMs: retryAfterMs - 1_000 }))],
  ['Retry-After is always a second', 'limits.recovers', [clock, first, log], headers(() => ({ retryAfterMs: 1_000 }))],
  ...([['rises by three now and then', [clock, first, log], 17],
    // Each 17th is sent together with others. Then it could be that of a bucket that is read after all of them.
    ['rises by three more often', [bucket], 8]] as const).map(([text, of, every]) =>
    [`Remaining ${text}`, 'limits.remaining-', of, headers(({ remaining, admitted }, { nth }) =>
      (admitted && nth % every === 0 ? { remaining: Math.min(59, remaining + 3) } : {}))] as const),
  ['Limit is another for one operation', 'limits.limit-header', [clock, first],
    headers((_, { name }) => (name === 'orders' ? { limit: 100 } : {}))],
  ['admits only half of a new window', 'limits.admits', [clock],
    (reply, { now, before }) => (reply.decision.remaining < 30 && now % 60_000 < 40_000 && reply.decision.admitted
      ? { state: before, decision: { ...reply.decision, admitted: false, retryAfterMs: 1_000 } } : reply)],
];

/**
 * The faults of buckets that refill in steps. Reset has whole seconds, and with short steps, one more request may have
 * returned at any time, so that only many more are a contradiction.
 */
const bucketFaults: typeof faults = stepped.flatMap(({ seconds, limiter }) => {
  const more = seconds < 10 ? 15 : 1;
  const isLast: Parameters<typeof admitting>[0] = (_, { now, notes }) => {
    const since = now - (notes.get('since') ?? 0) > 3_000 ? 0 : (notes.get('more') ?? 0);
    notes.set('since', now).set('more', since + 1);
    return since < more;
  };
  return [
    // With half a minute between two steps, the history fits a sliding counter best, so another requirement fails.
    [`admits ${more} more`, seconds === 30 ? 'limits.' : 'limits.refuses', [limiter], admitting(isLast)],
    ['never refuses', 'limits.refuses', [limiter], admitting(() => true)],
    ['refuses the last request', 'limits.admits', [limiter], refusesLast],
    ['counts every fourth twice', 'limits.remaining-falls', [limiter], (reply, { nth, now }) =>
      (nth % 4 === 0 && reply.decision.remaining > 1 ? hit(limiter, reply.state, limits, now) : reply)],
  ] as const;
});

test('a 429 until Reset although many requests remain is unfounded, even if others use the key', async () => {
  const refuses: Fault = (reply, { nth, before }) => (nth % 25 === 0 && reply.decision.remaining > 10
    ? { state: before, decision: { ...reply.decision, admitted: false, retryAfterMs: 1_000 } } : reply);
  const { exchanges } = await planned(clock, near, '0', refuses);
  const untilReset = ({ reset, date = 0 }: Exchange) => reset * 1_000 - date;
  const isFounded = (remaining: number) => {
    const changed = exchanges.map((one) =>
      (one.retryAfterMs === undefined ? one : { ...one, remaining, retryAfterMs: untilReset(one) }));
    return judge(changed, false).get('limits.admits')?.contradiction === undefined;
  };
  assert.equal(isFounded(30), false);
  assert.equal(isFounded(5), true);
});

describe('each fault violates its requirement', () => {
  for (const [text, id, of, fault] of [...faults, ...bucketFaults]) {
    for (const limiter of of) {
      test(`${text}: ${limiter.id}`, async () => {
        for (let seed = 0; seed < 3; seed++) {
          const { exchanges } = await planned(limiter, { ...near, offsetMs: seed * 17_333 }, `${seed}`, fault);
          const found = [...judge(exchanges, true)].flatMap(([, { contradiction }]) => contradiction ?? []);
          const ids = found.map((one) => one.id);
          assert.ok(ids.some((one) => one.startsWith(id)), `${seed}: ${ids}\n${shown(exchanges)}`);
        }
      });
    }
  }
});
