/** Faults of limiters, and of the headers in which servers describe them. */
import { base, type Exchange, type Operation, type Rates, type Usage } from '../server/hooks.ts';
import { integerOf, responses, setHeader, type Change, type NumberHeader } from '../table/changes.ts';
import { becomeError, chained, errorClasses, fault, nameOf, numberOf, successClasses, type Family } from './family.ts';
import {
  dayMs,
  freshState,
  gcra,
  limiterHooks,
  limiters,
  minuteMs,
  take,
  type Kind,
  type Limiter,
  type Look,
  type WindowState,
} from './limiters.ts';
import type { Random } from './random.ts';

/** The limiters with these ids. */
export const named = (...ids: readonly string[]): readonly Limiter[] => limiters.filter(({ id }) => ids.includes(id));

/** The limiters in groups. */
export const fixed = named('window by the clock', 'window from the first request');
export const logs = named('sliding log', 'sliding log, next request');
export const counters = named('sliding counter', 'sliding counter, next request');
export const buckets = named('token bucket', 'token bucket, next token', 'gcra');
/** The operations that the specification names. */
export const requestKinds: readonly Operation[] = ['list', 'create', 'get', 'orders'];

/** A kind of limiter, chosen so that the four groups are equally frequent. */
export function anyOf(
  random: Random,
  groups: readonly (readonly Limiter[])[] = [fixed, logs, counters, buckets],
): Limiter {
  return random.pick(random.pick(groups));
}

/** A limiter with another arithmetic of the minute. */
export function changed(limiter: Limiter, change: (kind: Kind) => Partial<Kind>): Change {
  return limiterHooks({ ...limiter, minute: { ...limiter.minute, ...change(limiter.minute) } });
}

/** A limiter with other headers. It admits the same requests as before. */
export function shownAs(
  limiter: Limiter,
  change: (rates: Rates, exchange: Exchange, usage: Usage) => Partial<Rates>,
): Change {
  const hooks = limiterHooks(limiter);
  return {
    ...hooks,
    left: (usage, limits, exchange) => {
      const rates = hooks.left!(usage, limits, exchange);
      return Object.assign(rates, change({ ...rates }, exchange, usage));
    },
  };
}

/** Replaces the values of a header in some responses. */
function rewritten(
  name: NumberHeader,
  change: (value: number, exchange: Exchange) => string | undefined,
  where: (status: number, exchange: Exchange) => boolean = () => true,
): Change {
  return responses(
    (response, exchange) => where(response.status, exchange) && response.headers.some(([other]) => other === name),
    (response, exchange) => setHeader(response, name, change(integerOf(response, name), exchange)),
  );
}

const moreThanPromised: Family = {
  name: 'limiter × limit × admits more than Remaining promises',
  draw: (random) => {
    const limiter = anyOf(random);
    const more = random.integer(buckets.includes(limiter) ? 4 : 1, 15);
    return fault(
      '7 8',
      `${limiter.id}: ${more} more requests are admitted after Remaining has reached 0.`,
      changed(limiter, (kind) => ({
        look: (state, size, now) => {
          const limit = size.limit + more;
          // In GCRA, the time of a request would also change, and fewer would be admitted.
          const periodMs = kind === gcra ? (size.periodMs * limit) / size.limit : size.periodMs;
          const real = kind.look(state, { limit, periodMs }, now);
          return {
            ...kind.look(state, size, now),
            remaining: Math.max(0, real.remaining - more),
            admitted: real.remaining > 0,
          };
        },
      })),
    );
  },
};

const fewerThanPromised: Family = {
  name: 'limiter × limit × refuses what Remaining promises',
  draw: (random) => {
    const limiter = anyOf(random);
    const fewer = random.integer(1, 9);
    const hides = random.pick([true, false]);
    return fault(
      '7 8',
      `${limiter.id}: a request is refused although Remaining was ${fewer}` +
        `${hides ? ', and Remaining is 0 in the refusal' : ''}.`,
      chained(
        changed(limiter, (kind) => ({
          look: (state, size, now) => {
            const seen = kind.look(state, size, now);
            // The state of the faulty limiter reaches its end earlier by as many requests.
            const admitted = seen.remaining > fewer;
            return { ...seen, admitted, retryAfterMs: admitted ? 0 : Math.max(1_000, seen.resetMs - now) };
          },
        })),
        hides
          ? rewritten(
              'X-RateLimit-Remaining',
              () => '0',
              (status) => status === 429,
            )
          : {},
      ),
    );
  },
};

const coarseRefill: Family = {
  name: 'limiter × refill × only in whole steps',
  draw: (random) => {
    const limiter = anyOf(random, [logs, counters, buckets, buckets]);
    const step = random.pick([5, 10, 15, 20, 30, 60]) * 1_000;
    const shows = random.pick([true, false]);
    return fault(
      '7 8',
      `${limiter.id}: requests become available only every ${step / 1_000} s, ` +
        `but Retry-After${shows ? ' and Remaining promise' : ' promises'} them at once.`,
      changed(limiter, (kind) => {
        // GCRA stores no time of a request, and a request after the step would seem to have taken more.
        const latest = new WeakMap<WindowState, number>();
        return {
          look: (state, size, now) => {
            const coarse = kind.look(state, size, Math.max(Math.floor(now / step) * step, latest.get(state) ?? 0));
            const fine = kind.look(state, size, now);
            const remaining = shows ? fine.remaining : coarse.remaining;
            return { ...fine, remaining, admitted: coarse.remaining > 0, retryAfterMs: Math.max(1, fine.retryAfterMs) };
          },
          take: (state, size, now) => {
            const after = kind.take(state, size, now);
            if (kind === gcra) latest.set(after, now);
            return after;
          },
        };
      }),
    );
  },
};

const wrongRemaining: Family = {
  name: 'limiter × Remaining × another number',
  draw: (random) => {
    const limiter = anyOf(random);
    const operation = random.pick(requestKinds);
    const step = random.pick([5, 10, 20, 25]);
    const [text, change] = random.pick<readonly [string, (value: number, limit: number, exchange: Exchange) => number]>(
      [
        ['is that before the request', (value, limit) => Math.min(limit, value + 1)],
        ['is the number of requests that were sent', (value, limit) => limit - value],
        [`is rounded to multiples of ${step}`, (value) => Math.ceil(value / step) * step],
        [
          `is too high by ${step} in responses of ${nameOf(operation)}`,
          (value, _limit, exchange) => value + (exchange.operation === operation ? step : 0),
        ],
        [
          `is too low by ${step} in responses of ${nameOf(operation)}`,
          (value, _limit, exchange) => Math.max(0, value - (exchange.operation === operation ? step : 0)),
        ],
        ['is always one less than the limit', (_value, limit) => limit - 1],
        ['is a percentage', (value, limit) => Math.round((100 * value) / limit)],
        ['never falls below 1', (value) => Math.max(1, value)],
        [
          `is always the limit in responses of ${nameOf(operation)}`,
          (value, limit, exchange) => (exchange.operation === operation ? limit : value),
        ],
      ],
    );
    return fault(
      '8',
      `${limiter.id}: Remaining ${text}.`,
      chained(
        limiterHooks(limiter),
        responses(
          (response) => response.status !== 401,
          (response, exchange) => {
            const [value, limit] = [
              integerOf(response, 'X-RateLimit-Remaining'),
              integerOf(response, 'X-RateLimit-Limit'),
            ];
            setHeader(response, 'X-RateLimit-Remaining', String(change(value, limit, exchange)));
          },
        ),
      ),
    );
  },
};

const resetUnit: Family = {
  name: 'headers × Reset × another unit or format',
  draw: (random) => {
    const limiter = anyOf(random);
    const hours = random.pick([-8, -5, 1, 2, 9]);
    const [text, change] = random.pick<readonly [string, (value: number, now: number) => string]>([
      ['in milliseconds', (value) => String(value * 1_000)],
      ['in microseconds', (value) => String(value * 1_000_000)],
      ['in seconds from now', (value, now) => String(Math.max(0, value - Math.floor(now / 1_000)))],
      ['in milliseconds from now', (value, now) => String(Math.max(0, value * 1_000 - now))],
      ['in minutes since 1970', (value) => String(Math.ceil(value / 60))],
      ['as a date of HTTP', (value) => new Date(value * 1_000).toUTCString()],
      ['as an ISO date', (value) => new Date(value * 1_000).toISOString()],
      ['in quotation marks', (value) => `"${value}"`],
      ['with the unit s', (value) => `${value}s`],
      [`as local time, ${hours} h from UTC`, (value) => String(value + hours * 3_600)],
      ['in seconds since 2000', (value) => String(value - Date.UTC(2000, 0, 1) / 1_000)],
      ['negative, as the seconds since the reset', (value, now) => String(Math.floor(now / 1_000) - value)],
      ['in scientific notation', (value) => value.toExponential()],
    ]);
    const [place, where] = random.pick<readonly [string, (status: number, exchange: Exchange) => boolean]>([
      ['in every response', () => true],
      ['in every 429', (status) => status === 429],
      ['in every 404', (status) => status === 404],
      ['in every 201', (status) => status === 201],
      ['in responses of getPet', (_status, { operation }) => operation === 'get'],
    ]);
    return fault(
      '8',
      `${limiter.id}: Reset is ${text} ${place}.`,
      chained(
        limiterHooks(limiter),
        rewritten('X-RateLimit-Reset', (value, { now }) => change(value, now), where),
      ),
    );
  },
};

const resetMoment: Family = {
  name: 'limiter × Reset × another moment',
  draw: (random) => {
    const seconds = random.integer(5, 30);
    type Row = readonly [
      groups: readonly (readonly Limiter[])[],
      text: string,
      change: (rates: Rates, exchange: Exchange) => number,
    ];
    const remembered = (note: string, value: number, { world, authorization }: Exchange): number => {
      const name = `${note} ${authorization}`;
      if (!world.notes.has(name)) world.notes.set(name, String(value));
      return Number(world.notes.get(name));
    };
    const [groups, text, change] = random.pick<Row>([
      [[fixed], 'always a minute from now', (_rates, { now }) => now + minuteMs],
      [[fixed], 'the end of the next window', ({ resetMs }) => resetMs + minuteMs],
      [
        [fixed],
        `later by ${seconds} s with each refusal`,
        ({ resetMs, admitted }, { world, authorization }) => {
          const note = `refused ${authorization}`;
          const refused = Number(world.notes.get(note) ?? 0) + (admitted === true ? 0 : 0.5);
          world.notes.set(note, String(refused));
          return resetMs + Math.floor(refused) * seconds * 1_000;
        },
      ],
      [[fixed], 'the end of the hour', (_rates, { now }) => (Math.floor(now / 3_600_000) + 1) * 3_600_000],
      [[fixed, logs, counters, buckets], 'always now', (_rates, { now }) => now],
      [[fixed, logs, counters, buckets], 'the begin of the minute', (_rates, { now }) => now - (now % minuteMs)],
      [
        [fixed, logs, counters, buckets],
        'that of the first response for ever',
        ({ resetMs }, exchange) => remembered('reset', resetMs, exchange),
      ],
      [
        [fixed, logs],
        `${seconds} s too early if none is left`,
        ({ resetMs, admitted }) => resetMs - (admitted === true ? 0 : seconds * 1_000),
      ],
      [[logs, buckets], 'a day from now', (_rates, { now }) => now + dayMs],
    ]);
    const limiter = anyOf(random, groups);
    // A bucket has its next token so soon that its Reset can be now.
    if (text === 'always now' && buckets.includes(limiter)) return undefined;
    return fault(
      '8',
      `${limiter.id}: Reset is ${text}.`,
      shownAs(limiter, (rates, exchange) => ({ resetMs: change(rates, exchange) })),
    );
  },
};

const wrongRetryAfter: Family = {
  name: 'limiter × Retry-After × missing, malformed or too early',
  draw: (random) => {
    const seconds = random.integer(3, 25);
    const percent = random.pick([10, 25, 50, 75]);
    const header = random.pick(['RetryAfter', 'X-Retry-After', 'X-RateLimit-Retry-After', 'Retry-In']);
    const windows = [fixed, logs, counters];
    const all = [fixed, logs, counters, buckets];
    type Row = readonly [
      groups: readonly (readonly Limiter[])[],
      text: string,
      value: (ms: number, now: number) => string,
    ];
    const rows: readonly Row[] = [
      [all, 'has a fraction', (ms) => (ms / 1_000 + 0.25).toFixed(2)],
      [all, 'has a unit', (ms) => `${Math.ceil(ms / 1_000)}s`],
      [all, 'has words', (ms) => `${Math.ceil(ms / 1_000)} seconds`],
      [all, 'is an ISO date', (ms, now) => new Date(now + ms).toISOString()],
      [all, 'is negative', (ms) => String(-Math.ceil(ms / 1_000))],
      [all, 'is empty', () => ''],
      [all, 'is a date in the past', (_ms, now) => new Date(now - seconds * 1_000).toUTCString()],
      [windows, 'is always 0', () => '0'],
      [windows, 'is always 1', () => '1'],
      [windows, `is ${percent} % of the wait`, (ms) => String(Math.floor((ms * percent) / 100_000))],
      [windows, `is ${seconds} s too early`, (ms) => String(Math.max(0, Math.ceil(ms / 1_000) - seconds))],
      [windows, 'is in minutes', (ms) => String(Math.ceil(ms / minuteMs))],
    ];
    const missing = random.integer(1, 5) === 1;
    const [groups, text, value] = random.pick(rows);
    const limiter = anyOf(random, missing ? all : groups);
    if (missing) {
      return fault(
        '7 8',
        `${limiter.id}: a 429 has ${header} instead of Retry-After.`,
        chained(
          limiterHooks(limiter),
          responses(
            (response) => response.status === 429,
            (response) => {
              response.headers.push([header, response.headers.find(([name]) => name === 'Retry-After')?.[1] ?? '']);
              setHeader(response, 'Retry-After', undefined);
            },
          ),
        ),
      );
    }
    return fault('7 8', `${limiter.id}: Retry-After ${text}.`, {
      ...limiterHooks(limiter),
      retryAfter: (ms, { now }) => value(ms, now),
    });
  },
};

const unlimited: Family = {
  name: 'limiter × operation × not refused',
  draw: (random) => {
    const limiter = anyOf(random);
    const [text, exempt] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ...requestKinds.map(
        (operation) => [nameOf(operation), (exchange: Exchange) => exchange.operation === operation] as const,
      ),
      ['a list with a filter', ({ operation, query }) => operation === 'list' && query.has('status')],
      ['a list with a limit', ({ operation, query }) => operation === 'list' && query.has('limit')],
      [
        'getPet of an unknown animal',
        (exchange) =>
          exchange.operation === 'get' && base.find(exchange.path.slice('/pets/'.length), exchange) === undefined,
      ],
      ['createPet with an invalid body', ({ operation, body }) => operation === 'create' && !/"categoryId"/.test(body)],
    ]);
    const hooks = limiterHooks(limiter);
    return fault('7 8', `${limiter.id}: ${text} counts, but is never refused.`, {
      ...hooks,
      admitted: (rates, exchange) => hooks.admitted!(rates, exchange) || exempt(exchange),
    });
  },
};

const splitBudgets: Family = {
  name: 'limiter × budget × several of one key',
  draw: (random) => {
    const limiter = anyOf(random);
    const servers = random.integer(2, 4);
    const [text, budget] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['of each operation', ({ operation }) => operation],
      ['of each method', ({ method }) => method],
      ['of each connection', ({ connection }) => String(connection)],
      ['of each URL with its query', ({ fullPath, search }) => `${fullPath}?${search}`],
      ['of each path', ({ path }) => path],
      [`of each of ${servers} processes that take turns`, ({ world }) => String(world.requests % servers)],
      [
        `of each of ${servers} processes that share the connections`,
        ({ connection }) => String(numberOf(connection) % servers),
      ],
      ['of reading and of writing', ({ method }) => String(method === 'GET')],
      ['of lists and of all others', ({ operation }) => String(operation === 'list')],
    ]);
    return fault('7 8', `${limiter.id}: a key has a budget ${text}.`, { ...limiterHooks(limiter), budget });
  },
};

const lostCounts: Family = {
  name: 'limiter × counting × some requests are lost',
  draw: (random) => {
    const limiter = anyOf(random, [fixed, logs, counters]);
    // None of them divides a limit, so that the last batch exceeds it.
    const batch = random.pick([7, 9, 11, 13, 17]);
    const nth = random.integer(2, 8);
    const hooks = limiterHooks(limiter);
    const [text, count] = random.pick<readonly [string, Change['count']]>([
      [
        `requests are counted in batches of ${batch}`,
        (usage, exchange) => {
          usage.dayUsed += 1;
          if (usage.dayUsed % batch === 0) for (let i = 0; i < batch; i += 1) hooks.count!(usage, exchange);
        },
      ],
      [
        `every request with a number divisible by ${nth} is not counted`,
        (usage, exchange) => {
          usage.dayUsed += 1;
          if (usage.dayUsed % nth !== 0) hooks.count!(usage, exchange);
        },
      ],
      [
        'requests within 40 ms of another one, on another connection, are not counted',
        (usage, exchange) => {
          const [at = 0, connection = 0] = usage.times;
          usage.times = [exchange.now, exchange.connection];
          if (exchange.now > at + 40 || connection === exchange.connection) hooks.count!(usage, exchange);
        },
      ],
    ]);
    return fault('7 8', `${limiter.id}: ${text}, so more than the plan are admitted.`, { ...hooks, count: count! });
  },
};

const skewedClock: Family = {
  name: 'limiter × clock × another one than that of the headers',
  draw: (random) => {
    const limiter = anyOf(random, [fixed, logs]);
    const seconds = random.integer(4, 25);
    const [text, follows] = random.pick<readonly [string, boolean]>([
      ['Reset is', false],
      ['Reset and Retry-After are', true],
    ]);
    const hooks = limiterHooks(limiter);
    const behind = (exchange: Exchange): Exchange => ({ ...exchange, now: exchange.now - seconds * 1_000 });
    return fault('7 8', `${limiter.id}: the limiter's clock is ${seconds} s behind, so ${text} too early.`, {
      ...hooks,
      left: (usage, limits, exchange) => {
        const rates = hooks.left!(usage, limits, behind(exchange));
        if (follows) rates.retryAfterMs = rates.resetMs - exchange.now;
        return rates;
      },
      count: (usage, exchange) => hooks.count!(usage, behind(exchange)),
    });
  },
};

const forgets: Family = {
  name: 'limiter × memory × forgets before the reset',
  draw: (random) => {
    const limiter = anyOf(random);
    const seconds = random.integer(5, 20);
    const [text, isIdle] = random.pick<readonly [string, boolean]>([
      [`after ${seconds} s without a request`, true],
      [`${seconds} s after the first request`, false],
    ]);
    return fault(
      '7 8',
      `${limiter.id}: what was counted is forgotten ${text}, long before Reset.`,
      changed(limiter, (kind) => {
        const since = new WeakMap<WindowState, number>();
        const current = (state: WindowState, now: number): WindowState =>
          now >= (since.get(state) ?? now) + seconds * 1_000 ? freshState.minute : state;
        return {
          look: (state, size, now) => kind.look(current(state, now), size, now),
          take: (state, size, now) => {
            const before = current(state, now);
            const after = kind.take(before, size, now);
            since.set(after, isIdle ? now : (since.get(before) ?? now));
            return after;
          },
        };
      }),
    );
  },
};

const leftover: Family = {
  name: 'window × reset × not everything is given back',
  draw: (random) => {
    const limiter = anyOf(random, [fixed]);
    const percent = random.pick([20, 40, 50, 80]);
    const [text, resets] = random.pick<readonly [string, (used: number) => number]>([
      [
        `${percent} % of the requests of the last window are counted again`,
        (used) => Math.floor((used * percent) / 100),
      ],
      ['a key that used up a window gets only one request', () => 0],
    ]);
    return fault(
      '7 8',
      `${limiter.id}: after Reset, ${text}.`,
      changed(limiter, (kind) => {
        // What counts in a window before its first request, by the state after each request.
        const carried = new WeakMap<WindowState, number>();
        const offset = (state: WindowState, size: Parameters<Kind['look']>[1], now: number): number => {
          const isNew = kind.look(state, size, now).remaining === size.limit;
          const known = carried.get(state) ?? 0;
          const whole = known + state.used;
          if (!isNew) return known;
          return text.startsWith('a key') ? (whole >= size.limit ? size.limit - 1 : 0) : resets(whole);
        };
        return {
          look: (state, size, now): Look => {
            const seen = kind.look(state, size, now);
            const remaining = Math.max(0, seen.remaining - offset(state, size, now));
            return { ...seen, remaining, retryAfterMs: remaining > 0 ? 0 : seen.resetMs - now };
          },
          take: (state, size, now) => {
            const after = kind.take(state, size, now);
            carried.set(after, offset(state, size, now));
            return after;
          },
        };
      }),
    );
  },
};

const wrongArithmetic: Family = {
  name: 'limiter × arithmetic × one factor is wrong',
  draw: (random) => {
    const slower = random.pick([1.5, 2, 3, 5]);
    const faster = random.pick([2, 3, 5, 10]);
    type Row = readonly [limiter: Limiter, text: string, change: (kind: Kind) => Partial<Kind>];
    const tokens = random.pick(buckets.filter(({ id }) => id !== 'gcra'));
    const sized = (factor: number) => (kind: Kind) => ({
      look: (state: WindowState, size: Parameters<Kind['look']>[1], now: number): Look => {
        const real = kind.look(state, { ...size, periodMs: size.periodMs * factor }, now);
        const { retryAfterMs, resetMs } = kind.look(state, size, now);
        return { remaining: real.remaining, retryAfterMs: Math.max(1, retryAfterMs), resetMs };
      },
      take: (state: WindowState, size: Parameters<Kind['take']>[1], now: number) =>
        kind.take(state, { ...size, periodMs: size.periodMs * factor }, now),
    });
    const [limiter, text, change] = random.pick<Row>([
      [tokens, `it refills ${slower} times as slowly as Retry-After says`, sized(slower)],
      [random.pick(buckets), `it refills ${faster} times as fast as the plan allows`, sized(1 / faster)],
      [random.pick(logs), `a request leaves the log after ${60 * slower} s instead of 60 s`, sized(slower)],
      [random.pick(logs), `a request leaves the log after ${60 / faster} s instead of 60 s`, sized(1 / faster)],
      [
        tokens,
        'after a refusal, the next request needs two tokens, and Retry-After is the time of one',
        (kind) => {
          const refusedAt = new WeakMap<WindowState, number>();
          return {
            look: (state, size, now) => {
              const perToken = size.periodMs / size.limit;
              const seen = kind.look(state, size, now);
              const waits = now < (refusedAt.get(state) ?? 0) + 2 * perToken;
              if (seen.remaining > 0 && !waits) return seen;
              if (!waits) refusedAt.set(state, now);
              return { ...seen, remaining: 0, retryAfterMs: Math.ceil(perToken) };
            },
          };
        },
      ],
      [
        random.pick(counters),
        'the minute before counts for the share that has passed',
        (kind) => ({
          look: (state, size, now) => {
            const at = Math.floor(now / size.periodMs) * size.periodMs;
            const used = state.at === at ? state.used : 0;
            const before = state.at === at ? state.before : state.at === at - size.periodMs ? state.used : 0;
            const counted = used + before * ((now - at) / size.periodMs);
            const remaining = Math.max(0, Math.floor(size.limit - counted));
            const seen = kind.look(state, size, now);
            return { ...seen, remaining, retryAfterMs: remaining > 0 ? 0 : Math.max(1_000, seen.retryAfterMs) };
          },
        }),
      ],
    ]);
    return fault('7 8', `${limiter.id}: ${text}.`, changed(limiter, change));
  },
};

const countedRefusals: Family = {
  name: 'limiter × refusals × counted, and not in Retry-After',
  draw: (random) => {
    const limiter = anyOf(random, [logs, buckets]);
    const weight = random.integer(1, 4);
    const faulty: Limiter = {
      ...limiter,
      minute: {
        ...limiter.minute,
        look: (state, size, now) => {
          const seen = limiter.minute.look(state, size, now);
          const oldest = state.times.find((time) => time > now - size.periodMs);
          const naive = oldest === undefined ? size.periodMs / size.limit : oldest + size.periodMs - now;
          return { ...seen, retryAfterMs: seen.remaining > 0 ? 0 : Math.min(seen.retryAfterMs, naive) };
        },
      },
    };
    return fault(
      '7 8',
      `${limiter.id}: each refused request counts ${weight} times, and Retry-After does not say so.`,
      limiterHooks(faulty, (state, limits, now) => {
        for (let i = 0; i < weight; i += 1) state = { ...state, minute: take(limiter, state, limits, now).minute };
        return state;
      }),
    );
  },
};

const undeservedBan: Family = {
  name: 'key × ban × without repeated refusals',
  draw: (random) => {
    const count = random.integer(3, 12);
    const seconds = random.pick([70, 100, 150, 200]);
    const to = random.pick([429, 403, 401]);
    const [text, status, after] = random.pick<readonly [string, number, number]>([
      ['the first 429', 429, 1],
      [`${count} responses with 404`, 404, count],
      [`${count} responses with 400`, 400, count],
      [`${3 * count} created animals`, 201, 3 * count],
    ]);
    return fault('8 7 5 4.1 4.2 4.3', `A key gets ${to} for ${seconds} s after ${text}.`, {
      response: (response, exchange) => {
        const {
          now,
          world: { notes },
          authorization,
        } = exchange;
        if (response.status === 401) return response;
        const [seen, until] = [`seen ${authorization}`, `until ${authorization}`];
        if (now < Number(notes.get(until) ?? 0)) {
          if (response.status !== 429) {
            becomeError(response, exchange, to);
            if (to === 429) response.headers.push(['Retry-After', '1']);
          }
          return response;
        }
        if (response.status === status) notes.set(seen, String(Number(notes.get(seen) ?? 0) + 1));
        if (Number(notes.get(seen) ?? 0) >= after) {
          notes.delete(seen);
          // After a 429, the ban goes on beyond the end of the window.
          const reset = status === 429 ? integerOf(response, 'X-RateLimit-Reset') * 1_000 : now;
          notes.set(until, String(reset + seconds * 1_000));
        }
        return response;
      },
    });
  },
};

const rateHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** Responses that should have the headers. */
const withHeaders = [
  ...successClasses,
  ...errorClasses,
  { text: 'a 429', kind: ({ status }: { status: number }) => status === 429, sections: '8' },
  {
    text: 'a response of GET /store/orders',
    kind: (_response: unknown, { operation }: Exchange) => operation === 'orders',
    sections: '8',
  },
];

const malformedHeader: Family = {
  name: 'headers × format × not a number',
  draw: (random) => {
    const header = random.pick(rateHeaders);
    // What the headers contain without a valid key is open.
    const { text: where, kind } = random.pick(withHeaders.filter(({ text }) => !/401/.test(text)));
    const [text, change] = random.pick<readonly [string, (value: number) => string]>([
      ['with a unit', (value) => `${value} requests`],
      ['with a policy', (value) => `${value};w=60`],
      ['with the policies of all windows', (value) => `${value}, ${value};w=60, 1000;w=86400`],
      ['in quotation marks', (value) => `"${value}"`],
      ['with separators', (value) => `${String(value).slice(0, -1)},${String(value).slice(-1)}`],
      ['empty', () => ''],
      ['null', () => 'null'],
      ['NaN', () => 'NaN'],
      ['undefined', () => 'undefined'],
      ['unlimited', () => 'unlimited'],
      ['negative', (value) => String(-value - 1)],
      ['in hexadecimal', (value) => `0x${value.toString(16)}`],
    ]);
    return fault(
      '8',
      `${header} is ${text} in ${where}.`,
      responses(kind, (response) => setHeader(response, header, change(integerOf(response, header)))),
    );
  },
};

const missingHeader: Family = {
  name: 'headers × presence × missing in one kind of response',
  draw: (random) => {
    const dropped = random.some(rateHeaders, random.integer(1, 3));
    const { text, kind } = random.pick(withHeaders);
    const verb = dropped.length === 1 ? 'is' : 'are';
    return fault(
      '8',
      `${[...dropped].sort().join(' and ')} ${verb} missing in ${text}.`,
      responses(kind, (response) => dropped.forEach((name) => setHeader(response, name, undefined))),
    );
  },
};

const mixedWindows: Family = {
  name: 'headers × minute and day × mixed',
  draw: (random) => {
    const limiter = anyOf(random, [fixed, fixed, buckets]);
    const [text, change] = random.pick<readonly [string, (rates: Rates, day: Rates) => Partial<Rates>]>([
      ['Limit is that of the day', (_rates, day) => ({ limit: day.limit })],
      ['Remaining is that of the day', (_rates, day) => ({ remaining: day.remaining })],
      ['Reset is that of the day', (_rates, day) => ({ resetMs: day.resetMs })],
      ['Limit and Reset are those of the day', (_rates, day) => ({ limit: day.limit, resetMs: day.resetMs })],
      ['Limit and Remaining are those of the day', (_rates, day) => ({ limit: day.limit, remaining: day.remaining })],
    ]);
    const hooks = limiterHooks(limiter);
    return fault('8', `${limiter.id}: ${text}, and the rest that of the minute.`, {
      ...hooks,
      left: (usage, limits, exchange) => {
        const rates = hooks.left!(usage, limits, exchange);
        const resetMs = (Math.floor(exchange.now / dayMs) + 1) * dayMs;
        return Object.assign(
          rates,
          change(rates, { limit: limits.day, remaining: limits.day - usage.dayUsed, resetMs }),
        );
      },
      count: (usage, exchange) => {
        usage.dayUsed += 1;
        hooks.count!(usage, exchange);
      },
    });
  },
};

const otherPlan: Family = {
  name: 'plan × numbers × not those of the table',
  draw: (random) => {
    const [text, perMinute] = random.pick<readonly [string, (minute: number) => number]>([
      ...[25, 50, 75, 90, 150, 200, 400].map(
        (percent) =>
          [
            `${percent} % of the requests of the plan`,
            (minute: number) => Math.round((minute * percent) / 100),
          ] as const,
      ),
      ['one request more than the plan', (minute) => minute + 1],
      ['one request fewer than the plan', (minute) => minute - 1],
    ]);
    const limiter = anyOf(random);
    return fault('7 8', `${limiter.id}: a key has ${text} in a minute, and the headers say so.`, {
      ...limiterHooks(limiter),
      limits: (plan) => ({ ...base.limits(plan), minute: perMinute(base.limits(plan).minute) }),
    });
  },
};

const usedDay: Family = {
  name: 'day × end × not enforced, or announced wrongly',
  draw: (random) => {
    const left = random.integer(20, 50);
    const limiter = anyOf(random, [fixed, buckets]);
    const [text, faulty] = random.pick<readonly [string, (day: Look, now: number) => Partial<Look>]>([
      ['further requests are admitted', () => ({ admitted: true })],
      [
        'Reset is the end of the minute',
        (day, now) => ({
          resetMs: day.remaining > 0 ? day.resetMs : (Math.floor(now / minuteMs) + 1) * minuteMs,
        }),
      ],
      [
        'Retry-After is the rest of the minute',
        (day, now) => ({
          retryAfterMs: day.remaining > 0 ? 0 : minuteMs - (now % minuteMs),
        }),
      ],
      ['Retry-After is 1', (day) => ({ retryAfterMs: day.remaining > 0 ? 0 : 1 })],
    ]);
    return fault(
      '7 8',
      `${limiter.id}: a Free key has ${left} requests left on this day; after them, ${text}.`,
      limiterHooks({
        ...limiter,
        day: {
          look: (state, size, now) => {
            const used = size.limit === 1_000 ? size.limit - left : 0;
            const day = limiter.day.look(
              { ...state, at: Math.floor(now / dayMs) * dayMs, used: used + state.used },
              size,
              now,
            );
            return { ...day, ...faulty(day, now) };
          },
          take: (state) => ({ ...state, used: state.used + 1 }),
        },
      }),
    );
  },
};

export const limitFamilies: readonly Family[] = [
  moreThanPromised,
  fewerThanPromised,
  coarseRefill,
  wrongRemaining,
  resetUnit,
  resetMoment,
  wrongRetryAfter,
  unlimited,
  splitBudgets,
  lostCounts,
  skewedClock,
  forgets,
  leftover,
  wrongArithmetic,
  countedRefusals,
  undeservedBan,
  malformedHeader,
  missingHeader,
  mixedWindows,
  otherPlan,
  usedDay,
];
