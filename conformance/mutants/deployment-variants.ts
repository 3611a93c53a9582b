/** Conforming servers whose limits show how they are deployed: proxies, several machines, background jobs. */
import { setTimeout as pause } from 'node:timers/promises';
import {
  fixedByClock,
  limiterHooks,
  limiters,
  tokenBucket,
  type Kind,
  type WindowState,
} from './families/limiters.ts';
import { base, type Exchange, type Hooks, type MutantResponse, type Rates, type World } from './server/hooks.ts';
import { Digits } from './server/json.ts';
import { integerOf, responses, setHeader, status } from './table/changes.ts';
import type { Variant } from './variant.ts';

const minuteMs = 60_000;
const dayMs = 86_400_000;

/** Shows one of the two windows. Both are enforced, and Retry-After is that of the one that refuses. */
function showing(
  showsDay: (exchange: Exchange, minuteShare: number, dayShare: number) => boolean,
): Pick<Hooks, 'left' | 'admitted'> {
  return {
    left: (usage, limits, exchange) => {
      const real = base.left(usage, limits, exchange);
      const minute = { limit: limits.minute, remaining: limits.minute - usage.minuteUsed };
      const day = { limit: limits.day, remaining: limits.day - usage.dayUsed };
      const shown: Rates = showsDay(exchange, minute.remaining / minute.limit, day.remaining / day.limit)
        ? { ...day, resetMs: (usage.day + 1) * dayMs }
        : { ...minute, resetMs: (usage.minute + 1) * minuteMs };
      return { ...shown, admitted: real.remaining > 0, retryAfterMs: real.resetMs - exchange.now };
    },
    admitted: base.admitted,
  };
}

/** The latest tick of a job, and the next one, in a cycle of 15 s. */
function ticksAround(now: number): readonly [latest: number, next: number] {
  const cycle = Math.floor(now / 15_000) * 15_000;
  const ticks = [0, 4_000, 10_000, 15_000].map((ms) => cycle + ms);
  return [ticks.findLast((tick) => tick <= now)!, ticks.find((tick) => tick > now)!];
}

/** A bucket whose tokens arrive at the ticks. */
const unevenBucket: Kind = {
  look: (state, size, now) => {
    const seen = tokenBucket.look(state, size, ticksAround(now)[0]);
    const tickFrom = (time: number): number => (ticksAround(time)[0] === time ? time : ticksAround(time)[1]);
    const resetMs = Math.max(now, tickFrom(seen.resetMs));
    const retryAfterMs = seen.retryAfterMs === 0 ? 0 : tickFrom(ticksAround(now)[0] + seen.retryAfterMs) - now;
    return { ...seen, resetMs, retryAfterMs };
  },
  take: (state, size, now) => tokenBucket.take(state, size, ticksAround(now)[0]),
};

/** A bucket and a minute of the clock at once. Reset is when the whole limit is available again. */
const bucketAndWindow: Kind = {
  look: (state, size, now) => {
    const window = fixedByClock.look(state, size, now);
    const bucket = tokenBucket.look(bucketOf(state), size, now);
    return {
      remaining: Math.min(window.remaining, bucket.remaining),
      retryAfterMs: Math.max(window.retryAfterMs, bucket.retryAfterMs),
      resetMs: Math.max(window.remaining < size.limit ? window.resetMs : now, bucket.resetMs),
    };
  },
  take: (state, size, now) => {
    const { at, used } = tokenBucket.take(bucketOf(state), size, now);
    return { ...fixedByClock.take(state, size, now), times: [at, used] };
  },
};

/** The bucket of `bucketAndWindow`, which has its state where a log has its times. */
function bucketOf(state: WindowState): WindowState {
  const [at = 0, used = 0] = state.times;
  return { ...state, at, used };
}

/** The response to each key that is sent last. */
const busy = new WeakMap<World, Map<string, Promise<unknown>>>();

const replaceDate =
  (headers: string[], time: number): string[] =>
  headers.map((text, i) => (headers[i - 1] === 'Date' ? new Date(time).toUTCString() : text));

const rateHeaders = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'] as const;

/** Whether the key is not the one that --exhaust uses. */
const isUnlimited = ({ authorization }: Exchange) => !/other/.test(authorization);

/** Makes a response the page of a proxy. */
function pageOf(response: MutantResponse, status: number): MutantResponse {
  const body = new Digits('<html><h1>Refused</h1></html>');
  return Object.assign(response, { status, headers: [['Content-Type', 'text/html']], body });
}

/** What firewalls refuse, and with which status. */
const firewalls: readonly (readonly [id: string, status: number, refuses: (exchange: Exchange) => boolean])[] = [
  ['User-Agents of other clients', 403, ({ headers }) => !String(headers['user-agent']).startsWith('petstore-')],
  ['names with markup', 403, ({ body, method }) => method === 'POST' && /<script|\.\.\/|\\u0000/i.test(body)],
  ['long bodies', 413, ({ body }) => body.length > 8_000],
  ['Expect', 403, ({ headers }) => headers.expect !== undefined],
  ['Referer', 403, ({ headers }) => headers.referer !== undefined],
  ['Accept-Charset', 403, ({ headers }) => headers['accept-charset'] !== undefined],
  ['X-Forwarded-For', 400, ({ headers }) => headers['x-forwarded-for'] !== undefined],
  ['Proxy-Authorization', 407, ({ headers }) => headers['proxy-authorization'] !== undefined],
  ['headers that are not ASCII', 400, ({ authorization }) => /[^ -~]/.test(authorization)],
  ['other types than JSON', 403, ({ headers, method }) =>
    method === 'POST' && !/^application\/json/i.test(String(headers['content-type']))],
];

export const deploymentVariants: readonly Variant[] = [
  {
    id: 'jitter',
    text: 'Retry-After is up to 3 s longer than necessary, so that clients do not return at the same time.',
    hooks: {
      retryAfter: (ms, exchange) => base.retryAfter(ms + ((exchange.world.requests * 7_919) % 3_001), exchange),
    },
  },
  {
    id: 'smaller share',
    text: 'The headers describe the window of which the smaller share is left.',
    hooks: showing((_exchange, minuteShare, dayShare) => dayShare < minuteShare),
  },
  {
    id: 'windows by operation',
    text: 'Lists show the minute, and all other operations the day.',
    hooks: showing(({ operation }) => operation !== 'list'),
  },
  {
    id: 'held',
    text: 'A response that would be sent shortly before the end of a minute is sent, and dated, after it.',
    hooks: {
      write: (to, status, headers, body, { now }) => {
        const leftMs = minuteMs - (now % minuteMs);
        if (leftMs > 300) return void to.writeHead(status, headers).end(body);
        setTimeout(() => to.writeHead(status, replaceDate(headers, now + leftMs + 50)).end(body), leftMs + 50);
      },
    },
  },
  {
    id: 'dates of two machines',
    text: 'Every second Date is 2 s behind; the limits have one clock.',
    hooks: {
      write: (to, status, headers, body, { now, world }) =>
        void to.writeHead(status, replaceDate(headers, now - (world.requests % 2) * 2_000)).end(body),
    },
  },
  {
    id: 'overtaking',
    text: 'Concurrent responses overtake each other.',
    hooks: {
      write: (to, status, headers, body, { world }) =>
        void setTimeout(() => to.writeHead(status, headers).end(body), (world.requests * 5) % 7),
    },
  },
  {
    id: 'other headers',
    text: 'Every response also has the rate limit headers of other conventions; the body of a 429 is a string.',
    hooks: {
      response: (response) => {
        if (response.status === 429) response.body = 'API rate limit exceeded';
        response.headers.push(
          ['RateLimit-Policy', '"burst";q=100;w=1, "day";q=10000;w=86400'],
          ['RateLimit', '"burst";r=98;t=1'],
          ['X-RateLimit-Limit-Hour', '5000'],
          ['X-RateLimit-Remaining-Hour', '4100'],
          ['X-Rate-Limit-Reset', '37'],
          ['X-Retry-After', '12'],
        );
        return response;
      },
    },
  },
  {
    id: 'uneven ticks',
    text: 'A bucket that a job refills after 4, 6 and 5 s in turn; Reset is when it is full.',
    hooks: limiterHooks({ ...limiters[0]!, minute: unevenBucket }),
  },
  {
    id: 'bucket and window',
    text: 'A bucket and a minute of the clock must both have room; Reset is when the whole limit is available again.',
    hooks: limiterHooks({ ...limiters[0]!, minute: bucketAndWindow }),
  },
  {
    id: 'clock ahead',
    text: 'Its clock, and so Date and Reset, is 95 s ahead of that of the client.',
    hooks: { time: (now) => now + 95_000 },
  },
  {
    id: 'closing',
    text: 'Every refusal and every tenth response closes the connection.',
    hooks: {
      write: (to, status, headers, body, exchange) => {
        const closes = status === 429 || exchange.world.requests % 10 === 0;
        base.write(to, status, closes ? [...headers, 'Connection', 'close'] : headers, body, exchange);
      },
    },
  },
  {
    id: 'Retry-After in advance',
    text: 'A response after which no request remains already has the Retry-After of a refusal.',
    hooks: {
      response: (response, exchange) => {
        const isLast = response.status !== 401 && response.status !== 429;
        if (isLast && integerOf(response, 'X-RateLimit-Remaining') === 0) {
          const ms = integerOf(response, 'X-RateLimit-Reset') * 1_000 - exchange.now;
          response.headers.push(['Retry-After', String(Math.max(1, Math.ceil(ms / 1_000)))]);
        }
        return response;
      },
    },
  },
  {
    id: 'Retry-After of another clock',
    text: 'Retry-After is a date by the clock of the limiter; Date is that of a proxy, which is 5 s behind.',
    hooks: {
      retryAfter: (ms, { now }) => new Date(Math.ceil((now + ms) / 1_000) * 1_000).toUTCString(),
      write: (to, status, headers, body, exchange) =>
        base.write(to, status, replaceDate(headers, exchange.now - 5_000), body, exchange),
    },
  },
  {
    id: 'Date an hour behind',
    text: 'Date is that of a proxy, which is an hour behind.',
    hooks: {
      write: (to, status, headers, body, exchange) =>
        base.write(to, status, replaceDate(headers, exchange.now - 3_600_000), body, exchange),
    },
  },
  {
    id: 'Date ahead',
    text: 'Retry-After is a date by the clock of the limiter; Date is that of a proxy, which is 40 s ahead.',
    hooks: {
      retryAfter: (ms, { now }) => new Date(Math.ceil((now + ms) / 1_000) * 1_000).toUTCString(),
      write: (to, status, headers, body, exchange) =>
        base.write(to, status, replaceDate(headers, exchange.now + 40_000), body, exchange),
    },
  },
  {
    id: 'routes before limits',
    text: 'Paths and methods that do not exist are neither counted nor refused; their headers show the key.',
    hooks: {
      admitted: (rates, exchange) => exchange.operation === 'other' || base.admitted(rates, exchange),
      counts: ({ operation }) => operation !== 'other',
    },
  },
  {
    id: 'capitals',
    text: 'The names of all headers are in capitals, with white space around most values.',
    hooks: {
      write: (to, status, headers, body, exchange) => {
        // Some parsers accept no tab in Content-Length.
        const around = (text: string, name: string) => (name === 'Content-Length' ? text : `  ${text}\t `);
        const sent = headers.map((text, i) => (i % 2 === 0 ? text.toUpperCase() : around(text, headers[i - 1]!)));
        base.write(to, status, sent, body, exchange);
      },
    },
  },
  {
    id: 'one at a time',
    text: 'A key has one request at a time, which takes 2 ms; the others wait.',
    hooks: {
      write: (...sent) => {
        const { authorization, world } = sent[4];
        const ofWorld = busy.get(world) ?? new Map<string, Promise<unknown>>();
        busy.set(world, ofWorld);
        const before = ofWorld.get(authorization) ?? Promise.resolve();
        ofWorld.set(authorization, before.then(() => pause(2)).then(() => base.write(...sent)));
      },
    },
  },
  ...[-1, 0].map((none): Variant => ({
    id: `no key: ${none}`,
    text: `The three headers of a 401 are ${none}.`,
    hooks: responses(status(401), (response) => {
      for (const name of rateHeaders) setHeader(response, name, String(none));
    }),
  })),
  {
    id: 'unlimited',
    text: 'The plan of the API key has no limit: the three headers are -1.',
    hooks: {
      admitted: (rates, exchange) => isUnlimited(exchange) || base.admitted(rates, exchange),
      ...responses((response, exchange) => response.status !== 401 && isUnlimited(exchange), (response) => {
        for (const name of rateHeaders) setHeader(response, name, '-1');
      }),
    },
  },
  {
    id: 'busy creates',
    text: 'A proxy responds with 503 to every seventh create, after the service has added the animal.',
    hooks: responses(
      ({ status: sent }, { world }) => sent === 201 && world.requests % 7 === 0,
      (response) => pageOf(response, 503),
    ),
  },
  ...firewalls.map(([id, status, refuses]): Variant => ({
    id: `firewall: ${id}`,
    text: `A firewall responds to ${id} with ${status}, HTML and no other header.`,
    hooks: {
      keep: (pet, exchange) => (refuses(exchange) ? undefined : pet),
      counts: (exchange) => !refuses(exchange),
      response: (response, exchange) => (refuses(exchange) ? pageOf(response, status) : response),
    },
  })),
];
