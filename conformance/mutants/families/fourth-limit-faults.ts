/**
 * Faults of limiters that follow the ways in which gateways, libraries and stores of counters fail. Their author knew
 * the specification and the other faults, but not the checks.
 */
import { base, type Exchange, type Limits, type MutantResponse, type Usage } from '../server/hooks.ts';
import { integerOf, responses, setHeader, type Change, type Kind as ResponseKind } from '../table/changes.ts';
import { becomeError, fault, nameOf, type Family } from './family.ts';
import { minuteMs, type Kind, type Size, type WindowState } from './limiters.ts';
import type { Random } from './random.ts';
import {
  connectionNumber,
  counting,
  fixedKinds,
  hasKey,
  isRefused,
  kinds,
  operations,
  rateHeaders,
  someResponses,
  stateChanged,
  stateOf,
} from './third-limit-faults.ts';

type Chosen = (exchange: Exchange) => boolean;
type Counting = ReturnType<typeof counting>;

/** The kinds that count requests without a pace, so that they can be asked about another limit at any time. */
const countingKinds = kinds.slice(0, 5);
const limitHeader = 'X-RateLimit-Limit';
const remainingHeader = 'X-RateLimit-Remaining';
const resetHeader = 'X-RateLimit-Reset';

/** Decides once for each request. */
function decidedOnce(chosen: Chosen): Chosen {
  const decided = new WeakMap<Exchange, boolean>();
  return (exchange) => {
    const known = decided.get(exchange) ?? chosen(exchange);
    decided.set(exchange, known);
    return known;
  };
}

/** Whether the key has sent no request for so many seconds. */
function afterPause(seconds: number): Chosen {
  const last = stateOf(() => ({ at: Infinity }), true);
  return (exchange) => {
    const state = last(exchange);
    const isFirst = exchange.now - state.at >= seconds * 1_000;
    state.at = exchange.now;
    return isFirst;
  };
}

/** A part of the refusals, with words for it. It must see every response. */
function someRefusals(random: Random): readonly [text: string, kind: ResponseKind] {
  const operation = random.pick(operations);
  const after = random.integer(1, 6);
  const rows = stateOf(() => ({ refusals: 0 }), true);
  const inRow = (response: MutantResponse, exchange: Exchange): number => {
    const row = rows(exchange);
    row.refusals = isRefused(response, exchange) ? row.refusals + 1 : 0;
    return row.refusals;
  };
  return random.pick<readonly [string, ResponseKind]>([
    [`a refused ${nameOf(operation)}`, (...one) => isRefused(...one) && one[1].operation === operation],
    [`each refusal after ${after} in a row`, (...one) => inRow(...one) > after],
    ['the first refusal in a row', (...one) => inRow(...one) === 1],
    ['a refusal on half of the connections', (...one) => isRefused(...one) && connectionNumber(one[1]) % 2 === 1],
    ['a refused request with a query', (...one) => isRefused(...one) && one[1].search !== ''],
    ['a refusal when Retry-After is more than 10', (...one) => isRefused(...one) && waitOf(one[0]) > 10],
  ]);
}

const waitOf = (response: MutantResponse): number => integerOf(response, 'Retry-After');

/** Enforces another limit of the minute than that of the plan. `shown` are the headers that show it. */
function enforcing(
  hooks: Counting,
  limitOf: (limit: number, exchange: Exchange) => number,
  shown: 'both' | 'Remaining' | 'neither',
): Change {
  return {
    ...hooks,
    left: (usage, limits, exchange) => {
      const minute = Math.max(1, Math.floor(limitOf(limits.minute, exchange)));
      const rates = hooks.left(usage, { ...limits, minute }, exchange);
      if (rates.limit !== minute) return rates;
      const remaining = rates.remaining + (shown === 'neither' ? limits.minute - minute : 0);
      // The rates are an identity for the limiter, so they are changed in place.
      return Object.assign(rates, { limit: shown === 'both' ? minute : limits.minute, remaining });
    },
  };
}

const shownText = {
  both: 'Limit and Remaining show it',
  Remaining: 'Remaining shows it',
  neither: 'no header shows it',
} as const;

const spellings: Family = {
  name: 'Authorization × spelling × a counter for each spelling',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const [spelling, pattern] = random.pick<readonly [string, RegExp]>([
      ['the case of the scheme', /^bearer (.*)$/i],
      ['the number of spaces after the scheme', /^Bearer +(.*)$/],
      ['the white space after the scheme', /^Bearer[ \t]+(.*)$/],
      ['the case of the scheme and the white space after it', /^bearer[ \t]+(.*)$/i],
    ]);
    return fault(
      '8',
      `A key is valid whatever ${spelling} is, but each spelling has a counter of its own (${text}).`,
      {
        ...counting(kind),
        admits: ({ authorization }, secret) => pattern.exec(authorization)?.[1] === secret,
        budget: ({ authorization }) => authorization,
      },
    );
  },
};

const counterByHeader: Family = {
  name: 'counter × what identifies it × a header of the request',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const [name, valueOf] = random.pick<readonly [string, (value: string) => string]>([
      ...['User-Agent', 'Accept', 'Origin', 'Referer', 'Cookie', 'Accept-Language', 'Content-Type', 'X-Request-Id'].map(
        (header) => [header, (value: string) => value] as const,
      ),
      ['X-Forwarded-For', (value) => value.split(',')[0]!.trim()],
      ['X-Real-IP', (value) => value],
      ['Host', (value) => value.toLowerCase()],
      ['Accept-Encoding', (value) => value],
    ]);
    return fault(
      '8',
      `There is one counter (${text}) for each key and value of ${name}, so a key has more requests than its plan.`,
      { ...counting(kind), budget: ({ headers }) => valueOf(String(headers[name.toLowerCase()] ?? '')) },
    );
  },
};

const wrongLimit: Family = {
  name: 'X-RateLimit-Limit × state of the key × another number',
  draw: (random) => {
    const factor = random.pick([2, 3, 4, 8]);
    const step = random.integer(1, 9);
    const refusals = stateOf(() => ({ count: 0 }), true);
    type Numbers = Readonly<Record<'limit' | 'remaining' | 'refused', number>>;
    const [text, change] = random.pick<readonly [string, (numbers: Numbers) => number]>([
      ['the number of requests that remained before it', ({ remaining }) => remaining + 1],
      ['the number of requests that were used', ({ limit, remaining }) => limit - remaining],
      [`lower by ${step} for each refusal of the key`, ({ limit, refused }) => Math.max(0, limit - step * refused)],
      ['that of one second', ({ limit }) => Math.ceil(limit / 60)],
      [`that of ${factor} processes together`, ({ limit }) => limit * factor],
      [`without a reserve of ${step}`, ({ limit }) => limit - step],
      ['0', () => 0],
    ]);
    const [which, chosen] = someResponses(random);
    return fault('8', `Limit of ${which} is ${text}.`, {
      response: (response, exchange) => {
        const state = refusals(exchange);
        state.count += Number(isRefused(response, exchange));
        if (!chosen(response, exchange)) return response;
        const [limit, remaining] = [integerOf(response, limitHeader), integerOf(response, remainingHeader)];
        setHeader(response, limitHeader, String(change({ limit, remaining, refused: state.count })));
        return response;
      },
    });
  },
};

const queue: Family = {
  name: 'leaky bucket × queue × requests beyond the limit wait instead of a refusal',
  draw: (random) => {
    const places = random.integer(3, 14);
    const perSecond = random.pick([0.5, 1, 2, 5]);
    const delayMs = random.integer(5, 30);
    const [text, kind] = random.pick(kinds.slice(0, 4));
    const hooks = counting(kind);
    const queues = stateOf(() => ({ level: 0, at: 0 }), true);
    const delays = new WeakMap<Exchange, number>();
    return fault(
      '7 8',
      `With ${text}, requests beyond the limit are delayed by ${delayMs} ms each and admitted, as long as a queue ` +
        `with ${places} places, of which ${perSecond} per second become free, has room.`,
      {
        ...hooks,
        admitted: (rates, exchange) => {
          if (hooks.admitted(rates, exchange)) return true;
          const state = queues(exchange);
          state.level = Math.max(0, state.level - ((exchange.now - state.at) * perSecond) / 1_000);
          state.at = exchange.now;
          if (state.level + 1 > places) return false;
          state.level += 1;
          delays.set(exchange, Math.ceil(state.level) * delayMs);
          return true;
        },
        write: (...sent) => {
          const delay = delays.get(sent[4]);
          if (delay === undefined) base.write(...sent);
          else setTimeout(() => base.write(...sent), delay);
        },
      },
    );
  },
};

const adaptive: Family = {
  name: 'adaptive limiter × load × a limit below that of the plan',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const count = random.integer(4, 10);
    const seconds = random.pick([20, 45, 90, 150]);
    const percent = random.pick([10, 25, 50, 75]);
    const shown = random.pick(['both', 'Remaining', 'neither'] as const);
    const otherConnection = stateChanged(({ connection }) => String(connection));
    const [load, isLoad, withinMs] = random.pick<readonly [string, ResponseKind, number]>([
      [`${count} creates in a minute`, ({ status }) => status === 201, minuteMs],
      [
        `${count} lists with a limit above 20 in a minute`,
        (_response, { query }) => Number(query.get('limit')) > 20,
        minuteMs,
      ],
      [`${3 * count} requests within a second`, () => true, 1_000],
      [`${count} changes of the connection in a minute`, (...one) => otherConnection(one[1]), minuteMs],
    ]);
    const needed = withinMs === minuteMs ? count : 3 * count;
    const states = stateOf(() => ({ times: [] as number[], until: 0 }), true);
    const limitOf = (limit: number, exchange: Exchange): number =>
      exchange.now < states(exchange).until ? (limit * percent) / 100 : limit;
    return fault(
      '8',
      `With ${text}, a key has only ${percent} % of its plan for ${seconds} s after ${load}; ${shownText[shown]}.`,
      {
        ...enforcing(counting(kind), limitOf, shown),
        response: (response, exchange) => {
          if (!hasKey(response, exchange) || !isLoad(response, exchange)) return response;
          const state = states(exchange);
          state.times = [...state.times.filter((time) => time > exchange.now - withinMs), exchange.now];
          if (state.times.length >= needed) Object.assign(state, { times: [], until: exchange.now + seconds * 1_000 });
          return response;
        },
      },
    );
  },
};

const coldStart: Family = {
  name: 'limiter × cold start × fewer requests than the plan',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const percent = random.pick([5, 10, 20, 30]);
    // With a shorter one, a key could have its whole plan in its first minute.
    const ramp = random.pick([120, 150, 200, 300]);
    const pause = random.pick([10, 20, 40, 70]);
    const shown = random.pick(['Remaining', 'neither'] as const);
    const isCold = decidedOnce(afterPause(pause));
    const starts = stateOf(() => ({ at: -Infinity }), true);
    const limitOf = (limit: number, exchange: Exchange): number => {
      const start = starts(exchange);
      if (isCold(exchange) || start.at === -Infinity) start.at = exchange.now;
      const warm = Math.min(1, (exchange.now - start.at) / (ramp * 1_000));
      return (limit * (percent + (100 - percent) * warm)) / 100;
    };
    return fault(
      '8',
      `With ${text}, a key has ${percent} % of its plan at first and after ${pause} s without requests, and its ` +
        `whole plan only ${ramp} s later; ${shownText[shown]}.`,
      enforcing(counting(kind), limitOf, shown),
    );
  },
};

const resetType: Family = {
  name: 'Reset × type of the number × loses some of its digits',
  draw: (random) => {
    const [text, kind] = random.pick(fixedKinds);
    const [which, chosen] = someResponses(random);
    const [type, change] = random.pick<readonly [string, (reset: number) => number]>([
      ['a 32-bit float', (reset) => Math.fround(reset)],
      ['a number with six digits, and zeros', (reset) => Number(reset.toPrecision(6))],
      ['a number with seven digits, and zeros', (reset) => Number(reset.toPrecision(7))],
      ['a number with eight digits, and zeros', (reset) => Number(reset.toPrecision(8))],
      ['the beginning of its minute', (reset) => reset - (reset % 60)],
      ['from milliseconds in 32 bits', (reset) => Math.trunc(((reset * 1_000) | 0) / 1_000)],
      ['from unsigned milliseconds in 32 bits', (reset) => Math.floor(((reset * 1_000) >>> 0) / 1_000)],
      ['from 31-bit seconds without the highest bit', (reset) => reset % 2 ** 30],
    ]);
    // A window by the clock resets when a minute begins.
    if (type.startsWith('the beginning') && kind === fixedKinds[0]![1]) return undefined;
    return fault('8', `With ${text}, Reset of ${which} is ${type}.`, {
      ...counting(kind),
      ...responses(chosen, (response) => {
        setHeader(response, resetHeader, String(change(integerOf(response, resetHeader))));
      }),
    });
  },
};

const noRetryAfter: Family = {
  name: 'refusal × Retry-After × missing in some refusals',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const [which, chosen] = someRefusals(random);
    // A bucket has a token earlier.
    if (which.includes('more than 10') && !countingKinds.some((one) => one[1] === kind)) return undefined;
    return fault('7 8', `With ${text}, ${which} has no Retry-After.`, {
      ...counting(kind),
      ...responses(chosen, (response) => setHeader(response, 'Retry-After', undefined)),
    });
  },
};

const html = (title: string): string => `<!doctype html>\n<html><head><title>${title}</title></head></html>\n`;

const pages: Family = {
  name: 'library or gateway × 429 × its own page',
  draw: (random) => {
    const [which, chosen] = someRefusals(random);
    const [by, type, page] = random.pick([
      ['express-rate-limit', 'text/html; charset=utf-8', 'Too many requests, please try again later.'],
      ['Flask-Limiter', 'text/html; charset=utf-8', html('429 Too Many Requests')],
      ['nginx', 'text/html', html('429 Too Many Requests')],
      ['Envoy', 'text/plain', 'local_rate_limited'],
      ['rack-attack', 'text/plain', 'Retry later\n'],
      ['Traefik', 'text/plain; charset=utf-8', 'Too Many Requests'],
      ['Cloudflare', 'text/plain; charset=UTF-8', 'error code: 1015'],
      ['Laravel', 'text/html; charset=UTF-8', html('Too Many Requests')],
      ['Tyk', 'application/xml', '<error>API rate limit exceeded</error>'],
      ['AWS', 'application/x-amz-json-1.1', '{"message":"Limit Exceeded"}'],
      ['Spring', 'application/problem+json', '{"title":"Too Many Requests","status":429}'],
      ['APISIX', 'text/plain', '{"error_msg":"rejected"}'],
    ] as const);
    const isDeclared = page.startsWith('{') || random.pick([true, false]);
    const own = new WeakSet<Exchange>();
    return fault(
      '1',
      `The body of ${which} is the page of ${by}, ${isDeclared ? `of the type ${type}` : 'as application/json'}.`,
      {
        ...responses(chosen, (response, exchange) => {
          own.add(exchange);
          if (isDeclared) setHeader(response, 'Content-Type', type);
        }),
        bytes: (text, exchange) => (own.has(exchange) ? Buffer.from(page) : base.bytes(text, exchange)),
      },
    );
  },
};

const otherStatus: Family = {
  name: 'refusal × status × another one than 429',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const [which, chosen] = someRefusals(random);
    const status = random.pick([200, 400, 403, 404, 408, 420, 430, 500, 503, 509]);
    // A bucket has a token earlier.
    if (which.includes('more than 10') && !countingKinds.some((one) => one[1] === kind)) return undefined;
    return fault('7 8', `With ${text}, the status of ${which} is ${status}.`, {
      ...counting(kind),
      ...responses(chosen, (response, exchange) => becomeError(response, exchange, status, 'Too many requests.')),
    });
  },
};

const chargedToKey: Family = {
  name: 'requests without a valid key × counter × that of a key',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const [real, shown] = [counting(kind), counting(kind)];
    const cost = random.integer(1, 3);
    const characters = random.pick([1, 4, 8]);
    const states = stateOf(() => ({
      last: undefined as Usage | undefined,
      ofConnection: new Map<number, Usage>(),
      ofKey: new Map<string, Usage>(),
    }));
    const start = (authorization: string): string => authorization.slice(0, 'Bearer '.length + characters);
    const [which, isCharged] = random.pick<readonly [string, Chosen]>([
      ['A request without Authorization', ({ authorization }) => authorization === ''],
      ['A request with a wrong key', ({ authorization }) => authorization !== ''],
      ['A request without a valid key', () => true],
    ]);
    const [whose, usageOf] = random.pick<readonly [string, (exchange: Exchange) => Usage | undefined]>([
      ['the key that was used last', (exchange) => states(exchange).last],
      [
        'the key that was used last on its connection',
        (exchange) => states(exchange).ofConnection.get(exchange.connection),
      ],
      [
        `the key with the same first ${characters} characters`,
        (exchange) => states(exchange).ofKey.get(start(exchange.authorization)),
      ],
    ]);
    if (whose.includes('characters') && which.includes('without')) return undefined;
    return fault(
      '8',
      `${which} takes ${cost} from ${whose}, with ${text}; Remaining of the key does not show it.`,
      {
        ...real,
        left: (usage, limits, exchange) => {
          const state = states(exchange);
          state.last = usage;
          state.ofConnection.set(exchange.connection, usage);
          state.ofKey.set(start(exchange.authorization), usage);
          const rates = real.left(usage, limits, exchange);
          return Object.assign(rates, { remaining: shown.left(usage, limits, exchange).remaining });
        },
        count: (usage, exchange) => {
          real.count(usage, exchange);
          shown.count(usage, exchange);
        },
        keyless: (exchange) => {
          const usage = isCharged(exchange) ? usageOf(exchange) : undefined;
          for (let i = 0; usage !== undefined && i < cost; i += 1) real.count(usage, exchange);
          return base.keyless(exchange);
        },
      },
    );
  },
};

const refunds: Family = {
  name: 'refund × responses × more is given back than was counted',
  draw: (random) => {
    // GCRA does not store how many requests it counts.
    const [text, kind] = random.pick(kinds.slice(0, 7));
    const amount = random.integer(2, 5);
    const [which, status] = random.pick([
      ['each 201', 201],
      ['each 400', 400],
      ['each 404', 404],
      ['each refusal', 429],
    ] as const);
    const given = status === 429 ? amount - 1 : amount;
    const refunded = (state: WindowState): WindowState => ({
      ...state,
      used: Math.max(0, state.used - given),
      times: state.times.slice(given),
    });
    let isDue = false;
    const hooks = counting(
      {
        ...kind,
        take: (...one) => (isDue ? refunded(kind.take(...one)) : kind.take(...one)),
      },
      status === 429 ? refunded : undefined,
    );
    return fault('8', `With ${text}, ${which} gives ${given} request${given === 1 ? '' : 's'} back.`, {
      ...hooks,
      counts: (_exchange, response) => {
        isDue = response.status === status;
        return true;
      },
    });
  },
};

const concurrencyShown: Family = {
  name: 'concurrency limiter × headers × its numbers instead of those of the rate',
  draw: (random) => {
    const slots = random.pick([2, 4, 5, 8, 10, 16, 20, 25, 32, 50]);
    const [which, chosen] = random.pick([someResponses(random), ['every response', hasKey] as const]);
    const names = random.pick([rateHeaders, rateHeaders.slice(0, 2), rateHeaders.slice(0, 1), rateHeaders.slice(1, 2)]);
    // Of a refusal, 0 is right.
    if (which === 'every 429' && !names.some((name) => name === limitHeader)) return undefined;
    return fault(
      '8',
      `A key can have ${slots} requests at the same time, which is what ${names.join(', ')} of ${which} tell.`,
      responses(chosen, (response, { now }) => {
        const values = [slots, response.status === 429 ? 0 : slots - 1, Math.ceil(now / 1_000)];
        names.forEach((name) => setHeader(response, name, String(values[rateHeaders.indexOf(name)])));
      }),
    );
  },
};

const leakedSlots: Family = {
  name: 'concurrency limiter × slots × not released after some responses',
  draw: (random) => {
    const slots = random.integer(3, 12);
    const seconds = random.pick([40, 75, 120, 240]);
    const [what, leaks] = random.pick<readonly [string, ResponseKind]>([
      ['a 201', ({ status }) => status === 201],
      ['a list with a filter', (_response, { operation, query }) => operation === 'list' && query.has('status')],
      ['a list with a limit', (_response, { operation, query }) => operation === 'list' && query.has('limit')],
      ['a 200 of getPet', ({ status }, { operation }) => status === 200 && operation === 'get'],
      ['GET /store/orders', (_response, { operation }) => operation === 'orders'],
      ['a 405', ({ status }) => status === 405],
    ]);
    const states = stateOf(() => ({ until: [] as number[] }), true);
    const isFull = (exchange: Exchange): boolean => {
      const state = states(exchange);
      state.until = state.until.filter((time) => time > exchange.now);
      return state.until.length >= slots;
    };
    return fault(
      '8',
      `A key can have ${slots} requests at the same time, and ${what} stays one of them for ${seconds} s: further ` +
        `requests get 429 while Remaining says that some remain.`,
      {
        admitted: (rates, exchange) => base.admitted(rates, exchange) && !isFull(exchange),
        retryAfter: (ms, exchange) => (isFull(exchange) ? '1' : base.retryAfter(ms, exchange)),
        ...responses(
          (...one) => hasKey(...one) && !isRefused(...one) && leaks(...one),
          (_response, exchange) => states(exchange).until.push(exchange.now + seconds * 1_000),
        ),
      },
    );
  },
};

const planCache: Family = {
  name: 'plan of a key × cache × another plan for a while',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const nth = random.integer(3, 9);
    const second = random.integer(10, 40);
    const pause = random.integer(2, 12);
    const plan = random.pick(['free', 'pro', 'business'] as const);
    const onConnection = stateOf(() => new Map<number, number>());
    const [when, chosen] = random.pick<readonly [string, Chosen]>([
      [`one request in ${nth}`, ({ world }) => world.requests % nth === 0],
      [
        `every request in the seconds ${second} to ${second + 12} of each minute`,
        ({ now }) => now % minuteMs >= second * 1_000 && now % minuteMs < (second + 12) * 1_000,
      ],
      [`the first request after ${pause} s without one`, afterPause(pause)],
      [
        `the first ${nth} requests of each connection`,
        (exchange) => {
          const seen = (onConnection(exchange).get(exchange.connection) ?? 0) + 1;
          onConnection(exchange).set(exchange.connection, seen);
          return seen <= nth;
        },
      ],
    ]);
    const isOther = decidedOnce(chosen);
    const hooks = counting(kind);
    const other = (limits: Limits): Limits => {
      const found = base.limits(plan);
      return found.minute === limits.minute ? base.limits(plan === 'pro' ? 'business' : 'pro') : found;
    };
    return fault(
      '8',
      `With ${text}, the limits of ${when} are those of another plan, ${nameOfPlan(plan)} unless the key has it.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => hooks.left(usage, isOther(exchange) ? other(limits) : limits, exchange),
      },
    );
  },
};

const nameOfPlan = (plan: string): string => plan[0]!.toUpperCase() + plan.slice(1);

const dayGivenBack: Family = {
  name: 'headers of the day × Remaining × given back before Reset',
  draw: (random) => {
    // A bucket of a day can give a few requests back.
    const amount = random.pick([20, 30, 50, Infinity]);
    const pause = random.integer(2, 15);
    const refused = stateOf(() => ({ last: false }), true);
    const newConnection = stateChanged(({ connection }) => String(connection));
    const newMinute = stateChanged(({ now }) => String(Math.floor(now / minuteMs)));
    const paused = afterPause(pause);
    const [when, isDue] = random.pick<readonly [string, (exchange: Exchange, response: MutantResponse) => boolean]>([
      ['a 201', (_exchange, { status }) => status === 201],
      ['a 404', (_exchange, { status }) => status === 404],
      ['the first request after a refusal', (exchange) => refused(exchange).last],
      ['the first request on another connection', newConnection],
      ['the first request of each minute', newMinute],
      [`the first request after ${pause} s without one`, paused],
    ]);
    let gives = false;
    return fault(
      '8',
      `The headers show the day, and ${when} gives ${amount === Infinity ? 'all' : `up to ${amount}`} requests of ` +
        `the day back.`,
      {
        left: (usage, limits, exchange) => {
          const real = base.left(usage, limits, exchange);
          const remaining = limits.day - usage.dayUsed;
          const [resetMs, retryAfterMs] = [(usage.day + 1) * 86_400_000, real.resetMs - exchange.now];
          return { limit: limits.day, remaining, resetMs, retryAfterMs, admitted: real.remaining > 0 };
        },
        counts: (exchange, response) => {
          gives = isDue(exchange, response);
          refused(exchange).last = false;
          return true;
        },
        count: (usage, exchange) => {
          base.count(usage, exchange);
          if (gives) usage.dayUsed = Math.max(0, usage.dayUsed - amount);
        },
        retryAfter: (ms, exchange) => {
          refused(exchange).last = true;
          return base.retryAfter(ms, exchange);
        },
      },
    );
  },
};

const turnHeaders: Family = {
  name: 'fixed window × its turn × headers of the window before or after',
  draw: (random) => {
    const [text, kind] = random.pick(fixedKinds);
    const seconds = random.integer(3, 20);
    const isBefore = random.pick([true, false]);
    const names = random.pick([[resetHeader], [remainingHeader, resetHeader]] as const);
    const states = stateOf(
      () => ({ reset: 0, remaining: 0, old: { reset: 0, remaining: 0 }, at: -Infinity }),
      true,
    );
    return fault(
      '8',
      isBefore
        ? `With ${text}, a response in the last ${seconds} s of a window has ${names.join(' and ')} of the next one.`
        : `With ${text}, a response until ${seconds} s after the first request of a window has ` +
            `${names.join(' and ')} of the window before.`,
      {
        ...counting(kind),
        ...responses(hasKey, (response, exchange) => {
          const [reset, remaining] = [integerOf(response, resetHeader), integerOf(response, remainingHeader)];
          const state = states(exchange);
          if (state.reset !== 0 && state.reset !== reset) {
            Object.assign(state, { old: { reset: state.reset, remaining: state.remaining }, at: exchange.now });
          }
          Object.assign(state, { reset, remaining });
          const applies = isBefore
            ? reset * 1_000 - exchange.now <= seconds * 1_000
            : exchange.now - state.at < seconds * 1_000;
          if (!applies) return;
          const other = isBefore ? { reset: reset + 60, remaining: integerOf(response, limitHeader) } : state.old;
          const values = { [resetHeader]: other.reset, [remainingHeader]: other.remaining };
          names.forEach((name) => setHeader(response, name, String(values[name])));
        }),
      },
    );
  },
};

const clocksOfProcesses: Family = {
  name: 'shared counter × clocks of processes × one ends the window of another',
  draw: (random) => {
    // Shares and GCRA see time that runs backwards in another way.
    const [text, kind] = random.pick(kinds.filter((_, i) => i !== 4 && i !== 7));
    const seconds = random.pick([20, 35, 50, 65, 90, 120]);
    const processes = random.integer(2, 4);
    const [by, numberOf] = random.pick<readonly [string, (exchange: Exchange) => number]>([
      ['in turn', ({ world }) => world.requests],
      ['by its connection', connectionNumber],
      ['by its path', ({ path }) => path.length],
    ]);
    const ahead = (exchange: Exchange): number => (numberOf(exchange) % processes === 1 ? seconds * 1_000 : 0);
    const seenBy = (exchange: Exchange): Exchange => ({ ...exchange, now: exchange.now + ahead(exchange) });
    const hooks = counting(kind);
    return fault(
      '8',
      `A request goes to one of ${processes} processes ${by}; they share ${text}, and the clock of one is ` +
        `${seconds} s ahead, so it ends windows or refills too early.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const rates = hooks.left(usage, limits, seenBy(exchange));
          return Object.assign(rates, { resetMs: rates.resetMs - ahead(exchange) });
        },
        admitted: (rates, exchange) => hooks.admitted(rates, seenBy(exchange)),
        count: (usage, exchange) => hooks.count(usage, seenBy(exchange)),
      },
    );
  },
};

const chargedToLast: Family = {
  name: 'identity × request before × charged instead of the own key',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const ms = random.pick([50, 200, 1_000]);
    const operation = random.pick(operations);
    const lasts = stateOf((): { usage?: Usage | undefined; exchange?: Exchange } => ({}));
    const [when, applies] = random.pick<readonly [string, (before: Exchange, exchange: Exchange) => boolean]>([
      ['', () => true],
      [` within ${ms} ms`, (before, { now }) => now - before.now <= ms],
      [' on the same connection', (before, { connection }) => before.connection === connection],
      [' on another connection', (before, { connection }) => before.connection !== connection],
      [` of ${nameOf(operation)}`, (before) => before.operation === operation],
      [' of the same operation', (before, exchange) => before.operation === exchange.operation],
    ]);
    return fault(
      '8',
      `With ${text}, a request after one${when} is charged to who sent that one, which is nobody if it had no valid ` +
        `key.`,
      {
        ...hooks,
        count: (usage, exchange) => {
          const last = lasts(exchange);
          const isTaken = last.exchange !== undefined && applies(last.exchange, exchange);
          const charged = isTaken ? last.usage : usage;
          if (charged !== undefined) hooks.count(charged, exchange);
          Object.assign(last, { usage, exchange });
        },
        keyless: (exchange) => {
          Object.assign(lasts(exchange), { usage: undefined, exchange });
          return base.keyless(exchange);
        },
      },
    );
  },
};

const estimate: Family = {
  name: 'approximate counter × estimate × grows in ever larger steps',
  draw: (random) => {
    const [text, kind] = random.pick(fixedKinds);
    const factor = random.pick([1.2, 1.3, 1.5, 2, 3]);
    const exact = random.integer(2, 20);
    const isLow = random.pick([true, false]);
    const estimated = (used: number): number => {
      let [step, next] = [exact, Math.ceil(exact * factor)];
      while (next <= used) [step, next] = [next, Math.ceil(next * factor)];
      return used <= exact || used === step ? used : isLow ? step : next;
    };
    return fault(
      '8',
      `With ${text}, more than ${exact} requests are estimated in steps that grow by a factor of ${factor}, rounded ` +
        `${isLow ? 'down, so too many are admitted' : 'up, so too few are admitted'}.`,
      counting({ ...kind, look: (state, ...one) => kind.look({ ...state, used: estimated(state.used) }, ...one) }),
    );
  },
};

const equalRequests: Family = {
  name: 'set of requests × members × equal requests are one',
  draw: (random) => {
    const [text, kind] = random.pick(kinds.slice(0, 4));
    const hooks = counting(kind);
    const seconds = random.pick([1, 5, 10]);
    const [what, memberOf] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['URL', ({ path, search }) => `${path}?${search}`],
      ['method and path', ({ method, path }) => `${method} ${path}`],
      ['operation', ({ operation }) => operation],
      ['body', ({ body }) => body],
      ['URL and connection', ({ path, search, connection }) => `${path}?${search} ${connection}`],
      [
        `URL in the same ${seconds} s`,
        ({ path, search, now }) => `${path}?${search} ${Math.floor(now / seconds / 1_000)}`,
      ],
    ]);
    const members = stateOf(() => new Map<string, number>(), true);
    return fault('8', `With ${text}, requests with the same ${what} count once within 60 s.`, {
      ...hooks,
      count: (usage, exchange) => {
        const known = members(exchange);
        const member = memberOf(exchange);
        if ((known.get(member) ?? -Infinity) > exchange.now - minuteMs) return;
        known.set(member, exchange.now);
        hooks.count(usage, exchange);
      },
    });
  },
};

const overwritten: Family = {
  name: 'asynchronous synchronisation × local counter × overwritten by an older one',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const seconds = random.pick([1, 2, 3, 5, 8, 12]);
    const every = random.integer(2, 3);
    interface Sent {
      readonly state: WindowState;
      readonly slot: number;
    }
    /** What the last synchronisation sent, by the state after each request. */
    const sent = new WeakMap<WindowState, Sent>();
    const none: WindowState = { at: 0, used: 0, before: 0, times: [] };
    const synchronised = (state: WindowState, now: number): readonly [local: WindowState, sent: Sent] => {
      const slot = Math.floor(now / (seconds * 1_000));
      const last = sent.get(state) ?? { state: none, slot };
      if (last.slot === slot) return [state, last];
      return slot % every === 0 ? [last.state, { ...last, slot }] : [state, { state, slot }];
    };
    return fault(
      '8',
      `Every ${seconds} s, a process sends ${text} to a store, but each ${every === 2 ? 'second' : 'third'} time it ` +
        `reads it instead and forgets the requests since.`,
      counting({
        look: (state, size, now) => kind.look(synchronised(state, now)[0], size, now),
        take: (state, size, now) => {
          const [local, last] = synchronised(state, now);
          const next = kind.take(local, size, now);
          sent.set(next, last);
          return next;
        },
      }),
    );
  },
};

const recovery: Family = {
  name: 'recovery × headers × still those of the refusal',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const count = random.integer(3, 12);
    const names = random.pick([[remainingHeader], [remainingHeader, resetHeader]] as const);
    const isTimed = random.pick([true, false]);
    const states = stateOf(() => ({ values: [] as readonly string[], left: 0, until: Infinity }), true);
    return fault(
      '8',
      `With ${text}, the ${isTimed ? `responses within ${count} s` : `${count} responses`} after the end of a ` +
        `refusal have ${names.join(' and ')} of the refusal.`,
      {
        ...counting(kind),
        ...responses(hasKey, (response, exchange) => {
          const state = states(exchange);
          if (isRefused(response, exchange)) {
            const values = names.map((name) => String(integerOf(response, name)));
            Object.assign(state, { values, left: count, until: Infinity });
            return;
          }
          if (state.left === 0) return;
          if (state.until === Infinity) state.until = exchange.now + count * 1_000;
          if (!isTimed) state.left -= 1;
          if (!isTimed || exchange.now < state.until) {
            names.forEach((name, i) => setHeader(response, name, state.values[i]));
          }
        }),
      },
    );
  },
};

const cleanup: Family = {
  name: 'cleanup job × counters × removes some that are in use',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const seconds = random.pick([7, 11, 13, 17, 23, 29]);
    const least = random.integer(10, 40);
    const idle = random.integer(2, 6);
    const states = stateOf(
      () => ({ generation: 0, tick: 0, used: 0, refused: false, last: 200, operation: '', at: Infinity }),
      true,
    );
    type State = ReturnType<typeof states>;
    const [which, isRemoved] = random.pick<readonly [string, (state: State, now: number) => boolean]>([
      ['that were refused', ({ refused }) => refused],
      [`with fewer than ${least} requests`, ({ used }) => used < least],
      [`with more than ${least} requests`, ({ used }) => used > least],
      ['whose last response was an error', ({ last }) => last >= 400],
      [`whose last request is at least ${idle} s old`, ({ at }, now) => now - at >= idle * 1_000],
      ['whose last request was a create', ({ operation }) => operation === 'create'],
    ]);
    return fault(
      '8',
      `A job that runs every ${seconds} s removes counters (${text}) ${which}, before they reset.`,
      {
        ...counting(kind),
        budget: (exchange) => {
          const state = states(exchange);
          const tick = Math.floor(exchange.now / (seconds * 1_000));
          if (state.tick !== tick && state.used > 0 && isRemoved(state, exchange.now)) {
            Object.assign(state, { generation: state.generation + 1, used: 0, refused: false });
          }
          state.tick = tick;
          return String(state.generation);
        },
        ...responses(hasKey, (response, exchange) => {
          const state = states(exchange);
          const refused = isRefused(response, exchange);
          const { operation, now } = exchange;
          Object.assign(state, { used: state.used + Number(!refused), last: response.status, operation, at: now });
          state.refused ||= refused;
        }),
      },
    );
  },
};

const idleCredit: Family = {
  name: 'bucket × idle time × credit beyond the limit',
  draw: (random) => {
    const most = random.pick([1.5, 2, 3, 5]);
    const isShown = random.pick([true, false]);
    const showsFull = random.pick([true, false]);
    const pace = random.pick([1, 1.5, 2, 4]);
    const idle = random.pick([2, 5, 10]);
    /** The tokens that the bucket lacks. Fewer than 0 are credit, which a pause of the key fills at its own pace. */
    const lacking = ({ at, used }: WindowState, { limit, periodMs }: Size, now: number): number => {
      if (at === 0) return 0;
      const perMs = limit / periodMs;
      const fullAt = at + Math.max(0, used) / perMs;
      if (now < fullAt) return used - (now - at) * perMs;
      const idleMs = Math.max(0, now - Math.max(fullAt, at + idle * 1_000));
      return Math.max(limit * (1 - most), Math.min(0, used) - idleMs * perMs * pace);
    };
    const kind: Kind = {
      look: (state, size, now) => {
        const used = lacking(state, size, now);
        const perMs = size.limit / size.periodMs;
        const left = Math.floor(size.limit - used + 1e-6);
        const retryAfterMs = left >= 1 ? 0 : Math.ceil((used - size.limit + 1) / perMs);
        const resetMs = now + (showsFull ? Math.ceil(Math.max(0, used) / perMs) : retryAfterMs);
        const remaining = Math.max(0, isShown ? left : Math.min(size.limit, left));
        return { admitted: left >= 1, remaining, retryAfterMs, resetMs };
      },
      take: (state, size, now) => ({ ...state, at: now, used: lacking(state, size, now) + 1 }),
    };
    return fault(
      '8',
      `A full bucket goes on to fill ${pace === 1 ? '' : `${pace} times as fast `}after ${idle} s without requests, ` +
        `up to ${most} times the limit${isShown ? ', and Remaining shows it' : ''}; Reset is when ` +
        `${showsFull ? 'it is full' : 'a request is admitted'}.`,
      counting(kind),
    );
  },
};

const wrappedTime: Family = {
  name: 'counter × type of its time × wraps around',
  draw: (random) => {
    const isForgotten = random.pick([true, false]);
    const long = [
      ['17 bits of milliseconds', 131_072],
      ['5 digits of milliseconds', 100_000],
      ['7 bits of seconds', 128_000],
    ] as const;
    const short = [
      ['15 bits of milliseconds', 32_768],
      ['16 bits of milliseconds', 65_536],
      ['6 bits of seconds', 64_000],
    ] as const;
    // With fewer bits, no counter would ever reset.
    const [type, wrapMs] = random.pick(isForgotten ? [...short, ...long] : long);
    const isLog = random.pick([true, false]);
    /** How old a time seems to be, or undefined if it is forgotten. */
    const age = (time: number, now: number): number | undefined => {
      const passed = (now % wrapMs) - (time % wrapMs);
      return passed >= 0 ? passed : isForgotten ? undefined : 0;
    };
    const counts = (time: number, periodMs: number, now: number): boolean => (age(time, now) ?? periodMs) < periodMs;
    const kind: Kind = {
      look: ({ at, used, times }, { limit, periodMs }, now) => {
        const counted = times.filter((time) => counts(time, periodMs, now));
        const runs = isLog ? counted.length > 0 : used > 0 && counts(at, periodMs, now);
        const remaining = Math.max(0, limit - (isLog ? counted.length : runs ? used : 0));
        const first = isLog ? (counted[0] ?? now) : at;
        const resetMs = now + (runs ? periodMs - age(first, now)! : isLog ? 0 : periodMs);
        return { remaining, resetMs, retryAfterMs: remaining > 0 ? 0 : resetMs - now };
      },
      take: (state, { periodMs }, now) => {
        const times = isLog ? [...state.times.filter((time) => counts(time, periodMs, now)), now] : [];
        const runs = state.used > 0 && counts(state.at, periodMs, now);
        return runs ? { ...state, used: state.used + 1, times } : { ...state, at: now, used: 1, times };
      },
    };
    return fault(
      '8',
      `${isLog ? 'The times of a log are' : 'The beginning of a window is'} stored in ${type}, which wrap around; a ` +
        `time that seems to be in the future ${isForgotten ? 'is forgotten' : 'seems to be now'}.`,
      counting(kind),
    );
  },
};

const blockScope: Family = {
  name: 'refusal × scope × only a part of the requests is blocked',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const hooks = counting(kind);
    const [what, valueOf] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['operation', ({ operation }) => operation],
      ['method', ({ method }) => method],
      ['path', ({ path }) => path],
      ['query', ({ search }) => search],
      ['connection', ({ connection }) => String(connection)],
      ['User-Agent', ({ headers }) => String(headers['user-agent'])],
    ]);
    const blocks = stateOf(() => ({ value: '', until: 0 }), true);
    return fault(
      '7 8',
      `With ${text}, all requests count together, but a key that has used up its limit is refused only with the ` +
        `${what} of its first request beyond it.`,
      {
        ...hooks,
        admitted: (rates, exchange) => {
          if (hooks.admitted(rates, exchange)) return true;
          const block = blocks(exchange);
          if (exchange.now >= block.until) {
            Object.assign(block, { value: valueOf(exchange), until: exchange.now + (rates.retryAfterMs ?? 0) });
          }
          return valueOf(exchange) !== block.value;
        },
      },
    );
  },
};

const balance: Family = {
  name: 'window × balance × carried into the next window',
  draw: (random) => {
    const [text, kind] = random.pick(fixedKinds);
    const percent = random.pick([25, 50, 100]);
    const borrowed = random.integer(3, 20);
    const isBorrowing = random.next() < 0.4;
    const isShown = random.pick([true, false]);
    /** What the window of a state has in addition to the limit, by the state after each request. */
    const extras = new WeakMap<WindowState, number>();
    const extra = (state: WindowState, size: Size, now: number): number => {
      const known = extras.get(state) ?? 0;
      const isOver = state.used > 0 && kind.look(state, size, now).remaining === size.limit;
      if (!isOver) return known;
      const unused = size.limit + known - state.used;
      if (isBorrowing) return Math.min(0, unused);
      return Math.floor((Math.max(0, Math.min(size.limit, unused)) * percent) / 100);
    };
    const more: Kind = {
      look: (state, size, now) => {
        const carried = extra(state, size, now);
        const hidden = isBorrowing ? borrowed : isShown ? 0 : carried;
        const limit = size.limit + carried + (isBorrowing ? borrowed : 0);
        const real = kind.look(state, { ...size, limit }, now);
        return { ...real, remaining: Math.max(0, real.remaining - hidden), admitted: real.remaining > 0 };
      },
      take: (state, size, now) => {
        const next = kind.take(state, size, now);
        extras.set(next, extra(state, size, now));
        return next;
      },
    };
    return fault(
      '8',
      isBorrowing
        ? `With ${text}, up to ${borrowed} requests beyond the limit are admitted, and taken from the next window.`
        : `With ${text}, ${percent} % of the requests that were not used are added to the next window` +
            `${isShown ? ', also in Remaining' : ''}.`,
      counting(more),
    );
  },
};

const outages: Family = {
  name: 'store of counters × outages × every request admitted or refused meanwhile',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const seconds = random.integer(2, 6);
    const every = random.pick([15, 20, 30, 60]);
    const hooks = counting(kind);
    const isOut = ({ now }: Exchange): boolean => now % (every * 1_000) >= (every - seconds) * 1_000;
    const endsIn = ({ now }: Exchange): number => every * 1_000 - (now % (every * 1_000));
    const open = (remainingOf: (remaining: number, limits: Limits) => number): Change => ({
      left: (usage, limits, exchange) => {
        const rates = hooks.left(usage, limits, exchange);
        if (!isOut(exchange)) return rates;
        return Object.assign(rates, { admitted: true, remaining: remainingOf(rates.remaining, limits) });
      },
      counts: (exchange) => !isOut(exchange),
    });
    const [what, change] = random.pick<readonly [string, Change]>([
      ['every request is admitted, and Remaining is the limit', open((_remaining, { minute }) => minute)],
      ['every request is admitted, and Remaining stays as it was', open((remaining) => remaining)],
      [
        'requests count in the memory of the process',
        { budget: (exchange) => (isOut(exchange) ? String(Math.floor(exchange.now / every / 1_000)) : '') },
      ],
      [
        'every request is refused, whatever Remaining says',
        {
          left: (usage, limits, exchange) => {
            const rates = hooks.left(usage, limits, exchange);
            if (!isOut(exchange)) return rates;
            return Object.assign(rates, { admitted: false, retryAfterMs: endsIn(exchange) });
          },
        },
      ],
    ]);
    return fault(
      '7 8',
      `The store of the counters (${text}) fails for the last ${seconds} of every ${every} s; then ${what}.`,
      { ...hooks, ...change },
    );
  },
};

const placeholders: Family = {
  name: 'counter × loading × first responses show placeholders',
  draw: (random) => {
    const count = random.integer(2, 4);
    const pause = random.integer(3, 15);
    const seen = stateOf(() => new Map<string, number>(), true);
    const nthOf = (name: string, exchange: Exchange): number => {
      const number = (seen(exchange).get(name) ?? 0) + 1;
      seen(exchange).set(name, number);
      return number;
    };
    const paused = afterPause(pause);
    const [when, chosen] = random.pick<readonly [string, Chosen]>([
      [
        `one of the first ${count} of a connection`,
        (exchange) => nthOf(String(exchange.connection), exchange) <= count,
      ],
      [
        `one of the first ${count} in a minute`,
        (exchange) => nthOf(`minute ${Math.floor(exchange.now / minuteMs)}`, exchange) <= count,
      ],
      [
        `one of the first ${count} to a URL`,
        (exchange) => nthOf(`${exchange.path}?${exchange.search}`, exchange) <= count,
      ],
      [`the first after ${pause} s without a request`, paused],
    ]);
    const [text, values] = random.pick<readonly [string, readonly (string | undefined)[]]>([
      ['0 as Limit, Remaining and Reset', ['0', '0', '0']],
      ['-1 as Limit and Remaining', ['-1', '-1']],
      ['-1 as Remaining', [undefined, '-1']],
      ['0 as Reset', [undefined, undefined, '0']],
      ['2147483647 as Limit and Remaining', ['2147483647', '2147483647']],
      ['9999 as Limit and Remaining', ['9999', '9999']],
      ['253402300799, which is in the year 9999, as Reset', [undefined, undefined, '253402300799']],
    ]);
    return fault(
      '8',
      `A response to a key has ${text} if it is ${when}, because its counter is loaded only later.`,
      responses(
        (...one) => hasKey(...one) && chosen(one[1]),
        (response) => {
          rateHeaders.forEach((name, i) => {
            if (values[i] !== undefined) setHeader(response, name, values[i]);
          });
        },
      ),
    );
  },
};

/** Families of faults of limiters, libraries, gateways and stores of counters. */
export const fourthLimitFamilies: readonly Family[] = [
  spellings,
  counterByHeader,
  wrongLimit,
  queue,
  adaptive,
  coldStart,
  resetType,
  noRetryAfter,
  pages,
  otherStatus,
  chargedToKey,
  refunds,
  concurrencyShown,
  leakedSlots,
  planCache,
  dayGivenBack,
  turnHeaders,
  clocksOfProcesses,
  chargedToLast,
  estimate,
  equalRequests,
  overwritten,
  recovery,
  cleanup,
  idleCredit,
  wrappedTime,
  blockScope,
  balance,
  outages,
  placeholders,
];
