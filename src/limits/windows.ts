/**
 * Fixed windows, and the time they are measured by (decisions.md, "Limits").
 *
 * A window is a UTC minute or a UTC day, known by its start: a multiple of its length since the epoch. It is not begun
 * by a timer. Whoever looks at it at some time first lets it `roll` to that time: if it is over, it begins anew, empty.
 *
 * The clock is the operator's, and it may be stepped. A small step back must not hand out a window that was used up
 * already, so the limits' time stands still until the clock has caught up. After a large one it follows the clock, or a
 * key might be locked out for as long as the clock was wrong; then a window that lies ahead by more than such a small
 * step is given up. One that lies ahead by less stays in force, and its time will come: so it is after a restart, too,
 * where it was stored by a process whose clock was a little ahead.
 */

export const minuteMs = 60_000;
export const dayMs = 86_400_000;
/** The largest step back of the clock that makes the limits' time stand still. */
export const maxSmallStepMs = 60_000;

/** The limits' time: the clock's, but that it stands still while a small step back is caught up. */
export class LimitsTime {
  #latest = -Infinity;

  /** The limits' time when the clock says `now`; both in milliseconds since the epoch. */
  at(now: number): number {
    if (now > this.#latest || this.#latest - now > maxSmallStepMs) this.#latest = now;
    return this.#latest;
  }
}

/** One window's count. Times in milliseconds since the epoch, here and in all of this folder. */
export class Window {
  readonly lengthMs: number;
  start = -Infinity;
  /** So many requests were admitted. */
  used = 0;
  /** When the first request was refused because the window had no room left; null while none was. */
  firstRefusedAt: number | null = null;

  constructor(lengthMs: number) {
    this.lengthMs = lengthMs;
  }

  get end(): number {
    return this.start + this.lengthMs;
  }

  /** Becomes the window in force at `time`. Gives whether it began anew. */
  roll(time: number): boolean {
    // Or, with the clock stepped back within a day, no refusal would be later than it for hours.
    if (this.firstRefusedAt !== null && this.firstRefusedAt - time > maxSmallStepMs) this.firstRefusedAt = null;
    const start = windowStart(time, this.lengthMs);
    if (start === this.start) return false;
    if (start < this.start && this.start - time <= maxSmallStepMs) return false;
    this.start = start;
    this.used = 0;
    this.firstRefusedAt = null;
    return true;
  }
}

/** The start of the window that a time lies in. */
export function windowStart(time: number, lengthMs: number): number {
  return Math.floor(time / lengthMs) * lengthMs;
}
