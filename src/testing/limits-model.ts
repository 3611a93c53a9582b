/**
 * Test support: a model of the rules of decisions.md, "Limits". It computes everything from the list of events of one
 * key. It has no counters, because otherwise it would copy the code that it checks.
 */
import type { PlanLimits } from '../limits/plans.ts';
import type { LimitStatus } from '../limits/limit-status.ts';

const minute = 60_000;
const day = 86_400_000;
const second = 1_000;

/** An event of a key. */
export interface KeyEvent {
  /** In the time of the limits. */
  readonly time: number;
  readonly arrivedAt: number;
  /** The starts of the minute and the day in force. */
  readonly minute: number;
  readonly day: number;
  readonly what: 'admitted' | 'refused' | 'banned' | 'seen' | 'unbanned';
  /** The exhausted windows. */
  readonly exhausted: readonly ('minute' | 'day')[];
  /** Whether it is a refusal that counts towards a ban. */
  readonly counts: boolean;
  /** The ban that this refusal caused. */
  readonly ban: { readonly start: number; readonly end: number } | null;
}

/** Returns the time of the limits after these readings of the clock: the latest since the last large step back. */
export function limitsTime(readings: readonly number[]): number {
  return readings.reduce(
    (latest, reading) => (latest - reading > 60 * second ? reading : Math.max(latest, reading)),
    -Infinity,
  );
}

/** The limits of one key, computed from its events. */
export class LimitsModel {
  events: KeyEvent[] = [];

  /** The start of the window in force: that of `time`, unless the last one begins at most 60 s in the future. */
  #start(name: 'minute' | 'day', time: number): number {
    const length = name === 'minute' ? minute : day;
    const last = this.events.at(-1)?.[name] ?? -Infinity;
    const own = Math.floor(time / length) * length;
    return last > own && last <= time + 60 * second ? last : own;
  }

  /** The events in the window in force: those since the last event in another window. */
  #within(name: 'minute' | 'day', time: number): readonly KeyEvent[] {
    const start = this.#start(name, time);
    return this.events.slice(this.events.findLastIndex((one) => one[name] !== start) + 1);
  }

  /** The number of requests admitted in the window in force. */
  used(name: 'minute' | 'day', time: number): number {
    return this.#within(name, time).filter(({ what }) => what === 'admitted').length;
  }

  /** The last ban, unless it was lifted, or forgotten at the time of a later event. */
  ban(time: number): { start: number; end: number } | null {
    const index = this.events.findLastIndex(({ ban, what }) => ban !== null || what === 'unbanned');
    const ban = this.events[index]?.ban ?? null;
    if (ban === null) return null;
    const times = [...this.events.slice(index).map((one) => one.time), time];
    return times.some((t) => t > ban.end + day || t < ban.start - 60 * second) ? null : ban;
  }

  /** When the ban in force ends, or null if there is none. */
  bannedUntil(time: number): number | null {
    const ban = this.ban(time);
    return ban !== null && time < ban.end ? ban.end : null;
  }

  #exhausted({ perMinute, perDay }: PlanLimits, time: number): ('minute' | 'day')[] {
    const names: ('minute' | 'day')[] = [];
    if (this.used('minute', time) >= perMinute) names.push('minute');
    if (this.used('day', time) >= perDay) names.push('day');
    return names;
  }

  /** Whether a refusal counts: its request arrived over 2 s after the first refusal of the window that ends last. */
  #counts({ exhausted, arrivedAt, time }: Pick<KeyEvent, 'exhausted' | 'arrivedAt' | 'time'>): boolean {
    const name = exhausted.at(-1)!;
    const within = this.#within(name, time);
    const since = within.slice(within.findLastIndex(({ what }) => what === 'admitted' || what === 'unbanned') + 1);
    const first = since.find((one, index) => one.what === 'refused' && one.exhausted.includes(name)
      && [...since.slice(index).map((later) => later.time), time].every((later) => later >= one.time - 60 * second));
    return first !== undefined && arrivedAt > first.time + 2 * second;
  }

  /** Adds a request and returns the status that it must receive. All times are in the time of the limits. */
  request(limits: PlanLimits, time: number, arrivedAt: number): LimitStatus {
    const starts = { minute: this.#start('minute', time), day: this.#start('day', time) };
    const exhausted = this.#exhausted(limits, time);
    const banned = this.bannedUntil(time) !== null;
    const event = { time, arrivedAt, ...starts, exhausted };
    if (banned) {
      this.events.push({ ...event, what: 'banned', counts: false, ban: null });
    } else if (exhausted.length === 0) {
      this.events.push({ ...event, what: 'admitted', counts: false, ban: null });
    } else {
      const counts = this.#counts(event);
      this.events.push({ ...event, what: 'refused', counts, ban: counts ? this.#banNow(limits, time) : null });
    }
    const left = { minute: limits.perMinute - this.used('minute', time), day: limits.perDay - this.used('day', time) };
    const window = Math.max(left.minute, 0) < Math.max(left.day, 0) ? 'minute' : 'day';
    const limit = window === 'minute' ? limits.perMinute : limits.perDay;
    const ends = { minute: starts.minute + minute, day: starts.day + day };
    if (!banned && exhausted.length === 0) {
      return { window, limit, remaining: left[window], reset: ends[window] / second, refusedBy: null };
    }
    const until = this.bannedUntil(time);
    const reset = Math.max(until ?? 0, ...exhausted.map((name) => ends[name])) / second;
    return { window, limit, remaining: 0, reset, refusedBy: until === null ? 'window' : 'ban' };
  }

  /** The ban that one more counted refusal causes, or null. */
  #banNow({ perMinute }: PlanLimits, time: number): KeyEvent['ban'] {
    const thisMinute = this.#within('minute', time);
    const counted = thisMinute
      .slice(thisMinute.findLastIndex(({ what }) => what === 'unbanned') + 1)
      .filter(({ counts }) => counts);
    if (counted.length + 1 < Math.max(60, perMinute)) return null;
    const start = Math.ceil(time / second) * second;
    const last = this.ban(time);
    return { start, end: start + (last === null ? 5 * minute : Math.min(60 * minute, 2 * (last.end - last.start))) };
  }

  /** Adds an event without a request: the usage was read, or the ban was lifted. */
  record(time: number, what: 'seen' | 'unbanned'): void {
    const starts = { minute: this.#start('minute', time), day: this.#start('day', time) };
    this.events.push({ time, arrivedAt: time, ...starts, what, exhausted: [], counts: false, ban: null });
  }
}
