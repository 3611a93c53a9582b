/**
 * The source of time. It never steps: the system's clock may be set while the kit waits. Tests use a clock on which
 * waiting takes no time.
 */
export interface Clock {
  /**
   * Milliseconds since 1970, as a whole number: the system's time when this process started, plus the time that has
   * passed since. Compare it with times of the server only through `ServerClock`.
   */
  now(): number;
  /** Resolves after `ms` milliseconds of this clock. */
  sleep(ms: number): Promise<void>;
}

/** The clock of this process. */
export const systemClock: Clock = {
  now: () => Math.floor(performance.timeOrigin + performance.now()),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};
