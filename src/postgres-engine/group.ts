import { UnavailableError, type Soon } from '../engine.ts';

/** If more items wait, the next ones are refused, because the database is too slow for them. */
const maxWaiting = 10_000;
/** An item without a result after this time is refused, so that its client gets a response. */
export const maxPendingMs = 2_500;
/** How often late items are looked for. */
const checkMs = 200;
/** A group ends with the item that brings it to this size, as `sizeOf` counts it. */
const enoughBytes = 1024 * 1024;

/**
 * Collects items while the previous group is under way, and passes them on as the next group: all requests that wait
 * share one transaction.
 */
export class Group<Item, Result> {
  readonly #run: (items: readonly Item[]) => Promise<readonly Soon<Result>[]>;
  readonly #maxItems: number;
  readonly #sizeOf: (item: Item) => number;
  #waiting: Pending<Item, Result>[] = [];
  #running: readonly Pending<Item, Result>[] = [];
  #isRunning = false;
  #check: NodeJS.Timeout | null = null;
  /** The number of groups, and of their items. */
  groups = 0;
  items = 0;

  /** `run` returns a result for each item, or rejects for all. `sizeOf` returns the approximate bytes of an item. */
  constructor(
    maxItems: number, run: (items: readonly Item[]) => Promise<readonly Soon<Result>[]>,
    sizeOf = (_item: Item): number => 0,
  ) {
    this.#maxItems = maxItems;
    this.#run = run;
    this.#sizeOf = sizeOf;
  }

  /** How many items wait for their group to begin. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /**
   * Resolves to the result for an item. Rejects as `run` does, or with an UnavailableError if too many items wait or
   * there is no result after `ms`; it is then not known whether the group has handled the item.
   */
  add(item: Item, ms = maxPendingMs): Promise<Result> {
    if (this.#waiting.length >= maxWaiting) return Promise.reject(tooSlow());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject, until: performance.now() + ms });
      this.#check ??= setTimeout(() => this.#refuseLate(), checkMs).unref();
      if (!this.#isRunning) void this.#runAll();
    });
  }

  async #runAll(): Promise<void> {
    this.#isRunning = true;
    await Promise.resolve(); // requests that have arrived together share the first group
    while (this.#waiting.length > 0) {
      const group = this.#next();
      this.#running = group;
      this.groups++;
      this.items += group.length;
      try {
        const results = await this.#run(group.map(({ item }) => item));
        for (const [index, { resolve }] of group.entries()) resolve(results[index]!);
      } catch (error) {
        for (const { reject } of group) reject(error);
      }
      this.#running = [];
    }
    this.#isRunning = false;
  }

  /** Takes the items of the next group. */
  #next(): readonly Pending<Item, Result>[] {
    let end = 0;
    for (let size = 0; end < this.#waiting.length && end < this.#maxItems && size < enoughBytes; end++) {
      size += this.#sizeOf(this.#waiting[end]!.item);
    }
    return this.#waiting.splice(0, end);
  }

  #refuseLate(): void {
    const now = performance.now();
    const isLate = ({ until }: Pending<Item, Result>): boolean => until <= now;
    const pending = [...this.#running, ...this.#waiting];
    for (const { reject } of pending.filter(isLate)) reject(tooSlow());
    this.#waiting = this.#waiting.filter((item) => !isLate(item));
    const areAllLate = pending.every(isLate);
    this.#check = areAllLate ? null : setTimeout(() => this.#refuseLate(), checkMs).unref();
  }
}

interface Pending<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Soon<Result>) => void;
  readonly reject: (error: unknown) => void;
  /** Until when it must have a result, by the monotonic clock. */
  readonly until: number;
}

/** Returns the error for a request for which the database takes too long. */
export function tooSlow(): UnavailableError {
  return new UnavailableError('The storage is too slow at the moment.', 1);
}
