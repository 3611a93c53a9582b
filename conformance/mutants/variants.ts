/**
 * Conforming servers that fill the gaps of the specification in different ways. The kit must report no failure for any
 * of them: the specification leaves open whatever they do differently from `base`.
 */
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import { deploymentVariants } from './deployment-variants.ts';
import { fifthLimitVariants } from './fifth-limit-variants.ts';
import { fifthVariants } from './fifth-variants.ts';
import { limiterHooks, limiters, noteRemaining, writeLatestRemaining } from './families/limiters.ts';
import { libraryVariants } from './library-variants.ts';
import {
  attempt,
  base,
  statuses,
  type MutantResponse,
  type Exchange,
  type Hooks,
  type Limits,
  type Pet,
  type Rates,
  type Usage,
} from './server/hooks.ts';
import { Digits, readJson, type Json, type JsonObject } from './server/json.ts';
import { integerOf, setHeader } from './table/changes.ts';
import type { Variant } from './variant.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

const strict: Variant = {
  id: 'strict',
  text:
    'Rejects every borderline value; accepts only categories 1 to 5; other content types get 415; ' +
    'unknown paths get 404 before the key is checked; a 429 has no body, and a date in Retry-After; oldest first; ' +
    'without a key, Limit and Remaining are 0.',
  hooks: {
    order: (pets) => pets,
    accepts: (body, text, exchange) =>
      isJson(exchange) &&
      [...body.keys()].every((name) => ['name', 'categoryId', 'status'].includes(name)) &&
      fieldsIn(text) === body.size,
    name: (value) =>
      typeof value === 'string' && /^[^\p{Cc}\p{Cs}]{1,100}$/u.test(value) && value.trim() !== '' ? value : undefined,
    category: (value) => (value instanceof Digits && /^[1-5]$/.test(value.text) ? value.text : undefined),
    retryAfter: (ms, { now }) => new Date(Math.ceil((now + ms) / 1000) * 1000).toUTCString(),
    keyless: ({ now }) => ({ limit: 0, remaining: 0, resetMs: (Math.floor(now / minuteMs) + 1) * minuteMs }),
    response: (response, exchange) => {
      if (response.status === 429) {
        response.body = undefined;
        response.headers = response.headers.filter(([name]) => name !== 'Content-Type');
      }
      if (response.status === 400 && exchange.operation === 'create' && !isJson(exchange)) {
        Object.assign(response, { status: 415, body: base.error(415, 'Send application/json.', exchange) });
      }
      if (response.status === 401) {
        if (exchange.operation === 'other') {
          Object.assign(response, { status: 404, body: base.error(404, 'There is no such path.', exchange) });
        } else {
          response.headers.push(['WWW-Authenticate', 'Bearer realm="pets"']);
        }
      }
      return response;
    },
  },
};

const lax: Variant = {
  id: 'lax',
  text:
    'Clamps limits and ignores unknown parameters; accepts 1.0 as 1, the scheme in any case, a BOM, ' +
    'any content type; ' +
    'a 429 is not an Error; extra fields in Pet and Error; no status if none was sent; ' +
    'ids beyond 2^53; orders are an object; sorted by name; Location on a 201.',
  hooks: {
    admits: ({ authorization }, secret) => /^bearer +(.*)$/is.exec(authorization)?.[1] === secret,
    limit: (text) => {
      const limit = text === null || !/^-?\d+$/.test(text) ? 20 : Number(text);
      return Math.min(100, Math.max(1, limit));
    },
    filter: (text) => (text !== null && statuses.includes(text) ? text : ''),
    order: (pets) => pets.toSorted((one, other) => (one.name < other.name ? -1 : one.name > other.name ? 1 : 0)),
    text: (bytes) => base.text(bytes)?.replace(/^\ufeff/, ''),
    category: (value, exchange) => {
      // 1.0 is the integer 1.
      const whole = value instanceof Digits ? /^(-?\d+)\.0+$/.exec(value.text)?.[1] : undefined;
      return base.category(whole === undefined ? value : new Digits(whole), exchange);
    },
    status: (value, exchange) => (value === undefined ? '' : base.status(value, exchange)),
    newId: (_pet, { world }) => String(2n ** 53n + 7n * world.nextId++),
    show: (pet, exchange) => {
      const fields: JsonObject = new Map<string, Json>([
        ['object', 'pet'],
        ...base.show(pet, exchange),
        ['tags', []],
        ['owner', null],
        ['weight', new Digits('1.50e1')],
        [
          'created',
          new Map<string, Json>([
            ['at', new Digits(String(pet.at))],
            ['by', 'id: 7, name: "x"'],
          ]),
        ],
      ]);
      if (pet.status === '') fields.delete('status');
      return fields;
    },
    orders: () =>
      new Map<string, Json>([
        ['orders', []],
        ['total', new Digits('0')],
      ]),
    error: (status, message, exchange) =>
      status === 429
        ? new Map<string, Json>([
            ['retry', true],
            ['status', 'slow down'],
          ])
        : new Map<string, Json>([['type', 'about:blank'], ...errorFields(status, message, exchange), ['details', []]]),
    response: (response) => {
      const id = response.status === 201 && response.body instanceof Map ? response.body.get('id') : undefined;
      if (id instanceof Digits) response.headers.push(['Location', `/v1/pets/${id.text}`]);
      response.headers = response.headers.map(([name, value]) => [
        name.toLowerCase(),
        name === 'Content-Type' ? `${value}; charset=utf-8` : value,
      ]);
      return response;
    },
  },
};

export const sliding: Variant = {
  id: 'sliding',
  text:
    'A sliding minute, and headers that show only it; Reset moves: it is when all requests are available again; ' +
    'bodies escape every character beyond ASCII and have white space between tokens.',
  hooks: {
    left: (usage, limits, { now }) => {
      usage.times = usage.times.filter((time) => time > now - minuteMs);
      const ofDay = dayOf(usage, limits.day, now);
      const remaining = ofDay.remaining <= 0 ? 0 : limits.minute - usage.times.length;
      const last = usage.times.at(-1) ?? now;
      // If a request is refused, Reset is when the oldest request leaves the window; otherwise, when all have left it.
      const resetMs =
        ofDay.remaining <= 0 ? ofDay.resetMs : (remaining > 0 ? last : (usage.times[0] ?? now)) + minuteMs;
      return { limit: limits.minute, remaining, resetMs };
    },
    count: (usage, { now }) => {
      usage.times.push(now);
      usage.dayUsed += 1;
    },
    bytes: (text) =>
      Buffer.from(
        text
          .replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0').toUpperCase()}`)
          // The first alternative matches strings, so that nothing in them changes.
          .replace(/"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]/g, (token) => (token.startsWith('"') ? token : ` ${token}\n\t`)),
      ),
  },
};

const replica: Variant = {
  id: 'replica',
  text:
    'Lists and getPet lag behind a create by up to 2 s; at most 10 animals a page; every list in another order; ' +
    'a status changes by itself, after 20 s to pending and after 40 s to sold; every Pet has a UUID.',
  hooks: {
    visible: seenByReplica,
    find: (id, exchange) => {
      const found = base.find(id, exchange);
      return found && seenByReplica(found, exchange) ? found : undefined;
    },
    order: (pets, { world }) => {
      const rank = (pet: Pet): number => Number((BigInt(pet.id) * 7919n + BigInt(world.lists) * 104_729n) % 1009n);
      return pets.toSorted((one, other) => rank(one) - rank(other));
    },
    fits: (pet, status, exchange) => status === '' || movedStatus(pet, exchange) === status,
    page: (rows, limit) => rows.slice(0, Math.min(limit, 10)),
    show: (pet, exchange) =>
      base
        .show({ ...pet, status: movedStatus(pet, exchange) }, exchange)
        .set('uuid', `00000000-0000-4000-8000-${pet.id.padStart(12, '0')}`),
  },
};

const day: Variant = {
  id: 'day',
  text:
    'Oldest first; the headers always show the day, although the minute is enforced too; Retry-After is that of ' +
    'the window that refuses; HEAD and OPTIONS return 204.',
  hooks: {
    order: (pets) => pets,
    left: (usage, limits, exchange) => {
      // `admitted` and Retry-After use the returned rates; `response` replaces the headers.
      const rates = base.left(usage, limits, exchange);
      const ofDay = dayOf(usage, limits.day, exchange.now);
      exchange.world.notes.set(
        'day',
        [ofDay.limit, Math.max(0, ofDay.remaining), Math.ceil(ofDay.resetMs / 1000)].join(),
      );
      return rates;
    },
    response: (response, { world, method }) => {
      const rates = world.notes.get('day')?.split(',');
      world.notes.delete('day');
      if (rates !== undefined) {
        const [limit = '', remaining = '', reset = ''] = rates;
        setRates(response, limit, remaining, reset);
      }
      if ((method === 'HEAD' || method === 'OPTIONS') && response.status === 405) {
        Object.assign(response, { status: 204, body: undefined });
      }
      return response;
    },
  },
};

const after2030: Variant = {
  id: 'after 2030',
  text:
    'Its clock is after 5 December 2030, and getPet returns 410 for every valid key; limits out of range get 422; ' +
    'unknown paths get 403.',
  hooks: {
    time: (now, { notes }) => {
      const start = Date.UTC(2031, 0, 1);
      if (now >= start) return now;
      const began = Number(notes.get('began') ?? now);
      notes.set('began', String(began));
      // Whole days, so that windows end at the same time of day.
      return now + Math.ceil((start - began) / dayMs) * dayMs;
    },
    response: (response, exchange) => {
      if (response.status === 401 || response.status === 429) return response;
      if (exchange.operation === 'get') {
        Object.assign(response, { status: 410, body: base.error(410, 'This operation has been removed.', exchange) });
      } else if (exchange.operation === 'list' && response.status === 400) {
        Object.assign(response, { status: 422, body: base.error(422, 'limit or status is invalid.', exchange) });
      } else if (exchange.operation === 'other') {
        Object.assign(response, { status: 403, body: base.error(403, 'Forbidden.', exchange) });
      }
      return response;
    },
  },
};

export const firstRequest: Variant = {
  id: 'first request',
  text:
    'A window starts with the first request after the previous one, and lasts 60 s; ' +
    'requests without a key have a limit of their own, which is not enforced; ' +
    'the body of a 429 is an array; lists have Link, getPet has Deprecation and Sunset.',
  hooks: {
    left: (usage, limits, { now }) => {
      const [began = now] = usage.times;
      if (usage.times.length === 0 || now >= began + minuteMs) Object.assign(usage, { times: [now], minuteUsed: 0 });
      const start = usage.times[0] ?? now;
      const ofMinute: Rates = {
        limit: limits.minute,
        remaining: limits.minute - usage.minuteUsed,
        resetMs: start + minuteMs,
      };
      const ofDay = dayOf(usage, limits.day, now);
      return ofDay.remaining <= 0 || ofDay.remaining < ofMinute.remaining ? ofDay : ofMinute;
    },
    keyless: ({ now, world }) => {
      const minute = Math.floor(now / minuteMs);
      const used = Number(world.notes.get(`keyless ${minute}`) ?? 0) + 1;
      world.notes.set(`keyless ${minute}`, String(used));
      return { limit: 30, remaining: 30 - used, resetMs: (minute + 1) * minuteMs };
    },
    response: (response, { operation }) => {
      if (response.status === 429) response.body = ['slow', 'down'];
      if (operation === 'list') response.headers.push(['Link', '</v1/pets?page=2>; rel="next"']);
      if (operation === 'get')
        response.headers.push(['Deprecation', 'true'], ['Sunset', 'Thu, 05 Dec 2030 00:00:00 GMT']);
      return response;
    },
  },
};

const parser: Variant = {
  id: 'parser',
  text:
    'Reads numbers with a fraction or an exponent as doubles, lone surrogates as U+FFFD; accepts NaN, comments and ' +
    'UTF-16.',
  hooks: {
    text: (bytes) => base.text(bytes) ?? attempt(() => new TextDecoder('utf-16', { fatal: true }).decode(bytes)),
    read: (text) =>
      base.read(text) ??
      attempt(() => readJson(text.replace(/:\s*NaN\b/g, ':null').replace(/\/\*[^]*?\*\/|\/\/[^\n]*/g, ''))),
    name: (value, exchange) => {
      const name = base.name(value, exchange);
      return name === undefined ? undefined : Buffer.from(name).toString();
    },
    category: (value, exchange) => {
      const number = value instanceof Digits && /[.e]/i.test(value.text) ? Number(value.text) : NaN;
      return base.category(Number.isInteger(number) ? new Digits(String(BigInt(number))) : value, exchange);
    },
  },
};

export const rounded: Variant = {
  id: 'rounded',
  text: 'Reset is the time of the response plus the rest of the minute in whole seconds, so it varies by a second.',
  hooks: {
    left: (usage, limits, exchange) => {
      const rates = base.left(usage, limits, exchange);
      return { ...rates, resetMs: exchange.now + Math.ceil((rates.resetMs - exchange.now) / 1000) * 1000 };
    },
  },
};

const utf8Store: Variant = {
  id: 'utf-8 store',
  text: 'A 201 shows a lone surrogate as it was sent, and lists and getPet show U+FFFD.',
  hooks: { keep: (pet) => ({ ...pet, name: Buffer.from(pet.name).toString() }) },
};

const successes: Variant = {
  id: 'successes',
  text: 'Counts only requests that succeed.',
  hooks: { counts: (_exchange, { status }) => status < 300 },
};

/** As with the option skipFailedRequests of express-rate-limit. */
const givenBack: Partial<Hooks> = {
  counts: (_exchange, { status }) => status < 300,
  response: (response) => {
    const isFailure = response.status >= 400 && response.status !== 401 && response.status !== 429;
    const remaining = integerOf(response, 'X-RateLimit-Remaining');
    if (isFailure) setHeader(response, 'X-RateLimit-Remaining', String(Math.max(0, remaining - 1)));
    return response;
  },
};

const givenBacks: readonly Variant[] = ['window by the clock', 'sliding log', 'token bucket'].map((id) => ({
  id: `given back by a ${id}`,
  text: 'Counts a request that fails until its response is sent.',
  hooks: { ...limiterHooks(limiters.find((limiter) => limiter.id === id)!), ...givenBack },
}));

const cached: Variant = {
  id: 'cached',
  text: 'Caches each list for a second; a status changes by itself, as for the replica.',
  hooks: {
    fits: replica.hooks.fits!,
    page: (rows, limit, exchange) => {
      const { now, query, world } = exchange;
      const name = `list ${query}`;
      const [at, ...ids] = world.notes.get(name)?.split(',') ?? [];
      if (at !== undefined && now < Number(at) + 1_000) return ids.flatMap((id) => world.pets.get(id) ?? []);
      const page = base.page(rows, limit, exchange);
      world.notes.set(name, [now, ...page.map((pet) => pet.id)].join());
      return page;
    },
    show: (pet, exchange) => {
      // A cached animal has the status that it had when the list was made.
      const at = exchange.operation === 'list' ? exchange.world.notes.get(`list ${exchange.query}`)?.split(',')[0] : '';
      const now = at === undefined || at === '' ? exchange.now : Number(at);
      return base.show({ ...pet, status: movedStatus(pet, { ...exchange, now }) }, exchange);
    },
  },
};

const spellings: Variant = {
  id: 'spellings',
  text:
    'Ignores case, dot segments, repeated slashes, escapes and a parameter in paths; without a key, it redirects ' +
    'paths with a slash at the end, and shows a page for paths with dot segments.',
  hooks: {
    below: (path) => {
      const { pathname } = new URL(`http://localhost/${path.replace(/^\/+/, '')}`);
      const plain = (attempt(() => decodeURIComponent(pathname)) ?? pathname).replace(/;.*/, '').replace(/\/+/g, '/');
      return base.below(plain.toLowerCase().replace(/\.json$|[\s/\0]+$/, ''));
    },
    response: (response, { authorization, fullPath }) => {
      if (response.status !== 401 || authorization !== '') return response;
      if (fullPath.endsWith('/')) {
        Object.assign(response, { status: 308, body: undefined });
        response.headers.push(['Location', fullPath.slice(0, -1)]);
      } else if (/\/\.{1,2}(\/|$)/.test(fullPath)) {
        Object.assign(response, { status: 200, body: [new Map([['id', new Digits('1')]])] });
      }
      return response;
    },
  },
};

const truncated: Variant = {
  id: 'truncated',
  text: 'A window starts with the first request after the previous one; Reset lacks the fraction of a second.',
  hooks: {
    left: firstRequest.hooks.left!,
    response: (response) => {
      // The small server rounds the end of the window up. The end is almost never a whole second.
      response.headers = response.headers.map(([name, value]) => [
        name,
        name === 'X-RateLimit-Reset' && response.status !== 401 ? String(Number(value) - 1) : value,
      ]);
      return response;
    },
  },
};

const busy: Variant = {
  id: 'busy',
  text: 'Every fortieth request gets 503 and Retry-After from a proxy, although it counts and may create an animal.',
  hooks: {
    response: (response, { world }) => {
      const headers: MutantResponse['headers'] = [
        ['Retry-After', '1'],
        ['Content-Type', 'text/plain'],
      ];
      return world.requests % 40 === 0 ? { status: 503, headers, body: 'Service Unavailable' } : response;
    },
  },
};

const bucket: Variant = {
  id: 'bucket',
  text: 'A token bucket that fills within a minute; Reset is when it is full, Retry-After when it has one token.',
  hooks: {
    left: (usage, limits, { now }) => {
      const ofDay = dayOf(usage, limits.day, now);
      if (ofDay.remaining <= 0) return ofDay;
      const perMs = limits.minute / minuteMs;
      const [since = now] = usage.times;
      Object.assign(usage, { times: [now], minuteUsed: Math.max(0, usage.minuteUsed - (now - since) * perMs) });
      const remaining = Math.floor(limits.minute - usage.minuteUsed);
      return { limit: limits.minute, remaining, resetMs: now + Math.max(1, usage.minuteUsed) / perMs };
    },
    retryAfter: () => '1',
  },
};

const banning: Variant = {
  id: 'banning',
  text: 'Bans a key for five minutes at the third refusal in a row.',
  hooks: {
    admitted: (rates, exchange) => rates.remaining > 0 && exchange.now >= bannedUntil(exchange),
    counts: ({ authorization, world: { notes } }) => {
      notes.delete(`refusals ${authorization}`);
      return true;
    },
    retryAfter: (ms, exchange) => {
      const { authorization, now, world: { notes } } = exchange;
      const refusals = Number(notes.get(`refusals ${authorization}`) ?? 0) + 1;
      notes.set(`refusals ${authorization}`, String(refusals));
      if (refusals === 3) notes.set(`ban ${authorization}`, String(now + 5 * minuteMs));
      return base.retryAfter(Math.max(ms, bannedUntil(exchange) - now), exchange);
    },
  },
};

const undated: Variant = {
  id: 'undated',
  text: 'Its clock is 20 s behind, and no response has a Date.',
  hooks: {
    time: (now) => now - 20_000,
    write: (to, status, headers, body) =>
      void to.writeHead(status, headers.filter((_, i) => headers[i & ~1] !== 'Date')).end(body),
  },
};

const brief: Variant = {
  id: 'brief',
  text: 'Lists show no status.',
  hooks: {
    show: (pet, exchange) => {
      const fields = base.show(pet, exchange);
      if (exchange.operation === 'list') fields.delete('status');
      return fields;
    },
  },
};

const closed: Variant = {
  id: 'closed',
  text: 'After 20 requests without a valid key, all others are refused for an hour.',
  hooks: {
    response: (response, { world: { notes } }) => {
      if (response.status !== 401) return response;
      const requests = Number(notes.get('without key') ?? 0) + 1;
      notes.set('without key', String(requests));
      if (requests > 20) Object.assign(response, { status: 429, body: undefined }).headers.push(['Retry-After', '3600']);
      return response;
    },
  },
};

const picky: Variant = {
  id: 'picky',
  text:
    'A body that is not JSON gets 422 without an Error; names have only ASCII letters, digits, points, hyphens and ' +
    'spaces; categories are below 2^31; a petId that is not a number is an unknown path, which gets 404 before the ' +
    'key is checked.',
  hooks: {
    name: (value) => (typeof value === 'string' && /^[\w .-]{1,40}$/.test(value) ? value : undefined),
    category: (value, exchange) => {
      const category = base.category(value, exchange);
      return category !== undefined && BigInt(category) > 0n && BigInt(category) < 2n ** 31n ? category : undefined;
    },
    response: (response, exchange) => {
      const { operation, path, body } = exchange;
      const isUnknown = operation === 'get' && !/^\/pets\/-?\d+$/.test(path);
      if (isUnknown) Object.assign(response, { status: 404, body: base.error(404, 'Not found.', exchange) });
      const isMalformed = response.status === 400 && attempt(() => readJson(body)) === undefined;
      if (operation === 'create' && isMalformed) Object.assign(response, { status: 422, body: 'Malformed.' });
      return response;
    },
  },
};

const late: Variant = {
  id: 'late',
  text: 'A window ends 3 s before its Reset, and before the time in Retry-After.',
  hooks: {
    left: (usage, limits, exchange) => {
      const rates = base.left(usage, limits, exchange);
      return { ...rates, resetMs: rates.resetMs + 3_000 };
    },
  },
};

const patient: Variant = {
  id: 'patient',
  text: 'Retry-After is always five minutes, longer than necessary.',
  hooks: { retryAfter: () => '300' },
};

const afterHits: Variant = {
  id: 'after hits',
  text: 'Remaining is read just before a response is sent, when concurrent requests have also been counted.',
  hooks: { response: noteRemaining, write: writeLatestRemaining },
};

/** The status with which a server may refuse a request because of its headers; undefined if it does not. */
function refusalOf({ headers }: Exchange): number | undefined {
  const { accept = '*/*', origin, expect } = headers;
  const admitsJson = String(accept)
    .split(',')
    .some((range) => /^\s*(\*\/\*|application\/(\*|json))/i.test(range) && !/;\s*q=0(\.0*)?\s*$/.test(range));
  if (!admitsJson) return 406;
  if (headers['user-agent'] === undefined || origin !== undefined) return 403;
  if (headers['transfer-encoding'] !== undefined) return 411;
  return expect === undefined ? undefined : 417;
}

/** The first coding that a client asks for and that the server has. */
function codingOf({ headers }: Exchange): string | undefined {
  const asked = String(headers['accept-encoding']).split(',').map((coding) => coding.trim().split(';')[0]!);
  return asked.find((coding) => Object.hasOwn(encoders, coding));
}

const encoders: Readonly<Record<string, (text: string) => Uint8Array>> = {
  gzip: gzipSync,
  deflate: deflateSync,
  br: brotliCompressSync,
};

const negotiating: Variant = {
  id: 'negotiating',
  text:
    'Refuses an Accept without JSON (406), an Origin and a client without a name (403), a body without a length ' +
    '(411), and Expect (417), each as text; compresses when asked; sends ranges; has entity tags; translates messages.',
  hooks: {
    keep: (pet, exchange) => (refusalOf(exchange) === undefined ? pet : undefined),
    error: (status, message, exchange) =>
      base.error(status, exchange.headers['accept-language'] === undefined ? message : 'متنی دیگر', exchange),
    response: (response, exchange) => {
      const { headers, method } = exchange;
      const coding = codingOf(exchange);
      if (coding !== undefined) response.headers.push(['Content-Encoding', coding], ['Vary', 'Accept-Encoding']);
      if (response.status === 401 || response.status === 429) return response;
      const refusal = refusalOf(exchange);
      if (refusal !== undefined) {
        setHeader(response, 'Content-Type', 'text/plain');
        return Object.assign(response, { status: refusal, body: 'Refused.' });
      }
      if (method !== 'GET' || response.status !== 200) return response;
      // No animal ever changes.
      const tag = `"${exchange.world.pets.size}"`;
      response.headers.push(['ETag', tag]);
      if (headers['if-none-match'] === tag) return Object.assign(response, { status: 304, body: undefined });
      return headers['range'] === undefined ? response : Object.assign(response, { status: 206 });
    },
    bytes: (text, exchange) => encoders[codingOf(exchange) ?? '']?.(text) ?? base.bytes(text, exchange),
    write: (to, status, headers, body, exchange) => {
      const sent = status === 206 ? body.subarray(0, 10) : body;
      const length = headers.indexOf('Content-Length') + 1;
      base.write(to, status, headers.with(length, String(sent.length)), sent, exchange);
    },
  },
};

const lastOfDay: Variant = {
  id: 'last of the day',
  text: 'All but 40 requests of the day of a Free key are used up.',
  hooks: { left: fewLeft },
};

export const variants: readonly Variant[] = [
  strict,
  lax,
  sliding,
  replica,
  day,
  after2030,
  firstRequest,
  parser,
  utf8Store,
  successes,
  ...givenBacks,
  cached,
  busy,
  rounded,
  spellings,
  truncated,
  bucket,
  banning,
  undated,
  brief,
  closed,
  picky,
  late,
  patient,
  afterHits,
  negotiating,
  lastOfDay,
  // --only separates ids by commas.
  ...limiters.map((limiter) => ({
    id: limiter.id.replace(', ', ' with '),
    text: limiter.text,
    hooks: limiterHooks(limiter),
  })),
  ...libraryVariants,
  ...deploymentVariants,
  ...fifthVariants,
  ...fifthLimitVariants,
];

/** The day of a Free key, of which 40 requests remain at the first request. */
export function fewLeft(usage: Usage, limits: Limits, exchange: Exchange): Rates {
  if (usage.day === 0 && limits.day === 1_000)
    Object.assign(usage, { day: Math.floor(exchange.now / dayMs), dayUsed: limits.day - 40 });
  return base.left(usage, limits, exchange);
}

function bannedUntil({ authorization, world }: Exchange): number {
  return Number(world.notes.get(`ban ${authorization}`) ?? 0);
}

function isJson({ contentType }: Exchange): boolean {
  return /^application\/json\s*(;|$)/i.test(contentType);
}

/** The number of members in the objects of a JSON text, duplicates included. */
function fieldsIn(text: string): number {
  return [...text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?/g)].filter(([, colon]) => colon !== undefined).length;
}

function errorFields(status: number, message: string, exchange: Exchange): JsonObject {
  const error = base.error(status, message, exchange);
  return error instanceof Map ? error : new Map();
}

function dayOf(usage: Usage, limit: number, now: number): Rates {
  const today = Math.floor(now / dayMs);
  if (usage.day !== today) Object.assign(usage, { day: today, dayUsed: 0 });
  return { limit, remaining: limit - usage.dayUsed, resetMs: (today + 1) * dayMs };
}

function seenByReplica(pet: Pet, { now }: Exchange): boolean {
  return pet.at === 0 || now >= pet.at + Number((BigInt(pet.id) * 700n) % 2001n);
}

function movedStatus(pet: Pet, { now }: Exchange): string {
  // Animals that were there at the start never change, so that there are animals of every status.
  if (pet.at === 0) return pet.status;
  const [ageMs, at] = [now - pet.at, statuses.indexOf(pet.status)];
  return statuses[Math.min(2, at + (ageMs >= 40_000 ? 2 : ageMs >= 20_000 ? 1 : 0))] ?? pet.status;
}

function setRates(response: MutantResponse, limit: string, remaining: string, reset: string): void {
  const values = new Map([
    ['X-RateLimit-Limit', limit],
    ['X-RateLimit-Remaining', remaining],
    ['X-RateLimit-Reset', reset],
  ]);
  response.headers = response.headers.map(([name, value]) => [name, values.get(name) ?? value]);
}
