/** What responses showed of the limit of one key while something failed, and what must be true of it (scale.ts). */
import assert from 'node:assert/strict';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

/** A request that was admitted. */
interface Admitted {
  /** When its window ends: X-RateLimit-Reset. */
  readonly window: string;
  readonly remaining: string;
  /** Whether it was sent before a crashed database was started again. */
  readonly isBeforeRestart: boolean;
}

export class Round {
  readonly key: string;
  readonly limit: number;
  readonly admitted: Admitted[] = [];
  /** How many requests with the key may or may not have been counted: the response was a 503, or there was none. */
  unknown = 0;
  created = 0;
  unknownCreates = 0;
  phase: 'before' | 'fault' | 'after' = 'before';
  /** When the fault was over, by the monotonic clock. */
  overAt = 0;
  /** When each server first created an animal after that, by the monotonic clock. */
  readonly resumedAt = new Map<object, number>();
  database: 'running' | 'crashed' | 'restarted' = 'running';
  /** How many of `admitted`, from the first on, are on disk: a create sent after their responses was confirmed. */
  onDisk = 0;
  /** The windows in which a request was refused. */
  readonly #exhausted = new Set<string>();
  readonly #startedAt = Date.now();
  readonly #from = performance.now();
  #waiting: { readonly count: number; readonly resolve: () => void } | null = null;

  /** `limit` is what the plan of the key admits in a minute. */
  constructor(key: string, limit: number) {
    this.key = key;
    this.limit = limit;
  }

  /** Resolves when `count` requests have been admitted, or one has been refused. */
  async reached(count: number): Promise<void> {
    if (count > this.admitted.length) await new Promise<void>((resolve) => (this.#waiting = { count, resolve }));
  }

  noteAdmitted(admitted: Admitted): void {
    if (this.admitted.push(admitted) === this.#waiting?.count) this.#waiting.resolve();
  }

  noteRefused(window: string): void {
    this.#exhausted.add(window);
    this.#waiting?.resolve();
  }

  /** How many counts the database may have lost when it crashed. */
  get #lost(): number {
    if (this.database === 'running') return 0;
    return this.admitted.filter(({ isBeforeRestart }, index) => isBeforeRestart && index >= this.onDisk).length;
  }

  /** The windows of this round: more than one if a minute ended in it. */
  get #windows(): string[] {
    return [...new Set([...this.admitted.map(({ window }) => window), ...this.#exhausted])];
  }

  #admittedIn(window: string): number {
    return this.admitted.filter((one) => one.window === window).length;
  }

  /** Checks the limit in each window. `used` is the key's usage of this day, as `petstore usage` shows it. */
  check(used: number): void {
    const { admitted, limit, unknown } = this;
    const lost = this.#lost;
    for (const window of this.#windows) {
      const count = this.#admittedIn(window);
      const seen = `${count} of ${limit} requests admitted in the window until ${window}`;
      assert(count <= limit + lost, `${seen}; ${lost} counts lost`);
      assert(count + unknown >= limit || !this.#exhausted.has(window), `a 429, but ${seen}; ${unknown} unknown`);
    }
    const repeated = admitted.length - new Set(admitted.map(({ window, remaining }) => `${window} ${remaining}`)).size;
    assert(repeated <= lost, `${repeated} values of X-RateLimit-Remaining repeated; ${lost} counts lost`);
    if (!this.#isWithinOne(dayMs)) return;
    const seen = `${used} used, ${admitted.length} admitted, ${unknown} unknown, ${lost} counts lost`;
    assert(used >= admitted.length - lost && used <= admitted.length + unknown, `petstore usage is wrong: ${seen}`);
    if (!this.#isWithinOne(minuteMs) || this.database !== 'running' || this.#exhausted.size === 0) return;
    assert(used === limit, `petstore usage is not the limit ${limit}, although a request was refused: ${seen}`);
  }

  #isWithinOne(lengthMs: number): boolean {
    return Math.floor(this.#startedAt / lengthMs) === Math.floor(Date.now() / lengthMs);
  }

  toString(): string {
    const { limit, unknown, created, unknownCreates, overAt, resumedAt } = this;
    const seconds = (from: number, to: number): string => ((to - from) / 1000).toFixed(1);
    const resumedAfter = seconds(overAt, Math.max(...resumedAt.values()));
    const admitted = this.#windows.map((window) => this.#admittedIn(window)).join(' + ');
    return `${admitted} of ${limit} admitted, ${unknown} unknown, ${this.#lost} counts possibly lost; `
      + `${created} animals created, ${unknownCreates} unknown; `
      + `resumed after ${resumedAfter} of ${seconds(this.#from, performance.now())} s`;
  }
}
