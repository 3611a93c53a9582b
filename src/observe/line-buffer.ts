/**
 * The lines that are on their way to stderr.
 *
 * The problem. A write for each line would cost more than the request that the line is about. And whoever reads stderr
 * may be slow or stand still: then the server must neither wait nor collect lines until its memory is full.
 *
 * The idea. Lines are collected and written together, after 64 KB or 100 ms, and at once if one is urgent. They are
 * also formatted together, because code that runs many times in a row is faster. One write is under way at a time. What
 * comes meanwhile is collected up to a limit. Beyond it, lines are dropped and counted until that write has ended, and
 * then one line in their place says how many there were. So are the lines of a write that fails, on a full disk.
 */

/** Where the text goes. */
export interface Sink {
  /**
   * Writes without waiting. Calls `done` when more can be written, also after an error; it may do so at once.
   * `lostLines` is how many lines at the end of the text were not written.
   */
  write(text: string, done: (lostLines: number) => void): void;
  /** Writes what can be written at once, because the process ends. `isLate`: a write is under way. Never throws. */
  writeLast(text: string, isLate: boolean): void;
  /** Whether a write under way keeps `process.exit` waiting. */
  readonly blocksExit: boolean;
}

const batchLength = 64 * 1024;
const maxDelayMs = 100;
const defaultMaxLength = 1024 * 1024;

/** What the lines of a log are made of. */
export interface LineFormat<Item> {
  /** Returns the line of an item. */
  readonly lineOf: (item: Item) => string;
  /** Returns the line that says how many lines were dropped in its place. */
  readonly droppedLine: (count: number) => string;
}

/** Collects items, and writes the lines made of them in their order. */
export class LineBuffer<Item> {
  /** How many lines were dropped or lost since the start. */
  dropped = 0;
  readonly #sink: Sink;
  readonly #format: LineFormat<Item>;
  readonly #maxLength: number;
  #items: Item[] = [];
  /** The length of the items, about. */
  #length = 0;
  #isWriting = false;
  /** How many lines were dropped since the last write began; no line may be added then. */
  #missing = 0;
  /** How many lines before those that wait were lost in writes that failed. */
  #lost = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Whether one of the lines that wait is urgent. */
  #isUrgent = false;
  /** Called when no line waits any more. */
  readonly #whenEmpty: (() => void)[] = [];

  /** `maxLength`: of the items that wait for a write. */
  constructor(sink: Sink, format: LineFormat<Item>, maxLength = defaultMaxLength) {
    this.#sink = sink;
    this.#format = format;
    this.#maxLength = maxLength;
  }

  /** Adds an item that takes about `length` bytes of memory. An urgent one is written as soon as those before it. */
  add(item: Item, length: number, isUrgent: boolean): void {
    if (this.#missing > 0 || this.#length + length > this.#maxLength) {
      this.#missing++;
      this.dropped++;
      return;
    }
    this.#items.push(item);
    this.#length += length;
    this.#isUrgent ||= isUrgent;
    this.#writeIfDue();
  }

  /**
   * Resolves when all lines so far are written, or after `timeoutMs`. The result is whether a write is still under way
   * that keeps `process.exit` waiting.
   */
  flushed(timeoutMs: number): Promise<boolean> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(this.#isWriting && this.#sink.blocksExit), timeoutMs);
      this.#whenEmpty.push(() => {
        clearTimeout(timer);
        resolve(false);
      });
      this.#writeIfDue();
    });
  }

  /** Writes what can be written at once, and another item after it, because the process ends now. */
  writeLast(item: Item): void {
    this.#items.push(item);
    this.#sink.writeLast(this.#take(), this.#isWriting);
  }

  #writeIfDue(): void {
    if (this.#isWriting) return;
    if (this.#items.length + this.#lost === 0) return this.#whenEmpty.splice(0).forEach((resolve) => resolve());
    if (this.#isUrgent || this.#whenEmpty.length > 0 || this.#length >= batchLength) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), maxDelayMs).unref();
  }

  #write(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#isWriting || this.#items.length + this.#lost === 0) return;
    const lost = this.#lost;
    this.#lost = 0;
    this.#begin((lost > 0 ? this.#format.droppedLine(lost) : '') + this.#take(), lost);
  }

  /** Begins a write. `counted`: how many lines one of its lines says to be missing; 0 if there is no such line. */
  #begin(text: string, counted: number): void {
    this.#isWriting = true;
    this.#sink.write(text, (lostLines) => this.#written(lostLines, counted));
  }

  #written(lostLines: number, counted: number): void {
    this.#isWriting = false;
    if (lostLines > 0) {
      const lost = counted > 0 ? lostLines - 1 : lostLines;
      this.dropped += lost;
      this.#lost += lost + counted;
      this.#timer ??= setTimeout(() => this.#write(), maxDelayMs).unref();
      return;
    }
    if (this.#missing > 0) {
      // All items that wait came before the dropped ones, so they are written first.
      const counted = this.#missing;
      this.#missing = 0;
      return this.#begin(this.#take() + this.#format.droppedLine(counted), counted);
    }
    this.#writeIfDue();
  }

  /** Removes the items. Returns their lines. */
  #take(): string {
    let text = '';
    for (const item of this.#items) text += this.#format.lineOf(item);
    this.#items = [];
    this.#length = 0;
    this.#isUrgent = false;
    return text;
  }
}
