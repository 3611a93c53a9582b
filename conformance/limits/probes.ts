/**
 * The probes: requests that show what a limiter does at its limit. Nothing is judged here: the history is judged as a
 * whole.
 *
 * - In more than a minute: single requests, mostly such as fail, which show whether requests become available although
 *   others are sent before Reset, and whether errors lead to refusals.
 * - In the current window: as many requests as remain and one more at the same time, then one of each operation, two
 *   of them during the wait, and more if it is admitted, because requests may have returned to a bucket; and one after
 *   an early Retry-After.
 * - In a new window: a pause and some requests with short pauses, which show whether requests become available one by
 *   one; as many requests as remain, and one more afterwards, with two without a valid key before and after them; then
 *   one at Reset and one after Retry-After, the earlier first, until one is admitted. The client obeys the headers
 *   here, so the server has no reason for a ban.
 * - In the next window: a pause, so that most of a window has passed; as many requests as remain and one more at the
 *   same time; some requests of other kinds during the wait; again one at Reset; and one more than remain then, if
 *   these are few.
 *
 * At most five requests are refused in a window, because a server may ban a key for more (section 8, behaviour 3).
 *
 * Reset has whole seconds, so a server may cut off the fraction of a window that starts with its first request. The
 * first request is therefore sent early in a second of the server's clock, and the one after Reset late in a second.
 */
import { longWindowMs } from '../client/pacing.ts';
import { Inconclusive } from '../verdicts/outcome.ts';
import { hasSucceeded, isRefused, type Exchange } from './exchange.ts';
import { isBanned } from './group.ts';

/** How the probes are sent. */
export interface Prober<T> {
  /** Sends requests at the same time, regardless of the limits. Returns the exchanges of those with all headers. */
  send(requests: readonly T[]): Promise<readonly Exchange[]>;
  /** Sends a request with another key, if there is one that need not wait. */
  sendOther(): Promise<void>;
  /** Sends requests without a valid key, which must not count, and must not be served at the limit either. */
  sendKeyless(): Promise<void>;
  sleep(ms: number, reason: string): Promise<void>;
  /** An estimate of the server's time that is never ahead of it. */
  serverTime(): number;
}

/**
 * The requests that are sent as probes: the most frequent one, others that succeed, those that create nothing, the most
 * frequent one as other clients send it, and some that fail and count.
 */
export interface Kinds<T> {
  readonly small: T;
  readonly others: readonly T[];
  readonly reads: readonly T[];
  readonly clients: readonly T[];
  readonly failing: readonly T[];
}

/** The longest wait for the end of a window. A sliding counter looks back over two minutes. */
const maxWindowMs = 122_000;

/** The largest Remaining that is used up. */
const maxRemaining = 5_000;

/** The most refusals in one window. */
export const maxRefusals = 5;

/** The number of requests beyond Remaining after which no refusal is expected any more. */
const maxMore = 10;

/** How often an operation is requested at the limit until it is refused: one request may return to a bucket. */
const maxTries = 3;

/** The same for a request that fails: a bucket that refills in short steps could admit a few of them. */
const maxFailing = 20;

/** How many operations are requested at the first limit without a pause. The others are distributed over the wait. */
const atOnce = 2;

/** If at most this many requests remain, all are sent at the same time. */
const lastFew = 10;

/** How long after Reset a window has certainly ended: Reset may lack a fraction of a second or be a second early. */
const turnMs = 1_050;

/** If the Retry-After of a 429 ends so much later than that of another one, the key was banned meanwhile. */
const banMs = 30_000;

/** How long after Reset a request must be admitted. The fraction of a second that Reset may lack is shorter. */
const afterResetMs = 800;

/** How many more seconds to wait for the end of a window that has not ended at its Reset. */
const maxLate = 30;

/** The pause in which some requests return to a limiter that returns them one by one. */
const refillMs = 2_500;

/** The number of requests after that, and the pause before each. */
const refillTries = 6;
const shortMs = 400;

/** The pause before the limit is reached late in a window. */
const lateInWindowMs = 50_000;

/**
 * The duration and the number of the single requests at first: at most a part of the limit, so that none is refused.
 */
const spacedMs = 66_000;
const maxSpaced = 22;
const spacedShare = 1 / 3;

/** During shorter waits, no request is sent to see whether the limit holds. */
const minSpacedMs = 4_000;

/** The accuracy with which the server's clock is determined, in seconds: a Date has whole seconds. */
const clockAccuracy = 1 / 32;

/**
 * Sends the probes.
 *
 * @throws Inconclusive if the headers do not allow it
 */
export async function exhaust<T>(prober: Prober<T>, kinds: Kinds<T>): Promise<void> {
  const { small, others, reads, clients, failing } = kinds;
  /** When a request may be sent again, by the kit's clock, according to the 429 that states the earliest time. */
  let retryAt = Infinity;
  /** Whether a later 429 stated an earlier time. */
  let isShortened = false;
  const send = async (requests: readonly T[]): Promise<readonly Exchange[]> => {
    const exchanges = await prober.send(requests);
    if (exchanges.some(hasSucceeded)) [retryAt, isShortened] = [Infinity, false];
    const ends = exchanges.filter(isRefused).map(({ receivedAt, retryAfterMs = Infinity }) => receivedAt + retryAfterMs);
    isShortened ||= retryAt < Infinity && ends.some((end) => end < retryAt - 2 * turnMs);
    retryAt = Math.min(retryAt, ...ends);
    return exchanges;
  };
  const one = async (request = small): Promise<Exchange> => {
    const [exchange] = await send([request]);
    if (exchange !== undefined) return exchange;
    throw new Inconclusive('a response lacks a rate limit header, or the value of one is not an integer');
  };
  const untilEnd = (last: Exchange): number => {
    const ms = last.reset * 1_000 - prober.serverTime();
    if (ms <= maxWindowMs) return ms;
    const minutes = Math.ceil(ms / 60_000);
    throw new Inconclusive(`the window of the headers ends in ${minutes} minutes, too late to wait for it`);
  };

  /** Sends as many requests as remain, in halves, so that a server that admits fewer refuses few, and then `more`. */
  const useUp = async (last: Exchange, more: number, usual = [small, ...reads]): Promise<Exchange> => {
    let left = last.remaining;
    untilEnd(last); // it may describe the day, unlike the exchange before
    if (left > maxRemaining) throw new Inconclusive(`${left} requests remain, more than ${maxRemaining}`);
    for (let first = true; ; first = false) {
      const count = left > lastFew ? Math.ceil(left / 2) : left + more;
      const some: T[] = Array.from({ length: count }, (_, i) => usual[i % usual.length]!);
      if (first) some.splice(0, Math.min(count, others.length), ...others.slice(0, count));
      // A limiter may reserve the last requests for some operations.
      if (!first && left <= lastFew && count > 1) for (const create of others.slice(0, 1)) some[count >> 1] = create;
      const exchanges = count === 0 ? [] : await send(some);
      const refusal = exchanges.findLast(isRefused);
      if (refusal !== undefined) return refusal;
      if (left <= lastFew) break;
      left = Math.min(left - count, ...exchanges.map(({ remaining }) => remaining));
    }
    let beyond = await one();
    for (let i = 1; i < maxMore && !isRefused(beyond); i++) beyond = await one();
    return beyond;
  };

  /** Sends a request at the limit until it is refused. */
  const atLimit = async (last: Exchange, request: T, tries: number): Promise<Exchange> => {
    for (let i = 0; i < tries; i++) {
      const [exchange] = await send([request]);
      last = exchange ?? last;
      if (exchange !== undefined && isRefused(exchange)) break;
    }
    await prober.sendOther();
    return last;
  };

  // One request of each group in turn: those that fail, those not sent at the first limit, those of other clients.
  const groups = [failing, others.slice(maxRefusals - 1), clients];
  const inTurn = Array.from({ length: Math.max(...groups.map(({ length }) => length)) }, (_, i) => i);
  const late = [...inTurn.flatMap((i) => groups.flatMap((group) => group.slice(i, i + 1))), ...others];
  if (late.length === 0) late.push(small);
  let next = 0;
  /** Sends requests at Reset and after Retry-After, the earlier first, until one is admitted. */
  const recover = async (refusal: Exchange, probes: number): Promise<Exchange> => {
    let [last, left] = [refusal, probes];
    // A ban may have followed the 429 with the earliest time.
    const lastRetryAt = refusal.receivedAt + (refusal.retryAfterMs ?? Infinity);
    const isBan = lastRetryAt > retryAt + banMs;
    const untilRetry = () => (isBan ? lastRetryAt : retryAt) - last.receivedAt;
    const untilReset = () => refusal.reset * 1_000 - prober.serverTime();
    const afterMs = untilRetry() > untilReset() + 2 * turnMs ? turnMs : afterResetMs;
    const waits = [
      { until: untilRetry, most: longWindowMs, reason: 'Retry-After of a 429' },
      { until: () => untilReset() + afterMs, most: maxWindowMs, reason: 'Reset of a 429' },
    ];
    for (const { until, most, reason } of waits.sort((a, b) => a.until() - b.until())) {
      if (until() > most) continue;
      for (const part = until() / (left + 1); left > 0 && until() > minSpacedMs && isRefused(last); left--) {
        await prober.sleep(part, 'the limit must hold until then');
        last = await one(late[next++ % late.length]);
      }
      if (!isRefused(last)) break;
      await prober.sleep(Math.max(0, until()), reason);
      last = await one();
    }
    return last;
  };

  /**
   * Sends a request after the last Retry-After, if that is before Reset, or after one that is earlier than another one
   * before it. A limiter that counts refused requests may make the wait longer, but not shorter.
   */
  const afterEarliest = async (refusal: Exchange): Promise<Exchange> => {
    const [untilEarly, untilRetry] = [retryAt - refusal.receivedAt, refusal.retryAfterMs ?? Infinity];
    const untilReset = refusal.reset * 1_000 - prober.serverTime();
    const until = isShortened ? untilEarly : untilRetry;
    if (!isShortened && untilRetry > untilReset - 2 * turnMs) return refusal;
    await prober.sleep(Math.max(0, until), 'an early Retry-After of a 429');
    return one();
  };

  /** The first exchange of a window, if possible. */
  const fresh = async (last: Exchange): Promise<Exchange> => {
    await prober.sleep(Math.max(0, untilEnd(last)) + turnMs, 'a new window of the key that is brought to its limit');
    let first = await one();
    for (let i = 0; i < maxLate && isRefused(first) && first.reset <= last.reset && !isBanned(first); i += 10) {
      await prober.sleep(10_000, 'the window has not ended at its Reset');
      first = await one();
    }
    if (first.remaining >= first.limit - 1) return first;
    // Reset was only the time at which the first requests become available again.
    await prober.sleep(60_000, 'older requests still count');
    return one();
  };

  let last = await one();
  untilEnd(last);
  for (let part = 1 / 2; part >= clockAccuracy; part /= 2) {
    const ahead = (1 - part) * 1_000 - (prober.serverTime() % 1_000);
    await prober.sleep(ahead + (ahead < 0 ? 2_000 : 1_000), "the server's clock is being determined");
    if (last.remaining === 0) {
      last = await fresh(last);
      break;
    }
    last = await one();
  }

  // Single requests.
  const count = Math.max(2, Math.min(maxSpaced, Math.floor(last.limit * spacedShare)));
  const spaced = [...others, ...Array.from({ length: count }, (_, i) => failing[i % failing.length] ?? small)];
  for (let i = 0; i < count && last.remaining > 0; i++) {
    await prober.sleep(spacedMs / count, 'to see whether the limit resets while requests are sent');
    last = await one(spaced[i]);
  }

  // The current window.
  // Mostly one kind of request, so that another kind is admitted if each has a budget of its own.
  last = await useUp(last, 1, [small]);
  const atFirst = isRefused(last) ? others.slice(0, maxRefusals - 1) : [];
  for (const [i, request] of atFirst.entries()) {
    const until = Math.min(retryAt - last.receivedAt, last.reset * 1_000 - prober.serverTime());
    const isLong = until > minSpacedMs && until <= maxWindowMs;
    if (i >= atOnce && isLong) await prober.sleep(until / (atFirst.length - i + 1), 'the limit must hold until then');
    last = await atLimit(last, request, maxTries);
  }
  const wasBanned = isBanned(last);
  if (wasBanned) last = await recover(last, 0);
  else if (isRefused(last)) last = await afterEarliest(last);

  // A new window.
  last = await fresh(last);
  const refill = 'to see whether requests become available one by one';
  await prober.sleep(refillMs, refill);
  for (let i = 0; i < refillTries; i++) {
    await one();
    await prober.sleep(shortMs, refill);
  }
  await prober.sendKeyless();
  last = await useUp(await one(), 0);
  if (!isRefused(last)) return;
  await prober.sendKeyless();
  last = await recover(last, 0);
  if (isRefused(last)) last = await fresh(last);
  if (wasBanned) return;

  // Late in the next one.
  await prober.sleep(lateInWindowMs, 'most of a window');
  last = await useUp(await one(), 1);
  if (!isRefused(last)) return;
  last = await atLimit(last, late[next++ % late.length]!, maxFailing);
  if (isRefused(last)) last = await recover(last, 2);
  if (!isRefused(last) && last.remaining <= lastFew) await useUp(last, 1);
}
