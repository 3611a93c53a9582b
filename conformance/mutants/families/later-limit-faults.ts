/** Later faults of limiters and of their headers, which follow errors of gateways, libraries and their operation. */
import type { Exchange, Limits, MutantResponse, Operation, Rates, Usage } from '../server/hooks.ts';
import {
  integerOf,
  responses,
  setHeader,
  type Change,
  type Kind as ResponseKind,
  type NumberHeader,
} from '../table/changes.ts';
import { chained, everyNth, fault, nameOf, numberOf, type Family } from './family.ts';
import { anyOf, buckets, changed, counters, fixed, logs, named, requestKinds, shownAs } from './limit-faults.ts';
import {
  dayMs,
  fixedByClock,
  fixedFromFirst,
  limiterHooks,
  minuteMs,
  usedBefore,
  type Kind,
  type Limiter,
} from './limiters.ts';
import type { Random } from './random.ts';

const remainingHeader = 'X-RateLimit-Remaining';
const resetHeader = 'X-RateLimit-Reset';
const counting: ReadonlySet<Operation> = new Set(['list', 'create', 'get', 'orders']);

/** Responses to requests with a valid key. */
const keyed: ResponseKind = (response) => response.status !== 401;

/** Both conditions, the second of which is evaluated only if the first holds. */
const also =
  (first: ResponseKind, second: ResponseKind): ResponseKind =>
  (response, exchange) =>
    first(response, exchange) && second(response, exchange);

/** Sets a note of a key and returns its previous value. */
function exchangedNote({ authorization, world: { notes } }: Exchange, name: string, value: string): string {
  const before = notes.get(`${name} ${authorization}`) ?? '';
  notes.set(`${name} ${authorization}`, value);
  return before;
}

/** Circumstances, in which only some responses are. */
interface Circumstance {
  readonly text: string;
  readonly holds: ResponseKind;
}

/** Circumstances that depend on the state of the limiter or on the history of the key. */
function circumstance(random: Random, note: string): Circumstance {
  const below = random.integer(5, 45);
  const nth = random.integer(2, 6);
  const pause = random.integer(1, 12);
  const seconds = random.integer(15, 40);
  const operation = random.pick(requestKinds);
  return random.pick<Circumstance>([
    {
      text: `when Remaining is below ${below}`,
      holds: (response) => integerOf(response, remainingHeader) < below,
    },
    {
      text: `in every ${nth}th response to ${nameOf(operation)}`,
      holds: everyNth((_response, exchange) => exchange.operation === operation, nth, note),
    },
    {
      text: `in the first response after ${pause} s without requests of the key`,
      holds: (_response, exchange) => {
        const last = Number(exchangedNote(exchange, note, String(exchange.now)));
        return last > 0 && exchange.now - last >= pause * 1_000;
      },
    },
    {
      text: `in the last ${seconds} s of each minute`,
      holds: (_response, { now }) => now % minuteMs >= minuteMs - seconds * 1_000,
    },
    {
      text: 'in the first response after a 429',
      holds: (response, exchange) => exchangedNote(exchange, note, String(response.status)) === '429',
    },
    {
      text: 'in the first response on another connection than before',
      holds: (_response, exchange) => {
        const before = exchangedNote(exchange, note, String(exchange.connection));
        return before !== '' && before !== String(exchange.connection);
      },
    },
  ]);
}

/** Changes the responses of a limiter to requests with a valid key. */
function sentAs(
  limiter: Limiter,
  kind: ResponseKind,
  change: (response: MutantResponse, exchange: Exchange) => void,
): Change {
  return chained(limiterHooks(limiter), responses(also(keyed, kind), change));
}

/** Whether it is the nth time, counted for each key. */
function isNth({ authorization, world: { notes } }: Exchange, name: string, n: number): boolean {
  const seen = Number(notes.get(`${name} ${authorization}`) ?? 0) + 1;
  notes.set(`${name} ${authorization}`, String(seen));
  return seen % n === 0;
}

const ownMemory: Family = {
  name: 'limiter × process × some processes have counters of their own',
  draw: (random) => {
    const limiter = anyOf(random);
    const count = random.integer(2, 5);
    const [text, of] = random.pick<readonly [string, (exchange: Exchange) => number]>([
      [`Each of ${count} processes counts only its requests, which take turns`, ({ world }) => world.requests % count],
      [
        `Each of ${count} processes counts only its requests, which a hash of the path assigns`,
        ({ fullPath, search }) => (fullPath.length + search.length) % count,
      ],
      [
        `Each of ${count} processes counts only the requests of its connections`,
        ({ connection }) => numberOf(connection) % count,
      ],
      [
        `Every ${count + 3}th request reaches a process with a counter of its own`,
        ({ world }) => Number(world.requests % (count + 3) === 0),
      ],
    ]);
    return fault('7 8', `${limiter.id}: ${text}.`, {
      ...limiterHooks(limiter),
      budget: (exchange) => String(of(exchange)),
    });
  },
};

/** Counts requests only when `isDue`. */
function lagging(limiter: Limiter, isDue: (waiting: number, since: number, exchange: Exchange) => boolean): Change {
  const hooks = limiterHooks(limiter);
  const queues = new WeakMap<Usage, Exchange[]>();
  return {
    ...hooks,
    left: (usage, limits, exchange) => {
      const queue = queues.get(usage) ?? [];
      hooks.left!(usage, limits, exchange);
      while (queue.length > 0 && isDue(queue.length, exchange.now - queue[0]!.now, queue[0]!)) {
        hooks.count!(usage, queue.shift()!);
      }
      return hooks.left!(usage, limits, exchange);
    },
    count: (usage, exchange) => void queues.set(usage, [...(queues.get(usage) ?? []), exchange]),
  };
}

const lag: Family = {
  name: 'limiter × shared counter × counts arrive late',
  draw: (random) => {
    const limiter = anyOf(random);
    const behind = random.integer(buckets.includes(limiter) ? 4 : 2, 14);
    const ms = random.pick([50, 120, 300, 800, 2_000, 4_500]);
    const operation = random.pick(requestKinds.filter((kind) => kind !== 'orders'));
    const [text, isDue] = random.pick<readonly [string, Parameters<typeof lagging>[1]]>([
      [`are counted when ${behind} more have arrived`, (waiting) => waiting > behind],
      [`are counted ${ms} ms late`, (_waiting, since) => since >= ms],
      [
        `of ${nameOf(operation)} are counted ${ms} ms late`,
        (_waiting, since, exchange) => exchange.operation !== operation || since >= ms,
      ],
    ]);
    return fault('7 8', `${limiter.id}: requests ${text}.`, lagging(limiter, isDue));
  },
};

const costs: Family = {
  name: 'limiter × cost × a request counts more than once',
  draw: (random) => {
    const limiter = anyOf(random);
    const cost = random.integer(2, 6);
    const [text, expensive] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ...requestKinds.map((kind) => [nameOf(kind), (exchange: Exchange) => exchange.operation === kind] as const),
      ['a list with a filter', ({ operation, query }: Exchange) => operation === 'list' && query.has('status')],
      [
        'a list with a limit above 20',
        ({ operation, query }) => operation === 'list' && Number(query.get('limit')) > 20,
      ],
      ['a request with a body of more than 100 bytes', ({ body }) => body.length > 100],
    ] as const);
    const hidden = random.next() < 0.5;
    const [hooks, shown] = [limiterHooks(limiter), limiterHooks(limiter)];
    return fault(
      '7 8',
      `${limiter.id}: ${text} counts as ${cost} requests${hidden ? ', of which Remaining shows one' : ''}.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const rates = hooks.left!(usage, limits, exchange);
          const { remaining } = shown.left!(usage, limits, exchange);
          return hidden && rates.admitted === true ? Object.assign(rates, { remaining }) : rates;
        },
        count: (usage, exchange) => {
          const times = expensive(exchange) ? cost : 1;
          for (let i = 0; i < times; i += 1) hooks.count!(usage, exchange);
          shown.count!(usage, exchange);
        },
      },
    );
  },
};

const penalties: Family = {
  name: 'limiter × refused requests × a penalty that no header shows',
  draw: (random) => {
    const limiter = anyOf(random);
    const nth = random.integer(1, 4);
    const seconds = random.pick([4, 8, 15, 25, 40, 60]);
    const which = random.pick(['429', '429 of a create', '429 within 5 s of the one before'] as const);
    const hooks = limiterHooks(limiter);
    return fault(
      '7 8',
      `${limiter.id}: at each ${nth}. ${which}, the key is refused for ${seconds} s more than the headers say.`,
      {
        ...hooks,
        admitted: (rates, exchange) => {
          const { now, operation, authorization, world: { notes } } = exchange;
          if (now < Number(notes.get(`until ${authorization}`) ?? 0)) return false;
          if (hooks.admitted!(rates, exchange)) return true;
          const last = Number(exchangedNote(exchange, 'last', String(now)));
          const fits =
            which === '429' || (which === '429 of a create' ? operation === 'create' : last > 0 && now - last < 5_000);
          const waitMs = rates.retryAfterMs ?? 0;
          if (fits && isNth(exchange, 'refused', nth)) {
            notes.set(`until ${authorization}`, String(now + waitMs + seconds * 1_000));
          }
          return false;
        },
      },
    );
  },
};

const skippedResets: Family = {
  name: 'fixed window × reset × some resets do not happen',
  draw: (random) => {
    const nth = random.integer(2, 3);
    const percent = random.pick([20, 50, 80, 100]);
    const [id, kind] = random.pick([
      ['window by the clock', fixedByClock],
      ['window from the first request', fixedFromFirst],
    ] as const);
    const [limiter] = named(id);
    const skips = (at: number, periodMs: number): boolean =>
      periodMs === minuteMs && Math.floor(at / periodMs) % nth === 0;
    /** The requests that the next window begins with. */
    const carried = (at: number, used: number, { limit, periodMs }: { limit: number; periodMs: number }): number =>
      skips(at, periodMs) ? Math.floor((Math.min(used, limit) * percent) / 100) : 0;
    const changedKind: Kind = {
      look: (state, size, now) => {
        const over = state.used > 0 && now >= state.at + size.periodMs;
        if (!over) return kind.look(state, size, now);
        const used = now < state.at + 2 * size.periodMs ? carried(state.at, state.used, size) : 0;
        const next = kind.take({ ...state, used: 0 }, size, now);
        return kind.look({ ...next, used }, size, now);
      },
      take: (state, size, now) => {
        const over = state.used > 0 && now >= state.at + size.periodMs;
        const next = kind.take(state, size, now);
        const used = over && now < state.at + 2 * size.periodMs ? carried(state.at, state.used, size) : 0;
        return { ...next, used: next.used + used };
      },
    };
    return fault(
      '7 8',
      `${id}: every ${nth}th window passes on ${percent} % of its requests to the next.`,
      limiterHooks({ ...limiter!, minute: changedKind }),
    );
  },
};

const lostRefill: Family = {
  name: 'bucket × refill × some of it is lost',
  draw: (random) => {
    const limiter = random.pick(named('token bucket', 'token bucket, next token'));
    const most = random.integer(3, 20);
    const pause = random.integer(3, 20);
    const least = random.pick([500, 1_500, 3_000]);
    const perMs = (size: { limit: number; periodMs: number }): number => size.limit / size.periodMs;
    const [text, refilled] = random.pick<readonly [string, (ms: number, rate: number) => number]>([
      ['fractions of a token are lost at each request', (ms, rate) => Math.floor(ms * rate)],
      [`a pause refills ${most} tokens at most`, (ms, rate) => Math.min(most, ms * rate)],
      [`a pause of less than ${least} ms refills nothing`, (ms, rate) => (ms < least ? 0 : ms * rate)],
      [
        `the first ${pause} s of a pause refill half as much`,
        (ms, rate) => (ms - Math.min(ms, pause * 1_000) / 2) * rate,
      ],
    ]);
    return fault(
      '7 8',
      `${limiter.id}: ${text}.`,
      changed(limiter, (kind) => ({
        take: (state, size, now) => {
          const ms = state.at === 0 ? 0 : now - state.at;
          const used = Math.max(0, state.used - refilled(ms, perMs(size)));
          return { ...kind.take(state, size, now), used: used + 1 };
        },
        look: (state, size, now) => {
          const seen = kind.look(state, size, now);
          const used = Math.max(0, state.used - (state.at === 0 ? 0 : refilled(now - state.at, perMs(size))));
          const remaining = Math.max(0, Math.floor(size.limit - used + 1e-6));
          return { ...seen, remaining, admitted: remaining > 0 };
        },
      })),
    );
  },
};

const otherLimiter: Family = {
  name: 'limiters × headers × describe another limiter than the one that admits',
  draw: (random) => {
    const groups = random.some([fixed, logs, counters, buckets], 2);
    const [shown, real] = groups.map((group) => random.pick(group)) as [Limiter, Limiter];
    const [shownHooks, realHooks] = [limiterHooks(shown), limiterHooks(real)];
    const ofReal = new WeakMap<Usage, Usage>();
    const realUsage = (usage: Usage): Usage => {
      if (!ofReal.has(usage)) ofReal.set(usage, { ...usage });
      return ofReal.get(usage)!;
    };
    const own = random.next() < 0.5;
    return fault(
      '7 8',
      `Requests are admitted by a limiter '${real.id}', but the headers${own ? ' apart from Retry-After' : ''} ` +
        `describe a limiter '${shown.id}'.`,
      {
        left: (usage, limits, exchange) => {
          const rates = shownHooks.left!(usage, limits, exchange);
          const { admitted, retryAfterMs } = realHooks.left!(realUsage(usage), limits, exchange);
          return { ...rates, admitted: admitted!, ...(own && retryAfterMs !== undefined && { retryAfterMs }) };
        },
        count: (usage, exchange) => {
          shownHooks.count!(usage, exchange);
          realHooks.count!(realUsage(usage), exchange);
        },
      },
    );
  },
};

const lostUpdates: Family = {
  name: 'limiter × concurrency × counts of other connections are overwritten',
  draw: (random) => {
    const limiter = anyOf(random);
    const ms = random.pick([2, 5, 10, 25, 60, 150]);
    const unchecked = random.next() < 0.3;
    const hooks = limiterHooks(limiter);
    const overlaps = (exchange: Exchange, name: string): boolean => {
      const before = exchangedNote(exchange, name, `${exchange.connection} ${exchange.now}`).split(' ');
      return before.length === 2 && Number(before[0]) !== exchange.connection && exchange.now - Number(before[1]) <= ms;
    };
    return fault(
      '7 8',
      `${limiter.id}: a request within ${ms} ms of one on another connection is not counted` +
        `${unchecked ? ' and never refused' : ''}.`,
      {
        ...hooks,
        counts: (exchange) => !overlaps(exchange, 'counted'),
        ...(unchecked && {
          admitted: (rates: Rates, exchange: Exchange) =>
            overlaps(exchange, 'checked') || hooks.admitted!(rates, exchange),
        }),
      },
    );
  },
};

const sharedKeys: Family = {
  name: 'limiter × keys × a key is charged for another',
  draw: (random) => {
    const limiter = anyOf(random);
    const nth = random.integer(2, 9);
    const seconds = random.integer(5, 45);
    const blocks = random.next() < 0.4;
    const hooks = limiterHooks(limiter);
    const known = new WeakMap<object, Map<string, readonly [Usage, Limits]>>();
    const usages = ({ world }: Exchange) => known.get(world) ?? new Map<string, readonly [Usage, Limits]>();
    return fault(
      '7 8',
      blocks
        ? `${limiter.id}: after the ${nth}. 429 of a key in a minute, other keys are refused for ${seconds} s.`
        : `${limiter.id}: every ${nth}th request of a key also counts for every other key.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          known.set(exchange.world, usages(exchange).set(exchange.authorization, [usage, limits]));
          const rates = hooks.left!(usage, limits, exchange);
          const [until = '0', by] = (exchange.world.notes.get('blocked') ?? '').split(' by ');
          if (!blocks || by === exchange.authorization || exchange.now >= Number(until)) return rates;
          return Object.assign(rates, { admitted: false, remaining: 0, retryAfterMs: Number(until) - exchange.now });
        },
        admitted: (rates, exchange) => {
          if (rates.admitted !== false) return true;
          const { now, authorization, world: { notes } } = exchange;
          if (blocks && isNth(exchange, `refused ${Math.floor(now / minuteMs)}`, nth)) {
            notes.set('blocked', `${now + seconds * 1_000} by ${authorization}`);
          }
          return false;
        },
        count: (usage, exchange) => {
          hooks.count!(usage, exchange);
          if (blocks || !isNth(exchange, 'counted', nth)) return;
          for (const [other, limits] of usages(exchange).values()) {
            if (other !== usage && hooks.left!(other, limits, exchange).admitted) hooks.count!(other, exchange);
          }
        },
      },
    );
  },
};

const otherKeysHeaders: Family = {
  name: 'headers × keys × show the values of another key',
  draw: (random) => {
    const limiter = anyOf(random);
    const names = random.pick<readonly NumberHeader[]>([[remainingHeader], [remainingHeader, resetHeader]]);
    const where = circumstance(random, 'where');
    return fault(
      '8',
      `${limiter.id}: ${where.text}, ${names.join(' and ')} may be those of the key of the request before.`,
      chained(limiterHooks(limiter), {
        response: (response, exchange) => {
          if (!keyed(response, exchange)) return response;
          const { authorization, world: { notes } } = exchange;
          const chosen = where.holds(response, exchange);
          for (const name of names) {
            const [by, before] = (notes.get(name) ?? '').split('=');
            notes.set(name, `${authorization}=${integerOf(response, name)}`);
            if (chosen && before !== undefined && by !== authorization) setHeader(response, name, before);
          }
          return response;
        },
      }),
    );
  },
};

const usedUpDay: Family = {
  name: 'limiter × day × a day that is used up is described or enforced wrongly',
  draw: (random) => {
    const left = random.integer(20, 45);
    const more = random.integer(2, 12);
    const minutes = random.integer(1, 9);
    const limiter: Limiter = { ...random.pick([...fixed, ...logs, ...buckets]), day: usedBefore(fixedByClock, left) };
    const ofDay = ({ limit, periodMs }: { limit: number; periodMs: number }): boolean =>
      limit === 1_000 && periodMs === dayMs;
    const day = (change: Partial<Kind>): Change => limiterHooks({ ...limiter, day: { ...limiter.day, ...change } });
    const shown = (change: (rates: Rates, exchange: Exchange) => Partial<Rates>): Change =>
      shownAs(limiter, (rates, exchange) =>
        rates.admitted === false && rates.resetMs - exchange.now > 2 * minuteMs ? change(rates, exchange) : {},
      );
    const [text, hooks] = random.pick<readonly [string, Change]>([
      [
        'Reset and Retry-After are the end of the minute',
        shown((_rates, { now }) => ({
          resetMs: (Math.floor(now / minuteMs) + 1) * minuteMs,
          retryAfterMs: minuteMs - (now % minuteMs),
        })),
      ],
      ['Retry-After is in minutes', shown(({ retryAfterMs = 0 }) => ({ retryAfterMs: retryAfterMs / 60 }))],
      [
        `Reset and Retry-After are ${minutes} minutes later`,
        shown((_rates, { now }) => ({ resetMs: now + minutes * minuteMs, retryAfterMs: minutes * minuteMs })),
      ],
      ['Reset is the beginning of the day', shown(({ resetMs }) => ({ resetMs: resetMs - dayMs }))],
      [
        `${more} more requests are admitted each minute`,
        {
          ...limiterHooks(limiter),
          admitted: (rates, exchange) => {
            const { now, authorization, world: { notes } } = exchange;
            if (rates.admitted !== false) return true;
            if (rates.resetMs - now < 2 * minuteMs) return false;
            const note = `more ${authorization} ${Math.floor(now / minuteMs)}`;
            const used = Number(notes.get(note) ?? 0);
            notes.set(note, String(used + 1));
            return used < more;
          },
        },
      ],
      [
        'it begins again with the next minute',
        day({
          look: (state, size, now) => {
            const seen = limiter.day.look(state, size, now);
            const lastOfMinute = Math.floor(now / minuteMs) > Math.floor((state.times[0] ?? now) / minuteMs);
            const begins = ofDay(size) && seen.remaining === 0 && lastOfMinute;
            return begins ? { ...seen, remaining: left, admitted: true } : seen;
          },
          take: (state, size, now) => {
            const seen = limiter.day.look(state, size, now);
            const next = seen.remaining === 0 ? { ...state, used: 0 } : state;
            return { ...limiter.day.take(next, size, now), times: [now] };
          },
        }),
      ],
      [
        'its last request is refused',
        day({
          look: (state, size, now) => {
            const seen = limiter.day.look(state, size, now);
            return ofDay(size) ? { ...seen, admitted: seen.remaining > 1 } : seen;
          },
        }),
      ],
    ]);
    return fault(
      text.startsWith('Reset is') ? '8' : '7 8',
      `${limiter.id}: when a day of which ${left} requests remained is used up, ${text}.`,
      hooks,
    );
  },
};

const overflow: Family = {
  name: 'headers × integers × a value wraps around',
  draw: (random) => {
    const any = anyOf(random);
    const bits = random.pick([7, 8, 9]);
    const step = random.integer(1, 3);
    const after = random.integer(1, 3);
    const unsigned = random.pick([2 ** 16, 2 ** 32]);
    const [text, kind, change] = random.pick<readonly [string, ResponseKind, (response: MutantResponse) => void]>([
      [
        `Remaining is that modulo ${2 ** bits}`,
        () => true,
        (response) => setHeader(response, remainingHeader, String(integerOf(response, remainingHeader) % 2 ** bits)),
      ],
      [
        `from the ${after + 1}. 429 in a row on, Remaining is an unsigned -${step}, ${unsigned - step}`,
        (response, exchange) => {
          const row = Number(exchangedNote(exchange, 'row', '0') || 0);
          if (response.status === 429) exchangedNote(exchange, 'row', String(row + 1));
          return response.status === 429 && row >= after;
        },
        (response) => setHeader(response, remainingHeader, String(unsigned - step)),
      ],
      [
        `a Retry-After of more than ${2 ** (bits - 4) - 1} is that modulo ${2 ** (bits - 4)}`,
        ({ status }) => status === 429,
        (response) =>
          setHeader(response, 'Retry-After', String(Math.max(1, integerOf(response, 'Retry-After') % 2 ** (bits - 4)))),
      ],
      [
        `the lowest ${bits - 3} bits of Reset are lost`,
        () => true,
        (response) => {
          const reset = integerOf(response, resetHeader);
          setHeader(response, resetHeader, String(reset - (reset % 2 ** (bits - 3))));
        },
      ],
    ]);
    // Elsewhere, an earlier Reset may be right in another sense.
    const limiter = text.endsWith('of Reset are lost') ? random.pick(fixed) : any;
    // A bucket has its next token after a second at most.
    if (text.includes('Retry-After') && buckets.includes(limiter)) return undefined;
    return fault(
      text.includes('Retry-After') ? '7 8' : '8',
      `${limiter.id}: ${text}.`,
      sentAs(limiter, kind, change),
    );
  },
};

const units: Family = {
  name: 'Reset × circumstances × another unit or zone',
  draw: (random) => {
    const limiter = anyOf(random);
    const where = circumstance(random, 'where');
    const hours = random.pick([-8, -5, -1, 1, 2, 9]);
    const [text, change] = random.pick<readonly [string, (reset: number, now: number) => number]>([
      ['milliseconds', (reset) => reset * 1_000],
      ['seconds from now', (reset, now) => Math.max(0, reset - Math.floor(now / 1_000))],
      [`local time, ${hours} h from UTC`, (reset) => reset + hours * 3_600],
      ['seconds since 1 January 2001', (reset) => reset - 978_307_200],
    ]);
    return fault(
      '8',
      `${limiter.id}: ${where.text}, Reset is in ${text}.`,
      sentAs(limiter, where.holds, (response, { now }) =>
        setHeader(response, resetHeader, String(change(integerOf(response, resetHeader), now))),
      ),
    );
  },
};

const staleHeaders: Family = {
  name: 'headers × cache × values of an earlier response of the key',
  draw: (random) => {
    const ms = random.pick([20, 100, 400, 1_000, 5_000, 20_000]);
    const name = ms >= 5_000 ? random.pick([remainingHeader, resetHeader] as const) : remainingHeader;
    // Elsewhere, an earlier Reset may be right in another sense.
    const limiter = name === resetHeader ? random.pick(fixed) : anyOf(random);
    const [text, kind] = random.pick<readonly [string, ResponseKind]>([
      ['all responses', () => true],
      ['lists', (_response, { operation }) => operation === 'list'],
      ['responses with an animal', (_response, { operation }) => operation === 'get' || operation === 'create'],
      ['errors', ({ status }) => status >= 400],
    ]);
    return fault(
      '8',
      `${limiter.id}: ${text} of a key share a ${name} that is computed every ${ms} ms.`,
      sentAs(limiter, kind, (response, exchange) => {
        const { authorization, now, world: { notes } } = exchange;
        const [at = '', value = ''] = (notes.get(`cache ${authorization}`) ?? '').split('=');
        if (at !== '' && now - Number(at) < ms) setHeader(response, name, value);
        else notes.set(`cache ${authorization}`, `${now}=${integerOf(response, name)}`);
      }),
    );
  },
};

const rounding: Family = {
  name: 'Remaining × rounding × shows more than remain',
  draw: (random) => {
    const limiter = anyOf(random);
    const step = random.pick([2, 3, 5, 8, 10, 20]);
    const below = random.integer(6, 30);
    const least = random.integer(1, 4);
    const percent = random.pick([5, 10, 20]);
    const [text, change] = random.pick<readonly [string, (value: number, limit: number) => number]>([
      [`is rounded up to a multiple of ${step}`, (value) => Math.ceil(value / step) * step],
      [
        `below ${below} is rounded up to a multiple of ${step}`,
        (value) => (value < below ? Math.ceil(value / step) * step : value),
      ],
      [`is at least ${least + 1} unless it is 0`, (value) => (value === 0 ? 0 : Math.max(least + 1, value))],
      [
        `is ${percent} % of the limit too high until it is 0`,
        (value, limit) => (value === 0 ? 0 : Math.min(limit - 1, value + Math.ceil((limit * percent) / 100))),
      ],
      [`includes ${least} requests that are reserved for retries`, (value) => value + least],
    ]);
    return fault(
      '8',
      `${limiter.id}: Remaining ${text}.`,
      sentAs(
        limiter,
        () => true,
        (response) => {
          const limit = integerOf(response, 'X-RateLimit-Limit');
          setHeader(response, remainingHeader, String(change(integerOf(response, remainingHeader), limit)));
        },
      ),
    );
  },
};

const earlyRetry: Family = {
  name: 'Retry-After × refusals × ends before a request is admitted',
  draw: (random) => {
    const limiter = anyOf(random, [fixed, logs, counters]);
    const percent = random.integer(30, 90);
    const most = random.integer(2, 12);
    const jitter = random.integer(4, 15);
    const least = random.integer(15, 35);
    const [text, change] = random.pick<readonly [string, (seconds: number, exchange: Exchange) => number]>([
      [`${percent} % of the time`, (seconds) => Math.max(1, Math.floor((seconds * percent) / 100))],
      [`at most ${most} s`, (seconds) => Math.min(most, seconds)],
      [
        `a doubling delay from ${1 + (most % 3)} s on, whatever the window is`,
        (seconds, exchange) => {
          const delay = Number(exchangedNote(exchange, 'delay', '') || 1 + (most % 3));
          exchangedNote(exchange, 'delay', String(delay * 2));
          return Math.min(delay, seconds);
        },
      ],
      [`shortened by up to ${jitter} s at random`, (seconds, { now }) => Math.max(1, seconds - (now % (jitter + 1)))],
      [`the time modulo ${least}`, (seconds) => Math.max(1, seconds % least)],
    ]);
    const operation = random.pick(requestKinds);
    const only = random.next() < 0.4;
    return fault(
      '7 8',
      `${limiter.id}: Retry-After${only ? ` of a refused ${nameOf(operation)}` : ''} is ${text}.`,
      sentAs(
        limiter,
        ({ status }, exchange) => status === 429 && (!only || exchange.operation === operation),
        (response, exchange) =>
          setHeader(response, 'Retry-After', String(change(integerOf(response, 'Retry-After'), exchange))),
      ),
    );
  },
};

const failsOpen: Family = {
  name: 'limiter × failures × a request beyond the limit is sometimes admitted',
  draw: (random) => {
    // A bucket may have refilled a token.
    const limiter = anyOf(random, [fixed, logs, counters]);
    const nth = random.integer(2, 8);
    const ms = random.pick([50, 200, 1_000, 3_000]);
    const operation = random.pick(requestKinds);
    const [text, opens] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      [`every ${nth}th request that it should refuse`, (exchange) => isNth(exchange, 'open', nth)],
      [`the first ${nameOf(operation)} in each minute that it should refuse`, (exchange) => {
        const minute = String(Math.floor(exchange.now / minuteMs));
        return exchange.operation === operation && exchangedNote(exchange, 'open', minute) !== minute;
      }],
      [
        'the first request on each connection that it should refuse',
        (exchange) => exchangedNote(exchange, `on ${exchange.connection}`, 'used') === '',
      ],
      [
        `requests less than ${ms} ms after another refusal of the key`,
        (exchange) => exchange.now - Number(exchangedNote(exchange, 'open', String(exchange.now)) || -ms) < ms,
      ],
      [
        `every ${nth}th ${nameOf(operation)} that it should refuse`,
        (exchange) => exchange.operation === operation && isNth(exchange, 'open', nth),
      ],
    ]);
    const hooks = limiterHooks(limiter);
    return fault('7 8', `${limiter.id}: it admits ${text}.`, {
      ...hooks,
      admitted: (rates, exchange) => hooks.admitted!(rates, exchange) || opens(exchange),
    });
  },
};

const failsClosed: Family = {
  name: 'limiter × failures × a request within the limit is sometimes refused',
  draw: (random) => {
    const limiter = anyOf(random);
    const nth = random.integer(3, 15);
    const below = random.integer(4, 30);
    const ms = random.pick([1, 2, 5]);
    const operation = random.pick(requestKinds);
    const [text, closes] = random.pick<readonly [string, (exchange: Exchange, rates: Rates) => boolean]>([
      [
        `every ${nth}th request if fewer than ${below} remain`,
        (exchange, { remaining }) => remaining < below && isNth(exchange, 'closed', nth),
      ],
      [
        `every ${nth}th ${nameOf(operation)} if fewer than ${below + 20} remain`,
        (exchange, { remaining }) =>
          exchange.operation === operation && remaining < below + 20 && isNth(exchange, 'closed', nth),
      ],
      [
        `a request within ${ms} ms of one on another connection if fewer than ${below + 25} remain`,
        (exchange, { remaining }) => {
          const { connection, now } = exchange;
          const [on = '', at = ''] = exchangedNote(exchange, 'closed', `${connection} ${now}`).split(' ');
          const other = on !== '' && Number(on) !== connection;
          return remaining < below + 25 && other && now - Number(at) <= ms;
        },
      ],
      [
        'every second request of a key that has its whole limit',
        (exchange, { remaining, limit }) => remaining === limit && isNth(exchange, 'closed', 2),
      ],
    ]);
    const hooks = limiterHooks(limiter);
    return fault('7 8', `${limiter.id}: it refuses ${text}, and Remaining shows that some remain.`, {
      ...hooks,
      admitted: (rates, exchange) =>
        hooks.admitted!(rates, exchange) && !(counting.has(exchange.operation) && closes(exchange, rates)),
    });
  },
};

const otherRate: Family = {
  name: 'limiter × rate × more than the limit in each minute',
  draw: (random) => {
    const limiter = random.pick([...buckets, ...fixed, ...logs]);
    const percent = random.pick([115, 130, 150, 200, 300, 500]);
    const size = (own: { limit: number; periodMs: number }) =>
      own.periodMs === minuteMs ? { ...own, periodMs: Math.round((own.periodMs * 100) / percent) } : own;
    return fault(
      '7 8',
      `${limiter.id}: it works as if a minute had ${(6_000 / percent).toFixed(1)} s.`,
      changed(limiter, (kind) => ({
        look: (state, own, now) => kind.look(state, size(own), now),
        take: (state, own, now) => kind.take(state, size(own), now),
      })),
    );
  },
};

const separateWindow: Family = {
  name: 'limiter × requests × some have a window of their own',
  draw: (random) => {
    const limiter = anyOf(random);
    const [text, separate] = random.pick<readonly [string, (exchange: Exchange) => boolean]>([
      ...requestKinds.map(
        (kind) => [`Requests of ${nameOf(kind)}`, (exchange: Exchange) => exchange.operation === kind] as const,
      ),
      ['Lists with a limit', ({ query }: Exchange) => query.has('limit')],
      ['Requests for paths that nobody has requested yet', ({ fullPath, search, world: { notes } }: Exchange) => {
        const isNew = !notes.has(`path ${fullPath}?${search}`);
        notes.set(`path ${fullPath}?${search}`, '');
        return isNew;
      }],
      ['Requests with a body', ({ body }: Exchange) => body !== ''],
      ['Requests with an unusual method', ({ method }: Exchange) => method !== 'GET' && method !== 'POST'],
    ] as const);
    // Which of these requests count is open.
    if (text.endsWith('an unusual method')) return undefined;
    return fault('7 8', `${limiter.id}: ${text} have a window of their own.`, {
      ...limiterHooks(limiter),
      budget: (exchange) => (separate(exchange) ? 'own' : ''),
    });
  },
};

const skewedClock: Family = {
  name: 'Reset × clock × that of some processes is wrong',
  draw: (random) => {
    // Elsewhere, an earlier Reset may be right in another sense.
    const limiter = random.pick(fixed);
    const seconds = random.pick([-45, -30, -20, -12, -8, 12, 20, 40, 90]);
    const nth = random.integer(2, 5);
    const drift = random.pick([2, 5, 10, 20]);
    const [text, kind, shift] = random.pick<readonly [string, ResponseKind, (exchange: Exchange) => number]>([
      [`in every ${nth}th response is ${seconds} s off`, everyNth(() => true, nth, 'skewed'), () => seconds],
      [
        `on every ${nth}th connection is ${seconds} s off`,
        (_response, { connection }) => numberOf(connection) % nth === 0,
        () => seconds,
      ],
      [`in refusals is ${seconds} s off`, ({ status }) => status === 429, () => seconds],
      [
        `is early by ${drift} s for each minute that the server has been running, up to 45 s`,
        () => true,
        ({ now, world: { notes } }) => {
          if (!notes.has('start')) notes.set('start', String(now));
          return -Math.min(45, Math.floor(((now - Number(notes.get('start'))) / minuteMs) * drift));
        },
      ],
    ]);
    return fault(
      '8',
      `${limiter.id}: Reset ${text}.`,
      sentAs(limiter, kind, (response, exchange) =>
        setHeader(response, resetHeader, String(integerOf(response, resetHeader) + shift(exchange))),
      ),
    );
  },
};

/** Faults of limiters and headers that were added later. */
export const laterLimitFamilies: readonly Family[] = [
  ownMemory,
  lag,
  costs,
  penalties,
  skippedResets,
  lostRefill,
  otherLimiter,
  lostUpdates,
  sharedKeys,
  otherKeysHeaders,
  usedUpDay,
  overflow,
  units,
  staleHeaders,
  rounding,
  earlyRetry,
  failsOpen,
  failsClosed,
  otherRate,
  separateWindow,
  skewedClock,
];
