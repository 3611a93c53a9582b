import { graceMs, isForgotten, minRefusals, nextBan, type Ban } from './bans.ts';
import type { PlanLimits } from './plans.ts';
import type { LimitStatus } from './limit-status.ts';
import { dayMs, minuteMs, Window } from './windows.ts';

/** The requests that one key has used of its minute and its day, and its ban. */
export class KeyUsage {
  readonly minute = new Window(minuteMs);
  readonly day = new Window(dayMs);
  /** The number of refusals in this minute that count towards a ban. */
  refusals = 0;
  /** The ban in force, or the last one until it is forgotten. */
  ban: Ban | null = null;

  /** Brings the windows up to `time`, and drops a ban that no longer matters. */
  roll(time: number): void {
    if (this.minute.roll(time)) this.refusals = 0;
    this.day.roll(time);
    if (this.ban !== null && isForgotten(this.ban, time)) this.ban = null;
  }

  /** Whether this is the usage of a new key, as of the last `roll`. (What the minute counts, the day counts too.) */
  get isBlank(): boolean {
    return this.day.used === 0 && this.ban === null;
  }

  /** Returns when the ban in force ends, or null if there is none. */
  bannedUntil(time: number): number | null {
    return this.ban !== null && time < this.ban.end ? this.ban.end : null;
  }

  /** Admits and counts a request, or refuses it. It arrived at `arrivedAt` and is handled at `time`. */
  admit(limits: PlanLimits, time: number, arrivedAt: number): LimitStatus {
    this.roll(time);
    const { minute, day } = this;
    let began: Ban | undefined;
    if (this.bannedUntil(time) === null) {
      if (minute.used < limits.perMinute && day.used < limits.perDay) {
        minute.used += 1;
        day.used += 1;
        // An exhausted window has room again only after a change of plan. The client does not know when the new limit
        // is reached, so its first refusal then starts a new grace time.
        minute.firstRefusedAt = null;
        day.firstRefusedAt = null;
        return this.status(limits);
      }
      if (minute.used >= limits.perMinute) minute.firstRefusedAt ??= time;
      if (day.used >= limits.perDay) day.firstRefusedAt ??= time;
      // If both windows are exhausted, the status names the end of the day, so the day's first refusal counts.
      const exhausted = day.used >= limits.perDay ? day : minute;
      if (arrivedAt - exhausted.firstRefusedAt! > graceMs) {
        this.refusals += 1;
        if (this.refusals >= Math.max(limits.perMinute, minRefusals)) this.ban = began = nextBan(this.ban, time);
      }
    }
    const bannedUntil = this.bannedUntil(time);
    if (bannedUntil === null) return this.status(limits, 'window');
    const status = this.status(limits, 'ban');
    const exhaustedUntil = status.remaining === 0 ? status.reset : 0;
    const reset = Math.max(bannedUntil / 1000, exhaustedUntil);
    return { ...status, remaining: 0, reset, ...(began !== undefined && { began }) };
  }

  /** Lifts the ban in force and forgets it and the refusals that led to it. Returns whether there was a ban. */
  unban(time: number): boolean {
    if (this.bannedUntil(time) === null) return false;
    this.ban = null;
    this.refusals = 0;
    this.minute.firstRefusedAt = null;
    this.day.firstRefusedAt = null;
    return true;
  }

  /**
   * Returns the status after a request was counted, or refused because of `refusedBy`. If a window is exhausted, it
   * names the exhausted window that ends last: the day never ends before the minute.
   */
  status({ perMinute, perDay }: PlanLimits, refusedBy: LimitStatus['refusedBy'] = null): LimitStatus {
    const { minute, day } = this;
    const minuteLeft = Math.max(0, perMinute - minute.used);
    const dayLeft = Math.max(0, perDay - day.used);
    return minuteLeft < dayLeft
      ? { window: 'minute', limit: perMinute, remaining: minuteLeft, reset: minute.end / 1000, refusedBy }
      : { window: 'day', limit: perDay, remaining: dayLeft, reset: day.end / 1000, refusedBy };
  }
}
