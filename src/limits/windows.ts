/**
 * Fixed windows, and the time by which they are measured (decisions.md, "Windows" and "The clock").
 *
 * A window is a UTC minute or a UTC day. Its start is a multiple of its length since the epoch. There is no timer:
 * before a window is used, `roll` is called with the current time, and empties the window if another one has begun.
 *
 * The system clock may be set back. After a small step back, the same window must not be available twice. So the time
 * of the limits (`LimitClock`) stands still until the clock has caught up. After a large step back it follows the
 * clock, because otherwise a key could be locked out for as long as the clock was wrong. A window that then begins
 * further in the future than a small step is dropped; one that begins sooner stays in force. The same rule applies
 * after a restart to windows that were stored while the clock was ahead.
 */

export const minuteMs = 60_000;
export const dayMs = 86_400_000;
/** A larger step back of the clock is followed; up to this one, the time of the limits stands still. */
export const maxSmallStepMs = 60_000;

/** The count of one window. Times are milliseconds since the epoch, here and in the whole folder. */
export class Window {
  readonly lengthMs: number;
  start = -Infinity;
  /** The number of requests admitted in the window. */
  used = 0;
  /** When a request was first refused because this window was exhausted; null if none was. */
  firstRefusedAt: number | null = null;

  constructor(lengthMs: number) {
    this.lengthMs = lengthMs;
  }

  get end(): number {
    return this.start + this.lengthMs;
  }

  /** Makes this the window in force at `time`. Returns whether a new window has begun. */
  roll(time: number): boolean {
    // After a large step back within the same day, this time is in the future and would excuse refusals for hours.
    if (this.firstRefusedAt !== null && this.firstRefusedAt - time > maxSmallStepMs) this.firstRefusedAt = null;
    if (time >= this.start && time < this.end) return false;
    const start = Math.floor(time / this.lengthMs) * this.lengthMs;
    if (start <= this.start && this.start - time <= maxSmallStepMs) return false;
    this.start = start;
    this.used = 0;
    this.firstRefusedAt = null;
    return true;
  }
}

/** The time of the limits: that of the clock, except that it stands still after a small step back. */
export class LimitClock {
  /** The latest reading of the clock since its last large step back. */
  #latest = -Infinity;

  /** Returns the time of the limits when the clock shows `now`. Both are milliseconds since the epoch. */
  timeAt(now: number): number {
    if (now > this.#latest || this.#latest - now > maxSmallStepMs) this.#latest = now;
    return this.#latest;
  }
}
