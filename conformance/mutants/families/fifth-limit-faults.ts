/**
 * Faults of limiters and of authentication that follow the state which gateways, libraries and processes keep: by
 * connection, by window, by process, in caches. Their author knew the specification and the other faults, but not the
 * checks.
 */
import type { ServerResponse } from 'node:http';
import {
  attempt,
  base,
  type Exchange,
  type Hooks,
  type MutantResponse,
  type Rates,
  type Usage,
} from '../server/hooks.ts';
import { readJson, writeJson, type Json } from '../server/json.ts';
import { integerOf, responses, setHeader, tokenOf, type Change, type Kind as ResponseKind } from '../table/changes.ts';
import { becomeError, fault, nameOf, type Family } from './family.ts';
import { fixedByClock, minuteMs, shifted, type Kind, type WindowState } from './limiters.ts';
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
  stateOf,
} from './third-limit-faults.ts';

type Chosen = (exchange: Exchange) => boolean;

/** The kinds that count requests without a pace. */
const countingKinds = kinds.slice(0, 5);
/** Windows and logs, whose state does not mind a time that is earlier than that of the request before. */
const plainKinds = kinds.slice(0, 4);
const remainingHeader = 'X-RateLimit-Remaining';
const ofKeys = '5 7 4.1 4.2 4.3';

const urlOf = ({ path, search }: Exchange): string => `${path}?${search}`;

/** Changes the rates in place, because they are an identity for the limiter. */
function less(rates: Rates, requests: number): Rates {
  const remaining = Math.max(0, rates.remaining - requests);
  return Object.assign(rates, { remaining, admitted: rates.admitted === true && remaining > 0 });
}

/** The process that serves a request, with words for it. */
function processOf(random: Random, processes: number): readonly [text: string, of: (exchange: Exchange) => number] {
  return random.pick<readonly [string, (exchange: Exchange) => number]>([
    ['its connection', (exchange) => connectionNumber(exchange) % processes],
    ['its path', ({ path, search }) => (path.length + search.length) % processes],
    ['turns', ({ world }) => world.requests % processes],
    ['its method', ({ method }) => Number(method !== 'GET')],
  ]);
}

/** Stores the animal that a body describes, if it is valid. */
function store(exchange: Exchange, at: number): void {
  const body = attempt(() => readJson(exchange.body));
  if (!(body instanceof Map)) return;
  const name = base.name(body.get('name'), exchange);
  const categoryId = base.category(body.get('categoryId'), exchange);
  const status = base.status(body.get('status'), exchange);
  if (name === undefined || categoryId === undefined || status === undefined) return;
  const pet = { id: '', name, categoryId, status, at };
  pet.id = base.newId(pet, exchange);
  exchange.world.pets.set(pet.id, pet);
}

const refusedCreates: Family = {
  name: 'createPet × refusal × the animal is stored nevertheless',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const delay = random.pick([0, 0, 20, 65]);
    const length = random.integer(12, 40);
    const rows = stateOf(() => ({ refusals: 0 }), true);
    const inRow = (response: MutantResponse, exchange: Exchange): number => {
      const row = rows(exchange);
      row.refusals = isRefused(response, exchange) ? row.refusals + 1 : 0;
      return row.refusals;
    };
    const [which, chosen] = random.pick<readonly [string, ResponseKind]>([
      ['a refused create', isRefused],
      ['a create that is the first refusal in a row', (...one) => inRow(...one) === 1],
      ['a create that is refused after another refusal', (...one) => inRow(...one) > 1],
      ['a refused create with a status', (...one) => isRefused(...one) && one[1].body.includes('"status"')],
      [
        `a refused create with a body of more than ${length + 20} characters`,
        (...one) => isRefused(...one) && one[1].body.length > length + 20,
      ],
      [
        'a refused create on half of the connections',
        (...one) => isRefused(...one) && connectionNumber(one[1]) % 2 === 1,
      ],
      ['the create that uses up the limit, which gets a 429 although one request remained,', isLast],
    ]);
    return fault(
      '4.2 7 8',
      `With ${text}: ${which} stores its animal${delay === 0 ? '' : `, which shows ${delay} s later`}.`,
      {
        ...counting(kind),
        visible: (pet, { now }) => pet.at <= now,
        response: (response, exchange) => {
          if (!chosen(response, exchange) || exchange.operation !== 'create') return response;
          if (response.status === 429) {
            store(exchange, exchange.now + delay * 1_000);
          } else {
            const reset = integerOf(response, 'X-RateLimit-Reset') * 1_000;
            becomeError(response, exchange, 429, 'Too many requests.');
            response.headers.push(['Retry-After', base.retryAfter(reset - exchange.now, exchange)!]);
          }
          return response;
        },
      },
    );
  },
};

const isLast: ResponseKind = (response) => response.status < 300 && integerOf(response, remainingHeader) === 0;

const replayedCreates: Family = {
  name: 'createPet × idempotency × a refusal is kept for the same create',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const seconds = random.pick([90, 120, 300, 600]);
    const isOfLimit = random.pick([true, true, false]);
    const isDone = isOfLimit && random.next() < 0.4;
    const nameIn = (body: string): string => /"name"\s*:\s*"([^"]*)"/.exec(body)?.[1] ?? '';
    const [what, identityOf] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['body', ({ body }) => body],
      ['name', ({ body }) => nameIn(body)],
      ['number of characters in the body', ({ body }) => String(body.length)],
      ['Idempotency-Key', ({ headers }) => String(headers['idempotency-key'] ?? '')],
      ['first 16 characters of the body', ({ body }) => body.slice(0, 16)],
      ['X-Request-Id', ({ headers }) => String(headers['x-request-id'] ?? '')],
    ]);
    const kept = stateOf(() => new Map<string, number>());
    const nameOfEntry = (exchange: Exchange): string =>
      `${isOfLimit ? exchange.authorization : ''} ${identityOf(exchange)}`;
    const isKept = (exchange: Exchange): boolean =>
      identityOf(exchange) !== '' && exchange.now < (kept(exchange).get(nameOfEntry(exchange)) ?? 0);
    const status = isOfLimit ? 429 : 401;
    return fault(
      isOfLimit ? '4.2 7 8' : '4.2 5 7',
      isDone
        ? `With ${text}: for ${seconds} s after a refused create, one with the same ${what} gets a 201, but no ` +
            `animal is stored.`
        : `With ${text}: for ${seconds} s after a create that was ${status}, one with the same ${what} is ${status} ` +
            `again${isOfLimit ? ', also after the reset' : ', although its key is valid'}.`,
      {
        ...counting(kind),
        keep: (pet, exchange) => (isKept(exchange) ? undefined : pet),
        response: (response, exchange) => {
          if (exchange.operation !== 'create') return response;
          if (response.status === status) {
            if (!isKept(exchange)) kept(exchange).set(nameOfEntry(exchange), exchange.now + seconds * 1_000);
          } else if (response.status === 201 && !isDone && isKept(exchange)) {
            becomeError(response, exchange, status);
            if (status === 429) response.headers.push(['Retry-After', '1']);
          }
          return response;
        },
      },
    );
  },
};

const staleInstead: Family = {
  name: 'refusal × cache in front × an earlier 200 instead',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const least = random.integer(1, 3);
    const seconds = random.pick([15, 40, 90, 300]);
    const [which, fits] = random.pick<readonly [string, Chosen]>([
      ['getPet', ({ operation }) => operation === 'get'],
      ['list with a filter', ({ operation, query }) => operation === 'list' && query.has('status')],
      ['list with a limit', ({ operation, query }) => operation === 'list' && query.has('limit')],
      ['GET with a query', ({ method, search }) => method === 'GET' && search !== ''],
      ['GET /store/orders', ({ operation }) => operation === 'orders'],
    ]);
    const entries = stateOf(() => new Map<string, { count: number; at: number; body: Json }>(), true);
    return fault(
      '7 8',
      `With ${text}: instead of a refusal, a ${which} gets the 200 that a cache has for the same URL, if it had ` +
        `${least} or more within the last ${seconds} s.`,
      {
        ...counting(kind),
        response: (response, exchange) => {
          if (!fits(exchange)) return response;
          const entry = entries(exchange).get(urlOf(exchange));
          if (response.status === 200 && response.body !== undefined) {
            const count = (entry?.count ?? 0) + 1;
            entries(exchange).set(urlOf(exchange), { count, at: exchange.now, body: response.body });
          } else if (isRefused(response, exchange) && entry !== undefined && entry.count >= least) {
            if (exchange.now - entry.at > seconds * 1_000) return response;
            Object.assign(response, { status: 200, body: entry.body });
            setHeader(response, 'Retry-After', undefined);
          }
          return response;
        },
      },
    );
  },
};

const sharedRefusals: Family = {
  name: 'refusal × cache that several keys share × sent to another key',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const seconds = random.pick([5, 15, 30, 60]);
    const isSame = random.pick([true, false]);
    const [what, valueOf] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['URL', urlOf],
      ['method and path', ({ method, path }) => `${method} ${path}`],
      ['operation', ({ operation }) => operation],
      ['connection', ({ connection }) => String(connection)],
      ['User-Agent', ({ headers }) => String(headers['user-agent'])],
      ['body', ({ body }) => body],
    ]);
    interface Entry {
      readonly by: string;
      readonly until: number;
      readonly headers: MutantResponse['headers'];
    }
    const entries = stateOf(() => new Map<string, Entry>());
    const entryFor = (exchange: Exchange): Entry | undefined => {
      const entry = entries(exchange).get(valueOf(exchange));
      return entry !== undefined && entry.by !== exchange.authorization && exchange.now < entry.until
        ? entry
        : undefined;
    };
    return fault(
      '7 8',
      `With ${text}: a refusal is sent for ${seconds} s to requests of other keys with the same ${what}, with ` +
        `${isSame ? 'the same headers' : 'headers of their own'}.`,
      {
        ...hooks,
        admitted: (rates, exchange) => hooks.admitted(rates, exchange) && entryFor(exchange) === undefined,
        response: (response, exchange) => {
          if (!isRefused(response, exchange)) return response;
          const entry = entryFor(exchange);
          if (entry === undefined) {
            const until = exchange.now + seconds * 1_000;
            const by = exchange.authorization;
            entries(exchange).set(valueOf(exchange), { by, until, headers: [...response.headers] });
          } else if (isSame) {
            response.headers = [...entry.headers];
          }
          return response;
        },
      },
    );
  },
};

const keptVerdict: Family = {
  name: 'connection × verdict of the limiter × kept for later requests on it',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const count = random.integer(4, 25);
    const seconds = random.pick([10, 30, 75, 100]);
    const [howLong, requests, ms] = random.pick<readonly [string, number, number]>([
      [`${count} requests`, count, Infinity],
      [`${seconds} s`, Infinity, seconds * 1_000],
      ['all requests', Infinity, Infinity],
    ]);
    const of = random.pick(['admission', 'refusal', 'verdict'] as const);
    // A refusal that is kept for few requests is over before the reset.
    if (of === 'refusal' && ms < minuteMs) return undefined;
    const verdicts = stateOf(() => new Map<number, { admitted: boolean; left: number; until: number }>(), true);
    return fault(
      '7 8',
      `With ${text}: each ${of} of a request is kept for ${howLong} after it on the same connection.`,
      {
        ...hooks,
        admitted: (rates, exchange) => {
          const known = verdicts(exchange).get(exchange.connection);
          if (known !== undefined && known.left > 0 && exchange.now < known.until) {
            known.left -= 1;
            return known.admitted;
          }
          const admitted = hooks.admitted(rates, exchange);
          if (of === 'verdict' || admitted === (of === 'admission')) {
            verdicts(exchange).set(exchange.connection, { admitted, left: requests, until: exchange.now + ms });
          }
          return admitted;
        },
      },
    );
  },
};

const frozenTime: Family = {
  name: 'connection × time × that of an earlier request on it',
  draw: (random) => {
    const [text, kind] = random.pick(plainKinds);
    const hooks = counting(kind);
    const count = random.integer(15, 50);
    const seconds = random.pick([25, 40, 70, 100]);
    const isOnRefusals = random.pick([true, false]);
    const [how, requests, ms] = random.pick<readonly [string, number, number]>([
      [`for ${count} requests`, count, Infinity],
      [`for ${seconds} s`, Infinity, seconds * 1_000],
      ['as long as it is open', Infinity, Infinity],
    ]);
    // The time of a refusal must last until after the reset to have an effect.
    if (isOnRefusals && ms < 70_000) return undefined;
    const times = stateOf(() => new Map<number, { at: number; left: number }>());
    const refused = stateOf(() => new Set<number>());
    const begin = (exchange: Exchange): void => {
      const known = times(exchange).get(exchange.connection);
      if (known !== undefined && known.left > 0 && exchange.now < known.at + ms) known.left -= 1;
      else if (!isOnRefusals || refused(exchange).has(exchange.connection)) {
        times(exchange).set(exchange.connection, { at: exchange.now, left: requests });
      } else times(exchange).delete(exchange.connection);
    };
    const seen = (exchange: Exchange): Exchange => ({
      ...exchange,
      now: times(exchange).get(exchange.connection)?.at ?? exchange.now,
    });
    return fault(
      '7 8',
      `With ${text}: the limiter takes the time of ${isOnRefusals ? 'a refusal' : 'the first request'} on a ` +
        `connection as that of later ones on it, ${how}.`,
      {
        ...hooks,
        budget: (exchange) => {
          begin(exchange);
          return '';
        },
        left: (usage, limits, exchange) => hooks.left(usage, limits, seen(exchange)),
        admitted: (rates, exchange) => hooks.admitted(rates, seen(exchange)),
        count: (usage, exchange) => hooks.count(usage, seen(exchange)),
        response: (response, exchange) => {
          if (isRefused(response, exchange)) refused(exchange).add(exchange.connection);
          else refused(exchange).delete(exchange.connection);
          return response;
        },
      },
    );
  },
};

const firstKey: Family = {
  name: 'several keys × first one × its plan or counter is that of the others',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const hooks = counting(kind);
    const [where, scopeOf] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['on a connection', ({ connection }) => String(connection)],
      ['of an operation', ({ operation }) => operation],
      ['of a method', ({ method }) => method],
      ['with a User-Agent', ({ headers }) => String(headers['user-agent'])],
      ['of the server', () => ''],
    ]);
    const isPlan = random.pick([true, false]);
    const isCounter = !isPlan || random.next() < 0.3;
    const seconds = random.pick([Infinity, Infinity, 20, 90]);
    interface First {
      readonly usage: Usage;
      readonly limits: Parameters<Hooks['left']>[1];
      readonly at: number;
    }
    const firsts = stateOf(() => new Map<string, First>());
    const firstOf = (usage: Usage, exchange: Exchange, limits?: First['limits']): First | undefined => {
      const known = firsts(exchange).get(scopeOf(exchange));
      if (known !== undefined && exchange.now < known.at + seconds * 1_000) return known;
      if (limits !== undefined) firsts(exchange).set(scopeOf(exchange), { usage, limits, at: exchange.now });
      return undefined;
    };
    const what = isPlan && isCounter ? 'plan and the counter' : isPlan ? 'plan' : 'counter';
    return fault(
      '8',
      `With ${text}: the ${what} of the first key ${where} ${what === 'plan' || what === 'counter' ? 'is' : 'are'} ` +
        `also that of others${seconds === Infinity ? '' : `, for ${seconds} s`}.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const first = firstOf(usage, exchange, limits);
          return hooks.left(
            (isCounter ? first?.usage : undefined) ?? usage,
            (isPlan ? first?.limits : undefined) ?? limits,
            exchange,
          );
        },
        count: (usage, exchange) =>
          hooks.count((isCounter ? firstOf(usage, exchange)?.usage : undefined) ?? usage, exchange),
      },
    );
  },
};

const flushedLate: Family = {
  name: 'connection × local counter × added to that of the key late',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const hooks = counting(kind);
    const batch = random.integer(4, 20);
    const seconds = random.pick([2, 5, 10]);
    const isTimed = random.pick([true, false]);
    const isAll = random.pick([true, false]);
    const pending = stateOf(() => new Map<string, { count: number; at: number }>(), true);
    const own = (exchange: Exchange): { count: number; at: number } => {
      const name = isAll ? String(exchange.connection) : `${exchange.connection} ${exchange.operation}`;
      const known = pending(exchange).get(name) ?? { count: 0, at: exchange.now };
      pending(exchange).set(name, known);
      return known;
    };
    const flush = (usage: Usage, exchange: Exchange): void => {
      const local = own(exchange);
      for (; local.count > 0; local.count -= 1) hooks.count(usage, exchange);
      local.at = exchange.now;
    };
    return fault(
      '7 8',
      `With ${text}: a connection adds its requests${isAll ? '' : ' of each operation'} to the counter of the key ` +
        `only ${isTimed ? `after ${seconds} s` : `when there are ${batch}`}, so many connections have more than the ` +
        `limit.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const local = own(exchange);
          if (isTimed && exchange.now - local.at >= seconds * 1_000) flush(usage, exchange);
          const rates = hooks.left(usage, limits, exchange);
          if (local.count === 0 || rates.remaining > local.count) return less(rates, local.count);
          flush(usage, exchange);
          return hooks.left(usage, limits, exchange);
        },
        count: (usage, exchange) => {
          const local = own(exchange);
          if (local.count === 0) local.at = exchange.now;
          local.count += 1;
          if (!isTimed && local.count >= batch) flush(usage, exchange);
        },
      },
    );
  },
};

const watched = new WeakSet<object>();

/** Calls `ended` once when the connection of a response ends. */
function whenEnded(to: ServerResponse, ended: () => void): void {
  const { socket } = to;
  if (socket === null || watched.has(socket)) return;
  watched.add(socket);
  socket.once('close', ended);
}

/** What is known of the connections of a key. */
const connectionsOfKey = () =>
  stateOf(() => ({ first: 0, last: 0, counts: new Map<number, number>(), refused: new Set<number>() }), true);

/** Some of the connections of a key that end, with words for it. */
function someEnds(
  random: Random,
): readonly [text: string, ends: (known: ReturnType<ReturnType<typeof connectionsOfKey>>, ended: number) => boolean] {
  const least = random.integer(3, 15);
  return random.pick<ReturnType<typeof someEnds>>([
    ['the first connection of a key ends', ({ first }, ended) => first === ended],
    ['the connection with the latest request of a key ends', ({ last }, ended) => last === ended],
    [`a connection with at least ${least} requests of a key ends`, ({ counts }, ended) => counts.get(ended)! >= least],
    ['a connection whose last response was a refusal ends', ({ refused }, ended) => refused.has(ended)],
  ]);
}

/** Calls `apply` when some connections of a key end. */
function atEnd(
  [, ends]: ReturnType<typeof someEnds>,
  apply: (exchange: Exchange) => void,
): Pick<Hooks, 'write' | 'response'> {
  const connections = connectionsOfKey();
  return {
    response: (response, exchange) => {
      if (!hasKey(response, exchange)) return response;
      const known = connections(exchange);
      const { connection } = exchange;
      if (known.first === 0) known.first = connection;
      known.last = connection;
      known.counts.set(connection, (known.counts.get(connection) ?? 0) + 1);
      if (isRefused(response, exchange)) known.refused.add(connection);
      else known.refused.delete(connection);
      return response;
    },
    write: (...sent) => {
      const [to, status, , , exchange] = sent;
      if (status !== 401) {
        whenEnded(to, () => {
          const known = connections(exchange);
          if (ends(known, exchange.connection)) apply(exchange);
          if (known.first === exchange.connection) known.first = 0;
        });
      }
      base.write(...sent);
    },
  };
}

const endForgets: Family = {
  name: 'connection × its end × the counter of the key is forgotten',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const ends = someEnds(random);
    const generations = stateOf(() => ({ count: 0 }), true);
    return fault('7 8', `With ${text}: when ${ends[0]}, the counter of the key is forgotten with it.`, {
      ...counting(kind),
      ...atEnd(ends, (exchange) => void (generations(exchange).count += 1)),
      budget: (exchange) => String(generations(exchange).count),
    });
  },
};

const endLogsOut: Family = {
  name: 'connection × its end × the key is invalid for a while',
  draw: (random) => {
    const ends = someEnds(random);
    const count = random.integer(1, 4);
    const seconds = random.pick([2, 5, 10]);
    const isTimed = random.pick([true, false]);
    const states = stateOf(() => new Map<string, { left: number; until: number }>());
    return fault(
      ofKeys,
      `When ${ends[0]}, the key is logged out: ${isTimed ? `for ${seconds} s` : `${count} times`}, it is 401.`,
      {
        ...atEnd(ends, (exchange) => {
          const until = exchange.now + seconds * 1_000;
          states(exchange).set(tokenOf(exchange), { left: count, until });
        }),
        admits: (exchange, secret) => {
          if (!base.admits(exchange, secret)) return false;
          const state = states(exchange).get(secret);
          if (state === undefined) return true;
          if (isTimed) return exchange.now >= state.until;
          state.left -= 1;
          return state.left < 0;
        },
      },
    );
  },
};

const brokenRequests: Family = {
  name: 'broken connection × response not yet sent × the state of the key is damaged',
  draw: (random) => {
    const operation = random.pick(operations);
    const delay = random.integer(20, 60);
    const seconds = random.pick([20, 45, 90]);
    const slots = random.integer(1, 3);
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const states = stateOf(() => ({ broken: [] as number[], generation: 0 }), true);
    const [what, sections, change] = random.pick<readonly [string, string, Change]>([
      ['the counter of the key begins again', '7 8', { budget: (exchange) => String(states(exchange).generation) }],
      [
        `and ${slots} such requests of a key are not over, it gets only 429 for ${seconds} s, although requests remain`,
        '7 8',
        {
          admitted: (rates, exchange) => {
            const state = states(exchange);
            state.broken = state.broken.filter((at) => at > exchange.now - seconds * 1_000);
            return hooks.admitted(rates, exchange) && state.broken.length < slots;
          },
        },
      ],
      [
        'no request of the key counts until another one is a create',
        '7 8',
        {
          counts: (exchange) => {
            const state = states(exchange);
            if (exchange.operation === 'create') state.broken = [];
            return state.broken.length === 0;
          },
        },
      ],
      [
        'the next request of the key gets a 401',
        ofKeys,
        {
          admits: (exchange, secret) => {
            if (!base.admits(exchange, secret)) return false;
            return states(exchange).broken.pop() === undefined;
          },
        },
      ],
    ]);
    return fault(
      sections,
      `With ${text}: if a client breaks the connection before the response of ${nameOf(operation)}, which takes ` +
        `${delay} ms, ${what}.`,
      {
        ...hooks,
        ...change,
        write: (...sent) => {
          const [to, status, , , exchange] = sent;
          if (exchange.operation !== operation || status === 401) return base.write(...sent);
          to.once('close', () => {
            if (to.writableFinished) return;
            const state = states(exchange);
            state.broken.push(exchange.now);
            state.generation += 1;
          });
          setTimeout(() => base.write(...sent), delay);
        },
      },
    );
  },
};

const oneTimer: Family = {
  name: 'several keys × one timer for their windows × another key begins it again',
  draw: (random) => {
    const operation = random.pick(operations);
    const [event, isEvent] = random.pick<readonly [string, (exchange: Exchange, isNew: boolean) => boolean]>([
      ['begins a window', (_exchange, isNew) => isNew],
      ['sends a request', () => true],
      [`sends a request of ${nameOf(operation)}`, (exchange) => exchange.operation === operation],
      ['sends a request with a query', ({ search }) => search !== ''],
    ]);
    const most = random.integer(1, 3);
    interface Timer {
      at: number;
      by: string;
      again: number;
      readonly used: Map<string, { count: number; at: number }>;
    }
    const timers = stateOf((): Timer => ({ at: -Infinity, by: '', again: 0, used: new Map() }));
    const current = (exchange: Exchange): Timer => {
      const timer = timers(exchange);
      if (exchange.now >= timer.at + minuteMs) Object.assign(timer, { by: '', again: 0 }).used.clear();
      return timer;
    };
    return fault(
      '7 8',
      `One timer of 60 s ends the windows of all keys; it begins again when another key ${event}, at most ` +
        `${most === 1 ? 'once' : `${most} times`}, and Reset is 60 s after the first request of a key.`,
      {
        left: (_usage, limits, exchange) => {
          const own = current(exchange).used.get(exchange.authorization) ?? { count: 0, at: exchange.now };
          const remaining = limits.minute - own.count;
          const resetMs = Math.max(exchange.now, own.at + minuteMs);
          return { limit: limits.minute, remaining, resetMs, retryAfterMs: resetMs - exchange.now };
        },
        count: (_usage, exchange) => {
          const timer = current(exchange);
          const own = timer.used.get(exchange.authorization);
          if (timer.by === '') Object.assign(timer, { at: exchange.now, by: exchange.authorization });
          else if (timer.by !== exchange.authorization && timer.again < most && isEvent(exchange, own === undefined)) {
            Object.assign(timer, { at: exchange.now, by: exchange.authorization, again: timer.again + 1 });
          }
          timer.used.set(exchange.authorization, { count: (own?.count ?? 0) + 1, at: own?.at ?? exchange.now });
        },
      },
    );
  },
};

const onePlace: Family = {
  name: 'memory of counters × one place × another valid key takes it',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const operation = random.pick(operations);
    const nth = random.integer(2, 6);
    const [when, takes] = random.pick<readonly [string, (exchange: Exchange, seen: number) => boolean]>([
      ['with any request', () => true],
      [`with a request of ${nameOf(operation)}`, (exchange) => exchange.operation === operation],
      [`with its ${nth}th request in a row`, (_exchange, seen) => seen === nth],
      ['with a request that has a query', ({ search }) => search !== ''],
      ['with a request on another connection than before', () => true],
    ]);
    const needsOther = when.includes('connection');
    const places = stateOf(() => ({ by: '', connection: 0, row: '', seen: 0, generations: new Map<string, number>() }));
    return fault(
      '8',
      `There is one place for a counter (${text}): another valid key takes it ${when}, and the counter of the key ` +
        `before is forgotten.`,
      {
        ...counting(kind),
        budget: (exchange) => {
          const place = places(exchange);
          const { authorization, connection } = exchange;
          place.seen = place.row === authorization ? place.seen + 1 : 1;
          place.row = authorization;
          const isOther = place.by !== authorization && (!needsOther || place.connection !== connection);
          if (isOther && (place.by === '' || takes(exchange, place.seen))) {
            if (place.by !== '') place.generations.set(place.by, (place.generations.get(place.by) ?? 0) + 1);
            place.by = authorization;
          }
          place.connection = connection;
          return String(place.generations.get(authorization) ?? 0);
        },
      },
    );
  },
};

const together: Family = {
  name: 'several keys × a limit of the server × requests remain',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const hooks = counting(kind);
    const more = random.integer(2, 30);
    const seconds = random.integer(5, 40);
    const isShared = random.pick([true, false]);
    const isShown = random.pick([true, false]);
    const servers = stateOf(() => ({ minute: 0, used: 0, most: 0, active: new Map<string, number>() }));
    if (!isShared) {
      return fault(
        '7 8',
        `With ${text}: all keys together have ${more} requests in a minute of the clock more than the largest limit ` +
          `of them, and no header shows it.`,
        {
          ...hooks,
          left: (usage, limits, exchange) => {
            const server = servers(exchange);
            server.most = Math.max(server.most, limits.minute);
            return hooks.left(usage, limits, exchange);
          },
          admitted: (rates, exchange) => {
            const server = servers(exchange);
            const minute = Math.floor(exchange.now / minuteMs);
            if (server.minute !== minute) Object.assign(server, { minute, used: 0 });
            return hooks.admitted(rates, exchange) && server.used < server.most + more;
          },
          count: (usage, exchange) => {
            servers(exchange).used += 1;
            hooks.count(usage, exchange);
          },
        },
      );
    }
    return fault(
      '7 8',
      `With ${text}: each of the keys that sent a request in the last ${seconds} s has only its share of the limit ` +
        `of its plan; ${isShown ? 'Remaining shows it' : 'no header shows it'}.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const { active } = servers(exchange);
          active.set(exchange.authorization, exchange.now);
          for (const [key, at] of active) if (exchange.now - at > seconds * 1_000) active.delete(key);
          const minute = Math.ceil(limits.minute / active.size);
          const rates = hooks.left(usage, { ...limits, minute }, exchange);
          if (rates.limit !== minute) return rates;
          const remaining = rates.remaining + (isShown ? 0 : limits.minute - minute);
          return Object.assign(rates, { limit: limits.minute, remaining });
        },
      },
    );
  },
};

const merged: Family = {
  name: 'replicated counters × merge × not the sum',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const hooks = counting(kind);
    const processes = random.integer(2, 4);
    const [by, of] = processOf(random, processes);
    type Merge = (counts: readonly number[], own: number) => number;
    const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);
    const [how, merge] = random.pick<readonly [string, Merge]>([
      ['the largest of their counts', (counts) => Math.max(...counts)],
      ['the mean of their counts', (counts) => Math.round(sum(counts) / counts.length)],
      ['the smallest of their counts', (counts) => Math.min(...counts)],
      ['their own count and twice those of the others', (counts, own) => 2 * sum(counts) - own],
      ['their own count and half of those of the others', (counts, own) => own + Math.floor((sum(counts) - own) / 2)],
    ]);
    const replicas = stateOf(() => new Map<string, Usage>(), true);
    return fault(
      '8',
      `With ${text} in each of ${processes} processes, between which requests are divided by ${by}, they take ${how} ` +
        `as that of a key.`,
      {
        ...hooks,
        budget: (exchange) => String(of(exchange)),
        left: (usage, limits, exchange) => {
          replicas(exchange).set(String(of(exchange)), usage);
          const rates = hooks.left(usage, limits, exchange);
          const counts = [...replicas(exchange).values()].map(
            (one) => rates.limit - hooks.left(one, limits, exchange).remaining,
          );
          const own = rates.limit - rates.remaining;
          const remaining = Math.max(0, rates.limit - merge(counts, own));
          const retryAfterMs = Math.max(rates.retryAfterMs ?? 0, 1_000);
          return Object.assign(rates, { remaining, admitted: remaining > 0, retryAfterMs });
        },
      },
    );
  },
};

const leases: Family = {
  name: 'several processes × leased requests × those that are not used are lost',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const hooks = counting(kind);
    const size = random.integer(4, 12);
    const seconds = random.pick([1, 3, 10, 60]);
    const [by, processId] = random.pick<readonly [string, (exchange: Exchange) => string]>([
      ['connection', ({ connection }) => String(connection)],
      ['URL', urlOf],
      ['operation', ({ operation }) => operation],
      ['User-Agent', ({ headers }) => String(headers['user-agent'])],
    ]);
    const leased = stateOf(() => new Map<string, { left: number; until: number }>(), true);
    const own = (exchange: Exchange): { left: number; until: number } => {
      const known = leased(exchange).get(processId(exchange));
      if (known !== undefined && exchange.now < known.until) return known;
      const none = { left: 0, until: exchange.now + seconds * 1_000 };
      leased(exchange).set(processId(exchange), none);
      return none;
    };
    return fault(
      '8',
      `With ${text}: the process of each ${by} leases ${size} requests of a key for ${seconds} s at a time, and ` +
        `those that it does not use are lost; Remaining includes its lease.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const rates = hooks.left(usage, limits, exchange);
          const { left } = own(exchange);
          const admitted = rates.admitted === true || left > 0;
          return Object.assign(rates, { remaining: rates.remaining + left, admitted });
        },
        count: (usage, exchange) => {
          const lease = own(exchange);
          if (lease.left > 0) {
            lease.left -= 1;
            return;
          }
          for (let i = 0; i < size; i += 1) hooks.count(usage, exchange);
          Object.assign(lease, { left: size - 1, until: exchange.now + seconds * 1_000 });
        },
      },
    );
  },
};

const ring: Family = {
  name: 'ring of windows × slots × not cleared after a pause',
  draw: (random) => {
    const isSegments = random.pick([true, false]);
    const seconds = isSegments ? random.pick([5, 10, 12, 15, 20]) : 60;
    const slots = isSegments ? 60 / seconds : random.integer(2, 3);
    const shows = random.pick([true, false]);
    const shift = random.pick([0, 8, 17, 29, 41]);
    const slotMs = seconds * 1_000;
    /** The slots of a state, which are where a log has its times, at a time. */
    const turned = (state: WindowState, now: number): { slot: number; counts: readonly number[] } => {
      const slot = Math.floor(now / slotMs);
      const last = Math.floor(state.at / slotMs);
      const counts = state.times.length === 0 ? Array<number>(slots).fill(0) : state.times;
      if (slot === last) return { slot, counts };
      // The slot is cleared only by the request that moves on from the slot before.
      const clears = isSegments || slot === last + 1;
      return { slot, counts: clears ? counts.with(slot % slots, 0) : counts };
    };
    const kind: Kind = {
      look: (state, { limit }, now) => {
        const { slot, counts } = turned(state, now);
        const used = isSegments ? counts.reduce((all, one) => all + one, 0) : counts[slot % slots]!;
        const remaining = Math.max(0, limit - used);
        const nextMs = (slot + 1) * slotMs;
        const lastMs = (slot + (isSegments ? slots : 1)) * slotMs;
        return { remaining, resetMs: shows ? nextMs : lastMs, retryAfterMs: remaining > 0 ? 0 : lastMs - now };
      },
      take: (state, _size, now) => {
        const { slot, counts } = turned(state, now);
        return { ...state, at: now, times: counts.with(slot % slots, counts[slot % slots]! + 1) };
      },
    };
    const begin = shift === 0 ? '' : `, which begin ${shift} s after those of the clock`;
    return fault(
      '7 8',
      isSegments
        ? `The requests of a minute are in a ring of ${slots} segments${begin}; those that a pause skips are not ` +
            `cleared, so requests of more than 60 s ago count; Reset is the end of the ${shows ? '' : 'last '}segment.`
        : `Windows are minutes in a ring of ${slots}${begin}, and each clears its slot only if the one before ` +
            `was used; after a pause, it begins with the requests of an earlier minute.`,
      counting(shifted(kind, shift * 1_000)),
    );
  },
};

const turnSeconds: Family = {
  name: 'fixed window × requests around its turn × counted in none or in two',
  draw: (random) => {
    const [text, kind] = random.pick(fixedKinds);
    const seconds = random.integer(5, 20);
    const count = random.integer(2, 8);
    type Skips = (passedMs: number, used: number) => boolean;
    const [what, skips] = random.pick<readonly [string, Skips | undefined]>([
      [`of the last ${seconds} s of a window count in none`, (passed) => passed >= minuteMs - seconds * 1_000],
      [`until ${seconds} s after the begin of a window do not count`, (passed) => passed < seconds * 1_000],
      [`number 1 to ${count} of a window do not count`, (_passed, used) => used < count],
      [`of the last ${seconds} s of a window also count in the next`, undefined],
    ]);
    const begun = (state: WindowState, periodMs: number, now: number): WindowState => {
      const at = kind === fixedByClock ? Math.floor(now / periodMs) * periodMs : now;
      if (state.at !== 0 && (kind === fixedByClock ? state.at === at : now < state.at + periodMs)) return state;
      const follows = state.at !== 0 && now < state.at + 2 * periodMs;
      return { at, used: skips === undefined && follows ? state.before : 0, before: 0, times: [] };
    };
    const own: Kind = {
      look: (state, { limit, periodMs }, now) => {
        const { at, used } = begun(state, periodMs, now);
        const remaining = Math.max(0, limit - used);
        return { remaining, resetMs: at + periodMs, retryAfterMs: remaining > 0 ? 0 : at + periodMs - now };
      },
      take: (state, size, now) => {
        const window = begun(state, size.periodMs, now);
        // The number of requests of the window that did not count is where a log has its times.
        const [skipped = 0] = window.times;
        if (skips?.(now - window.at, skipped) === true) return { ...window, times: [skipped + 1] };
        const isLate = now - window.at >= minuteMs - seconds * 1_000;
        return { ...window, used: window.used + 1, before: window.before + Number(isLate) };
      },
    };
    return fault('7 8', `With ${text}: requests ${what}.`, counting(own));
  },
};

const narrowCounter: Family = {
  name: 'counter × width of its type × full before the limit',
  draw: (random) => {
    const [text, kind] = random.pick(fixedKinds);
    const [type, most] = random.pick([
      ['4 bits', 15],
      ['5 bits', 31],
      ['two digits', 99],
      ['7 bits', 127],
      ['8 bits', 255],
    ] as const);
    const [how, seen] = random.pick<readonly [string, (used: number) => number]>([
      [`stays at ${most}`, (used) => Math.min(used, most)],
      ['begins again with 0', (used) => used % (most + 1)],
      ['goes on with negative numbers', (used) => ((used + most + 1) % (2 * most + 2)) - most - 1],
    ]);
    return fault(
      '8',
      `With ${text}: the number of requests has ${type} and ${how} after ${most}, so keys with a larger limit are ` +
        `never refused.`,
      counting({ ...kind, look: (state, ...rest) => kind.look({ ...state, used: seen(state.used) }, ...rest) }),
    );
  },
};

const roundedArrival: Family = {
  name: 'GCRA × stored time × rounded at each request',
  draw: (random) => {
    const [text, kind] = kinds[7]!;
    const stepMs = random.pick([300, 700, 1_500, 2_500, 5_000]);
    const [how, round] = random.pick<readonly [string, (steps: number) => number]>([
      ['up', Math.ceil],
      ['down', Math.floor],
      ['to the nearest one', Math.round],
    ]);
    const isShown = random.pick([true, false]);
    const exact = counting(kind);
    const shown = new WeakMap<WindowState, WindowState>();
    const own: Kind = {
      look: (state, size, now) => {
        const seen = kind.look(state, size, now);
        const { remaining } = kind.look(isShown ? state : (shown.get(state) ?? state), size, now);
        return { ...seen, admitted: seen.remaining > 0, remaining };
      },
      take: (state, size, now) => {
        const { at } = kind.take(state, size, now);
        const next = { ...state, at: round(at / stepMs) * stepMs };
        shown.set(next, kind.take(shown.get(state) ?? state, size, now));
        return next;
      },
    };
    return fault(
      '8',
      `With ${text}: the time that it stores is rounded ${how} to a multiple of ${stepMs} ms; Remaining is ` +
        `${isShown ? 'computed from it' : 'that without rounding'}.`,
      { ...exact, ...counting(own) },
    );
  },
};

const thirdPeriod: Family = {
  name: 'limiter × third period × a limit that is in no plan',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const minutes = random.pick([2, 3, 4, 5, 10]);
    const factor = random.pick([1.1, 1.2, 1.3, 1.5, 1.8]);
    const isShown = random.pick([true, false]);
    const periodMs = minutes * minuteMs;
    const windows = stateOf(() => ({ window: 0, used: 0 }), true);
    const usedIn = (exchange: Exchange): number => {
      const state = windows(exchange);
      const window = Math.floor(exchange.now / periodMs);
      if (state.window !== window) Object.assign(state, { window, used: 0 });
      return state.used;
    };
    return fault(
      '8',
      `With ${text}: a key has ${factor} times the limit of a minute in ${minutes} minutes, and the headers ` +
        `${isShown ? 'show this when it is used up' : 'do not show it'}.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const rates = hooks.left(usage, limits, exchange);
          const limit = Math.floor(limits.minute * factor);
          if (usedIn(exchange) < limit) return rates;
          const end = (Math.floor(exchange.now / periodMs) + 1) * periodMs;
          Object.assign(rates, { admitted: false, retryAfterMs: end - exchange.now });
          return isShown ? Object.assign(rates, { limit, remaining: 0, resetMs: end }) : rates;
        },
        count: (usage, exchange) => {
          usedIn(exchange);
          windows(exchange).used += 1;
          hooks.count(usage, exchange);
        },
      },
    );
  },
};

const rowsOf = ({ body }: MutantResponse): number => (Array.isArray(body) ? body.length : 0);
const bytesOf = ({ body }: MutantResponse): number => (body === undefined ? 0 : writeJson(body).length);

const secondMeasure: Family = {
  name: 'limiter × what it limits × something besides requests',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const many = random.integer(40, 90) * 10;
    const few = random.integer(6, 25);
    type Measure = (response: MutantResponse, exchange: Exchange, isNew: (value: string) => boolean) => number;
    const [what, most, measure] = random.pick<readonly [string, number, Measure]>([
      ['rows of lists', many, (response) => rowsOf(response)],
      ['bytes of request bodies', 3 * many, (_response, { body }) => body.length],
      ['bytes of response bodies', 60 * many, (response) => bytesOf(response)],
      ['different URLs', few + 8, (_response, exchange, isNew) => Number(isNew(urlOf(exchange)))],
      [
        'different animals',
        few,
        (_response, { operation, path }, isNew) => Number(operation === 'get' && isNew(path)),
      ],
      [
        'connections',
        Math.ceil(few / 2) + 2,
        (_response, { connection }, isNew) => Number(isNew(String(connection))),
      ],
      ['lists with a filter', few, (_response, { query }) => Number(query.has('status'))],
    ]);
    const isWaiting = random.pick([true, false]);
    const states = stateOf(() => ({ minute: 0, amount: 0, values: new Set<string>() }), true);
    const current = (exchange: Exchange) => {
      const state = states(exchange);
      const minute = Math.floor(exchange.now / minuteMs);
      if (state.minute !== minute) Object.assign(state, { minute, amount: 0 }).values.clear();
      return state;
    };
    return fault(
      '7 8',
      `With ${text}: after ${most} ${what} in a minute, a key gets only 429 until the minute ends, although requests ` +
        `remain; Retry-After is ${isWaiting ? 'the rest of the minute' : '1'}.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const rates = hooks.left(usage, limits, exchange);
          if (rates.admitted !== true || current(exchange).amount < most) return rates;
          const retryAfterMs = isWaiting ? minuteMs - (exchange.now % minuteMs) : 1_000;
          return Object.assign(rates, { admitted: false, retryAfterMs });
        },
        response: (response, exchange) => {
          if (!hasKey(response, exchange) || isRefused(response, exchange)) return response;
          const state = current(exchange);
          state.amount += measure(response, exchange, (value) => {
            const isNew = !state.values.has(value);
            state.values.add(value);
            return isNew;
          });
          return response;
        },
      },
    );
  },
};

const costBySize: Family = {
  name: 'limiter × size of request or response × counts by size',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const unit = random.integer(15, 30);
    const costs = new WeakMap<Exchange, number>();
    const [what, sizeOf] = random.pick<readonly [string, (response: MutantResponse, exchange: Exchange) => number]>([
      [`${unit} rows of a list`, (response) => rowsOf(response) / unit],
      [`${4 * unit} bytes of a request body`, (_response, { body }) => body.length / (4 * unit)],
      [`${unit - 7} characters of a query`, (_response, { search }) => search.length / (unit - 7)],
      [`${100 * unit} bytes of a response body`, (response) => bytesOf(response) / (100 * unit)],
    ]);
    return fault('8', `With ${text}: a request counts once more for each ${what}.`, {
      ...hooks,
      counts: (exchange, response) => {
        costs.set(exchange, 1 + Math.floor(sizeOf(response, exchange)));
        return true;
      },
      count: (usage, exchange) => {
        for (let i = 0; i < (costs.get(exchange) ?? 1); i += 1) hooks.count(usage, exchange);
      },
    });
  },
};

const laterTimes: Family = {
  name: 'limiter × number of the time that the limit is used up × not as the first time',
  draw: (random) => {
    const [text, kind] = random.pick(plainKinds);
    const hooks = counting(kind);
    const nth = random.integer(2, 3);
    const percent = random.pick([30, 50, 70]);
    const states = stateOf(() => ({ times: 0, at: -Infinity, reset: '' }), true);
    const applies = (exchange: Exchange): boolean => states(exchange).times >= nth;
    const noted: Hooks['admitted'] = (rates, exchange) => {
      const state = states(exchange);
      const admitted = hooks.admitted(rates, exchange);
      if (!admitted && exchange.now - state.at > 40_000) {
        Object.assign(state, { times: state.times + 1, at: exchange.now });
      }
      return admitted;
    };
    const refusals = (change: (response: MutantResponse, exchange: Exchange) => void): Change =>
      responses((...one) => isRefused(...one) && applies(one[1]), change);
    const [what, sections, change] = random.pick<readonly [string, string, Change]>([
      [
        'requests beyond it are admitted',
        '7 8',
        { admitted: (rates, exchange) => noted(rates, exchange) || applies(exchange) },
      ],
      ['refusals have no Retry-After', '7 8', refusals((response) => setHeader(response, 'Retry-After', undefined))],
      [
        'Remaining of refusals is the limit',
        '8',
        refusals((response) => setHeader(response, remainingHeader, String(integerOf(response, 'X-RateLimit-Limit')))),
      ],
      ['refusals are 403', '7 8', refusals((response, exchange) => becomeError(response, exchange, 403))],
      [
        'Retry-After of refusals is 1',
        '7 8',
        refusals((response) => setHeader(response, 'Retry-After', '1')),
      ],
      [
        `a key has only ${percent} % of its limit from then on`,
        '8',
        {
          left: (usage, limits, exchange) => {
            const minute = Math.floor((limits.minute * percent) / 100);
            const rates = hooks.left(usage, applies(exchange) ? { ...limits, minute } : limits, exchange);
            return rates.limit === minute ? Object.assign(rates, { limit: limits.minute }) : rates;
          },
        },
      ],
    ]);
    return fault(
      sections,
      `With ${text}: when a key uses up its limit for the ${nth === 2 ? '2nd' : '3rd'} time, or once more, ${what}.`,
      { ...hooks, admitted: noted, ...change },
    );
  },
};

const breaker: Family = {
  name: 'circuit breaker × first request after a refusal × renews the refusals',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const seconds = random.pick([5, 10, 20, 40]);
    const isShown = random.pick([true, false]);
    const [what, fails] = random.pick<readonly [string, ResponseKind]>([
      ['an error', ({ status }) => status >= 400],
      ['a 404', ({ status }) => status === 404],
      ['a 400', ({ status }) => status === 400],
      ['no list', (_response, { operation }) => operation !== 'list'],
      ['on another connection than the refusal', () => true],
    ]);
    const states = stateOf(() => ({ isHalfOpen: false, until: 0, connection: 0 }), true);
    return fault(
      '7 8',
      `With ${text}: if the first request that is admitted after a refusal is ${what}, the key is refused for ` +
        `${seconds} s more although requests remain; Retry-After is ${isShown ? 'this time' : '1'}.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const rates = hooks.left(usage, limits, exchange);
          const waitMs = states(exchange).until - exchange.now;
          if (rates.admitted !== true || waitMs <= 0) return rates;
          return Object.assign(rates, { admitted: false, retryAfterMs: isShown ? waitMs : 1_000 });
        },
        response: (response, exchange) => {
          if (!hasKey(response, exchange)) return response;
          const state = states(exchange);
          if (isRefused(response, exchange)) {
            Object.assign(state, { isHalfOpen: state.until <= exchange.now, connection: exchange.connection });
            return response;
          }
          const isElsewhere = !what.startsWith('on another') || state.connection !== exchange.connection;
          if (state.isHalfOpen && isElsewhere && fails(response, exchange)) {
            state.until = exchange.now + seconds * 1_000;
          }
          state.isHalfOpen = false;
          return response;
        },
      },
    );
  },
};

const failover: Family = {
  name: 'gateway × retry of refused requests × another process admits them',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const [which, isRetried] = random.pick<readonly [string, Chosen]>([
      ['GET', ({ method }) => method === 'GET'],
      ['getPet', ({ operation }) => operation === 'get'],
      ['request with a query', ({ search }) => search !== ''],
      ['request without a query', ({ search }) => search === ''],
      ['request on half of the connections', (exchange) => connectionNumber(exchange) % 2 === 1],
      ['createPet', ({ operation }) => operation === 'create'],
    ]);
    const isShown = random.pick([true, false]);
    const others = new WeakMap<Usage, Usage>();
    const otherOf = (usage: Usage): Usage => {
      const other = others.get(usage) ?? { ...usage, times: [] };
      others.set(usage, other);
      return other;
    };
    const retried = new WeakMap<Exchange, boolean>();
    return fault(
      '7 8',
      `With ${text}: a gateway sends a refused ${which} to a second process, which has a counter of its own; the ` +
        `headers are those of the ${isShown ? 'second' : 'first'}.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const rates = hooks.left(usage, limits, exchange);
          const isSecond = retried.get(exchange) ?? (rates.admitted !== true && isRetried(exchange));
          retried.set(exchange, isSecond);
          if (!isSecond) return rates;
          const second = hooks.left(otherOf(usage), limits, exchange);
          return isShown ? second : Object.assign(rates, { admitted: second.admitted });
        },
        count: (usage, exchange) => hooks.count(retried.get(exchange) === true ? otherOf(usage) : usage, exchange),
      },
    );
  },
};

const reserve: Family = {
  name: 'limiter × last requests of the limit × reserved for some requests',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const percent = random.pick([5, 10, 20, 40]);
    const [which, isUnimportant] = random.pick<readonly [string, Chosen]>([
      ['createPet', ({ operation }) => operation === 'create'],
      ['getPet', ({ operation }) => operation === 'get'],
      ['a list with a filter', ({ operation, query }) => operation === 'list' && query.has('status')],
      ['a list with a limit', ({ operation, query }) => operation === 'list' && query.has('limit')],
      ['GET /store/orders', ({ operation }) => operation === 'orders'],
      ['a request on another connection than the first', (exchange) => connectionNumber(exchange) > 0],
      ['a request for a path with a digit', ({ path }) => /\d/.test(path)],
    ]);
    const isWaiting = random.pick([true, false]);
    return fault(
      '7 8',
      `With ${text}: ${which} is refused when at most ${percent} % of the limit remain, which are reserved for ` +
        `others; Retry-After is ${isWaiting ? 'the time until Reset' : '1'}.`,
      {
        ...hooks,
        left: (usage, limits, exchange) => {
          const rates = hooks.left(usage, limits, exchange);
          const isReserved = rates.remaining * 100 <= rates.limit * percent && isUnimportant(exchange);
          if (rates.admitted !== true || !isReserved) return rates;
          const retryAfterMs = isWaiting ? Math.max(1_000, rates.resetMs - exchange.now) : 1_000;
          return Object.assign(rates, { admitted: false, retryAfterMs });
        },
      },
    );
  },
};

const smoothing: Family = {
  name: 'limiter × smoothing × a share of the limit for each short period',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const seconds = random.pick([1, 3, 5, 10, 20]);
    const factor = random.pick([1, 1.5, 2]);
    const isSpike = random.pick([true, false]);
    const [which, isSmoothed] = random.pick<readonly [string, Chosen]>([
      ['createPet', ({ operation }) => operation === 'create'],
      ['getPet', ({ operation }) => operation === 'get'],
      ['a list with a limit', ({ operation, query }) => operation === 'list' && query.has('limit')],
      ['a list with a filter', ({ operation, query }) => operation === 'list' && query.has('status')],
      ['GET /store/orders', ({ operation }) => operation === 'orders'],
    ]);
    const states = stateOf(() => ({ slot: 0, used: 0, at: -Infinity }), true);
    return fault(
      '7 8',
      isSpike
        ? `With ${text}: ${which} is refused until a minute divided by the limit has passed since the one before, ` +
            `although requests remain.`
        : `With ${text}: ${which} is refused beyond ${factor} times the share of the limit in each ${seconds} s, ` +
            `although requests remain.`,
      {
        ...hooks,
        admitted: (rates, exchange) => {
          const state = states(exchange);
          if (!hooks.admitted(rates, exchange)) return false;
          if (!isSmoothed(exchange)) return true;
          const gapMs = minuteMs / base.limits(planOf(rates)).minute;
          if (isSpike) {
            if (exchange.now - state.at < gapMs) return false;
            state.at = exchange.now;
            return true;
          }
          const slot = Math.floor(exchange.now / (seconds * 1_000));
          if (state.slot !== slot) Object.assign(state, { slot, used: 0 });
          state.used += 1;
          return state.used <= Math.max(1, Math.floor((factor * seconds * 1_000) / gapMs));
        },
      },
    );
  },
};

/** The plan with the limit that the rates show. */
function planOf({ limit }: Rates): 'free' | 'pro' | 'business' {
  const plans = ['free', 'pro', 'business'] as const;
  return plans.find((plan) => [base.limits(plan).minute, base.limits(plan).day].includes(limit)) ?? 'free';
}

const nameClash: Family = {
  name: 'parameter limit × name × taken for the rate limit',
  draw: (random) => {
    const [text, kind] = random.pick(countingKinds);
    const hooks = counting(kind);
    const [when, lasts] = random.pick([
      ['in its response', 'request'],
      ['until the next list without it', 'list'],
      ['until the next request on the connection', 'next'],
      ['for the key from then on', 'ever'],
    ] as const);
    const [what, change] = random.pick<
      readonly [string, (rates: Rates, limit: number, minute: number) => Partial<Rates>]
    >([
      ['Limit is that of the list', (_rates, limit) => ({ limit })],
      [
        'Limit and Remaining are those of a key with this limit',
        (rates, limit, minute) => ({ limit, remaining: Math.max(0, limit - (minute - rates.remaining)) }),
      ],
      [
        'a request is refused when so many are used',
        (rates, limit, minute) => (minute - rates.remaining >= limit ? { admitted: false, retryAfterMs: 1_000 } : {}),
      ],
      ['Remaining is at most that number', (rates, limit) => ({ remaining: Math.min(limit, rates.remaining) })],
    ]);
    const states = stateOf((): { limit?: number | undefined; by?: Exchange } => ({}), true);
    const current = (exchange: Exchange): number | undefined => {
      const state = states(exchange);
      const given = exchange.operation === 'list' ? base.limit(exchange.query.get('limit'), exchange) : undefined;
      const isGiven = given !== undefined && exchange.query.has('limit');
      if (isGiven) Object.assign(state, { limit: given, by: exchange });
      else if (state.by !== exchange) {
        const ends =
          lasts === 'request' ||
          (lasts === 'list' && exchange.operation === 'list') ||
          (lasts === 'next' && state.by?.connection === exchange.connection && exchange.operation !== 'get');
        if (ends) state.limit = undefined;
      }
      return state.limit;
    };
    return fault('8', `With ${text}: if a list has a limit, then ${when}, ${what}.`, {
      ...hooks,
      left: (usage, limits, exchange) => {
        const rates = hooks.left(usage, limits, exchange);
        const limit = current(exchange);
        return limit === undefined ? rates : Object.assign(rates, change(rates, limit, limits.minute));
      },
    });
  },
};

const falsyZero: Family = {
  name: 'Remaining × value 0 × taken for a missing one',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const operation = random.pick(operations);
    const [which, chosen] = random.pick<readonly [string, ResponseKind]>([
      ['every response with a key', hasKey],
      ['every response that is no refusal', (...one) => hasKey(...one) && !isRefused(...one)],
      ['every refusal', isRefused],
      [`every response of ${nameOf(operation)}`, (...one) => hasKey(...one) && one[1].operation === operation],
    ]);
    const [what, value] = random.pick<readonly [string, (limit: number) => string | undefined]>([
      ['missing', () => undefined],
      ['that of a key without requests', String],
      ['60', () => '60'],
      ['null', () => 'null'],
      ['-1', () => '-1'],
      ['one less than the limit', (limit) => String(limit - 1)],
    ]);
    return fault('8', `With ${text}: in ${which}, a Remaining of 0 is ${what}.`, {
      ...counting(kind),
      ...responses(
        (...one) => chosen(...one) && integerOf(one[0], remainingHeader) === 0,
        (response) => setHeader(response, remainingHeader, value(integerOf(response, 'X-RateLimit-Limit'))),
      ),
    });
  },
};

const afterOrBefore: Family = {
  name: 'rate limit headers × trailers and interim responses × not in the head of the response',
  draw: (random) => {
    const names = random.pick([rateHeaders, rateHeaders.slice(1), rateHeaders.slice(1, 2), rateHeaders.slice(2)]);
    const least = random.integer(4, 14) * 100;
    const isTrailer = random.next() < 0.7;
    type Moves = (status: number, bytes: number, exchange: Exchange) => boolean;
    const [which, chosen] = random.pick<readonly [string, Moves]>([
      [`responses with more than ${least} bytes`, (status, bytes) => status !== 401 && bytes > least],
      ['lists with a filter', (status, _bytes, { query }) => status === 200 && query.has('status')],
      ['lists with a limit', (status, _bytes, { query }) => status === 200 && query.has('limit')],
      ['the 404 of getPet', (status, _bytes, { operation }) => status === 404 && operation === 'get'],
      ['every 201', (status) => status === 201],
      ['every 429', (status) => status === 429],
      ['every 400', (status) => status === 400],
    ]);
    const place = isTrailer ? 'trailers after the body' : 'an interim response 103 before the head';
    return fault('8', `In ${which}, ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} sent in ${place}.`, {
      write: (to, status, headers, body, exchange) => {
        if (exchange.method === 'HEAD' || !chosen(status, body.length, exchange)) {
          return base.write(to, status, headers, body, exchange);
        }
        const moved = new Map<string, string>();
        const kept: string[] = [];
        for (let i = 0; i < headers.length; i += 2) {
          const [name, value] = [headers[i]!, headers[i + 1]!];
          if (names.some((one) => one === name)) moved.set(name, value);
          else if (name !== 'Content-Length' || !isTrailer) kept.push(name, value);
        }
        if (!isTrailer) {
          to.writeEarlyHints({ link: '</v1/pets>; rel=preload', ...Object.fromEntries(moved) });
          return base.write(to, status, kept, body, exchange);
        }
        to.writeHead(status, [...kept, 'Trailer', [...moved.keys()].join(', ')]);
        to.addTrailers(Object.fromEntries(moved));
        to.end(body);
      },
    });
  },
};

const unreadBody: Family = {
  name: 'refusal × body of the refused request × taken for the next request on the connection',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const least = random.integer(2, 8) * 10;
    const [which, leaves] = random.pick<readonly [string, ResponseKind]>([
      [`a body of more than ${least} bytes`, (_response, { body }) => body.length > least],
      ['a body of an odd number of bytes', (_response, { body }) => body.length % 2 === 1],
      ['a body', (_response, { body }) => body !== ''],
      ['a body with a status', (_response, { body }) => body.includes('"status"')],
    ]);
    const [effect, sections, change] = random.pick<
      readonly [string, string, (response: MutantResponse, exchange: Exchange) => void]
    >([
      [
        'a 400 without the three headers',
        '8',
        (response, exchange) => {
          becomeError(response, exchange, 400, 'Bad request.');
          rateHeaders.forEach((name) => setHeader(response, name, undefined));
        },
      ],
      ['a 401', ofKeys, (response, exchange) => becomeError(response, exchange, 401)],
      ['a 404', '4.1 4.2 7 8', (response, exchange) => becomeError(response, exchange, 404)],
      ['a 429 without Retry-After', '7 8', (response, exchange) => {
        becomeError(response, exchange, 429);
        setHeader(response, 'Retry-After', undefined);
      }],
    ]);
    const isAnyError = random.next() < 0.3;
    const spoiled = stateOf(() => new Set<number>());
    return fault(
      sections,
      `With ${text}: after a refusal${isAnyError ? ' or a 401' : ''} of a request with ${which}, the next one on the ` +
        `connection gets ${effect}, because the body was not read.`,
      {
        ...counting(kind),
        response: (response, exchange) => {
          const connectionsOfServer = spoiled(exchange);
          const { connection } = exchange;
          if (connectionsOfServer.delete(connection)) {
            change(response, exchange);
            return response;
          }
          const isEarly = isRefused(response, exchange) || (isAnyError && response.status === 401);
          if (isEarly && leaves(response, exchange)) connectionsOfServer.add(connection);
          return response;
        },
      },
    );
  },
};

const uncheckedAfter: Family = {
  name: 'credentials × refusals of a limit × not checked after them',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const hooks = counting(kind);
    const seconds = random.pick([1, 3, 10]);
    const many = random.integer(8, 25);
    const [which, fits] = random.pick<readonly [string, Chosen]>([
      ['without Authorization', ({ authorization }) => authorization === ''],
      ['with a wrong key', ({ authorization }) => /^Bearer ./.test(authorization)],
      ['without a valid key', () => true],
    ]);
    const states = stateOf(() => ({ connection: 0, at: -Infinity, failures: 0, since: 0 }));
    const [when, holds] = random.pick<readonly [string, Chosen]>([
      [
        'directly after a 429 on the same connection',
        (exchange) => states(exchange).connection === exchange.connection,
      ],
      [
        `within ${seconds} s after a 429 of any key`,
        (exchange) => exchange.now - states(exchange).at <= seconds * 1_000,
      ],
      [`after ${many} requests without a valid key in a minute`, (exchange) => states(exchange).failures >= many],
    ]);
    const passed = new WeakSet<Exchange>();
    return fault(ofKeys, `With ${text}: a request ${which} is served ${when}.`, {
      ...hooks,
      admits: (exchange, secret) => {
        if (base.admits(exchange, secret)) return true;
        const passes = fits(exchange) && holds(exchange);
        if (passes) passed.add(exchange);
        return passes;
      },
      admitted: (rates, exchange) => hooks.admitted(rates, exchange) || passed.has(exchange),
      counts: (exchange) => !passed.has(exchange),
      response: (response, exchange) => {
        const state = states(exchange);
        const refused = isRefused(response, exchange);
        if (refused) Object.assign(state, { connection: exchange.connection, at: exchange.now });
        else if (state.connection === exchange.connection) state.connection = 0;
        const minute = Math.floor(exchange.now / minuteMs);
        if (state.since !== minute) Object.assign(state, { since: minute, failures: 0 });
        state.failures += Number(response.status === 401);
        return response;
      },
    });
  },
};

const manyFailures: Family = {
  name: '401 × number of them × another status',
  draw: (random) => {
    const most = random.integer(4, 30);
    const status = random.pick([200, 400, 403, 404]);
    const operation = random.pick(operations);
    const [which, scopeOf] = random.pick<readonly [string, (exchange: Exchange) => string | undefined]>([
      ['requests without a valid key', () => ''],
      ['requests with the same wrong key', ({ authorization }) => authorization || undefined],
      ['requests without Authorization', ({ authorization }) => (authorization === '' ? '' : undefined)],
      ['requests without a valid key on a connection', ({ connection }) => String(connection)],
      [
        `requests of ${nameOf(operation)} without a valid key`,
        (exchange) => (exchange.operation === operation ? '' : undefined),
      ],
    ]);
    const times = stateOf(() => new Map<string, number[]>());
    return fault(
      ofKeys,
      `After ${most} ${which} within a minute, further ones get ${status}` +
        `${status === 200 ? ' with an empty list, as for a scraper' : ''} instead of 401.`,
      responses(
        (response, exchange) => response.status === 401 && scopeOf(exchange) !== undefined,
        (response, exchange) => {
          const scope = scopeOf(exchange)!;
          const recent = (times(exchange).get(scope) ?? []).filter((at) => at > exchange.now - minuteMs);
          times(exchange).set(scope, [...recent, exchange.now]);
          if (recent.length < most) return;
          if (status === 200) Object.assign(response, { status, body: [] });
          else becomeError(response, exchange, status);
        },
      ),
    );
  },
};

const stepsBack: Family = {
  name: 'clock × correction × set back again and again',
  draw: (random) => {
    const [text, kind] = random.pick(plainKinds);
    const everySeconds = random.pick([35, 45, 50, 75, 100]);
    const seconds = random.integer(12, 30);
    return fault(
      '7 8',
      `With ${text}: the clock of the server gains ${seconds} s in ${everySeconds} s and is then set right, so the ` +
        `limit does not reset when Reset and Retry-After say.`,
      {
        ...counting(kind),
        time: (now) => now + Math.round(((now % (everySeconds * 1_000)) / everySeconds) * seconds),
      },
    );
  },
};

const mixedBody: Family = {
  name: '429 × middleware that goes on × mixed with the response of the operation',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const operation = random.pick(operations);
    const nth = random.integer(2, 4);
    const rows = stateOf(() => ({ count: 0 }), true);
    const [which, chosen] = random.pick<readonly [string, ResponseKind]>([
      [`a refused ${nameOf(operation)}`, (_response, exchange) => exchange.operation === operation],
      ['a refused request with a query', (_response, { search }) => search !== ''],
      [
        `every ${['second', 'third', 'fourth'][nth - 2]} refusal`,
        (_response, exchange) => (rows(exchange).count += 1) % nth === 0,
      ],
    ]);
    const mixed = new WeakSet<Exchange>();
    const [what, sections, change, bytes] = random.pick<
      readonly [string, string, (response: MutantResponse) => void, (text: string) => string]
    >([
      ['is followed by a second JSON text', '1', () => {}, (body) => `${body}[]`],
      ['is followed by an Error with the status 500', '1', () => {}, (body) => `${body}{"status":500}`],
      ['ends after half of it', '1', () => {}, (body) => body.slice(0, body.length / 2)],
      [
        'names gzip as its Content-Encoding, but is not compressed',
        '1',
        (response) => response.headers.push(['Content-Encoding', 'gzip']),
        (body) => body,
      ],
      ['is sent with the status 200', '7 8', (response) => void (response.status = 200), (body) => body],
      ['is sent with the status 201', '7 8', (response) => void (response.status = 201), (body) => body],
    ]);
    return fault(sections, `With ${text}: the body of ${which} ${what}.`, {
      ...counting(kind),
      ...responses(
        (...one) => isRefused(...one) && chosen(...one),
        (response, exchange) => {
          mixed.add(exchange);
          change(response);
        },
      ),
      bytes: (body, exchange) => base.bytes(mixed.has(exchange) ? bytes(body) : body, exchange),
    });
  },
};

const dayInBatches: Family = {
  name: 'headers of the day × counting × some requests only later',
  draw: (random) => {
    const count = random.integer(4, 25);
    const pause = random.integer(4, 20);
    const states = stateOf(() => ({ pending: 0, minute: 0, at: 0, seen: 0 }), true);
    type State = ReturnType<typeof states>;
    const [when, isDue] = random.pick<readonly [string, (state: State, exchange: Exchange) => boolean]>([
      ['when a minute of the clock begins', (state, { now }) => state.minute !== Math.floor(now / minuteMs)],
      [`at every ${count}th request`, ({ seen }) => seen % count === 0],
      ['with the next create', (_state, { operation }) => operation === 'create'],
      [`after ${pause} s without a request`, ({ at }, { now }) => now - at >= pause * 1_000],
      [`every ${3 * pause} s`, ({ at }, { now }) => Math.floor(now / pause / 3_000) !== Math.floor(at / pause / 3_000)],
    ]);
    const [which, isLate] = random.pick<readonly [string, Chosen]>([
      ['lists with a limit', ({ operation, query }) => operation === 'list' && query.has('limit')],
      ['lists with a filter', ({ operation, query }) => operation === 'list' && query.has('status')],
      ['requests of getPet', ({ operation }) => operation === 'get'],
      ['requests on another connection than the first', (exchange) => connectionNumber(exchange) > 0],
    ]);
    return fault('8', `The headers show the day, whose Remaining falls for ${which} only ${when}.`, {
      left: (usage, limits, exchange) => {
        const real = base.left(usage, limits, exchange);
        const remaining = limits.day - usage.dayUsed + states(exchange).pending;
        const [resetMs, retryAfterMs] = [(usage.day + 1) * 86_400_000, real.resetMs - exchange.now];
        return { limit: limits.day, remaining, resetMs, retryAfterMs, admitted: real.remaining > 0 };
      },
      count: (usage, exchange) => {
        base.count(usage, exchange);
        const state = states(exchange);
        state.seen += 1;
        if (isDue(state, exchange)) state.pending = 0;
        state.pending += Number(isLate(exchange));
        Object.assign(state, { minute: Math.floor(exchange.now / minuteMs), at: exchange.now });
      },
    });
  },
};

const weekdays = /^\w{3}, /;

const malformedDate: Family = {
  name: 'refusal × Retry-After as a date × no date of HTTP, or one that is too early',
  draw: (random) => {
    const [text, kind] = random.pick(plainKinds);
    const operation = random.pick(operations);
    const [which, chosen] = random.pick<readonly [string, Chosen]>([
      ['every refusal', () => true],
      [`a refused ${nameOf(operation)}`, (exchange) => exchange.operation === operation],
      ['a refusal on half of the connections', (exchange) => connectionNumber(exchange) % 2 === 1],
      ['a refused request with a query', ({ search }) => search !== ''],
    ]);
    const [what, made] = random.pick<readonly [string, (date: Date) => string]>([
      ['with UTC instead of GMT', (date) => date.toUTCString().replace('GMT', 'UTC')],
      ['with +0000 instead of GMT', (date) => date.toUTCString().replace('GMT', '+0000')],
      ['without the day of the week', (date) => date.toUTCString().replace(weekdays, '')],
      ['with the month as a number', (date) => date.toISOString().replace('T', ' ').slice(0, 19)],
      ['without seconds', (date) => date.toUTCString().replace(/:\d\d GMT/, ' GMT')],
      ['with two digits as year', (date) => date.toUTCString().replace(/ \d\d(\d\d) /, ' $1 ')],
      ['that is 20 s too early', (date) => new Date(date.getTime() - 20_000).toUTCString()],
      ['of the day before', (date) => new Date(date.getTime() - 86_400_000).toUTCString()],
      ['with a time of 12 hours', (date) => date.toUTCString().replace(/(\d\d):(\d\d:\d\d) GMT/, twelveHours)],
    ]);
    return fault('7 8', `With ${text}: Retry-After of ${which} is a date ${what}.`, {
      ...counting(kind),
      retryAfter: (ms, exchange) =>
        (chosen(exchange) ? made : (date: Date) => date.toUTCString())(
          new Date(Math.ceil((exchange.now + ms) / 1_000) * 1_000),
        ),
    });
  },
};

const twelveHours = (_all: string, hours: string, rest: string): string =>
  `${String(Number(hours) % 12 || 12).padStart(2, '0')}:${rest} ${Number(hours) < 12 ? 'AM' : 'PM'} GMT`;

const clearedBy: Family = {
  name: 'counter × rare request × cleared by it',
  draw: (random) => {
    const [text, kind] = random.pick(kinds);
    const below = random.integer(2, 9);
    const [which, clears] = random.pick<readonly [string, Chosen]>([
      ['with the method OPTIONS', ({ method }) => method === 'OPTIONS'],
      ['with the method HEAD', ({ method }) => method === 'HEAD'],
      ['with the method DELETE', ({ method }) => method === 'DELETE'],
      ['for an unknown path', ({ path }) => !/^\/(pets|store)/.test(path)],
      ['with Cache-Control: no-cache', ({ headers }) => /no-cache/.test(String(headers['cache-control']))],
      ['with Connection: close', ({ headers }) => headers['connection'] === 'close'],
      ['with an empty parameter', ({ search }) => /=(&|$)/.test(search)],
      [`with a limit below ${below}`, ({ query }) => query.has('limit') && Number(query.get('limit')) < below],
      ['of createPet without a body', ({ operation, body }) => operation === 'create' && body === ''],
      ['with If-None-Match', ({ headers }) => headers['if-none-match'] !== undefined],
    ]);
    const isAfterRefusal = random.next() < 0.4;
    const states = stateOf(() => ({ generation: 0, refused: false }), true);
    return fault(
      '7 8',
      `With ${text}: a request ${which} clears the counter of the key` +
        `${isAfterRefusal ? ' if it is being refused' : ''}.`,
      {
        ...counting(kind),
        budget: (exchange) => {
          const state = states(exchange);
          if (clears(exchange) && (state.refused || !isAfterRefusal)) state.generation += 1;
          return String(state.generation);
        },
        response: (response, exchange) => {
          states(exchange).refused = isRefused(response, exchange);
          return response;
        },
      },
    );
  },
};

const trusted: Family = {
  name: 'limiter × headers of the client × trusted',
  draw: (random) => {
    const [text, kind] = random.pick(plainKinds);
    const hooks = counting(kind);
    const what = random.pick(['exempt', 'exempt', 'time', 'echo'] as const);
    if (what === 'echo') {
      const names = random.pick([rateHeaders, rateHeaders.slice(0, 1), rateHeaders.slice(1, 2), rateHeaders.slice(2)]);
      const [which, chosen] = random.pick([someResponses(random), ['every response', hasKey] as const]);
      return fault('8', `With ${text}: ${names.join(', ')} of ${which} are those of the request, if it has them.`, {
        ...hooks,
        ...responses(chosen, (response, { headers }) => {
          names.forEach((name) => {
            const given = headers[name.toLowerCase()];
            if (typeof given === 'string') setHeader(response, name, given);
          });
        }),
      });
    }
    if (what === 'time') {
      const [name, timeOf] = random.pick<readonly [string, (value: string) => number]>([
        ['Date', (value) => Date.parse(value)],
        ['If-Modified-Since', (value) => Date.parse(value)],
        ['X-Timestamp', (value) => Number(value) * 1_000],
        ['X-Request-Start', (value) => Number(value.replace('t=', ''))],
      ]);
      const seen = (exchange: Exchange): Exchange => {
        const time = timeOf(String(exchange.headers[name.toLowerCase()]));
        return Number.isNaN(time) ? exchange : { ...exchange, now: time };
      };
      return fault('8', `With ${text}: the limiter takes the time of a request from its header ${name}.`, {
        ...hooks,
        left: (usage, limits, exchange) => hooks.left(usage, limits, seen(exchange)),
        admitted: (rates, exchange) => hooks.admitted(rates, seen(exchange)),
        count: (usage, exchange) => hooks.count(usage, seen(exchange)),
      });
    }
    const [name, pattern] = random.pick<readonly [string, RegExp]>([
      ['X-Forwarded-For', /^(127\.|10\.|192\.168\.)/],
      ['X-Real-IP', /^(127\.|10\.|192\.168\.)/],
      ['User-Agent', /kube-probe|HealthCheck|Googlebot|curl/i],
      ['Purpose', /prefetch/],
      ['Authorization', /^Bearer .*[13579]$/],
      ['Accept', /text\/html/],
      ['Host', /^localhost/],
      ['Cookie', /./],
    ]);
    return fault(
      '7 8',
      `With ${text}: a request with ${name} that matches ${pattern.source} counts, but is never refused.`,
      {
        ...hooks,
        admitted: (rates, exchange) =>
          hooks.admitted(rates, exchange) || pattern.test(String(exchange.headers[name.toLowerCase()] ?? '')),
      },
    );
  },
};

/** Families of faults of the state that limiters and authentication keep by connection, window, process or cache. */
export const fifthLimitFamilies: readonly Family[] = [
  refusedCreates,
  replayedCreates,
  staleInstead,
  sharedRefusals,
  keptVerdict,
  frozenTime,
  firstKey,
  flushedLate,
  endForgets,
  endLogsOut,
  brokenRequests,
  oneTimer,
  onePlace,
  together,
  merged,
  leases,
  ring,
  turnSeconds,
  narrowCounter,
  roundedArrival,
  thirdPeriod,
  secondMeasure,
  costBySize,
  laterTimes,
  breaker,
  failover,
  reserve,
  smoothing,
  nameClash,
  falsyZero,
  afterOrBefore,
  unreadBody,
  uncheckedAfter,
  manyFailures,
  stepsBack,
  mixedBody,
  dayInBatches,
  malformedDate,
  clearedBy,
  trusted,
];
