/**
 * Conforming limiters of each family that servers use. Each is a pure function of a state and a time, so that a test
 * can generate histories from it without a server. `limiterHooks` turns it into hooks of the small server.
 */
import type { Exchange, Hooks, Limits, Rates, Usage } from '../server/hooks.ts';

/** What a limiter decides about a request or, between requests, about the next one. */
export interface Decision {
  readonly admitted: boolean;
  readonly limit: number;
  /** The requests that remain, after this one if it was admitted. At least 0. */
  readonly remaining: number;
  readonly resetMs: number;
  /** The milliseconds until a request is admitted, 0 if one would be admitted now. */
  readonly retryAfterMs: number;
}

/** The state of one window. Each kind of limiter uses some of the fields. */
export interface WindowState {
  /** The start of the window, the time of the latest change of a bucket, or the theoretical arrival time of GCRA. */
  readonly at: number;
  readonly used: number;
  /** The requests in the window before. */
  readonly before: number;
  /** The times of the admitted requests. */
  readonly times: readonly number[];
}

/** One limit for one period. */
export interface Size {
  readonly limit: number;
  readonly periodMs: number;
}

/** What the headers say about the next request. A faulty limiter may admit other requests than its headers say. */
export interface Look extends Pick<Decision, 'remaining' | 'resetMs' | 'retryAfterMs'> {
  readonly admitted?: boolean;
}

/** The arithmetic of a kind of limiter, for one limit. */
export interface Kind {
  look(state: WindowState, size: Size, now: number): Look;
  /** The state after an admitted request. */
  take(state: WindowState, size: Size, now: number): WindowState;
}

/** The state of a key. */
export interface State {
  readonly minute: WindowState;
  readonly day: WindowState;
}

/** A limiter of a minute and of a day. */
export interface Limiter {
  readonly id: string;
  /** In one sentence. */
  readonly text: string;
  readonly minute: Kind;
  readonly day: Kind;
  /** Which of the two the headers describe: the one with fewer requests, or the minute unless the day is used up. */
  readonly shows: 'fewer' | 'minute';
  /** Whether Remaining is read only after all concurrent requests have been counted. */
  readonly readsAfterHits: boolean;
}

export const minuteMs = 60_000;
export const dayMs = 86_400_000;

/** Smaller differences between numbers of requests are rounding errors. */
const epsilon = 1e-6;

const fresh: WindowState = { at: 0, used: 0, before: 0, times: [] };

/** The state of a key that has sent no request. */
export const freshState: State = { minute: fresh, day: fresh };

/** A window that begins at a multiple of its length. */
export const fixedByClock: Kind = {
  look: (state, { limit, periodMs }, now) => {
    const at = Math.floor(now / periodMs) * periodMs;
    return rest(limit - (state.at === at ? state.used : 0), at + periodMs, now);
  },
  take: (state, { periodMs }, now) => {
    const at = Math.floor(now / periodMs) * periodMs;
    return { ...fresh, at, used: state.at === at ? state.used + 1 : 1 };
  },
};

/** A window that begins with the first request after the end of the previous window. */
export const fixedFromFirst: Kind = {
  look: (state, { limit, periodMs }, now) => {
    const runs = state.used > 0 && now < state.at + periodMs;
    return rest(limit - (runs ? state.used : 0), (runs ? state.at : now) + periodMs, now);
  },
  take: (state, { periodMs }, now) =>
    state.used > 0 && now < state.at + periodMs ? { ...state, used: state.used + 1 } : { ...fresh, at: now, used: 1 },
};

/** The requests of the last period. Reset is when all of them have left it. */
export const slidingLog: Kind = {
  look: (state, { limit, periodMs }, now) => {
    const times = recent(state, periodMs, now);
    // If a smaller limit was in force, more than one request must leave.
    const freeing = times[times.length - limit];
    return {
      remaining: Math.max(0, limit - times.length),
      resetMs: (times.at(-1) ?? now) + periodMs,
      retryAfterMs: freeing === undefined ? 0 : freeing + periodMs - now,
    };
  },
  take: (state, { periodMs }, now) => ({ ...fresh, times: [...recent(state, periodMs, now), now] }),
};

/** The requests of this window, and those of the window before as far as a sliding window would still see them. */
const slidingCounter: Kind = {
  look: (state, { limit, periodMs }, now) => {
    const { at, used, before } = turned(state, periodMs, now);
    const remaining = Math.floor(limit - used - before * (1 - (now - at) / periodMs) + epsilon);
    // The time at which a number of requests of a window that began at `from` weighs at most `most`.
    const weighs = (requests: number, most: number, from: number): number =>
      Math.ceil(from + periodMs * (1 - most / requests));
    const next =
      remaining > 0
        ? now
        : used < limit
          ? weighs(before, limit - 1 - used, at)
          : weighs(used, limit - 1, at + periodMs);
    return {
      remaining: Math.max(0, remaining),
      resetMs: used > 0 ? at + 2 * periodMs : before > 0 ? at + periodMs : now,
      retryAfterMs: next - now,
    };
  },
  take: (state, { periodMs }, now) => {
    const window = turned(state, periodMs, now);
    return { ...window, used: window.used + 1 };
  },
};

/** A bucket that fills continuously. Reset is when it is full. */
export const tokenBucket: Kind = {
  look: (state, { limit, periodMs }, now) => {
    const used = missing(state, { limit, periodMs }, now);
    const perMs = limit / periodMs;
    const remaining = Math.max(0, Math.floor(limit - used + epsilon));
    return {
      remaining,
      resetMs: now + Math.ceil(used / perMs),
      retryAfterMs: remaining > 0 ? 0 : Math.ceil((used - limit + 1) / perMs),
    };
  },
  take: (state, size, now) => ({ ...fresh, at: now, used: missing(state, size, now) + 1 }),
};

/**
 * A bucket that refills every `everyMs`, or if that is less than a token, a token at a time. If `byClock`, steps are at
 * multiples of that time. Reset is when the bucket is full if `resetIsFull`. Otherwise it is now, or when the bucket
 * has a token if it has none.
 */
export function steppedBucket(everyMs: number, { resetIsFull = false, byClock = false } = {}): Kind {
  const refilled = ({ at, used }: WindowState, { limit, periodMs }: Size, now: number) => {
    const stepMs = Math.max(everyMs, periodMs / limit);
    const step = (limit * stepMs) / periodMs;
    const from = at !== 0 ? at : byClock ? Math.floor(now / stepMs) * stepMs : now;
    const passed = Math.floor((now - from) / stepMs);
    return { stepMs, step, begin: from + passed * stepMs, used: Math.max(0, used - passed * step) };
  };
  return {
    look: (state, size, now) => {
      const { stepMs, step, begin, used } = refilled(state, size, now);
      const remaining = Math.floor(size.limit - used + epsilon);
      /** When so many tokens are missing at most. */
      const whenMissing = (most: number): number =>
        used > most + epsilon ? Math.ceil(begin + Math.ceil((used - most) / step - epsilon) * stepMs) : now;
      const next = whenMissing(size.limit - 1);
      return { remaining, resetMs: resetIsFull ? whenMissing(0) : next, retryAfterMs: next - now };
    },
    take: (state, size, now) => {
      const { begin, used } = refilled(state, size, now);
      return { ...fresh, at: begin, used: used + 1 };
    },
  };
}

/** The generic cell rate algorithm. It stores only the time at which the next request would arrive at an even pace. */
export const gcra: Kind = {
  look: (state, { limit, periodMs }, now) => {
    const interval = periodMs / limit;
    const arrival = Math.max(state.at, now);
    const remaining = Math.max(0, Math.floor((periodMs - (arrival - now)) / interval + epsilon));
    return {
      remaining,
      resetMs: Math.ceil(arrival),
      retryAfterMs: remaining > 0 ? 0 : Math.ceil(arrival + interval - periodMs - now),
    };
  },
  take: (state, { limit, periodMs }, now) => ({ ...fresh, at: Math.max(state.at, now) + periodMs / limit }),
};

/** The same kind on a clock that differs by `offsetMs`. */
export function shifted(kind: Kind, offsetMs: number): Kind {
  return {
    look: (state, size, now) => {
      const seen = kind.look(state, size, now - offsetMs);
      return { ...seen, resetMs: seen.resetMs + offsetMs };
    },
    take: (state, size, now) => kind.take(state, size, now - offsetMs),
  };
}

/** The same kind on a clock that shows only whole seconds. All its times must be whole seconds too. */
function inWholeSeconds(kind: Kind): Kind {
  const second = (now: number): number => Math.floor(now / 1_000) * 1_000;
  return {
    look: (state, size, now) => {
      const seen = kind.look(state, size, second(now));
      return { ...seen, retryAfterMs: seen.retryAfterMs === 0 ? 0 : second(now) + seen.retryAfterMs - now };
    },
    take: (state, size, now) => kind.take(state, size, second(now)),
  };
}

/** The requests of this segment of the clock and of those before it within a period. Reset is when one leaves. */
export function segments(segmentMs: number): Kind {
  const leaves = (time: number, periodMs: number): number => Math.floor(time / segmentMs) * segmentMs + periodMs;
  const counted = ({ times }: WindowState, periodMs: number, now: number): readonly number[] =>
    times.filter((time) => leaves(time, periodMs) > now);
  return {
    look: (state, { limit, periodMs }, now) => {
      const times = counted(state, periodMs, now);
      const freeing = times[Math.max(0, times.length - limit)];
      return rest(limit - times.length, freeing === undefined ? now : leaves(freeing, periodMs), now);
    },
    take: (state, { periodMs }, now) => ({ ...fresh, times: [...counted(state, periodMs, now), now] }),
  };
}

/** The requests of the last period. Reset is when the next one of them leaves it. */
export const movingWindow: Kind = {
  ...slidingLog,
  look: (state, size, now) => {
    const seen = slidingLog.look(state, size, now);
    const [oldest] = recent(state, size.periodMs, now);
    return seen.remaining > 0
      ? { ...seen, resetMs: oldest === undefined ? now : oldest + size.periodMs }
      : { ...seen, resetMs: now + seen.retryAfterMs };
  },
};

/**
 * As `slidingCounter`, but the first window begins with a request, and a fraction of a request counts as none. Reset is
 * now, or when the next request is admitted.
 */
export const sharesFromFirst: Kind = {
  look: (state, { limit, periodMs }, now) => {
    const { at, used, before } = turnedFromFirst(state, periodMs, now);
    const remaining = limit - Math.floor(used + before * (1 - (now - at) / periodMs) + epsilon);
    // The first time at which requests of a window that began at `from` weigh less than `most`.
    const weighsLess = (requests: number, most: number, from: number): number =>
      Math.floor(from + periodMs * (1 - most / requests) + epsilon) + 1;
    const next =
      remaining > 0
        ? now
        : used < limit
          ? weighsLess(before, limit - used, at)
          : weighsLess(used, limit, at + periodMs);
    return { remaining: Math.max(0, remaining), resetMs: next, retryAfterMs: next - now };
  },
  take: (state, { periodMs }, now) => {
    const window = turnedFromFirst(state, periodMs, now);
    return { ...window, used: window.used + 1 };
  },
};

/** A bucket that fills continuously. Reset is when it has one more token, or now if it is full. */
export const bucketByToken: Kind = {
  ...tokenBucket,
  look: (state, size, now) => {
    const used = missing(state, size, now);
    const needed = used - (Math.ceil(used - epsilon) - 1);
    const resetMs = used > epsilon ? now + Math.ceil((needed * size.periodMs) / size.limit) : now;
    return { ...tokenBucket.look(state, size, now), resetMs };
  },
};

/** The day of a Free key, of which only some requests remain, because others were sent before. */
export function usedBefore(kind: Kind, left: number): Kind {
  return {
    ...kind,
    look: (state, size, now) =>
      kind.look(state, size.limit === 1_000 && size.periodMs === dayMs ? { ...size, limit: left } : size, now),
  };
}

/** The same kind, with a Reset at which the next request is admitted if none is left. */
function withNextReset(kind: Kind): Kind {
  return {
    ...kind,
    look: (state, size, now) => {
      const seen = kind.look(state, size, now);
      return seen.remaining > 0 ? seen : { ...seen, resetMs: now + seen.retryAfterMs };
    },
  };
}

const limiter = (
  id: string,
  text: string,
  minute: Kind,
  { day = fixedByClock, shows = 'fewer', readsAfterHits = false }: Partial<Limiter> = {},
): Limiter => ({ id, text, minute, day, shows, readsAfterHits });

/** Every kind of limiter, with ids that reports may name. */
export const limiters: readonly Limiter[] = [
  limiter('window by the clock', 'A window is a minute of the clock, and a day in UTC.', fixedByClock),
  limiter('window from the first request', 'A window begins with a request and lasts 60 s.', fixedFromFirst),
  limiter('rolling day', 'Both windows begin with a request.', fixedFromFirst, { day: fixedFromFirst }),
  limiter('sliding log', 'The requests of the last 60 s; Reset is when all have left.', slidingLog, {
    shows: 'minute',
  }),
  limiter(
    'sliding log, next request',
    'The requests of the last 60 s; Reset is when the next one is admitted if none is left.',
    withNextReset(slidingLog),
    { shows: 'minute' },
  ),
  limiter(
    'sliding counter',
    'The requests of this minute, and a share of those of the minute before; Reset is when none counts any more.',
    slidingCounter,
  ),
  limiter(
    'sliding counter, next request',
    'The same shares; Reset is when the next request is admitted if none is left.',
    withNextReset(slidingCounter),
    { shows: 'minute' },
  ),
  limiter('token bucket', 'A bucket that fills within a minute; Reset is when it is full.', tokenBucket),
  limiter(
    'token bucket, next token',
    'A bucket that fills within a minute; Reset is when it has a token if it has none.',
    withNextReset(tokenBucket),
    { shows: 'minute' },
  ),
  limiter('bucket in steps', 'A bucket that refills every 3 s; Reset is now, or the next step.', steppedBucket(3_000), {
    day: steppedBucket(dayMs / 24),
  }),
  limiter(
    'bucket by the second',
    'A bucket that refills when a second of the clock begins; Reset is when it is full.',
    steppedBucket(1_000, { resetIsFull: true, byClock: true }),
  ),
  limiter(
    'bucket in odd steps',
    'A bucket that refills every 7 s; Reset is now, or the next step.',
    steppedBucket(7_000),
  ),
  limiter(
    'bucket in large steps',
    'A bucket that refills every 10 s; Reset is when it is full.',
    steppedBucket(10_000, { resetIsFull: true }),
  ),
  limiter(
    'bucket in one step',
    'A bucket that is full again a minute later; Reset is now, or then.',
    steppedBucket(minuteMs),
  ),
  limiter('gcra', 'GCRA with a burst of the whole limit; Reset is when the burst is available again.', gcra),
  limiter('gcra of a day', 'GCRA for the minute and for the day.', gcra, { day: gcra }),
  limiter(
    'concurrent remaining by the clock',
    'A minute of the clock; Remaining is read after concurrent requests.',
    fixedByClock,
    { readsAfterHits: true },
  ),
  limiter(
    'concurrent remaining from the first request',
    'A window from the first request; Remaining is read after concurrent requests.',
    fixedFromFirst,
    { readsAfterHits: true },
  ),
  limiter(
    'concurrent remaining of a bucket',
    'A token bucket; Remaining is read after concurrent requests.',
    tokenBucket,
    { readsAfterHits: true },
  ),
  limiter(
    'shifted windows',
    'Windows of a minute and of a day that begin when the server was started.',
    shifted(fixedByClock, 23_400),
    { day: shifted(fixedByClock, 29_000_000) },
  ),
  limiter('windows in whole seconds', 'A window begins in the second of a request.', inWholeSeconds(fixedFromFirst), {
    day: inWholeSeconds(fixedFromFirst),
  }),
  limiter(
    'segments of ten seconds',
    'The requests of six segments of 10 s; Reset is when the first of them leaves.',
    shifted(segments(10_000), 3_300),
    { day: shifted(segments(dayMs / 24), 3_300) },
  ),
  limiter(
    'segments of half a minute',
    'The requests of two segments of 30 s; Reset is when the first of them leaves.',
    segments(30_000),
    { shows: 'minute' },
  ),
  limiter(
    'segments of a second',
    'The requests of 60 segments of 1 s; Reset is when the first of them leaves.',
    segments(1_000),
    { shows: 'minute' },
  ),
  limiter(
    'moving window log',
    'The requests of the last 60 s and 24 h; Reset is when the first leaves.',
    movingWindow,
    { day: movingWindow },
  ),
  limiter(
    'shares from first',
    'Windows from a request, with a share of the window before; fractions do not count.',
    sharesFromFirst,
    { day: sharesFromFirst },
  ),
  limiter('bucket by the token', 'A token bucket; Reset is when it has one more token.', bucketByToken),
  limiter('two buckets of a day', 'A token bucket for the minute and one for the day.', tokenBucket, {
    day: tokenBucket,
  }),
  limiter(
    'concurrent remaining of shares',
    'Shares of windows from a request; Remaining is read after concurrent requests.',
    sharesFromFirst,
    { readsAfterHits: true },
  ),
  limiter(
    'concurrent remaining of a moving log',
    'The requests of the last 60 s; Remaining is read after concurrent requests.',
    movingWindow,
    { readsAfterHits: true },
  ),
];

/** What the headers say between two requests, and whether the next one is admitted. */
export function look(of: Limiter, state: State, limits: Limits, now: number): Decision {
  const minute = of.minute.look(state.minute, { limit: limits.minute, periodMs: minuteMs }, now);
  const day = of.day.look(state.day, { limit: limits.day, periodMs: dayMs }, now);
  const showsDay = day.remaining === 0 || (of.shows === 'fewer' && day.remaining < minute.remaining);
  return {
    admitted: (minute.admitted ?? minute.remaining > 0) && (day.admitted ?? day.remaining > 0),
    limit: showsDay && !(of.shows === 'minute') ? limits.day : limits.minute,
    remaining: Math.min(minute.remaining, showsDay ? day.remaining : minute.remaining),
    resetMs: showsDay ? day.resetMs : minute.resetMs,
    retryAfterMs: Math.max(minute.retryAfterMs, day.retryAfterMs),
  };
}

/** The state after an admitted request. */
export function take(of: Limiter, state: State, limits: Limits, now: number): State {
  return {
    minute: of.minute.take(state.minute, { limit: limits.minute, periodMs: minuteMs }, now),
    day: of.day.take(state.day, { limit: limits.day, periodMs: dayMs }, now),
  };
}

/** A request: the state after it, and what its response says. */
export function hit(
  of: Limiter,
  state: State,
  limits: Limits,
  now: number,
): { readonly state: State; readonly decision: Decision } {
  if (!look(of, state, limits, now).admitted) return { state, decision: look(of, state, limits, now) };
  const after = take(of, state, limits, now);
  return { state: after, decision: { ...look(of, after, limits, now), admitted: true } };
}

/** Requests that arrive together: as `hit` for each of them, but Remaining may be read after all of them. */
export function hits(
  of: Limiter,
  state: State,
  limits: Limits,
  now: number,
  count: number,
): { readonly state: State; readonly decisions: readonly Decision[] } {
  const decisions: Decision[] = [];
  for (let i = 0; i < count; i += 1) {
    const one = hit(of, state, limits, now);
    state = one.state;
    decisions.push(one.decision);
  }
  const { remaining } = look(of, state, limits, now);
  return { state, decisions: of.readsAfterHits ? decisions.map((one) => ({ ...one, remaining })) : decisions };
}

/** Hooks that count with a limiter. `refuse` is the state after a refused request; usually it is the same. */
export function limiterHooks(
  of: Limiter,
  refuse = (state: State, _limits: Limits, _now: number): State => state,
): Partial<Hooks> {
  interface Key {
    readonly state: State;
    readonly limits: Limits;
  }
  const keys = new WeakMap<Usage, Key>();
  const keyOf = new WeakMap<Rates, Usage>();
  const change = (usage: Usage | undefined, now: number, next: typeof refuse): void => {
    const key = usage && keys.get(usage);
    if (usage !== undefined && key !== undefined) keys.set(usage, { ...key, state: next(key.state, key.limits, now) });
  };
  return {
    left: (usage, limits, { now }) => {
      const { state } = keys.get(usage) ?? { state: freshState };
      keys.set(usage, { state, limits });
      const rates: Rates = look(of, state, limits, now);
      keyOf.set(rates, usage);
      return rates;
    },
    admitted: (rates, { now }) => {
      if (rates.admitted === false) change(keyOf.get(rates), now, refuse);
      return rates.admitted === true;
    },
    count: (usage, { now }) => change(usage, now, (state, limits) => take(of, state, limits, now)),
    ...(of.readsAfterHits && { response: noteRemaining, write: writeLatestRemaining }),
  };
}

/** Remembers the Remaining of a response, for `writeLatestRemaining`. */
export const noteRemaining: Hooks['response'] = (response, { authorization, world: { notes } }) => {
  const remaining = response.headers.find(([name]) => name === 'X-RateLimit-Remaining')?.[1];
  if (response.status !== 401) notes.set(`remaining ${authorization}`, remaining ?? '');
  return response;
};

/** Sends a response after a short delay, with the value of Remaining at that time. */
export const writeLatestRemaining: Hooks['write'] = (to, status, headers, body, exchange: Exchange) => {
  const {
    authorization,
    world: { notes },
  } = exchange;
  // The server counts requests that have already arrived before the timer fires.
  setTimeout(() => {
    const latest = status === 401 ? undefined : notes.get(`remaining ${authorization}`);
    const isRemaining = (i: number) => headers[i - 1] === 'X-RateLimit-Remaining';
    const sent = headers.map((text, i) => (i % 2 === 1 && isRemaining(i) ? (latest ?? text) : text));
    to.writeHead(status, sent).end(body);
  }, 1);
};

function rest(remaining: number, resetMs: number, now: number): Look {
  return { remaining: Math.max(0, remaining), resetMs, retryAfterMs: remaining > 0 ? 0 : resetMs - now };
}

function recent({ times }: WindowState, periodMs: number, now: number): readonly number[] {
  return times.filter((time) => time > now - periodMs);
}

/** The windows at a time: this one and the one before. */
function turned(state: WindowState, periodMs: number, now: number): WindowState {
  const at = Math.floor(now / periodMs) * periodMs;
  if (state.at === at) return state;
  return { ...fresh, at, before: state.at === at - periodMs ? state.used : 0 };
}

/** The windows at a time. A window begins at the end of the one before, or with the first request after a pause. */
function turnedFromFirst(state: WindowState, periodMs: number, now: number): WindowState {
  if (state.at === 0 || now >= state.at + 2 * periodMs) return { ...fresh, at: now };
  if (now < state.at + periodMs) return state;
  return { ...fresh, at: state.at + periodMs, before: state.used };
}

/** The tokens that a bucket lacks, with fractions. */
function missing({ at, used }: WindowState, { limit, periodMs }: Size, now: number): number {
  return Math.max(0, used - (Math.max(0, now - at) * limit) / periodMs);
}
