import { countsTowardsBan, endOfBan, isForgotten, nextBan, refusalsForBan, type Ban } from './bans.ts';
import type { PlanLimits } from './plans.ts';
import type { LimitStatus } from './limit-status.ts';
import { dayMs, minuteMs, Window } from './windows.ts';

/** What one key has used of its minute and its day, and its bans. */
export class KeyUsage {
  readonly minute = new Window(minuteMs);
  readonly day = new Window(dayMs);
  /** Refusals within the minute that count towards a ban. */
  refusals = 0;
  /** The ban under way, or the last one while it is remembered. */
  ban: Ban | null = null;

  /** Lets windows and bans that are over go. */
  roll(time: number): void {
    if (this.minute.roll(time)) this.refusals = 0;
    this.day.roll(time);
    if (this.ban !== null && isForgotten(this.ban, time)) this.ban = null;
  }

  /** Whether nothing is kept here that a new key would not have, as of the last `roll`. (A minute lies in its day.) */
  get isBlank(): boolean {
    return this.day.used === 0 && this.ban === null;
  }

  /** When the ban under way ends; null if there is none. */
  bannedUntil(time: number): number | null {
    const end = this.ban === null ? -Infinity : endOfBan(this.ban);
    return time < end ? end : null;
  }

  /** Counts a request at `time` that arrived at `arrivedAt`, or refuses it. */
  admit({ perMinute, perDay }: PlanLimits, time: number, arrivedAt: number): LimitStatus {
    this.roll(time);
    const { minute, day } = this;
    if (this.bannedUntil(time) !== null) return this.#refusal(perMinute, perDay, time);
    if (minute.used < perMinute && day.used < perDay) {
      minute.used += 1;
      day.used += 1;
      // Only a change of plan gives room to a window that had none; if it is used up again, that is news to the client.
      minute.firstRefusedAt = null;
      day.firstRefusedAt = null;
      return this.#status(perMinute, perDay);
    }
    if (minute.used >= perMinute) minute.firstRefusedAt ??= time;
    if (day.used >= perDay) day.firstRefusedAt ??= time;
    // If both are used up, the client was told to wait for the end of the day.
    const { firstRefusedAt } = day.used >= perDay ? day : minute;
    if (countsTowardsBan(arrivedAt, firstRefusedAt!)) {
      this.refusals += 1;
      if (this.refusals >= refusalsForBan(perMinute)) this.ban = nextBan(this.ban, time);
    }
    return this.#refusal(perMinute, perDay, time);
  }

  /** Lifts the ban under way and forgets it; what was refused counts no more. Gives whether there was one. */
  unban(time: number): boolean {
    this.roll(time);
    if (this.bannedUntil(time) === null) return false;
    this.ban = null;
    this.refusals = 0;
    this.minute.firstRefusedAt = null;
    this.day.firstRefusedAt = null;
    return true;
  }

  #status(perMinute: number, perDay: number): LimitStatus {
    const { minute, day } = this;
    const minuteLeft = Math.max(0, perMinute - minute.used);
    const dayLeft = Math.max(0, perDay - day.used);
    return minuteLeft < dayLeft
      ? { window: 'minute', limit: perMinute, remaining: minuteLeft, reset: minute.end / 1000, refusedBy: null }
      : { window: 'day', limit: perDay, remaining: dayLeft, reset: day.end / 1000, refusedBy: null };
  }

  #refusal(perMinute: number, perDay: number, time: number): LimitStatus {
    const { minute, day } = this;
    const bannedUntil = this.bannedUntil(time);
    const minuteUntil = minute.used >= perMinute ? minute.end : 0;
    const dayUntil = day.used >= perDay ? day.end : 0;
    return {
      ...this.#status(perMinute, perDay),
      remaining: 0,
      reset: Math.max(minuteUntil, dayUntil, bannedUntil ?? 0) / 1000,
      refusedBy: bannedUntil === null ? 'window' : 'ban',
    };
  }
}
