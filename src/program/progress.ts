/** What a task calls that reads the animals of a data folder. */
export interface ReadProgress {
  /** Called with the number of animals, if it is known before they arrive. */
  readonly expect: (count: number) => void;
  /** Called while a server is still reading the animals, with the percentage that it has read. */
  readonly wait: (percent: number) => void;
}

/** What receives animals. */
interface Sink {
  append(bytes: Buffer, status: string, start?: number, end?: number): void;
}

/** The part of a terminal that a progress bar needs: `process.stderr`. */
interface Terminal {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const redrawMs = 100;
const logEveryMs = 10_000;
const barWidth = 30;
/** Moves the cursor to the start of its line and clears the line. */
const clearLine = '\r\x1b[K';

/**
 * Shows how far a long task is: on a terminal as a bar, otherwise as a line in the log every 10 s, if there is a log.
 * The bar has no line feed, so that whatever is printed next replaces it (see `log`). What takes no time shows nothing.
 */
export class Progress {
  readonly #task: string;
  readonly #log: ((line: string) => void) | null;
  readonly #terminal: Terminal;
  readonly #now: () => number;
  #total = 0;
  #done = 0;
  #calls = 0;
  #shownAt: number;
  #isDrawn = false;

  /** `now` is a clock that only goes forward, in milliseconds. */
  constructor(
    task: string,
    log: ((line: string) => void) | null = null,
    terminal: Terminal = process.stderr,
    now = (): number => performance.now(),
  ) {
    this.#task = task;
    this.#log = log;
    this.#terminal = terminal;
    this.#now = now;
    this.#shownAt = now();
  }

  /** Sets what is to be done, in any unit. Until then, `add` shows only what has been done. */
  readonly expect = (total: number): void => {
    this.#total = total;
  };

  /** Notes that so much has been done. */
  add(amount: number): void {
    this.#done += amount;
    if ((this.#calls++ & 0x3ff) !== 0) return; // looking at the clock each time would take longer than the work
    this.show(this.#total > 0 ? Math.floor(Math.min(1, this.#done / this.#total) * 100) : null);
  }

  /** Returns a sink that passes the animals on and counts them. */
  counting(pets: Sink): Sink {
    return {
      append: (bytes, status, start, end) => {
        pets.append(bytes, status, start, end);
        this.add(1);
      },
    };
  }

  /** Returns what shows the progress of reading a folder. Without a terminal, only waiting for a server is logged. */
  forRead(log: (line: string) => void): ReadProgress {
    const waiting = `${this.#task}: waiting for the server, which is reading the animals`;
    return { expect: this.expect, wait: (percent) => this.show(percent, waiting, log) };
  }

  /** Shows or logs how much of a task is done; null if only the amount is known. To be called often. */
  show(percent: number | null, task = this.#task, log = this.#log): void {
    const now = this.#now();
    const isBar = this.#terminal.isTTY === true;
    if (now - this.#shownAt < (isBar ? redrawMs : logEveryMs)) return;
    this.#shownAt = now;
    const text = percent === null ? `${this.#done}` : `${percent} %`;
    if (!isBar) return log?.(`${task}: ${text}`);
    const bar = percent === null ? '' : `[${'#'.repeat((percent / 100) * barWidth).padEnd(barWidth, '-')}] `;
    this.#terminal.write(`${clearLine}${task} ${bar}${text}`);
    this.#isDrawn = true;
  }

  /** Removes the bar. */
  end(): void {
    if (this.#isDrawn) this.#terminal.write(clearLine);
    this.#isDrawn = false;
  }
}
