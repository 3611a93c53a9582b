/**
 * Faults of limiters, of their headers, of what stands in front of them and of the deprecation. Their author knew the
 * specification and the models of limiters, but neither the checks nor the other families.
 */
import type { Exchange, Hooks, MutantResponse, Usage, World } from '../server/hooks.ts';
import { base } from '../server/hooks.ts';
import { integerOf, of, responses, setHeader, type Change, type Kind as ResponseKind } from '../table/changes.ts';
import { becomeError, everyNth, fault, nameOf, type Family } from './family.ts';
import {
  bucketByToken,
  fixedByClock,
  fixedFromFirst,
  gcra,
  limiterHooks,
  minuteMs,
  movingWindow,
  sharesFromFirst,
  shifted,
  slidingLog,
  tokenBucket,
  type Kind,
  type WindowState,
} from './limiters.ts';
import type { Random } from './random.ts';

export const kinds: readonly (readonly [text: string, kind: Kind])[] = [
  ['a window by the clock', fixedByClock],
  ['a window from the first request', fixedFromFirst],
  ['a sliding log', slidingLog],
  ['a moving window', movingWindow],
  ['a sliding counter', sharesFromFirst],
  ['a token bucket', tokenBucket],
  ['a bucket by the token', bucketByToken],
  ['GCRA', gcra],
];
export const fixedKinds = kinds.slice(0, 2);

export const operations = ['list', 'create', 'get'] as const;
export const rateHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** Counts with this kind for the minute, and with a day by the clock. */
export function counting(minute: Kind, refuse?: (state: WindowState, limit: number, now: number) => WindowState) {
  const limiter = { id: '', text: '', minute, day: fixedByClock, shows: 'fewer', readsAfterHits: false } as const;
  const { left, admitted, count } = limiterHooks(
    limiter,
    refuse && ((state, limits, now) => ({ ...state, minute: refuse(state.minute, limits.minute, now) })),
  );
  return { left: left!, admitted: admitted!, count: count! };
}

/** Counts a request with `take` instead if it is chosen. */
function countingBy(kind: Kind, take: Kind['take'], chosen: (exchange: Exchange) => boolean): Change {
  let isChosen = false;
  const hooks = counting({ ...kind, take: (...state) => (isChosen ? take : kind.take)(...state) });
  return {
    ...hooks,
    count: (usage, exchange) => {
      isChosen = chosen(exchange);
      hooks.count(usage, exchange);
    },
  };
}

/** A value for each server, and for each Authorization header if `byKey`. */
export function stateOf<T extends object>(make: () => T, byKey = false): (exchange: Exchange) => T {
  const states = new WeakMap<World, Map<string, T>>();
  return ({ world, authorization }) => {
    const ofWorld = states.get(world) ?? new Map<string, T>();
    states.set(world, ofWorld);
    const name = byKey ? authorization : '';
    const state = ofWorld.get(name) ?? make();
    ofWorld.set(name, state);
    return state;
  };
}

const connections = stateOf(() => new Map<number, number>());

/** The number of a connection in the order in which they were first used: ports of clients often have one parity. */
export function connectionNumber(exchange: Exchange): number {
  const known = connections(exchange);
  if (!known.has(exchange.connection)) known.set(exchange.connection, known.size);
  return known.get(exchange.connection)!;
}

export const isRefused: ResponseKind = ({ status }) => status === 429;
export const hasKey: ResponseKind = ({ status }) => status !== 401;

/** A part of the responses with a valid key, with words for it. */
export function someResponses(random: Random): readonly [text: string, kind: ResponseKind] {
  const operation = random.pick(operations);
  return random.pick<readonly [string, ResponseKind]>([
    [`every response of ${nameOf(operation)}`, (...one) => hasKey(...one) && of(operation)(...one)],
    ['every second response', everyNth(hasKey, 2, 'second')],
    ['every 429', isRefused],
    [
      'every response on half of the connections',
      (response, exchange) => connectionNumber(exchange) % 2 === 1 && hasKey(response, exchange),
    ],
  ]);
}

const lostUpdates: Family = {
  name: 'many connections × counter × lost updates',
  draw: (random) => {
    const withinMs = random.integer(3, 40);
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const counted = new WeakMap<Usage, { readonly at: number; readonly connection: number }>();
    return fault(
      '8',
      `With ${text}, a request is not counted within ${withinMs} ms of one on another connection, so too many are ` +
        `admitted.`,
      {
        ...hooks,
        count: (usage, exchange) => {
          const { now, connection } = exchange;
          const last = counted.get(usage);
          if (last !== undefined && last.connection !== connection && now - last.at <= withinMs) return;
          counted.set(usage, { at: now, connection });
          hooks.count(usage, exchange);
        },
      },
    );
  },
};

const sharesOfProcesses: Family = {
  name: 'several processes × share of the limit × refusals too early',
  draw: (random) => {
    const processes = random.integer(2, 4);
    const [text, kind] = random.pick(kinds);
    const [by, budget] = random.pick<readonly [string, Hooks['budget']]>([
      ['its connection', (exchange) => String(connectionNumber(exchange) % processes)],
      ['its path', ({ path }) => String(path.length % processes)],
      ['its method', ({ method }) => method],
    ]);
    const scaled = random.pick([true, false]);
    const hooks = counting(kind);
    return fault(
      '8',
      `A request goes to one of ${processes} processes by ${by}; each admits its share of the limit with ${text}, ` +
        `and Remaining is ${scaled ? 'the share that is left, multiplied' : 'the whole limit less its requests'}.`,
      {
        ...hooks,
        budget,
        left: (usage, limits, exchange) => {
          const share = Math.floor(limits.minute / processes);
          const rates = hooks.left(usage, { ...limits, minute: share }, exchange);
          if (rates.limit !== share) return rates;
          const remaining = scaled ? rates.remaining * processes : limits.minute - (share - rates.remaining);
          // The rates are an identity for the limiter, so they are changed in place.
          return Object.assign(rates, { limit: limits.minute, remaining });
        },
      },
    );
  },
};

const refreshedExpiry: Family = {
  name: 'counter that expires × expiry × set again by later requests',
  draw: (random) => {
    const operation = random.pick(operations);
    const nth = random.integer(2, 6);
    const refresh: Kind['take'] = (state, { periodMs }, now) =>
      state.used > 0 && now < state.at + periodMs
        ? { ...state, at: now, used: state.used + 1 }
        : { ...state, at: now, used: 1 };
    const seconds = random.pick([20, 30, 45]);
    const [text, chosen] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['Every request', () => true],
      [`Every ${nameOf(operation)}`, (exchange) => exchange.operation === operation],
      [`One request in ${nth}`, ({ world }) => world.requests % nth === 0],
      [`A request in the last ${seconds} s of a minute`, ({ now }) => now % minuteMs >= minuteMs - seconds * 1_000],
    ]);
    return fault(
      '8',
      `${text} makes the counter expire 60 s later, so the limit does not reset at the Reset that was shown before.`,
      countingBy(fixedFromFirst, refresh, chosen),
    );
  },
};

const noExpiry: Family = {
  name: 'counter that expires × expiry × never set',
  draw: (random) => {
    const operation = random.pick(operations);
    const [text, chosen] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['always', () => true],
      [`by ${nameOf(operation)}`, (exchange) => exchange.operation === operation],
      ['by a request with a query', ({ search }) => search !== ''],
      ['on a new connection', stateChanged(({ connection }) => String(connection))],
    ]);
    const [shown, resetOf] = random.pick<readonly [string, (now: number) => number]>([
      ['a minute from now', (now) => now + minuteMs],
      ['a second ago', (now) => now - 1_000],
      ['the end of the minute', (now) => (Math.floor(now / minuteMs) + 1) * minuteMs],
    ]);
    const kind: Kind = {
      ...fixedFromFirst,
      look: (state, size, now) => {
        const seen = fixedFromFirst.look(state, size, now);
        const isStuck = state.at > now;
        return isStuck ? { ...seen, resetMs: resetOf(now), retryAfterMs: Math.max(0, resetOf(now) - now) } : seen;
      },
    };
    const stuck: Kind['take'] = (state, size, now) => {
      const next = fixedFromFirst.take(state, size, now);
      return next.used === 1 ? { ...next, at: now + 1e12 } : next;
    };
    return fault(
      '8',
      `If a window begins (${text}), its counter never expires and the limit does not reset; Reset is ${shown}.`,
      countingBy(kind, stuck, chosen),
    );
  },
};

/** Whether a value differs from that of the request before. */
export function stateChanged(valueOf: (exchange: Exchange) => string): (exchange: Exchange) => boolean {
  const last = stateOf(() => ({ value: '' }));
  return (exchange) => {
    const state = last(exchange);
    const changed = state.value !== valueOf(exchange);
    state.value = valueOf(exchange);
    return changed;
  };
}

const equalTimestamps: Family = {
  name: 'sliding log × entries × equal timestamps',
  draw: (random) => {
    const resolutionMs = random.pick([10, 20, 50, 100, 250, 500, 1_000, 2_000]);
    const [text, kind] = random.pick([kinds[2]!, kinds[3]!]);
    const take: Kind['take'] = (state, size, now) => {
      const slot = Math.floor(now / resolutionMs);
      const known = state.times.some((time) => Math.floor(time / resolutionMs) === slot);
      return known ? state : kind.take(state, size, now);
    };
    return fault(
      '8',
      `All requests of the same ${resolutionMs} ms are one entry of ${text}, so more than the limit are admitted.`,
      counting({ ...kind, take }),
    );
  },
};

const trimming: Family = {
  name: 'sliding log × old entries × wrong trimming',
  draw: (random) => {
    const most = random.integer(1, 12);
    const kept = random.integer(12, 55);
    const [text, trim] = random.pick<readonly [string, (times: readonly number[], now: number) => readonly number[]]>([
      [
        `A request removes at most ${most} old entries, so requests of more than 60 s ago still count`,
        (times, now) => times.filter((time, i) => i >= most || time > now - minuteMs),
      ],
      [
        `The log keeps only the last ${kept} entries, so the limit is never reached`,
        (times, now) => times.filter((time) => time > now - minuteMs).slice(-kept),
      ],
      [
        'Old entries are removed only from a log that has no newer ones, so requests of more than 60 s ago still count',
        (times, now) => (times.some((time) => time > now - minuteMs) ? times : []),
      ],
    ]);
    const showsLast = random.pick([true, false]);
    const kind: Kind = {
      look: ({ times }, { limit, periodMs }, now) => {
        const trimmed = trim(times, now);
        const remaining = Math.max(0, limit - trimmed.length);
        const nextMs = Math.max(0, (trimmed[0] ?? now) + periodMs - now);
        const lastMs = (trimmed.at(-1) ?? now) + periodMs;
        return {
          remaining,
          retryAfterMs: remaining > 0 ? 0 : nextMs,
          resetMs: showsLast ? lastMs : now + (trimmed.length > 0 ? nextMs : 0),
        };
      },
      take: (state, _size, now) => ({ ...state, times: [...trim(state.times, now), now] }),
    };
    return fault(
      '8',
      `${text}; Reset is when the ${showsLast ? 'last' : 'first'} entry leaves.`,
      counting(kind, (state, _limit, now) => ({ ...state, times: trim(state.times, now) })),
    );
  },
};

/** A bucket with this many times the burst, and this many times the pace, of the limit. */
function bucketOf(burst: number, pace: number, showsFull: boolean): Kind {
  const missing = ({ at, used }: WindowState, perMs: number, now: number) =>
    at === 0 ? 0 : Math.max(0, used - (now - at) * perMs);
  return {
    look: (state, { limit, periodMs }, now) => {
      const perMs = (limit * pace) / periodMs;
      const used = missing(state, perMs, now);
      const left = limit * burst - used;
      const retryAfterMs = left >= 1 ? 0 : Math.ceil((1 - left) / perMs);
      const admitted = left >= 1;
      const resetMs = showsFull ? now + Math.ceil(used / perMs) : now + retryAfterMs;
      return { admitted, remaining: Math.min(limit, Math.max(0, Math.floor(left))), retryAfterMs, resetMs };
    },
    take: (state, { limit, periodMs }, now) => ({
      ...state,
      at: now,
      used: missing(state, (limit * pace) / periodMs, now) + 1,
    }),
  };
}

const wrongBurst: Family = {
  name: 'bucket × size and pace × not those of the plan',
  draw: (random) => {
    const showsFull = random.pick([true, false]);
    const isBurst = random.pick([true, false]);
    const factor = isBurst ? random.pick([0.25, 0.5, 0.75, 1.25, 1.5, 2]) : random.pick([0.25, 0.5, 0.75, 1.5, 2, 3]);
    const what = isBurst
      ? `A key has ${factor} times the requests of its plan at once`
      : `A bucket refills at ${factor} times the requests per minute of the plan`;
    return fault(
      '8',
      `${what}; Limit is that of the plan, and Reset is when ${showsFull ? 'it is full' : 'a request is admitted'}.`,
      counting(isBurst ? bucketOf(factor, 1, showsFull) : bucketOf(1, factor, showsFull)),
    );
  },
};

const proxyInFront: Family = {
  name: 'proxy in front × burst × 429 of its own',
  draw: (random) => {
    const burst = random.integer(8, 40);
    const perSecond = random.pick([2, 5, 10]);
    const [text, sections, change] = random.pick<readonly [string, string, (response: MutantResponse) => void]>([
      [
        'as HTML',
        '1 8',
        (response) => setHeader(response, 'Content-Type', 'text/html'),
      ],
      [
        'without the three headers',
        '8',
        (response) => rateHeaders.forEach((name) => setHeader(response, name, undefined)),
      ],
      ['without Retry-After', '7 8', (response) => setHeader(response, 'Retry-After', undefined)],
      ['while requests remain', '8', () => {}],
    ]);
    const buckets = stateOf(() => ({ level: 0, at: 0 }), true);
    const refused = new WeakSet<Exchange>();
    return fault(
      sections,
      `A proxy refuses a key beyond ${burst} requests at once and ${perSecond} per second with a 429 ${text}.`,
      {
        admitted: (rates, exchange) => {
          const bucket = buckets(exchange);
          bucket.level = Math.max(0, bucket.level - ((exchange.now - bucket.at) * perSecond) / 1_000);
          bucket.at = exchange.now;
          if (!base.admitted(rates, exchange)) return false;
          if (bucket.level >= burst) {
            refused.add(exchange);
            return false;
          }
          bucket.level += 1;
          return true;
        },
        retryAfter: (ms, exchange) => (refused.has(exchange) ? '1' : base.retryAfter(ms, exchange)),
        response: (response, exchange) => {
          if (refused.has(exchange)) change(response);
          return response;
        },
        bytes: (sent, exchange) =>
          text === 'as HTML' && refused.has(exchange)
            ? Buffer.from('<html><h1>429 Too Many Requests</h1></html>')
            : base.bytes(sent, exchange),
      },
    );
  },
};

const cachedHeaders: Family = {
  name: 'cache in front × rate limit headers × older than the response',
  draw: (random) => {
    const operation = random.pick(operations);
    const byUrl = random.pick([true, false]);
    const seconds = random.pick([15, 30, 60, 90, 150]);
    const names = random.pick([rateHeaders, rateHeaders.slice(1), rateHeaders.slice(1, 2)]);
    const entries = stateOf(() => new Map<string, { readonly until: number; readonly values: readonly string[] }>());
    return fault(
      '8',
      `A cache keeps ${names.join(', ')} of ${nameOf(operation)} for ${seconds} s, by ${byUrl ? 'URL' : 'key'}.`,
      responses(
        (response, exchange) => response.status < 300 && exchange.operation === operation,
        (response, exchange) => {
          const name = byUrl ? exchange.path + exchange.search : '';
          const known = entries(exchange).get(exchange.authorization + name);
          if (known !== undefined && exchange.now < known.until) {
            names.forEach((header, i) => setHeader(response, header, known.values[i]));
            return;
          }
          const values = names.map((header) => String(integerOf(response, header)));
          const until = exchange.now + seconds * 1_000;
          entries(exchange).set(exchange.authorization + name, { until, values });
        },
      ),
    );
  },
};

const skewedMachines: Family = {
  name: 'several machines × clocks × skew',
  draw: (random) => {
    const seconds = random.pick([-300, -90, -45, -20, 20, 45, 90, 300, 3_600]);
    const [text, kind] = random.pick(fixedKinds);
    const [which, chosen] = someResponses(random);
    return fault(
      '8',
      `With ${text}, the machine of ${which} has a clock that is off by ${seconds} s, and so is its Reset.`,
      {
        ...counting(kind),
        ...responses(chosen, (response) => {
          const reset = String(integerOf(response, 'X-RateLimit-Reset') + seconds);
          setHeader(response, 'X-RateLimit-Reset', reset);
        }),
      },
    );
  },
};

const retryAfterUnit: Family = {
  name: 'refusal × Retry-After × wrong unit',
  draw: (random) => {
    const operation = random.pick(operations);
    const first = random.integer(2, 3);
    const zone = random.pick([-8, -5, 2, 9]);
    const [text, made] = random.pick<readonly [string, (ms: number, now: number) => string]>([
      ['in milliseconds', (ms) => String(ms)],
      ['in whole minutes', (ms) => String(Math.ceil(ms / minuteMs))],
      ['the Unix timestamp of the end', (ms, now) => String(Math.ceil((now + ms) / 1_000))],
      [
        `a date whose time of day is that of UTC${zone > 0 ? '+' : ''}${zone}`,
        (ms, now) => new Date(now + ms + zone * 3_600_000).toUTCString(),
      ],
      ['a negative number', (ms) => String(-Math.ceil(ms / 1_000))],
      ['a number with the letter s', (ms) => `${Math.ceil(ms / 1_000)}s`],
    ]);
    const refusals = stateOf(() => ({ count: 0 }), true);
    const [when, chosen] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['every 429', () => true],
      [`a 429 of ${nameOf(operation)}`, (exchange) => exchange.operation === operation],
      [`every 429 from number ${first} on`, (exchange) => refusals(exchange).count >= first],
    ]);
    return fault('7 8', `Retry-After of ${when} is ${text}.`, {
      retryAfter: (ms, exchange) => {
        refusals(exchange).count += 1;
        return chosen(exchange) ? made(ms, exchange.now) : base.retryAfter(ms, exchange);
      },
    });
  },
};

const headersTwice: Family = {
  name: 'gateway and server × rate limit headers × both send them',
  draw: (random) => {
    const name = random.pick(rateHeaders);
    const [which, chosen] = random.pick<readonly [string, ResponseKind]>([
      someResponses(random),
      ['every 404', ({ status }) => status === 404],
      ['every 400', ({ status }) => status === 400],
      ['every 401', ({ status }) => status === 401],
    ]);
    const first = random.pick([true, false]);
    const [text, value] = random.pick<readonly [string, (response: MutantResponse) => number]>([
      ['with 5,000 more', (response) => integerOf(response, name) + 5_000],
      ['with 0', () => 0],
      ['with 7 more', (response) => integerOf(response, name) + 7],
    ]);
    return fault(
      '8',
      `The gateway adds another ${name} ${first ? 'before' : 'after'} that of the server to ${which}, ${text}.`,
      responses(chosen, (response) => {
        const line: [string, string] = [name, String(value(response))];
        response.headers = first ? [line, ...response.headers] : [...response.headers, line];
      }),
    );
  },
};

const recycledWorker: Family = {
  name: 'worker process × counter × forgotten when it is replaced',
  draw: (random) => {
    const requests = random.integer(20, 50);
    const seconds = random.pick([10, 20, 25, 40]);
    const [text, kind] = random.pick(kinds);
    const creates = random.integer(3, 8);
    const [when, budget] = random.pick<readonly [string, Hooks['budget']]>([
      [`after ${requests} requests`, ({ world }) => String(Math.floor(world.requests / requests))],
      [`every ${seconds} s`, ({ now }) => String(Math.floor(now / (seconds * 1_000)))],
      [`after ${creates} creates`, ({ world }) => String(Math.floor(world.creates / creates))],
    ]);
    return fault(
      '8',
      `The process is replaced ${when} and forgets ${text}: more than the limit are admitted.`,
      { ...counting(kind), budget },
    );
  },
};

const otherPlan: Family = {
  name: 'one operation × plan × number of no plan of the key',
  draw: (random) => {
    const operation = random.pick(operations);
    const minute = random.pick([20, 40, 90, 120, 300, 600]);
    const day = random.pick([500, 5_000, 10_000]);
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    return fault(
      '8',
      `With ${text}, ${nameOf(operation)} has a limit of ${minute} per minute and ${day} per day with every key.`,
      {
        ...hooks,
        left: (usage, limits, exchange) =>
          hooks.left(usage, exchange.operation === operation ? { minute, day } : limits, exchange),
      },
    );
  },
};

const boundary: Family = {
  name: 'fixed window × its end × not at Reset',
  draw: (random) => {
    const seconds = random.pick([-40, -25, -12, 5, 12, 25, 40]);
    const [text, kind] = random.pick(fixedKinds);
    // A window by the clock begins and ends at another second; one from the first request has another length.
    const real: Kind =
      kind === fixedByClock
        ? shifted(kind, seconds * 1_000)
        : {
            look: (state, size, now) => kind.look(state, { ...size, periodMs: size.periodMs + seconds * 1_000 }, now),
            take: (state, size, now) => kind.take(state, { ...size, periodMs: size.periodMs + seconds * 1_000 }, now),
          };
    const when = seconds < 0 ? 'before' : 'after';
    return fault('8', `With ${text}, the limit resets ${Math.abs(seconds)} s ${when} Reset.`, {
      ...counting({
        ...real,
        look: (state, size, now) => {
          const seen = real.look(state, size, now);
          const resetMs =
            kind === fixedByClock
              ? (Math.floor(now / minuteMs) + 1) * minuteMs
              : Math.max(seen.resetMs - seconds * 1_000, now);
          return { ...seen, resetMs, retryAfterMs: seen.remaining > 0 ? 0 : resetMs - now };
        },
      }),
    });
  },
};

const mixedWindows: Family = {
  name: 'minute and day × headers × of different windows',
  draw: (random) => {
    const operation = random.pick(operations);
    const [text, isDay] = random.pick<readonly [string, readonly [boolean, boolean, boolean]]>([
      ['Limit of the day and Remaining and Reset of the minute', [true, false, false]],
      ['Remaining of the day and Limit and Reset of the minute', [false, true, false]],
      ['Reset of the day and Limit and Remaining of the minute', [false, false, true]],
      ['Limit of the minute and Remaining and Reset of the day', [false, true, true]],
      ['Remaining of the minute and Limit and Reset of the day', [true, false, true]],
      ['Reset of the minute and Limit and Remaining of the day', [true, true, false]],
    ]);
    const [when, chosen] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['Every response', () => true],
      [`Every response of ${nameOf(operation)}`, (exchange) => exchange.operation === operation],
      [`Every response but those of ${nameOf(operation)}`, (exchange) => exchange.operation !== operation],
    ]);
    return fault('8', `${when} has ${text}.`, {
      left: (usage, limits, exchange) => {
        const rates = base.left(usage, limits, exchange);
        if (!chosen(exchange)) return rates;
        const both = [
          [limits.minute, limits.minute - usage.minuteUsed, (usage.minute + 1) * minuteMs],
          [limits.day, limits.day - usage.dayUsed, (usage.day + 1) * 86_400_000],
        ] as const;
        const [limit, remaining, resetMs] = isDay.map((day, i) => both[day ? 1 : 0][i as 0 | 1 | 2]) as [
          number,
          number,
          number,
        ];
        const retryAfterMs = rates.resetMs - exchange.now;
        return { limit, remaining, resetMs, retryAfterMs, admitted: rates.remaining > 0 };
      },
    });
  },
};

const firewall: Family = {
  name: 'firewall × errors of a client × refusals before the limit',
  draw: (random) => {
    const most = random.integer(4, 12);
    const seconds = random.pick([10, 20, 30, 60]);
    const [text, isError] = random.pick<readonly [string, (status: number) => boolean]>([
      ['404', (status) => status === 404],
      ['400', (status) => status === 400],
      ['400 or 404', (status) => status === 400 || status === 404],
    ]);
    const states = stateOf(() => ({ times: [] as number[], until: 0 }), true);
    return fault(
      '8',
      `After ${most} responses of ${text} within 60 s, a key gets only 429 for ${seconds} s although requests remain.`,
      {
        admitted: (rates, exchange) => base.admitted(rates, exchange) && exchange.now >= states(exchange).until,
        retryAfter: (ms, exchange) =>
          base.retryAfter(states(exchange).until > exchange.now ? states(exchange).until - exchange.now : ms, exchange),
        response: (response, exchange) => {
          const state = states(exchange);
          if (!isError(response.status)) return response;
          state.times = [...state.times.filter((time) => time > exchange.now - minuteMs), exchange.now];
          if (state.times.length >= most) Object.assign(state, { times: [], until: exchange.now + seconds * 1_000 });
          return response;
        },
      },
    );
  },
};

const counterByRequest: Family = {
  name: 'counter × what identifies it × part of the request',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const [part, budget] = random.pick<readonly [string, Hooks['budget']]>([
      ['query', ({ search }) => search],
      ['path and query', ({ path, search }) => `${path}?${search}`],
      ['body', ({ body }) => body],
      ['connection', ({ connection }) => String(connection)],
      ['method', ({ method }) => method],
      ['number of query parameters', ({ query }) => String([...query.keys()].length)],
    ]);
    return fault(
      '8',
      `There is one counter (${text}) for each key and ${part}, so a key has more requests than its plan.`,
      { ...counting(kind), budget },
    );
  },
};

const evictedCounters: Family = {
  name: 'memory of counters × eviction × requests with other keys',
  draw: (random) => {
    const most = random.integer(1, 6);
    const [text, kind] = random.pick(kinds);
    const [which, evicts] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ['requests without a valid key', () => true],
      ['requests without Authorization', ({ authorization }) => authorization === ''],
      ['requests with a wrong key', ({ authorization }) => authorization !== ''],
    ]);
    const evictions = stateOf(() => ({ count: 0 }));
    return fault('8', `The counters of all keys (${text}) are forgotten after ${most} ${which}.`, {
      ...counting(kind),
      keyless: (exchange) => {
        if (evicts(exchange)) evictions(exchange).count += 1;
        return base.keyless(exchange);
      },
      budget: (exchange) => String(Math.floor(evictions(exchange).count / most)),
    });
  },
};

const wrongPeriod: Family = {
  name: 'minute × length of the window × another one',
  draw: (random) => {
    const seconds = random.pick([10, 15, 20, 30, 90, 100, 120, 300, 3_600]);
    const [text, kind] = random.pick(kinds);
    return fault('8', `The requests per minute of the plan are those of ${seconds} s, with ${text}.`, {
      ...counting({
        look: (state, size, now) => kind.look(state, { ...size, periodMs: seconds * 1_000 }, now),
        take: (state, size, now) => kind.take(state, { ...size, periodMs: seconds * 1_000 }, now),
      }),
    });
  },
};

const staleRemaining: Family = {
  name: 'replica × Remaining × of earlier requests',
  draw: (random) => {
    const behind = random.integer(2, 12);
    const [text, kind] = random.pick(kinds);
    const onRefusals = random.pick([true, false]);
    const operation = random.pick([...operations, undefined]);
    const seen = stateOf(() => [] as string[], true);
    return fault(
      '8',
      `With ${text}, Remaining of ${operation === undefined ? 'every response' : nameOf(operation)}` +
        `${onRefusals ? '' : ', except a 429,'} is that of ${behind} requests before.`,
      {
        ...counting(kind),
        ...responses(hasKey, (response, exchange) => {
          const values = seen(exchange);
          values.push(String(integerOf(response, 'X-RateLimit-Remaining')));
          const earlier = values.at(-1 - behind) ?? String(integerOf(response, 'X-RateLimit-Limit'));
          if (operation !== undefined && exchange.operation !== operation) return;
          if (response.status !== 429 || onRefusals) setHeader(response, 'X-RateLimit-Remaining', earlier);
        }),
      },
    );
  },
};

const cachedRefusal: Family = {
  name: 'refusal × cache of refusals × outlives the limit',
  draw: (random) => {
    const seconds = random.pick([75, 90, 100, 130, 200, 600]);
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const same = random.pick([true, false]);
    const scope = random.pick(['key', 'key and operation'] as const);
    const blocks = stateOf(() => new Map<string, { until: number; headers: MutantResponse['headers'] }>(), true);
    const nameOfBlock = ({ operation }: Exchange): string => (scope === 'key' ? '' : operation);
    const current = (exchange: Exchange) => {
      const block = blocks(exchange).get(nameOfBlock(exchange));
      return block !== undefined && exchange.now < block.until ? block : undefined;
    };
    return fault(
      '7 8',
      `With ${text}, a refusal is repeated for ${seconds} s to the same ${scope}, whatever Retry-After and Reset ` +
        `said, with ${same ? 'the same' : 'current'} headers.`,
      {
        ...hooks,
        admitted: (rates, exchange) => hooks.admitted(rates, exchange) && current(exchange) === undefined,
        response: (response, exchange) => {
          if (response.status !== 429) return response;
          const block = current(exchange);
          if (block === undefined) {
            const until = exchange.now + seconds * 1_000;
            blocks(exchange).set(nameOfBlock(exchange), { until, headers: [...response.headers] });
          } else if (same) {
            response.headers = [...block.headers];
          }
          return response;
        },
      },
    );
  },
};

const lostRefill: Family = {
  name: 'bucket in steps × refill × lost by requests within a step',
  draw: (random) => {
    const stepMs = random.pick([2, 3, 4, 5, 6, 10, 12, 15, 20]) * 1_000;
    const alsoRefused = random.pick([true, false]);
    const showsFull = random.pick([true, false]);
    const missing = ({ at, used }: WindowState, limit: number, now: number) =>
      at === 0 ? 0 : Math.max(0, used - (Math.floor((now - at) / stepMs) * limit * stepMs) / minuteMs);
    const kind: Kind = {
      look: (state, { limit }, now) => {
        const used = missing(state, limit, now);
        const remaining = Math.max(0, Math.floor(limit - used));
        const next = now + stepMs - ((now - state.at) % stepMs);
        const steps = Math.ceil((used * minuteMs) / (limit * stepMs));
        const fullMs = used === 0 ? now : next + (steps - 1) * stepMs;
        const nextMs = remaining > 0 ? now : next;
        return { remaining, resetMs: showsFull ? fullMs : nextMs, retryAfterMs: nextMs - now };
      },
      take: (state, { limit }, now) => ({ ...state, at: now, used: missing(state, limit, now) + 1 }),
    };
    return fault(
      '8',
      `A bucket refills once ${stepMs / 1_000} s have passed since the last ${alsoRefused ? '' : 'admitted '}` +
        `request, so a client that sends fewer requests than its limit is refused; Reset is when ` +
        `${showsFull ? 'it is full' : 'a request is admitted'}.`,
      counting(
        kind,
        alsoRefused ? (state, limit, now) => ({ ...state, used: missing(state, limit, now), at: now }) : undefined,
      ),
    );
  },
};

const wrongWeight: Family = {
  name: 'sliding counter × window before × wrong weight',
  draw: (random) => {
    const constant = random.pick([0.25, 0.5, 0.75, 1]);
    const times = random.pick([1.5, 2, 3]);
    const showsEnd = random.pick([true, false]);
    const [text, weight] = random.pick<readonly [string, (passed: number) => number]>([
      ['the part of the window that has passed', (passed) => passed],
      [`${constant} for the whole window`, () => constant],
      [`${times} times the part of the window that is left`, (passed) => times * (1 - passed)],
    ]);
    const turned = (state: WindowState, periodMs: number, now: number): WindowState => {
      const at = Math.floor(now / periodMs) * periodMs;
      if (state.at === at) return state;
      return { at, used: 0, before: state.at === at - periodMs ? state.used : 0, times: [] };
    };
    const remainingAt = (state: WindowState, limit: number, periodMs: number, now: number): number => {
      const { at, used, before } = turned(state, periodMs, now);
      return Math.max(0, Math.floor(limit - used - before * weight((now - at) / periodMs)));
    };
    const kind: Kind = {
      look: (state, { limit, periodMs }, now) => {
        const remaining = remainingAt(state, limit, periodMs, now);
        const { at } = turned(state, periodMs, now);
        let next = now;
        while (remainingAt(state, limit, periodMs, next) === 0 && next < now + 4 * periodMs) next += 250;
        return { remaining, resetMs: showsEnd ? at + periodMs : next, retryAfterMs: next - now };
      },
      take: (state, { periodMs }, now) => {
        const window = turned(state, periodMs, now);
        return { ...window, used: window.used + 1 };
      },
    };
    return fault(
      '8',
      `The requests of the minute before count with ${text}, also when they are more than 60 s old; Reset is ` +
        `${showsEnd ? 'the end of the minute' : 'when a request is admitted'}.`,
      counting(kind),
    );
  },
};

const brownouts: Family = {
  name: 'getPet × brownouts × refused before the removal',
  draw: (random) => {
    const nth = random.integer(3, 9);
    const seconds = random.pick([10, 15, 20]);
    const status = random.pick([403, 404, 410]);
    const creates = random.integer(3, 9);
    const isGet = of('get');
    const [when, chosen] = random.pick<readonly [string, ResponseKind]>([
      [`one request in ${nth}`, everyNth((...one) => isGet(...one) && one[0].status === 200, nth, 'brownout')],
      [`the first ${seconds} s of each minute`, (_response, { now }) => now % minuteMs < seconds * 1_000],
      [`animals after the first ${creates} that were created`, newerThan(creates)],
    ]);
    return fault(
      '4.3 9',
      `GET /pets/{petId} of an animal that exists is ${status} for ${when}, long before its removal.`,
      responses(
        (response, exchange) => isGet(response, exchange) && response.status === 200 && chosen(response, exchange),
        (response, exchange) => becomeError(response, exchange, status, 'The operation is deprecated.'),
      ),
    );
  },
};

const newerThan =
  (creates: number): ResponseKind =>
  (_response, { path, world: { pets } }) =>
    [...pets.values()].filter(({ at }) => at > 0).findIndex(({ id }) => path.endsWith(`/${id}`)) >= creates;

const announcement: Family = {
  name: 'announcement of the removal × Sunset × contradicts the specification',
  draw: (random) => {
    const dates = [
      ['5 December 2029', Date.UTC(2029, 11, 5)],
      ['12 May 2030', Date.UTC(2030, 4, 12)],
      ['5 November 2030', Date.UTC(2030, 10, 5)],
      ['5 January 2031', Date.UTC(2031, 0, 5)],
      ['1 January 1970', 0],
      ['5 December 2031', Date.UTC(2031, 11, 5)],
    ] as const;
    const [text, time] = random.pick(dates);
    const isOfGet = random.pick([true, false]);
    const other = random.pick(['list', 'create'] as const);
    const operation = isOfGet ? 'get' : other;
    return fault(
      isOfGet ? '4.3 9' : '9',
      isOfGet
        ? `Sunset of getPet announces its removal on ${text}.`
        : `Sunset of ${nameOf(other)}, which is not deprecated, announces its removal on ${text}.`,
      responses(
        (response, exchange) => exchange.operation === operation && response.status < 300,
        (response) => setHeader(response, 'Sunset', new Date(time).toUTCString()),
      ),
    );
  },
};

const numberFormat: Family = {
  name: 'rate limit headers × number × another format',
  draw: (random) => {
    const name = random.pick(rateHeaders);
    const [which, chosen] = random.pick<readonly [string, ResponseKind]>([
      someResponses(random),
      ['every 404', ({ status }) => status === 404],
      ['every 201', ({ status }) => status === 201],
    ]);
    const isTime = name === 'X-RateLimit-Reset';
    const [text, made] = random.pick<readonly [string, (value: number) => string]>(
      isTime
        ? [
            ['an ISO date', (value) => new Date(value * 1_000).toISOString()],
            ['an HTTP date', (value) => new Date(value * 1_000).toUTCString()],
            ['in milliseconds', (value) => String(value * 1_000)],
            ['a number of seconds from now', (value) => String(value % 60)],
          ]
        : [
            ['with its period', (value) => `${value};w=60`],
            ['with a thousands separator and decimals', (value) => `${value.toLocaleString('en')}.00`],
            ['in percent', (value) => `${value}%`],
            ['unlimited', () => 'unlimited'],
          ],
    );
    return fault(
      '8',
      `${name} of ${which} is ${text}.`,
      responses(chosen, (response) => setHeader(response, name, made(integerOf(response, name)))),
    );
  },
};

const repeatedResponse: Family = {
  name: 'cache in front × repeated request × headers missing',
  draw: (random) => {
    const nth = random.integer(2, 4);
    const seconds = random.pick([1, 5, 20, 60]);
    const names = random.pick([rateHeaders, rateHeaders.slice(0, 1), rateHeaders.slice(1, 2), rateHeaders.slice(2)]);
    const status = random.pick([200, 400, 401, 404]);
    const seen = stateOf(() => new Map<string, number[]>(), true);
    return fault(
      '8',
      `A ${status} to the same request for the ${nth}${nth === 2 ? 'nd' : nth === 3 ? 'rd' : 'th'} time within ` +
        `${seconds} s lacks ${names.join(', ')}.`,
      responses(
        (response) => response.status === status,
        (response, exchange) => {
          const name = `${exchange.method} ${exchange.fullPath} ${exchange.search} ${exchange.body}`;
          const times = (seen(exchange).get(name) ?? []).filter((time) => time > exchange.now - seconds * 1_000);
          seen(exchange).set(name, [...times, exchange.now]);
          if (times.length + 1 >= nth) names.forEach((header) => setHeader(response, header, undefined));
        },
      ),
    );
  },
};

/** Families of faults of limiters, of the rate limit headers and of what stands in front of them. */
export const thirdLimitFamilies: readonly Family[] = [
  lostUpdates,
  sharesOfProcesses,
  refreshedExpiry,
  noExpiry,
  equalTimestamps,
  trimming,
  wrongBurst,
  proxyInFront,
  cachedHeaders,
  skewedMachines,
  retryAfterUnit,
  headersTwice,
  recycledWorker,
  otherPlan,
  boundary,
  mixedWindows,
  firewall,
  counterByRequest,
  evictedCounters,
  wrongPeriod,
  staleRemaining,
  cachedRefusal,
  lostRefill,
  wrongWeight,
  brownouts,
  announcement,
  numberFormat,
  repeatedResponse,
];
