/**
 * The lines that are on their way to stderr.
 *
 * The problem. A write for each line would cost more than the request that the line is about. And whoever reads stderr
 * may be slow or stand still: then the server must neither wait nor collect lines until its memory is full.
 *
 * The idea. Lines are collected and written together, after 64 KB or 100 ms, and at once if one is urgent. One write is
 * under way at a time. What comes meanwhile is collected up to a limit. Beyond it, lines are dropped and counted until
 * that write has ended, and then one line in their place says how many there were.
 */

/** Where the text goes. */
export interface Sink {
  /** Writes without waiting. Calls `done` when more can be written, also after an error; it may do so at once. */
  write(text: string, done: () => void): void;
  /** Writes what can be written at once, because the process ends. Never throws. */
  writeLast(text: string): void;
}

const batchLength = 64 * 1024;
const maxDelayMs = 100;
const maxLength = 1024 * 1024;

/** Collects lines, and writes them in their order. */
export class LineBuffer {
  /** How many lines were dropped since the start. */
  dropped = 0;
  readonly #sink: Sink;
  /** Returns the line that says how many lines were dropped in its place. */
  readonly #droppedLine: (count: number) => string;
  readonly #maxLength: number;
  #text = '';
  #isWriting = false;
  /** How many lines were dropped since the last write began; no line may be added then. */
  #missing = 0;
  #timer: NodeJS.Timeout | null = null;
  /** Whether one of the lines that wait is urgent. */
  #isUrgent = false;
  /** Called when no line waits any more. */
  readonly #whenEmpty: (() => void)[] = [];

  constructor(sink: Sink, droppedLine: (count: number) => string, maxWaiting = maxLength) {
    this.#sink = sink;
    this.#droppedLine = droppedLine;
    this.#maxLength = maxWaiting;
  }

  /** Adds a line. An urgent one is written as soon as the lines before it. */
  add(line: string, isUrgent: boolean): void {
    if (this.#missing > 0 || this.#text.length + line.length > this.#maxLength) {
      this.#missing++;
      this.dropped++;
      return;
    }
    this.#text += line;
    this.#isUrgent ||= isUrgent;
    this.#writeIfDue();
  }

  /** Resolves when all lines so far are written, or after `timeoutMs`. */
  flushed(timeoutMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, timeoutMs);
      this.#whenEmpty.push(() => {
        clearTimeout(timer);
        resolve();
      });
      this.#writeIfDue();
    });
  }

  /** Writes what can be written at once, because the process ends. */
  writeLast(): void {
    // If a write is under way, it may have ended within a line.
    const text = this.#isWriting ? `\n${this.#text}` : this.#text;
    this.#text = '';
    if (text.length > 1) this.#sink.writeLast(text);
  }

  #writeIfDue(): void {
    if (this.#isWriting) return;
    if (this.#text === '') return this.#whenEmpty.splice(0).forEach((resolve) => resolve());
    if (this.#isUrgent || this.#whenEmpty.length > 0 || this.#text.length >= batchLength) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), maxDelayMs).unref();
  }

  #write(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    if (this.#isWriting || this.#text === '') return;
    const text = this.#text;
    this.#text = '';
    this.#isUrgent = false;
    this.#isWriting = true;
    this.#sink.write(text, () => this.#written());
  }

  #written(): void {
    this.#isWriting = false;
    if (this.#missing > 0) {
      this.#text += this.#droppedLine(this.#missing); // all lines before the dropped ones are in #text
      this.#missing = 0;
    }
    this.#writeIfDue();
  }
}
