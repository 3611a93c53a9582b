/** A progress bar on stderr, if that is a terminal. */
import type { PetSink } from './contents.ts';

const width = 30;
const intervalMs = 100;

export class Progress {
  readonly #stream: NodeJS.WriteStream | null;
  readonly #label: string;
  #total = 0;
  #done = 0;
  #calls = 0;
  #shownAt = -Infinity;

  constructor(label: string, stream: NodeJS.WriteStream = process.stderr) {
    this.#label = label;
    this.#stream = stream.isTTY ? stream : null;
  }

  /** Sets what is to be done, in any unit. Until then, only what has been done is shown. */
  readonly expect = (total: number): void => {
    this.#total = total;
  };

  /** Notes that so much has been done. */
  add(amount: number): void {
    this.#done += amount;
    if (this.#stream === null || (this.#calls++ & 0x3ff) !== 0) return;
    const now = performance.now();
    if (now < this.#shownAt + intervalMs) return;
    this.#shownAt = now;
    const part = Math.min(1, this.#done / this.#total);
    const filled = Math.floor(part * width);
    const bar = `[${'#'.repeat(filled)}${' '.repeat(width - filled)}] ${Math.floor(part * 100)} %`;
    this.#stream.write(`\r${this.#label} ${this.#total > 0 ? bar : this.#done}`);
  }

  /** Returns a sink that passes the animals on and counts them. */
  counting(pets: PetSink): PetSink {
    return {
      append: (bytes, status, start, end) => {
        pets.append(bytes, status, start, end);
        this.add(1);
      },
    };
  }

  /** Removes the bar. */
  end(): void {
    if (this.#shownAt > -Infinity) this.#stream?.write('\r\u001b[K');
  }
}
