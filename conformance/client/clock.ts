import { uptime } from 'node:os';

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
  /** Resolves after `ms` milliseconds of this clock. A command may show the reason. */
  sleep(ms: number, reason?: string): Promise<void>;
}

/** The clock of this process. */
export const systemClock: Clock = {
  now: () => Math.floor(performance.timeOrigin + performance.now()),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};

/** How often the process records that it runs, and the shortest gap between two records that is a stop. */
const beatMs = 250;
const stopMs = 2_000;

/**
 * Counts the stops of a process: times in which it did not run, because it was stopped (Ctrl-Z), its container was
 * frozen, the machine slept, or a computation took long. A duration that contains a stop says nothing about the server.
 */
export class Stops {
  readonly #now: () => number;
  #ranAt: number;
  #count = 0;

  constructor(now: () => number) {
    this.#now = now;
    this.#ranAt = now();
  }

  /** The number of stops when `count` was last read. It does not read the clock. */
  get noticed(): number {
    return this.#count;
  }

  /** The number of stops so far. Read it at least once every two seconds: a longer gap counts as a stop. */
  get count(): number {
    const now = this.#now();
    if (now - this.#ranAt >= stopMs) this.#count++;
    this.#ranAt = now;
    return this.#count;
  }
}

/** The stops of this process. `uptime` never steps, and includes the time in which the machine slept. */
export const processStops = new Stops(() => uptime() * 1000);
setInterval(() => void processStops.count, beatMs).unref();

/**
 * Calls `late` after `ms` milliseconds. If the process was stopped meanwhile, it has not yet read what arrived during
 * the stop, so the time starts again.
 *
 * @returns a function that cancels it
 */
export function timeLimit(ms: number, late: () => void, stops = processStops): () => void {
  let timer: NodeJS.Timeout;
  const start = () => {
    const before = stops.noticed;
    timer = setTimeout(() => (stops.count === before ? late() : start()), ms);
  };
  start();
  return () => clearTimeout(timer);
}
