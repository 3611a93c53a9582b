/**
 * The families of limiters, and what each of them permits. The specification does not prescribe a family, so a history
 * is a violation only if it contradicts every family. Each bound here must also hold if some exchanges are missing from
 * the history. Only the number of missing requests is known, and for a key that others may use, not even that.
 */
import { dayMs, minuteMs } from '../client/limit-readings.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import { clockOf, isAdmitted, isBefore, isRefused, type Exchange } from './exchange.ts';

/** How much Reset may vary within a window, in seconds: it may be a sum of the time and a duration, both rounded. */
export const jitter = 2;

/** How much later than the end of its window Reset may be, because a limiter may round it up. */
export const lateMs = 3_000;

/** The coarsest clock of a limiter: it may note the times of requests in whole seconds, and refill once a second. */
const tickMs = 1_000;

/** If Reset is further ahead, the window is not the minute. A sliding counter looks back over two minutes. */
const longMs = 2 * minuteMs + lateMs;

/** After this time, no limiter still counts a request of the minute, so older exchanges show nothing more. */
const reachMs = minuteMs + lateMs + tickMs;

/** Each exchange is compared with all of the latest ones before it: twice as many as this. */
const allNear = 64;

/** The most rises of Remaining that are compared with the steps of a bucket. */
const maxRises = 20;

/** Smaller differences between numbers of requests are rounding errors. */
const epsilon = 1e-6;

/** An exchange that contradicts earlier ones. */
export interface Contradiction {
  readonly id: RequirementId;
  /** The exchange that contradicts earlier ones, and the one of these with the tightest bound. */
  readonly at: Exchange;
  readonly from: Exchange;
  readonly required: string;
  readonly received: string;
}

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
  /** Those of all exchanges that were admitted, that were refused, and that were not refused. */
  readonly admitted: Ranks;
  readonly refused: Ranks;
  readonly notRefused: Ranks;
}

/** What a family permits, as bounds for the exchanges with the indexes `a` and `b`. Numbers may have fractions. */
interface Family {
  readonly name: string;
  /** The fraction of a request that is left, but that Remaining, a whole number, does not show. */
  readonly hidden: number;
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
  /** How many requests become available again at once, if it is always the same number, and how often. */
  readonly step?: number;
  readonly stepMs?: number;
}

/** Groups the exchanges of one key. */
export function groupsOf(exchanges: readonly Exchange[], isExclusive: boolean): readonly Group[] {
  const all = exchanges.toSorted((a, b) => a.receivedTurn - b.receivedTurn);
  const clock = clockOf(all);
  const [admitted, refused] = [new Ranks(all.filter(isAdmitted)), new Ranks(all.filter(isRefused))];
  const notRefused = new Ranks(all.filter((one) => !isRefused(one)));
  const groups = new Map<string, Exchange[]>();
  for (const one of all) {
    if (!Number.isSafeInteger(one.limit) || one.limit < 1) continue; // it means that there is no limit
    const isShort = one.reset * 1_000 - (one.date ?? one.receivedAt) <= longMs;
    const name = `${one.limit} ${isShort}`;
    const group = groups.get(name);
    if (group === undefined) groups.set(name, [one]);
    else group.push(one);
  }
  return [...groups].map(([name, own]) => {
    const isShort = name.endsWith('true');
    const periodMs = isShort ? minuteMs : dayMs;
    return {
      ...{ all, own, limit: own[0]!.limit, isShort, periodMs, isExclusive: isExclusive && isShort, clock },
      ...{ isAlsoOfDay: groups.has(`${own[0]!.limit} false`), admitted, refused, notRefused },
    };
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
  return {
    between: (from: number, to: number): number =>
      sentBefore[upTo(sendings, to)]! - endedBefore[upTo(endings, from)]!,
  };
}

/** How many of the sorted values are at most `most`. */
function upTo(sorted: readonly number[], most: number): number {
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
function admissionsOf({ list }: Ranks) {
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

/**
 * In how many steps a bucket may refill in a period. If other clients use the key, steps of a few seconds would excuse
 * almost any rise of Remaining, so they are considered only if Reset promises nothing: it is always about now.
 */
function stepsOf({ limit, own, isExclusive }: Group): readonly number[] {
  const isNow = ({ reset, date, receivedAt }: Exchange) => reset * 1_000 - (date ?? receivedAt) <= lateMs + tickMs;
  const most = isExclusive || own.every((one) => !isAdmitted(one) || isNow(one)) ? 30 : 6;
  return [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 24, 30].filter((steps) => steps <= Math.min(most, limit));
}

/** The families that a group may belong to, the simplest first. */
function familiesOf(group: Group): readonly Family[] {
  const { own, all, limit, isExclusive, clock, periodMs, admitted } = group;
  const perMs = limit / periodMs;
  const { between } = sendingsOf(all);
  const known = isExclusive ? between : () => Infinity;
  const at = (i: number): Exchange => own[i]!;
  const timeOf = ({ sentAt, receivedAt }: Exchange) =>
    clock === undefined ? undefined : { least: sentAt + clock.least, most: receivedAt + clock.most };
  const isSameWindow = (a: number, b: number) => Math.abs(at(a).reset - at(b).reset) <= jitter;
  const usedBefore = admissionsOf(admitted);
  const tick = Math.min(tickMs, periodMs / 2);
  /** Whether Reset, if it is when the oldest request leaves the log, shows that none leaves between two exchanges. */
  const isOldest = (a: number, b: number): boolean => {
    const [one, other] = [timeOf(at(a)), timeOf(at(b))];
    if (one === undefined || other === undefined) return false;
    const isNewest = (i: number, { least }: { least: number }) =>
      !isAdmitted(at(i)) || at(i).remaining === 0 || at(i).reset * 1_000 >= least + periodMs - lateMs;
    return at(a).reset * 1_000 > other.most + lateMs && !(isNewest(a, one) && isNewest(b, other));
  };
  const returned = own.map(({ sentAt, receivedAt }) => ({ sentAt, receivedAt }));
  const [sixtyAgo, twoAgo] = [periodMs + tick, 2 * periodMs + tick];
  return [
    {
      name: 'a fixed window',
      hidden: 0,
      isFixed: true,
      refill: (a, b) => (isSameWindow(a, b) ? 0 : Infinity),
      most: () => limit,
      floor: (a, b) => (isSameWindow(a, b) ? at(a).remaining : at(b).reset > at(a).reset ? limit : -Infinity),
      least: () => -Infinity,
      latest: (_, now) => now + periodMs + lateMs + tickMs,
    },
    {
      name: 'a sliding log',
      hidden: 0,
      refill: (a, b) => {
        if (isOldest(a, b)) return 0;
        return Math.max(0, known(returned[a]!.sentAt - sixtyAgo, returned[b]!.receivedAt - periodMs + tick));
      },
      most: (b) => limit - usedBefore(at(b), periodMs - tick).count,
      floor: (a) => at(a).remaining,
      least: (b) => limit - known(at(b).sentAt - sixtyAgo, at(b).receivedAt),
      latest: (_, now) => now + periodMs + 2 * tickMs,
    },
    {
      name: 'a sliding counter',
      hidden: 1 - epsilon,
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
    {
      name: 'a token bucket',
      hidden: 1 - epsilon,
      refill: (a, b) => (at(b).receivedAt - at(a).sentAt + 1) * perMs,
      most: () => limit,
      floor: (a, b) =>
        Math.min(limit, at(a).remaining + perMs * Math.max(0, at(b).sentAt - at(a).receivedAt - 1 - tickMs)),
      least: () => -Infinity,
      latest: ({ remaining }, now) => now + (limit - remaining) / perMs + 2 * tickMs,
    },
    ...stepsOf(group).map((steps): Family => {
      const [stepMs, least, most] = [periodMs / steps, Math.floor(limit / steps), Math.ceil(limit / steps)];
      return {
        name: 'a bucket that refills in steps',
        hidden: 0,
        ...{ step: least, stepMs },
        refill: (a, b) => {
          const [one, other] = [timeOf(at(a)), timeOf(at(b))];
          const reset = at(a).reset * 1_000;
          // Reset is now, or the time of a step.
          if (one === undefined || other === undefined || reset <= one.most + lateMs)
            return most * (Math.floor((at(b).receivedAt - at(a).sentAt + 1) / stepMs) + 1);
          const stepsAt = (time: number) => Math.floor((time - reset) / stepMs);
          return most * (stepsAt(other.most + lateMs) - stepsAt(one.least - lateMs));
        },
        most: () => limit,
        floor: (a, b) => {
          const passed = Math.floor(Math.max(0, at(b).sentAt - at(a).receivedAt - 1) / stepMs);
          return Math.min(limit, at(a).remaining + least * passed);
        },
        least: () => -Infinity,
        latest: ({ remaining }, now) => now + Math.ceil((limit - remaining) / least) * stepMs + 2 * tickMs,
      };
    }),
  ];
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

/** Whether no request was refused since the last admitted one, so that the server has no reason for a ban. */
export function isFirstRefusal({ admitted, notRefused }: Group, refusal: Exchange): boolean {
  const last = admitted.list[admitted.received(refusal.sentTurn) - 1];
  if (last === undefined) return false;
  const others = notRefused.between(last, refusal) - (isRefused(refusal) ? 1 : 2);
  return countedBetween(last, refusal) - others <= 1;
}

/** How a history fits a family. */
interface Findings {
  readonly contradictions: readonly Contradiction[];
  /** For each requirement, the exchanges that could have contradicted the family. */
  readonly judged: ReadonlyMap<RequirementId, readonly Exchange[]>;
}

/**
 * The findings for the family with the fewest contradictions. `isWhole` is true if each family with fractions of
 * requests (see `hidden`) has more contradictions. `hasSteps`: whether the limiter may be a bucket that refills in steps.
 */
export function judgeGroup(group: Group, hasSteps = true): Findings & { readonly family: string; readonly isWhole: boolean } {
  let best: (Findings & { readonly family: string }) | undefined;
  const counts = new Map<Family, number>();
  for (const family of familiesOf(group)) {
    if (family.step !== undefined && !hasSteps) break;
    const fewest = best?.contradictions.length ?? Infinity;
    // Buckets that refill in steps permit much, so one of them must fit the whole history.
    const most = family.step === undefined ? fewest : Math.min(1, fewest);
    // Whether a family with fractions of requests fits as well matters only if refusals are judged.
    if (fewest === 0 && (!group.isExclusive || family.hidden === 0)) continue;
    const found = judgeFamily(group, family, most);
    counts.set(family, found.contradictions.length);
    if (found.contradictions.length < most) best = { ...found, family: family.name };
  }
  const { length } = best!.contradictions;
  return { ...best!, isWhole: [...counts].every(([{ hidden }, count]) => hidden === 0 || count > length) };
}

/** Stops after more than `most` contradictions, because another family fits the history better. */
function judgeFamily(group: Group, family: Family, most = Infinity): Findings {
  const { own, limit, clock, isExclusive, admitted } = group;
  const contradictions: Contradiction[] = [];
  const judged = new Map<RequirementId, Exchange[]>();
  const meets = (id: RequirementId, one: Exchange) => judged.set(id, [...(judged.get(id) ?? []), one].slice(-3));
  const counts = own.map((one) => ({
    received: admitted.received(one.receivedTurn),
    before: admitted.received(one.sentTurn),
    sent: admitted.sent(one.receivedTurn),
    self: isAdmitted(one) ? 1 : 0,
  }));
  const caps: number[] = [];
  /** Exchanges between which a step must have taken place. */
  const rises: (readonly [from: Exchange, to: Exchange])[] = [];
  // For each exchange, the one with the latest Reset of those that arrived before it.
  const latestBefore: (Exchange | undefined)[] = [undefined];
  for (const [i, one] of own.entries())
    latestBefore.push(latestBefore[i] === undefined || one.reset > latestBefore[i].reset ? one : latestBefore[i]);
  const arrivals = own.map(({ receivedTurn }) => receivedTurn);
  let begin = 0;
  for (const [j, b] of own.entries()) {
    const { received, before, self } = counts[j]!;
    if (contradictions.length > most) break;
    while (group.isShort && own[begin]!.receivedAt < b.sentAt - reachMs) begin++;
    const left = family.most(j);
    let cap = Math.min(b.remaining + family.hidden, limit - self, left);
    let [beyond, beyondFrom, bound, boundFrom, rise, riseFrom] = [Infinity, b, Infinity, b, Infinity, b];
    let [floor, floorFrom, promised, promisedFrom] = [-Infinity, b, -Infinity, b];
    // Of two concurrent requests, the later one may be answered first.
    const arrived = upTo(arrivals, b.sentTurn);
    const latest = latestBefore[arrived];
    // Of the exchanges long before, fewer and fewer are compared, because a part of them shows as much.
    for (let i = arrived - 1, n = 0; i >= begin; i -= 1 << Math.max(0, Math.floor(n++ / allNear) - 1)) {
      const a = own[i]!;
      const { sent } = counts[i]!;
      const refill = family.refill(i, j);
      const known = Math.max(self, before - sent + self);
      const hasRisen = b.remaining > caps[i]! - known;
      const last = rises.at(-1)?.[1];
      // The same step can be between two exchanges and between two others that were in flight with them.
      const isNew = last === undefined || last === a || isBefore(last, a);
      if (family.stepMs !== undefined && hasRisen && n === 0 && isNew) rises.push([a, b]);
      if (refill < Infinity) {
        const over = caps[i]! - Math.max(0, received - sent) + refill;
        if (over < beyond) [beyond, beyondFrom] = [over, a];
        const shown = caps[i]! - known + refill;
        if (shown < bound) [bound, boundFrom] = [shown, a];
        if (shown < rise && a.remaining < b.remaining) [rise, riseFrom] = [shown, a];
      }
      if (!isExclusive) continue;
      // A step that has taken place has refilled its whole number.
      const stepped = hasRisen ? Math.min(limit, a.remaining + (family.step ?? 0)) : 0;
      const base = Math.max(family.floor(i, j), stepped);
      if (base <= 0) continue;
      const used = countedBetween(a, b);
      if (!isRefused(b) && base - used > floor) [floor, floorFrom] = [base - used, a];
      if (!isRefused(b) || isRefused(a)) continue;
      const open = base - usedBetween(group, a, b);
      if (open > promised) [promised, promisedFrom] = [open, a];
    }
    const contradicts = (id: RequirementId, from: Exchange, required: string, received: string) =>
      void contradictions.push({ id, at: b, from, required, received });
    const recent = rises.at(-1)?.[1] === b ? rises.slice(-maxRises) : [];
    const often = recent.find(([{ sentAt }], i) => {
      return recent.length - i > Math.floor((b.receivedAt - sentAt + 1) / family.stepMs!) + 1;
    });
    const least = isExclusive ? family.least(j) : -Infinity;
    const now = clock === undefined ? undefined : b.receivedAt + clock.most;
    const isEarly = latest !== undefined && b.reset > latest.reset + jitter;
    if (now !== undefined && b.reset * 1_000 > family.latest(b, now)) {
      const ahead = Math.round(b.reset - now / 1_000);
      contradicts('limits.resets', b, `a Reset no later than ${family.name} permits`, `one ${ahead} s ahead`);
    } else if (family.isFixed && now !== undefined && latest !== undefined && b.reset < latest.reset - jitter) {
      contradicts('limits.resets', latest, `Reset ${latest.reset} or later`, `${b.reset}`);
    } else if (family.isFixed && isEarly && now !== undefined && now < latest!.reset * 1_000 - lateMs) {
      contradicts('limits.resets', latest!, `Reset ${latest!.reset} until that time`, `${b.reset}, before that time`);
    } else if (self > 0 ? beyond < -epsilon : isOther(b) && beyond < 1 - epsilon && isFirstRefusal(group, b)) {
      contradicts('limits.refuses', beyondFrom, '429, because no request can be left', `${b.status}`);
    } else if (often !== undefined) {
      contradicts('limits.remaining-never-rises', often[0], 'no more rises of Remaining than steps', `${b.remaining}`);
    } else if (b.remaining > bound + epsilon) {
      const rises = b.remaining > rise + epsilon;
      const id = rises ? 'limits.remaining-never-rises' : 'limits.remaining-falls';
      const text = `Remaining of at most ${Math.max(0, Math.floor((rises ? rise : bound) + epsilon))}`;
      contradicts(id, rises ? riseFrom : boundFrom, text, `${b.remaining}`);
    } else if (self > 0 && left < -epsilon) {
      contradicts('limits.refuses', b, '429, because the requests before have used up the limit', `${b.status}`);
    } else if (!isRefused(b) && b.remaining > left + epsilon) {
      const text = `Remaining of at most ${Math.floor(left + epsilon)}, because of the requests before`;
      contradicts('limits.remaining-falls', b, text, `${b.remaining}`);
    } else if (promised >= 1 - epsilon && !isBanned(b) && group.isShort) {
      const text = `admitted, because ${Math.ceil(promised - epsilon)} of the promised requests must be left`;
      contradicts('limits.admits', promisedFrom, text, `${b.status}`);
    } else if (!isRefused(b) && b.remaining < Math.floor(floor + epsilon)) {
      const id = floorFrom.reset + jitter < b.reset && family.isFixed ? 'limits.resets' : 'limits.remaining-falls';
      contradicts(id, floorFrom, `Remaining of at least ${Math.floor(floor + epsilon)}`, `${b.remaining}`);
    } else if (!isRefused(b) && b.remaining < least - epsilon) {
      const text = `Remaining of at least ${Math.ceil(least - epsilon)}, because earlier requests no longer count`;
      contradicts('limits.resets', b, text, `${b.remaining}`);
    } else {
      if (self > 0 && beyond < Infinity) meets('limits.refuses', b);
      if (bound < Infinity) meets('limits.remaining-never-rises', b);
      if (bound < Infinity && self > 0) meets('limits.remaining-falls', b);
      if (floor > -Infinity && self > 0) meets('limits.admits', b);
      cap = Math.max(Math.min(cap, beyond), 0);
      caps.push(cap);
      continue;
    }
    caps.push(b.remaining + family.hidden);
  }
  return { contradictions, judged };
}

/** Whether the status is neither that of an admitted request nor 429. */
function isOther(one: Exchange): boolean {
  return !isAdmitted(one) && !isRefused(one);
}

/** The family of a key's limiter, as far as its history shows it. In a fixed window, Reset does not move. */
export function familyOf(exchanges: readonly Exchange[]): string {
  const groups = groupsOf(exchanges, false);
  const isFixed = (group: Group) => judgeFamily(group, familiesOf(group)[0]!).contradictions.length === 0;
  if (!groups.every(isFixed)) return 'sliding: Reset moves';
  const ends = new Set(exchanges.map(({ limit, reset }) => `${limit} ${Math.round(reset / 30)}`));
  return ends.size > 2 ? 'fixed' : 'fixed, as far as one window shows';
}
