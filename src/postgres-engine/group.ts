import { UnavailableError } from '../engine.ts';

/** More are refused: the database is too slow for them. */
const maxWaiting = 10_000;
/** So are those whose group has not begun after this time. */
const maxWaitMs = 1_500;
/** A group ends with the item that brings it to this size. */
const enoughSize = 1024 * 1024;

/**
 * Collects items while the previous group is under way, and passes them on as the next group: all requests that wait
 * share one transaction.
 */
export class Group<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Result[]>;
  readonly #maxItems: number;
  readonly #sizeOf: (item: Item) => number;
  #waiting: Waiting<Item, Result>[] = [];
  #isRunning = false;
  /** The number of groups, and of their items. */
  groups = 0;
  items = 0;

  /** `run` returns a result for each item, or rejects for all. `sizeOf` returns the approximate bytes of an item. */
  constructor(
    maxItems: number, run: (items: readonly Item[]) => Promise<readonly Result[]>, sizeOf = (_item: Item): number => 0,
  ) {
    this.#maxItems = maxItems;
    this.#run = run;
    this.#sizeOf = sizeOf;
  }

  /** How many items wait for their group to begin. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Returns the result for an item. Rejects as `run` does, or with an UnavailableError if too many items wait. */
  add(item: Item): Promise<Result> {
    if (this.#waiting.length >= maxWaiting) return Promise.reject(tooSlow());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject, until: performance.now() + maxWaitMs });
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    await Promise.resolve(); // requests that have arrived together share the first group
    while (this.#waiting.length > 0) {
      const group = this.#next();
      if (group.length === 0) continue;
      this.groups++;
      this.items += group.length;
      try {
        const results = await this.#run(group.map(({ item }) => item));
        for (const [index, { resolve }] of group.entries()) resolve(results[index]!);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
    }
    this.#isRunning = false;
  }
  /** Takes the items of the next group. Refuses those that have waited too long. */
  #next(): Waiting<Item, Result>[] {
    const now = performance.now();
    let late = 0;
    while (late < this.#waiting.length && this.#waiting[late]!.until < now) this.#waiting[late++]!.reject(tooSlow());
    let end = late;
    for (let size = 0; end < this.#waiting.length && end - late < this.#maxItems && size < enoughSize; end++) {
      size += this.#sizeOf(this.#waiting[end]!.item);
    }
    return this.#waiting.splice(0, end).slice(late);
  }
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** Until when its group must begin, by the monotonic clock. */
  readonly until: number;
}

function tooSlow(): UnavailableError {
  return new UnavailableError('The storage is too slow at the moment.', 1);
}
