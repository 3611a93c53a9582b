/** How well the exchanges of a group fit the families of limiters: what contradicts the family that they fit best. */
import { minuteMs } from '../client/limit-readings.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { Violation } from '../verdicts/results.ts';
import { isRefused, type Exchange } from './exchange.ts';
import { familiesOf, type Family } from './families.ts';
import {
  countedBetween, epsilon, failureOf, groupsOf, isBanned, isFirstRefusal, jitter, lateMs, tickMs, upTo, usedBetween,
  type Group,
} from './group.ts';

/** After this time, no limiter still counts a request of the minute, so older exchanges show nothing more. */
const reachMs = minuteMs + 3 * lateMs + tickMs;

/**
 * An exchange is compared with earlier ones. After so many of them, the distance between those that are compared
 * doubles, except after the first time.
 */
const partSize = 64;

/** An exchange that contradicts earlier ones. */
export interface Contradiction extends Violation {
  readonly id: RequirementId;
  /** The exchange that contradicts earlier ones, and the one of these with the tightest bound. */
  readonly at: Exchange;
  readonly from: Exchange;
}

/** How a history fits a family. */
interface Findings {
  readonly contradictions: readonly Contradiction[];
  /** For each requirement, the exchanges that could have contradicted the family. */
  readonly judged: ReadonlyMap<RequirementId, readonly Exchange[]>;
}

/**
 * The findings for the family with the fewest contradictions. `isWhole` is true if each family with fractions of
 * requests (see `hidden`) has more contradictions.
 */
export function judgeGroup(group: Group): Findings & { readonly isWhole: boolean } {
  let best: Findings | undefined;
  const counts = new Map<Family, number>();
  for (const family of familiesOf(group)) {
    const fewest = best?.contradictions.length ?? Infinity;
    // Whether a family with fractions of requests fits as well matters only if refusals are judged.
    if (fewest === 0 && (!group.isExclusive || family.hidden === 0)) continue;
    const found = judgeFamily(group, family, fewest);
    counts.set(family, found.contradictions.length);
    if (found.contradictions.length < fewest) best = found;
  }
  const { length } = best!.contradictions;
  return { ...best!, isWhole: [...counts].every(([{ hidden }, count]) => hidden === 0 || count > length) };
}

/** Stops after more than `most` contradictions, because another family fits the history better. */
function judgeFamily(group: Group, family: Family, most = Infinity): Findings {
  const { own, limit, clock, isExclusive, isAdmitted, admitted } = group;
  const contradictions: Contradiction[] = [];
  const judged = new Map<RequirementId, Exchange[]>();
  const meets = (id: RequirementId, one: Exchange) => judged.set(id, [...(judged.get(id) ?? []), one].slice(-3));
  const counts = own.map((one) => ({
    received: admitted.received(one.receivedTurn),
    before: admitted.received(one.sentTurn),
    sent: admitted.sent(one.receivedTurn),
    self: isAdmitted(one) ? 1 : 0,
    mayReturn: group.mayReturn.between(one, one),
  }));
  const caps: number[] = [];
  // For each exchange, the one with the latest Reset of those that arrived before it.
  const latestBefore: (Exchange | undefined)[] = [undefined];
  for (const [i, one] of own.entries())
    latestBefore.push(latestBefore[i] === undefined || one.reset > latestBefore[i].reset ? one : latestBefore[i]);
  const arrivals = own.map(({ receivedTurn }) => receivedTurn);
  /** Whether a Reset that was in the future has passed, so that at least one request has become available. */
  const hasReset = (a: Exchange, b: Exchange): boolean => {
    if (clock === undefined || a.remaining >= limit || isBanned(a)) return false;
    const [reset, ms] = [a.reset * 1_000, jitter * 1_000];
    return reset - ms > a.receivedAt + clock.most && reset + ms <= b.sentAt + clock.least;
  };
  /** The largest Remaining if at most so many requests are left. */
  const shown = (most: number) => (family.roundsUp ? Math.ceil(most - epsilon) : Math.floor(most + epsilon));
  let begin = 0;
  for (const [j, b] of own.entries()) {
    const { received, before, self, mayReturn } = counts[j]!;
    if (contradictions.length > most) break;
    while (group.isShort && own[begin]!.receivedAt < b.sentAt - reachMs) begin++;
    const left = family.most(j);
    // A ban or a used-up day does not end while requests are in flight, so these were refused after `b` was admitted.
    const after = self > 0 ? group.banned.between(b, b) : 0;
    let cap = Math.min(b.remaining + family.hidden + mayReturn, limit - self, left);
    let [beyond, beyondFrom, bound, boundFrom, rise, riseFrom] = [Infinity, b, Infinity, b, Infinity, b];
    let [floor, floorFrom, promised, promisedFrom] = [-Infinity, b, -Infinity, b];
    let [returned, returnedFrom] = [-Infinity, b];
    // Of two concurrent requests, the later one may be answered first.
    const arrived = upTo(arrivals, b.sentTurn);
    const latest = latestBefore[arrived];
    // Any part of a history must conform, so it is enough to compare some of the exchanges long before.
    for (let i = arrived - 1, n = 0; i >= begin; i -= 1 << Math.max(0, Math.floor(n++ / partSize) - 1)) {
      const a = own[i]!;
      const { sent } = counts[i]!;
      const refill = family.refill(i, j);
      const known = Math.max(self, before - sent + self);
      if (refill < Infinity) {
        const over = caps[i]! - Math.max(0, received - sent) + refill;
        if (over < beyond) [beyond, beyondFrom] = [over, a];
        const under = caps[i]! - known + refill;
        if (under < bound) [bound, boundFrom] = [under, a];
        if (under < rise && a.remaining < b.remaining) [rise, riseFrom] = [under, a];
      }
      if (!isExclusive) continue;
      const risen = a.remaining + 1 - countedBetween(a, b);
      if (risen > returned && hasReset(a, b)) [returned, returnedFrom] = [risen, a];
      const base = family.floor(i, j);
      if (base <= 0) continue;
      const used = countedBetween(a, b) - after;
      if (!isRefused(b) && base - used > floor) [floor, floorFrom] = [base - used, a];
      if (!isRefused(b) || isRefused(a)) continue;
      const open = base - usedBetween(group, a, b);
      if (open > promised) [promised, promisedFrom] = [open, a];
    }
    const contradicts = (id: RequirementId, from: Exchange, required: string, received: string) =>
      void contradictions.push({ id, at: b, from, required, received });
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
    } else if (family.isFixed && isEarly && group.isShort && b.reset < latest!.reset + (minuteMs - lateMs) / 1_000) {
      const required = `Reset ${latest!.reset}, or a minute later`;
      contradicts('limits.resets', latest!, required, `${b.reset}`);
    } else if (shown(beyond) < (self > 0 ? 0 : 1) && (self > 0 || mustBeRefused(group, b))) {
      contradicts('limits.refuses', beyondFrom, '429, because no request can be left', `${b.status}`);
    } else if (b.remaining > shown(bound)) {
      const rises = b.remaining > shown(rise);
      const id = rises ? 'limits.remaining-never-rises' : 'limits.remaining-falls';
      const text = `Remaining of at most ${Math.max(0, shown(rises ? rise : bound))}`;
      contradicts(id, rises ? riseFrom : boundFrom, text, `${b.remaining}`);
    } else if (self > 0 && shown(left) < 0) {
      contradicts('limits.refuses', b, '429, because the requests before have used up the limit', `${b.status}`);
    } else if (!isRefused(b) && b.remaining > shown(left)) {
      const rises = arrived > 0 && own[arrived - 1]!.remaining < b.remaining;
      const text = `Remaining of at most ${shown(left)}, because of the requests before`;
      contradicts(rises ? 'limits.remaining-never-rises' : 'limits.remaining-falls', b, text, `${b.remaining}`);
    } else if (promised >= 1 - epsilon && !isBanned(b) && group.isShort) {
      const text = `admitted, because ${Math.ceil(promised - epsilon)} of the promised requests must be left`;
      contradicts('limits.admits', promisedFrom, text, `${b.status}`);
    } else if (!isRefused(b) && b.remaining < Math.floor(floor + epsilon)) {
      const id = floorFrom.reset + jitter < b.reset && family.isFixed ? 'limits.resets' : 'limits.remaining-falls';
      contradicts(id, floorFrom, `Remaining of at least ${Math.floor(floor + epsilon)}`, `${b.remaining}`);
    } else if (!isRefused(b) && b.remaining < returned) {
      const text = `Remaining of at least ${returned}, because the limit has reset at ${returnedFrom.reset}`;
      contradicts('limits.resets', returnedFrom, text, `${b.remaining}`);
    } else if (!isRefused(b) && b.remaining < least - epsilon) {
      const text = `Remaining of at least ${Math.ceil(least - epsilon)}, because earlier requests no longer count`;
      contradicts('limits.resets', b, text, `${b.remaining}`);
    } else {
      if (self > 0 && beyond < Infinity) meets('limits.refuses', b);
      const isBound = bound < Infinity || left < limit - self;
      if (isBound) meets('limits.remaining-never-rises', b);
      if (isBound && self > 0) meets('limits.remaining-falls', b);
      if (floor > -Infinity && self > 0) meets('limits.admits', b);
      cap = Math.max(Math.min(cap, beyond), 0);
      caps.push(cap);
      continue;
    }
    caps.push(b.remaining + family.hidden + mayReturn);
  }
  return { contradictions, judged };
}

/** Whether a request that failed would have counted: it has counted before, or it has succeeded before. */
function mustBeRefused(group: Group, one: Exchange): boolean {
  if (isRefused(one)) return false;
  const hasCounted = group.admitted.list.some(({ name, receivedTurn }) =>
    name === one.name && receivedTurn < one.sentTurn);
  // A ban may have another status, but not that of a server error.
  return group.counted.has(failureOf(one)) || (hasCounted && (one.status >= 500 || isFirstRefusal(group, one)));
}

/** The family of a key's limiter, as far as its history shows it. In a fixed window, Reset does not move. */
export function familyOf(exchanges: readonly Exchange[]): string {
  const groups = groupsOf(exchanges, false);
  const isFixed = (group: Group) => judgeFamily(group, familiesOf(group)[0]!).contradictions.length === 0;
  if (!groups.every(isFixed)) return 'sliding: Reset moves';
  const ends = new Set(exchanges.map(({ limit, reset }) => `${limit} ${Math.round(reset / 30)}`));
  return ends.size > 2 ? 'fixed' : 'fixed, as far as one window shows';
}
