/**
 * Judges the history of a key: whether it fits a family of limiters, and whether requests are admitted when the headers
 * of the server promise it. If exchanges are missing from the history of a conforming server, the rest still conforms,
 * so a missing exchange never causes a failure.
 */
import { minuteMs } from '../client/limit-readings.ts';
import type { RequirementId } from '../requirements/requirements.ts';
import type { Violation } from '../verdicts/results.ts';
import { clockOf, datedByKit, isBefore, isRefused, type Exchange } from './exchange.ts';
import { judgeGroup, type Contradiction } from './fit.ts';
import {
  countedBetween, endsAtReset, groupsOf, isBanned, isFirstRefusal, jitter, lateMs, sendingsOf, usedBetween, type Group,
} from './group.ts';

/** The verdict of a history on one requirement. */
export interface Verdict {
  /** Exchanges that could have violated it. */
  readonly judged: readonly Exchange[];
  readonly contradiction?: Contradiction;
}

export type Verdicts = ReadonlyMap<RequirementId, Verdict>;

/** How far apart two times in whole seconds may be if they describe the same moment. */
const wholeMs = 1_000;

/**
 * How long after Reset a window by the clock must have ended: it may begin at a fraction of a second. The probes at
 * Reset are later (afterResetMs).
 */
const fractionMs = 500;

/**
 * The verdicts on the history of one key. `isExclusive`: no other client uses the key. The Date of a proxy whose clock
 * is wrong proves nothing, so a history without violations by the kit's clock conforms.
 */
export function judge(exchanges: readonly Exchange[], isExclusive: boolean): Verdicts {
  const byDate = judgeByDate(exchanges, isExclusive);
  const isViolated = (by: Verdicts): boolean => [...by.values()].some(({ contradiction }) => contradiction);
  if (!isViolated(byDate)) return byDate;
  const byKit = judgeByDate(exchanges.map(datedByKit), isExclusive);
  return isViolated(byKit) ? byDate : byKit;
}

/** The verdicts, if Date is the clock of the limiter. */
function judgeByDate(exchanges: readonly Exchange[], isExclusive: boolean): Verdicts {
  const verdicts = new Map<RequirementId, { judged: Exchange[]; contradiction?: Contradiction }>();
  const of = (id: RequirementId) => {
    const verdict = verdicts.get(id) ?? { judged: [] };
    verdicts.set(id, verdict);
    return verdict;
  };
  const groups = groupsOf(exchanges, isExclusive);
  for (const group of groups) {
    const { contradictions, judged, isWhole } = judgeGroup(group);
    for (const [id, meeting] of judged) of(id).judged.push(...meeting);
    const waits = waitsOf(group, isWhole);
    for (const [id, meeting] of waits.judged) of(id).judged.push(...meeting);
    for (const contradiction of [...contradictions, ...waits.contradictions]) {
      of(contradiction.id).contradiction ??= contradiction;
      // If the key was refused before in this window, only an operation that is not limited is admitted.
      const isExempt = contradiction.id === 'limits.refuses' && group.all.some((one) => {
        return isRefused(one) && isBefore(one, contradiction.at) && one.reset >= contradiction.at.reset - jitter;
      });
      if (isExempt) of('limits.all-operations').contradiction ??= { ...contradiction, id: 'limits.all-operations' };
    }
  }
  for (const contradiction of [...distantResets(groups), ...groups.flatMap(unfoundedRefusals)])
    of(contradiction.id).contradiction ??= contradiction;
  const changing = alternation(exchanges.toSorted((a, b) => a.receivedTurn - b.receivedTurn));
  if (changing !== undefined) of(changing.id).contradiction ??= changing;
  return verdicts;
}

/** Judges requests that were sent after Retry-After or after Reset: they must be admitted. */
function waitsOf(group: Group, isWhole: boolean) {
  const contradictions: Contradiction[] = [];
  const judged = new Map<RequirementId, Exchange[]>();
  const { own, isExclusive, isAdmitted, clock } = group;
  if (!isExclusive) return { contradictions, judged };
  const ownRefusals = own.filter(isRefused);
  const between = sendingsOf(group.all);
  /**
   * Whether a refusal is not due to a ban or a used-up day: nothing shows it, or no request was refused before, and the
   * headers describe the day if it is used up.
   */
  const isOfLimit = (refusal: Exchange): boolean => {
    if (!isBanned(refusal)) return true;
    return (group.isAlsoOfDay || refusal.retryAfterMs! <= 2 * minuteMs) && isFirstRefusal(group, refusal);
  };
  for (const b of own) {
    // The day may be used up, even if the headers describe only the minute. It was not if a request had to wait less.
    const mayBeOfDay = isBanned(b) && !group.isAlsoOfDay && b.retryAfterMs! > 2 * minuteMs;
    // An admitted request also shows that requests are available, even if others were sent with it.
    for (const a of isRefused(b) ? own : isAdmitted(b) ? ownRefusals : []) {
      if (!isBefore(a, b)) continue;
      if (isRefused(b) && ((isRefused(a) ? !isOfLimit(a) : mayBeOfDay) || usedBetween(group, a, b) > 0)) continue;
      const waited = a.retryAfterMs !== undefined && b.sentAt >= a.receivedAt + a.retryAfterMs;
      const hasSteadyClock = clockOf([a, b]) !== undefined || a.date === undefined || b.date === undefined;
      const reset = a.reset * 1_000;
      const now = clock === undefined || b.date === undefined ? -Infinity : b.sentAt + clock.least;
      // A limiter with fractions of requests may cut off the fraction of a second of its Reset.
      const isLater = now >= reset + (isWhole ? fractionMs : wholeMs);
      if (isAdmitted(b)) {
        if (waited && isRefused(a)) judged.set('limits.recovers', [b]);
        if (now >= reset) judged.set('limits.resets', [b]);
        continue;
      }
      const latestNow = clock === undefined ? Infinity : b.receivedAt + clock.most;
      const isLonger = b.reset > a.reset + jitter && !isBanned(b) && !endsAtReset(b);
      if (isRefused(a) && isLonger && latestNow < reset - lateMs) {
        const required = `Reset ${a.reset}, because no request was admitted since`;
        contradictions.push({ id: 'limits.resets', at: b, from: a, required, received: `${b.reset}` });
      }
      // Further requests may get the key banned. Then the wait ends later than any that was announced before.
      const endOf = (one: Exchange) => one.receivedAt + (one.retryAfterMs ?? Infinity);
      const announced = a.retryAfterMs === undefined ? b.sentAt + reset - now : endOf(a);
      const isNew = !ownRefusals.some((one) => isBefore(one, a) && endOf(one) >= endOf(b) - lateMs);
      // A limiter may count refused requests. Then one that was sent too early makes the wait longer.
      const isExtended = () => ownRefusals.some((one) => isBefore(a, one) && isBefore(one, b) && endOf(one) > b.sentAt);
      if (countedBetween(a, b) > 1 && isNew && (isBanned(b) || endOf(b) > announced + lateMs)) continue;
      const seconds = (ms: number) => `${Math.ceil(ms / 1_000)} s`;
      if (waited && hasSteadyClock && isRefused(a) && !isExtended()) {
        const wait = seconds(a.retryAfterMs!);
        const required = `the request admitted, because it was sent after the ${wait} of Retry-After`;
        contradictions.push({ id: 'limits.recovers', at: b, from: a, required, received: `${b.status}` });
      }
      if (isLater && !(now < reset + wholeMs && mayEndLater(a.reset, b, group, between))) {
        const required = 'the request admitted, because it was sent after Reset';
        contradictions.push({ id: 'limits.resets', at: b, from: a, required, received: `${b.status}` });
      }
    }
  }
  return { contradictions, judged };
}

/**
 * Whether a window can end after `b`, because Reset may lack its fraction of a second: some request can have been sent
 * when it began, or was sent a number of minutes before.
 */
function mayEndLater(
  reset: number,
  { sentAt }: Exchange,
  { all, clock }: Group,
  between: (from: number, to: number) => number,
): boolean {
  const begin = reset * 1_000 - minuteMs;
  const from = Math.max(sentAt - minuteMs - 1, begin - clock!.most);
  const to = begin + wholeMs - clock!.least;
  if (from >= to || between(from, to) > 0) return from < to;
  return all.some((one) => {
    const windows = Math.max(0, Math.ceil((from - one.receivedAt) / minuteMs));
    return one.sentAt + windows * minuteMs < to;
  });
}

/**
 * First refusals whose Reset is later than the end of any window of their limit, as an earlier response shows it. Their
 * Retry-After shows that they are not due to a used-up day, whose limit may be the same.
 */
function distantResets(groups: readonly Group[]): readonly Contradiction[] {
  const shortMs = minuteMs + lateMs;
  return groups.filter(({ isShort }) => !isShort).flatMap((group) => {
    const earlier = groups.find(({ isShort, limit }) => isShort && limit === group.limit)?.own ?? [];
    return group.own.flatMap((at) => {
      if (!isRefused(at) || (at.retryAfterMs ?? Infinity) > shortMs || !isFirstRefusal(group, at)) return [];
      const from = earlier.findLast((one) => isBefore(one, at) && at.receivedAt - one.sentAt <= shortMs);
      const required = `Reset at most a window after ${from?.reset}`;
      return from === undefined ? [] : [{ id: 'limits.resets', at, from, required, received: `${at.reset}` } as const];
    });
  });
}

/** A refusal is unfounded if it shows more than this part of the limit. Some may have become available meanwhile. */
const partLeft = 1 / 4;

/**
 * First refusals whose headers show that many requests of the minute remain, although Retry-After ends with the minute.
 * So they are not due to a used-up day or a ban, nor to the window before.
 */
function unfoundedRefusals(group: Group): readonly Contradiction[] {
  if (!group.isShort) return [];
  const { own, limit } = group;
  return own.flatMap((at, i) => {
    const { remaining, reset } = at;
    if (!isRefused(at) || remaining <= limit * partLeft || !endsAtReset(at) || isEndOfDay(reset)) return [];
    if (!isFirstRefusal(group, at)) return [];
    let before = i - 1;
    while (before >= 0 && !isBefore(own[before]!, at)) before--;
    const from = own[before];
    if (from === undefined || Math.abs(from.reset - reset) > jitter) return [];
    const required = `admitted, because ${remaining} requests remain`;
    return [{ id: 'limits.admits', at, from, required, received: '429' }];
  });
}

/** Whether a day can end at this time, in Unix seconds: in some time zone. */
const isEndOfDay = (seconds: number): boolean => (seconds + 2) % 900 <= 4;

/**
 * A limit that changes and changes back within a minute. This is permitted only in the last minute of a day, in which
 * the headers may describe either window.
 */
function alternation(all: readonly Exchange[]): Contradiction | undefined {
  const shortMs = minuteMs + lateMs;
  const isMinute = ({ reset, date, receivedAt }: Exchange) => reset * 1_000 - (date ?? receivedAt) <= shortMs;
  let [one, other]: (Exchange | undefined)[] = [];
  for (const now of all) {
    if (!isMinute(now) || isEndOfDay(now.reset)) [one, other] = [undefined, undefined];
    else if (one === undefined || now.limit === (other ?? one).limit) one = other === undefined ? now : one;
    else if (other === undefined) other = isBefore(one, now) ? now : undefined;
    else if (now.limit === one.limit && isBefore(other, now) && now.receivedAt - one.sentAt < minuteMs) {
      const required = `X-RateLimit-Limit: ${one.limit}, as before and after`;
      return { id: 'limits.limit-header', at: now, from: other, required, received: `${other.limit}` };
    } else [one, other] = [now, undefined];
  }
  return undefined;
}

/** The effort to find the smallest evidence, in exchanges that are judged. */
const maxJudged = 20_000;

/**
 * A contradiction as a violation, with evidence in one sentence: exchanges of the history none of which can be left
 * out, unless there are too many to find out in reasonable time.
 */
export function violationOf(exchanges: readonly Exchange[], isExclusive: boolean, found: Contradiction): Violation {
  let [judged, contradiction] = [0, found];
  const holds = (some: readonly Exchange[]): boolean => {
    judged += some.length;
    const shown = judgeByDate(some, isExclusive).get(found.id)?.contradiction;
    contradiction = shown ?? contradiction;
    return shown !== undefined;
  };
  const { at, from } = found;
  const until = exchanges.filter((one) => one.sentTurn < at.receivedTurn);
  const since = until.filter((one) => one.receivedTurn >= from.receivedTurn);
  // The first request of a key shows that none was sent before it.
  const few = [[from, at], [until[0]!, from, at], [from, at, ...exchanges.slice(-1)]].map((some) => [...new Set(some)]);
  let kept = [...few, since, [until[0]!, ...since], until].find(holds) ?? exchanges;
  for (let size = Math.ceil(kept.length / 2); ; size = Math.ceil(size / 2)) {
    for (let begin = 0; begin < kept.length && judged < maxJudged;) {
      const without = [...kept.slice(0, begin), ...kept.slice(begin + size)];
      if (holds(without)) kept = without;
      else begin += size;
    }
    if (size === 1) break;
  }
  const { required, received } = contradiction;
  return { required, received: `${received} (${toldOf(kept)})` };
}

/** What these exchanges show, in one line. Of many exchanges, the first and the last are named. */
function toldOf(shown: readonly Exchange[]): string {
  const begin = shown[0]!.sentAt;
  const told = shown.map((one, i) => {
    const after = `${((one.sentAt - begin) / 1_000).toFixed(2)} s`;
    const wait = one.retryAfterMs === undefined ? '' : `, Retry-After ${Math.ceil(one.retryAfterMs / 1_000)} s`;
    const ahead = Math.round(one.reset - (one.date ?? one.receivedAt) / 1_000);
    const rates = `Remaining ${one.remaining} of ${one.limit}, Reset in ${ahead} s${wait}`;
    const { combines } = one.response.request;
    const name = combines === undefined ? one.name : `${one.name} (${combines})`;
    return `${i + 1}. after ${after}: ${name} → ${one.status}, ${rates}`;
  });
  return (told.length <= 8 ? told : [...told.slice(0, 3), `… ${told.length - 6} more …`, ...told.slice(-3)]).join('; ');
}
