/** Conforming servers whose limits and headers follow common libraries in what a limiter alone does not decide. */
import {
  bucketByToken,
  fixedFromFirst,
  gcra,
  limiterHooks,
  limiters,
  movingWindow,
  sharesFromFirst,
  shifted,
  slidingLog,
  tokenBucket,
  fixedByClock,
  take,
  usedBefore,
  type Kind,
  type Limiter,
} from './families/limiters.ts';
import type { Exchange, Hooks, Limits, Rates, Usage } from './server/hooks.ts';
import type { Variant } from './variant.ts';

const both = (kind: Kind, day: Kind = kind): Limiter => ({ ...limiters[0]!, minute: kind, day });

/** Changes what the headers say. The same requests are admitted. */
function shownAs(hooks: Partial<Hooks>, change: (rates: Rates, exchange: Exchange) => Partial<Rates>): Partial<Hooks> {
  return {
    ...hooks,
    left: (usage, limits, exchange) => {
      const rates = hooks.left!(usage, limits, exchange);
      const retryAfterMs = rates.retryAfterMs ?? rates.resetMs - exchange.now;
      return Object.assign(rates, { retryAfterMs }, change(rates, exchange));
    },
  };
}

/** Whole seconds of Reset. */
const resetRounded = (round: (seconds: number) => number) => (rates: Rates) => ({
  resetMs: round(rates.resetMs / 1_000) * 1_000,
});

/** Counts requests without admitting them, so that the response to a refused request shows the state after it. */
function countingRefused(of: Limiter, refuse: typeof take): Partial<Hooks> {
  const hooks = limiterHooks(of, (state, limits, now) => refuse(of, state, limits, now));
  let seen: [usage: Usage, limits: Limits] | undefined;
  return {
    ...hooks,
    left: (usage, limits, exchange) => {
      seen = [usage, limits];
      return hooks.left!(usage, limits, exchange);
    },
    admitted: (rates, exchange) => {
      const admitted = hooks.admitted!(rates, exchange);
      if (!admitted) Object.assign(rates, hooks.left!(...seen!, exchange));
      return admitted;
    },
  };
}

/** Uses the limiter that `choose` returns for a request. */
function choosing(choose: (exchange: Exchange, limits: Limits) => Limiter): Partial<Hooks> {
  const made = new Map<string, Partial<Hooks>>();
  let current: Partial<Hooks> = {};
  return {
    left: (usage, limits, exchange) => {
      const of = choose(exchange, limits);
      current = made.get(of.id) ?? limiterHooks(of);
      made.set(of.id, current);
      return current.left!(usage, limits, exchange);
    },
    admitted: (rates, exchange) => current.admitted!(rates, exchange),
    count: (usage, exchange) => current.count!(usage, exchange),
  };
}

/** A number that depends on a key. */
const hashOf = (text: string): number => [...text].reduce((hash, char) => (hash * 31 + char.charCodeAt(0)) % 86_399, 7);

/** Counts a refused request for the day only. */
const dayCountsRefused: typeof take = (of, state, limits, now) => ({
  ...state,
  day: take(of, state, limits, now).day,
});

const blocked = limiterHooks(both(fixedFromFirst));

export const libraryVariants: readonly Variant[] = [
  ...[
    ['from the first request', both(fixedFromFirst, usedBefore(fixedFromFirst, 35))] as const,
    ['of a moving window', both(movingWindow, usedBefore(movingWindow, 27))] as const,
    ['with a bucket', { ...both(tokenBucket, usedBefore(fixedByClock, 50)), shows: 'minute' }] as const,
    ['with shares', both(sharesFromFirst, usedBefore(shifted(fixedByClock, 29_000_000), 44))] as const,
  ].map(([text, limiter]) => ({
    id: `last of a day ${text}`,
    text: `Windows or buckets ${text}; most of the day of a Free key is used up.`,
    hooks: limiterHooks(limiter),
  })),
  {
    id: 'express windows',
    text:
      'Windows from the start of the server; Retry-After is always a whole window; refused requests count for the ' +
      'day, which is checked first.',
    hooks: {
      ...limiterHooks({ ...both(shifted(fixedByClock, 41_234)), shows: 'minute' }, (state, limits, now) =>
        dayCountsRefused(both(shifted(fixedByClock, 41_234)), state, limits, now),
      ),
      retryAfter: (ms) => String(ms > 60_000 ? Math.ceil(ms / 1_000) : 60),
    },
  },
  {
    id: 'window with truncated Reset',
    text: 'Windows from the first request; Reset is rounded down.',
    hooks: shownAs(limiterHooks(both(fixedFromFirst)), resetRounded(Math.floor)),
  },
  {
    id: 'bucket with truncated Reset',
    text: 'A token bucket; Reset is when it is full, rounded down.',
    hooks: shownAs(limiterHooks(both(tokenBucket, fixedByClock)), resetRounded(Math.floor)),
  },
  {
    id: 'moving window with rounded Reset',
    text: 'The requests of the last 60 s; Reset is when the first leaves, rounded to the nearest second.',
    hooks: shownAs(limiterHooks(both(movingWindow, fixedByClock)), resetRounded(Math.round)),
  },
  {
    id: 'moving window with late Reset',
    text: 'The requests of the last 60 s; Reset is the second after the first leaves.',
    hooks: shownAs(
      limiterHooks(both(movingWindow)),
      resetRounded((seconds) => Math.floor(seconds) + 1),
    ),
  },
  {
    id: 'gcra in seconds from now',
    text: 'GCRA whose Reset is a rounded duration after a rounded time.',
    hooks: shownAs(limiterHooks({ ...both(gcra, fixedByClock), shows: 'minute' }), ({ resetMs }, { now }) => ({
      resetMs: (Math.floor(now / 1_000) + Math.ceil((resetMs - now) / 1_000)) * 1_000,
    })),
  },
  {
    id: 'shares of attempts',
    text: 'A sliding counter from the first request, in which refused requests count.',
    hooks: countingRefused({ ...both(sharesFromFirst, fixedByClock), shows: 'minute' }, (of, state, limits, now) => ({
      ...state,
      minute: take(of, state, limits, now).minute,
    })),
  },
  {
    id: 'windows of a key',
    text: 'Windows of the clock, shifted by a hash of the key.',
    hooks: choosing(({ authorization }) => {
      const shift = hashOf(authorization) * 1_000;
      return { ...both(shifted(fixedByClock, shift)), id: authorization };
    }),
  },
  {
    id: 'limiter of a plan',
    text: 'Free keys have a token bucket, other keys a sliding log.',
    hooks: choosing((_exchange, { minute }) =>
      minute === 60
        ? { ...both(bucketByToken, fixedFromFirst), id: 'bucket' }
        : { ...both(slidingLog, fixedFromFirst), id: 'log', shows: 'minute' },
    ),
  },
  {
    id: 'blocks after refusals',
    text: 'After the fifth refusal in a window, a key is blocked for 90 s, as Reset and Retry-After say.',
    hooks: {
      ...blocked,
      left: (usage, limits, exchange) => {
        const rates = blocked.left!(usage, limits, exchange);
        const until = Number(exchange.world.notes.get(`block ${exchange.authorization}`) ?? 0);
        if (until <= exchange.now) return rates;
        const resetMs = Math.max(until, rates.admitted === false ? exchange.now + rates.retryAfterMs! : 0);
        return Object.assign(rates, { admitted: false, remaining: 0, resetMs, retryAfterMs: resetMs - exchange.now });
      },
      admitted: (rates, { authorization, now, world: { notes } }) => {
        if (rates.admitted === true) {
          notes.delete(`refusals ${authorization}`);
          return true;
        }
        const refusals = Number(notes.get(`refusals ${authorization}`) ?? 0) + 1;
        notes.set(`refusals ${authorization}`, String(refusals));
        if (refusals === 5) {
          const until = Math.max(now + 90_000, now + rates.retryAfterMs!);
          notes.set(`block ${authorization}`, String(until));
          Object.assign(rates, { resetMs: until, retryAfterMs: until - now });
        }
        return false;
      },
    },
  },
];
