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

  /** Sets what is to be done, in any unit. */
  expect(total: number): void {
    this.#total = total;
  }

  /** Notes that so much has been done. */
  add(amount: number): void {
    this.#done += amount;
    this.show(Math.floor(Math.min(1, this.#done / Math.max(1, this.#total)) * 100));
  }

  /** Shows or logs how much of a task is done. To be called often. */
  show(percent: number): void {
    const now = this.#now();
    const isBar = this.#terminal.isTTY === true;
    if (now - this.#shownAt < (isBar ? redrawMs : logEveryMs)) return;
    this.#shownAt = now;
    if (!isBar) return this.#log?.(`${this.#task}: ${percent} %`);
    const bar = '#'.repeat((percent / 100) * barWidth).padEnd(barWidth, '-');
    this.#terminal.write(`${clearLine}${this.#task} [${bar}] ${percent} %`);
    this.#isDrawn = true;
  }

  /** Removes the bar. */
  end(): void {
    if (this.#isDrawn) this.#terminal.write(clearLine);
    this.#isDrawn = false;
  }
}
