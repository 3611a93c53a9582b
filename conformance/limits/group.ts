/**
 * The exchanges of a key whose headers describe the same limit, and how many requests can have been sent, admitted or
 * refused between two of them.
 */
import { dayMs, minuteMs } from '../client/limit-readings.ts';
import { clockOf, hasSucceeded, isBefore, isRefused, type Exchange } from './exchange.ts';

/** How much Reset may vary within a window, in seconds: it may be a sum of the time and a duration, both rounded. */
export const jitter = 2;

/** How much later than the end of its window Reset may be, because a limiter may round it up. */
export const lateMs = 3_000;

/** The coarsest clock of a limiter: it may note the times of requests in whole seconds, and refill once a second. */
export const tickMs = 1_000;

/** If Reset is further ahead, the window is not the minute. A sliding counter looks back over two minutes. */
const longMs = 2 * minuteMs + lateMs;

/** Smaller differences between numbers of requests are rounding errors. */
export const epsilon = 1e-6;

/** The exchanges of one key whose headers describe the same limit (`own`), among all of the key, as they arrived. */
export interface Group {
  readonly all: readonly Exchange[];
  readonly own: readonly Exchange[];
  readonly limit: number;
  /** Whether the headers describe a minute, and no day. */
  readonly isShort: boolean;
  readonly periodMs: number;
  /** Whether no other client uses the key. */
  readonly isExclusive: boolean;
  /** Whether the same limit has also been announced for the day. */
  readonly isAlsoOfDay: boolean;
  readonly clock: ReturnType<typeof clockOf>;
  /**
   * Whether a request has used up one of the limit: it has succeeded, or it has failed like another one that did. A
   * limiter may give a request back if it fails.
   */
  isAdmitted(one: Exchange): boolean;
  /** Those of all exchanges that were admitted, that were refused, and that were not refused. */
  readonly admitted: Ranks;
  readonly refused: Ranks;
  readonly notRefused: Ranks;
  /** Those that failed, and that the limiter may give back afterwards. */
  readonly mayReturn: Ranks;
  /** Those that were refused because of a ban or a used-up day. */
  readonly banned: Ranks;
  /** The requests that failed, as `failureOf` names them, although Remaining has counted them. */
  readonly counted: ReadonlySet<string>;
}

/** Groups the exchanges of one key. */
export function groupsOf(exchanges: readonly Exchange[], isExclusive: boolean): readonly Group[] {
  const all = exchanges.toSorted((a, b) => a.receivedTurn - b.receivedTurn);
  const clock = clockOf(all);
  const refused = new Ranks(all.filter(isRefused));
  const notRefused = new Ranks(all.filter((one) => !isRefused(one)));
  const bans = bansOf(all, notRefused);
  const banned = new Ranks(all.filter((one) => isRefused(one) && (isBanned(one) || bans.has(one))));
  const groups = new Map<string, Exchange[]>();
  for (const one of all) {
    if (!Number.isSafeInteger(one.limit) || one.limit < 1) continue; // it means that there is no limit
    const isShort = one.reset * 1_000 - (one.date ?? one.receivedAt) <= longMs;
    const name = `${one.limit} ${bans.has(one) ? 'ban' : isShort}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [one]);
    else group.push(one);
  }
  return [...groups].map(([name, own]) => {
    const isShort = name.endsWith('true');
    const periodMs = isShort ? minuteMs : dayMs;
    const counted = countedFailures(isExclusive ? own : []);
    const used = new Set(counted.filter(([, isUsed]) => isUsed).map(([failure]) => failure));
    const isAdmitted = (one: Exchange) => hasSucceeded(one) || used.has(failureOf(one));
    const admitted = new Ranks(all.filter(isAdmitted));
    const mayReturn = new Ranks(all.filter((one) => !isAdmitted(one) && !isRefused(one)));
    return {
      ...{ all, own, limit: own[0]!.limit, isShort, periodMs, isExclusive: isExclusive && isShort, clock },
      ...{ isAlsoOfDay: groups.has(`${own[0]!.limit} false`), isAdmitted, admitted, mayReturn },
      ...{ refused, notRefused, banned },
      counted: new Set(counted.map(([failure]) => failure)),
    };
  });
}

/**
 * Refusals whose Reset and Retry-After are both the end of a ban: it is later than Reset was before, or than the end of
 * any window, and others were refused since a request was last admitted (section 8, behaviour 3).
 */
function bansOf(all: readonly Exchange[], notRefused: Ranks): ReadonlySet<Exchange> {
  const bans = new Set<Exchange>();
  const admitted = new Ranks(all.filter(hasSucceeded));
  let latest = -Infinity;
  for (const one of all) {
    const { date, receivedAt, reset } = one;
    const now = date ?? receivedAt;
    const isLater = reset > latest + jitter && now < latest * 1_000;
    const isLong = reset * 1_000 - now > minuteMs + lateMs;
    const isBan = endsAtReset(one) && (isLater || isLong) && !isFirstRefusal({ admitted, notRefused }, one);
    if (isBan) bans.add(one);
    else latest = Math.max(latest, reset);
  }
  return bans;
}

/** A failed request, and how it failed. */
export function failureOf({ name, status }: Exchange): string {
  return `${name} ${status}`;
}

/**
 * The failed requests before which Remaining was higher, although nothing else was sent in between. `isUsed`: after the
 * next two requests, Remaining was lower each time, so the failed request was not given back, not even late.
 */
function countedFailures(own: readonly Exchange[]): readonly (readonly [failure: string, isUsed: boolean])[] {
  const falls = (i: number): boolean => {
    const [before, one] = [own[i - 1], own[i]];
    return before !== undefined && one !== undefined && isBefore(before, one) && countedBetween(before, one) === 1
      && one.remaining < before.remaining;
  };
  return own.flatMap((one, i) => {
    const isFailure = one.status >= 400 && one.status < 500 && !isRefused(one);
    return isFailure && falls(i) ? [[failureOf(one), falls(i + 1) && falls(i + 2)] as const] : [];
  });
}

/** Exchanges that are counted by their turns. */
class Ranks {
  /** As they arrived. */
  readonly list: readonly Exchange[];
  readonly #sent: readonly number[];
  readonly #received: readonly number[];

  constructor(list: readonly Exchange[]) {
    this.list = list;
    this.#sent = list.map(({ sentTurn }) => sentTurn).sort((a, b) => a - b);
    this.#received = list.map(({ receivedTurn }) => receivedTurn);
  }

  /** How many had been sent at a turn. */
  sent(turn: number): number {
    return upTo(this.#sent, turn);
  }

  /** How many had been received at a turn. */
  received(turn: number): number {
    return upTo(this.#received, turn);
  }

  /** How many were in flight at some time between the sending of one exchange and the end of another. */
  between(a: Exchange, b: Exchange): number {
    return this.sent(b.receivedTurn) - this.received(a.sentTurn);
  }
}

/** The most requests of a key that can have been sent between two times. */
export function sendingsOf(all: readonly Exchange[]) {
  const bySending = all.toSorted((a, b) => a.sentAt - b.sentAt);
  // Concurrent requests have no order, hence the least and the greatest numbers.
  const sentBefore = [all.reduce((most, { sentBy }) => Math.max(most, sentBy), 0)];
  for (const { number } of bySending.toReversed()) sentBefore.push(Math.min(sentBefore.at(-1)!, number - 1));
  sentBefore.reverse();
  const ends = all
    .flatMap(({ sentAt, receivedAt, ended }) => [[sentAt, ended], [receivedAt, ended + 1]] as const)
    .sort(([a], [b]) => a - b);
  const endedBefore = [-Infinity];
  for (const [, ended] of ends) endedBefore.push(Math.max(endedBefore.at(-1)!, ended));
  const [sendings, endings] = [bySending.map(({ sentAt }) => sentAt), ends.map(([at]) => at)];
  return (from: number, to: number): number => sentBefore[upTo(sendings, to)]! - endedBefore[upTo(endings, from)]!;
}

/** How many of the sorted values are at most `most`. */
export function upTo(sorted: readonly number[], most: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! <= most) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The admitted requests that a limiter must count at an exchange, because they ended before it was sent, and less than
 * `ms` ago, or are the exchange itself: their number, and the sum of their ages at most.
 */
export function admissionsOf({ admitted: { list }, isAdmitted }: Group) {
  const ends = list.map(({ receivedTurn }) => receivedTurn);
  // For each request, the earliest time at which it or a later one was sent; and the sum of the times before it.
  const [sentSince, sums, base] = [new Array<number>(list.length), [0], list[0]?.sentAt ?? 0];
  for (let i = list.length - 1; i >= 0; i--) sentSince[i] = Math.min(list[i]!.sentAt, sentSince[i + 1] ?? Infinity);
  for (const { sentAt } of list) sums.push(sums.at(-1)! + sentAt - base);
  return (b: Exchange, ms: number) => {
    const to = upTo(ends, b.sentTurn);
    const from = Math.min(to, upTo(sentSince, b.receivedAt - ms));
    const age = b.receivedAt - b.sentAt;
    const self = isAdmitted(b) && age < ms ? 1 : 0;
    const agesMs = (to - from) * (b.receivedAt - base) - (sums[to]! - sums[from]!);
    return { count: to - from + self, agesMs: agesMs + self * age };
  };
}

/** The most requests that the limiter can have counted between two exchanges, including the later one. */
export function countedBetween(a: Exchange, b: Exchange): number {
  return b.sentBy - a.ended - 1;
}

/** The most of them that can have been admitted: all except the known refusals. */
export function usedBetween({ refused }: Group, a: Exchange, b: Exchange): number {
  return countedBetween(a, b) - (refused.between(a, b) - (isRefused(a) ? 1 : 0));
}

/** Whether a refusal shows a ban or a used-up day: its Retry-After ends later than its Reset. */
export function isBanned({ retryAfterMs, reset, date, receivedAt }: Exchange): boolean {
  return retryAfterMs !== undefined && (date ?? receivedAt) + retryAfterMs > reset * 1_000 + lateMs;
}

/** Whether Retry-After ends at Reset. */
export function endsAtReset({ retryAfterMs = Infinity, reset, date, receivedAt }: Exchange): boolean {
  return Math.abs((date ?? receivedAt) + retryAfterMs - reset * 1_000) <= lateMs;
}

/** Whether no request was refused since the last admitted one, so that the server has no reason for a ban. */
export function isFirstRefusal(
  { admitted, notRefused }: Pick<Group, 'admitted' | 'notRefused'>,
  refusal: Exchange,
): boolean {
  const last = admitted.list[admitted.received(refusal.sentTurn) - 1];
  if (last === undefined) return false;
  const others = notRefused.between(last, refusal) - (isRefused(refusal) ? 1 : 2);
  return countedBetween(last, refusal) - others <= 1;
}
