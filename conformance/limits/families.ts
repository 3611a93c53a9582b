/**
 * The families of limiters, and what each of them permits. The specification does not prescribe a family, so a history
 * is a violation only if it contradicts every family. Each bound here must also hold if some exchanges are missing from
 * the history. Only the number of missing requests is known, and for a key that others may use, not even that.
 */
import { isBefore, isRefused, type Exchange } from './exchange.ts';
import {
  admissionsOf, epsilon, failureOf, isBanned, jitter, lateMs, sendingsOf, tickMs, upTo, usedBetween, type Group,
} from './group.ts';

/** What a family permits, as bounds for the exchanges with the indexes `a` and `b`. Numbers may have fractions. */
export interface Family {
  readonly name: string;
  /** The fraction of a request that is left, but that Remaining, a whole number, does not show. */
  readonly hidden: number;
  /** Whether Remaining may count a fraction of a request as none. */
  readonly roundsUp?: true;
  /** The most requests that become available again between two exchanges; Infinity if unknown. */
  refill(a: number, b: number): number;
  /** The most requests that can be left after `b`, because of those that earlier exchanges have used. */
  most(b: number): number;
  /** The fewest requests that must be left after `b` if none was used since `a`. */
  floor(a: number, b: number): number;
  /** The fewest requests that must be left after `b`, even if all that may have been sent were counted. */
  least(b: number): number;
  /** The latest Reset in milliseconds, by the server's clock. */
  latest(b: Exchange, now: number): number;
  /** Whether Reset is the end of a window, and stays the same until then. */
  readonly isFixed?: true;
}

/** The families that a group may belong to, the simplest first. */
export function familiesOf(group: Group): readonly Family[] {
  const { own, all, limit, isExclusive, clock, periodMs, isAdmitted } = group;
  const perMs = limit / periodMs;
  const known = isExclusive ? sendingsOf(all) : () => Infinity;
  const at = (i: number): Exchange => own[i]!;
  const timeOf = ({ sentAt, receivedAt }: Exchange) =>
    clock === undefined ? undefined : { least: sentAt + clock.least, most: receivedAt + clock.most };
  const isSameWindow = (a: number, b: number) => Math.abs(at(a).reset - at(b).reset) <= jitter;
  const usedBefore = admissionsOf(group);
  const tick = Math.min(tickMs, periodMs / 2);
  /** Whether Reset shows that no request leaves between two exchanges, if it is when the oldest request leaves. */
  const isOldest = (a: number, b: number, late: number): boolean => {
    const [one, other] = [timeOf(at(a)), timeOf(at(b))];
    if (one === undefined || other === undefined) return false;
    const isNewest = (i: number, { least }: { least: number }) =>
      !isAdmitted(at(i)) || at(i).remaining === 0 || at(i).reset * 1_000 >= least + periodMs - lateMs;
    return at(a).reset * 1_000 > other.most + late && !(isNewest(a, one) && isNewest(b, other));
  };
  const [sixtyAgo, twoAgo] = [periodMs + tick, 2 * periodMs + tick];
  /** The fewest requests left after an exchange, if those of this time before it are all that a limiter may count. */
  const leastOf = (b: Exchange, ms: number) => limit - known(b.sentAt - ms, b.receivedAt);
  /**
   * A log. `until` is the time since which every request still counts at an exchange, by the kit's clock. `late` is how
   * much later Reset may be than the time at which the oldest request leaves the log.
   */
  const logUntil = (name: string, late: number, until: (b: Exchange) => number): Family => ({
    name,
    hidden: 0,
    refill: (a, b) => (isOldest(a, b, late) ? 0 : Math.max(0, known(at(a).sentAt - sixtyAgo, until(at(b))))),
    most: (b) => limit - usedBefore(at(b), at(b).receivedAt - until(at(b))).count,
    floor: (a) => at(a).remaining,
    least: (b) => leastOf(at(b), sixtyAgo),
    latest: (_, now) => now + periodMs + 2 * tickMs,
  });
  const bucket: Family = {
    name: 'a token bucket',
    hidden: 1 - epsilon,
    refill: (a, b) => (at(b).receivedAt - at(a).sentAt + 1) * perMs,
    most: () => limit,
    floor: (a, b) =>
      Math.min(limit, at(a).remaining + perMs * Math.max(0, at(b).sentAt - at(a).receivedAt - 1 - tickMs)),
    least: (b) => leastOf(at(b), sixtyAgo),
    latest: ({ remaining }, now) => now + (limit - remaining) / perMs + 2 * tickMs,
  };
  return [
    {
      name: 'a fixed window',
      hidden: 0,
      isFixed: true,
      refill: (a, b) => (isSameWindow(a, b) ? 0 : Infinity),
      most: () => limit,
      floor: (a, b) => (isSameWindow(a, b) ? at(a).remaining : at(b).reset > at(a).reset ? limit : -Infinity),
      least: (b) => leastOf(at(b), sixtyAgo),
      latest: (_, now) => now + periodMs + lateMs + tickMs,
    },
    logUntil('a sliding log', lateMs, ({ receivedAt }) => receivedAt - periodMs + tick),
    {
      name: 'a sliding counter',
      hidden: 1 - epsilon,
      roundsUp: true,
      refill: (a, b) => {
        const ms = at(b).receivedAt - at(a).sentAt + 1;
        return (ms / periodMs) * Math.min(limit, known(at(a).sentAt - twoAgo, at(b).receivedAt));
      },
      most: (b) => {
        const { count, agesMs } = usedBefore(at(b), periodMs);
        return limit - count + agesMs / periodMs;
      },
      floor: (a) => at(a).remaining,
      least: (b) => {
        const { sentAt, receivedAt } = at(b);
        let sum = known(sentAt - sixtyAgo, receivedAt);
        const part = periodMs / 6;
        for (let i = 0; i < 6; i++)
          sum += (1 - i / 6) * known(sentAt - sixtyAgo - (i + 1) * part, receivedAt - periodMs - i * part);
        return limit - sum - 1;
      },
      latest: (_, now) => now + 2 * periodMs + 2 * tickMs,
    },
    bucket,
    ...bucketAndWindow(group, timeOf, bucket),
    ...bucketsInSteps(group, timeOf, leastOf),
    ...segmentsOf(group).map((until) => logUntil('a sliding log in segments', tickMs, until)),
  ];
}

/**
 * A bucket and a window at once, which have the same limit; the headers describe the one with fewer requests left. It
 * is considered only if some Resets are too late for the bucket, each of these is the end of a window, and some other
 * Reset is not.
 */
function bucketAndWindow({ own, periodMs }: Group, timeOf: TimeOf, bucket: Family): readonly Family[] {
  const isLate = (one: Exchange): boolean => one.reset * 1_000 > bucket.latest(one, timeOf(one)?.most ?? Infinity);
  const base = own.find(isLate)?.reset;
  if (base === undefined) return [];
  const periods = ({ reset }: Exchange): number => ((reset - base) * 1_000) / periodMs;
  const isEnd = (one: Exchange): boolean =>
    Math.abs(periods(one) - Math.round(periods(one))) * periodMs <= jitter * 1_000;
  if (own.every(isEnd) || own.some((one) => isLate(one) && !isEnd(one))) return [];
  const windowAt = (time: number): number => Math.floor((time - base * 1_000) / periodMs);
  const latenessMs = jitter * 1_000;
  return [{
    ...bucket,
    name: 'a bucket and a window',
    refill: (a, b) => {
      const [one, other] = [timeOf(own[a]!)!, timeOf(own[b]!)!];
      const isSameWindow = windowAt(one.least - latenessMs) === windowAt(other.most + latenessMs);
      return isSameWindow ? bucket.refill(a, b) : Infinity;
    },
    floor: (a) => own[a]!.remaining,
    latest: (one, now) => Math.max(bucket.latest(one, now), now + periodMs + lateMs),
  }];
}

/** The numbers of segments of a sliding log that are considered. Shorter segments are those of a coarse clock. */
const segmentCounts = [2, 3, 4, 5, 6, 10, 12, 15, 20, 30];

/**
 * The segments of which a sliding log may consist: each Reset must be the end of one. All requests of a segment leave
 * the log together. Returns the time since which every request still counts, by the kit's clock.
 */
function segmentsOf({ own, limit, isShort, periodMs, clock }: Group): ((b: Exchange) => number)[] {
  const resets = own.flatMap((one) => (one.remaining < limit && !isBanned(one) ? one.reset * 1_000 : []));
  const [base] = resets;
  if (base === undefined || clock === undefined || !isShort) return [];
  return segmentCounts.flatMap((count) => {
    const ms = periodMs / count;
    let [earliest, latest] = [0, 0];
    for (const reset of resets) {
      const beyond = reset - base - ms * Math.round((reset - base) / ms);
      [earliest, latest] = [Math.min(earliest, beyond), Math.max(latest, beyond)];
    }
    if (latest - earliest > jitter * 1_000) return [];
    // Reset may be rounded up or down.
    const [first, last] = [base + earliest - tickMs, base + latest + tickMs];
    const ended = ({ receivedAt }: Exchange) => Math.floor((receivedAt + clock.most - first) / ms);
    return (b: Exchange) => last + (ended(b) + 1) * ms - periodMs - clock.least;
  });
}

/** By which part the time between two steps of a bucket may differ from the usual one, if it is shorter than this. */
const unevenness = 1 / 5;
const maxUnevenMs = 10_000;

type TimeOf = (one: Exchange) => { readonly least: number; readonly most: number } | undefined;

/**
 * What the history shows of a bucket that refills in steps: bounds of the time between two steps, by Remaining and by
 * each kind of Reset, and pairs of exchanges with a step between them. Remaining rises by at least a step.
 */
function stepsOf(group: Group, timeOf: TimeOf) {
  const { own, limit, periodMs, isExclusive, isAdmitted, admitted, mayReturn } = group;
  const perMs = limit / periodMs;
  let [fromNow, fromFull, shortest, longest] = [0, 0, 0, periodMs];
  const arrivals = own.map(({ receivedTurn }) => receivedTurn);
  const rises: (readonly [from: Exchange, to: Exchange])[] = [];
  // How many requests were used and left, at most; and for each exchange, the one with the smallest sum of those that
  // arrived before it and since the last rise.
  const sumOf = (one: Exchange) => one.remaining + mayReturn.between(one, one) + admitted.sent(one.receivedTurn);
  const lowestBefore: (Exchange | undefined)[] = [undefined];
  for (const [j, b] of own.entries()) {
    const now = timeOf(b);
    if (now !== undefined && !isBanned(b)) {
      // Remaining does not show the fraction of a request.
      const [used, reset] = [limit - b.remaining, b.reset * 1_000];
      fromNow = Math.max(fromNow, reset - now.most);
      fromFull = Math.max(fromFull, reset - now.most - used / perMs, now.least + (used - 1) / perMs - reset);
    }
    const [a, lowest] = [lowestBefore[upTo(arrivals, b.sentTurn)], lowestBefore[j]];
    // A limiter without requests would refuse one that counts, even if it is given back.
    const isOpen = group.counted.has(failureOf(b));
    const shown = Math.max(b.remaining + (isAdmitted(b) ? 1 : 0), isOpen ? 1 : 0) + admitted.received(b.sentTurn);
    const isRise = a !== undefined && shown > sumOf(a);
    lowestBefore.push(!isRise && lowest !== undefined && sumOf(lowest) < sumOf(b) ? lowest : b);
    const gain = a === undefined ? 0 : Math.max(shown, admitted.received(b.receivedTurn)) - sumOf(a);
    if (a === undefined || gain <= 0) continue;
    // In less than the time in which so many requests return, there are at most so many steps.
    const [gainMs, ms] = [(gain - 1) / perMs, b.receivedAt - a.sentAt + 1];
    if (ms < gainMs) shortest = Math.max(shortest, gainMs / Math.floor(gainMs / (gainMs - ms)));
    const used = usedBetween(group, a, b);
    // If the bucket was full meanwhile, the step had more requests than Remaining shows.
    if (isExclusive && isRise && b.remaining + used < limit)
      longest = Math.min(longest, (b.remaining - a.remaining + used + 1) / perMs);
    // The same step can be between two exchanges and between two others that were in flight with them.
    const last = rises.at(-1)?.[1];
    if (last === undefined || last === a || isBefore(last, a)) rises.push([a, b]);
  }
  return { fromNow, fromFull, shortest, longest, rises };
}

/**
 * What Reset is if a bucket refills in steps: the next step or now, the step at which the bucket is full, or the time
 * at which it would be full if it filled continuously. The last one is considered only for steps of at most this part
 * of the period.
 */
const resetKinds = ['next', 'full', 'continuous'] as const;
const continuousShare = 1 / 4;

/**
 * A bucket that refills in steps, for each kind of Reset that the history permits. Reset is at most a step ahead of
 * now, or differs by at most a step from the time at which the bucket would be full if it filled continuously.
 * Remaining rises at most once in the time of a step.
 */
function bucketsInSteps(
  group: Group,
  timeOf: TimeOf,
  leastOf: (one: Exchange, ms: number) => number,
): readonly Family[] {
  const { own, limit, periodMs } = group;
  const perMs = limit / periodMs;
  const steps = stepsOf(group, timeOf);
  // A job that runs every few seconds is late now and then.
  const uneven = steps.longest < maxUnevenMs ? unevenness : 0;
  const longest = steps.longest * (1 + uneven);
  return resetKinds.flatMap((kind): Family[] => {
    const byReset = kind === 'next' ? steps.fromNow : steps.fromFull;
    const shortest = Math.max(steps.shortest, byReset - jitter * 1_000) * (1 - uneven);
    let earliest = -Infinity;
    const isTooOften = steps.rises.some(([{ sentAt }, { receivedAt }]) => {
      earliest = Math.max(sentAt, earliest + shortest);
      return receivedAt + 1 < earliest;
    });
    if (isTooOften || shortest >= longest) return [];
    if (kind === 'continuous' && byReset > periodMs * continuousShare) return [];
    if (kind === 'full' && !areSteps(group, shortest)) return [];
    /** Whether a step can be between two times of the server's clock. */
    const mayStep = (from: number, to: number, { reset, remaining }: Exchange): boolean => {
      if (kind === 'next') return to + lateMs >= reset * 1_000;
      if (kind === 'continuous' || remaining >= limit) return true;
      let [first, last] = [reset * 1_000 - lateMs, reset * 1_000 + lateMs];
      if (to >= first || shortest <= 0) return true;
      while (to < first) [first, last] = [first - longest, last - shortest];
      return from <= last;
    };
    return [{
      name: 'a bucket that refills in steps',
      // A bucket that is only ever filled at once has no fractions.
      hidden: longest < periodMs ? 1 - epsilon : 0,
      refill: (a, b) => {
        const [one, other] = [timeOf(own[a]!), timeOf(own[b]!)];
        const isBetweenSteps = one !== undefined && other !== undefined && !mayStep(one.least, other.most, own[a]!);
        const ms = own[b]!.receivedAt - own[a]!.sentAt + 1;
        return isBetweenSteps ? 0 : (ms < shortest ? longest : ms + longest) * perMs;
      },
      most: () => limit,
      floor: (a) => own[a]!.remaining,
      // A whole period may begin just after a step.
      least: (b) => leastOf(own[b]!, periodMs + 2 * longest + tickMs),
      latest: () => Infinity,
    }];
  });
}

/**
 * Whether each Reset can be a step, and so is that of another exchange or at least `ms` later. The steps may begin anew
 * with a full bucket. A request that is given back has no step.
 */
function areSteps({ own, limit, isAdmitted }: Group, ms: number): boolean {
  let last = -Infinity;
  for (const one of own) {
    if (one.remaining >= limit || !(isAdmitted(one) || isRefused(one))) continue;
    const seconds = Math.abs(one.reset - last);
    if (one.remaining < limit - 1 && seconds > jitter && seconds < ms / 1_000 - jitter) return false;
    last = Math.max(last, one.reset);
  }
  return true;
}
