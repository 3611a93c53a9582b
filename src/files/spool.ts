import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { diskError } from './errors.ts';

const bufferBytes = 1024 * 1024;
const comma = 0x2c;
const lineFeed = 0x0a;

/**
 * Lines in a temporary file, each followed by a comma and a line feed: what a `LineTable` is in memory, for commands
 * that handle more lines than should be in memory. All methods are synchronous and throw OperatorError.
 */
export class Spool {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #buffer = Buffer.allocUnsafeSlow(bufferBytes);
  #used = 0;
  #count = 0;

  /** Creates the file, or empties it if an interrupted command left it. */
  constructor(path: string) {
    this.#path = path;
    this.#descriptor = this.#try('write', () => openSync(path, 'w+', 0o600));
  }

  /** The number of lines. */
  get count(): number {
    return this.#count;
  }

  /** Adds the line from `start` to `end` of `bytes`. */
  append(bytes: Uint8Array, _status?: string, start = 0, end = bytes.length): void {
    const needed = end - start + 2;
    if (this.#used + needed > bufferBytes) this.#flush();
    if (needed > bufferBytes) this.#write(bytes.subarray(start, end));
    else this.#used += this.#copy(bytes, start, end);
    this.#buffer[this.#used++] = comma;
    this.#buffer[this.#used++] = lineFeed;
    this.#count++;
  }

  /**
   * Yields all lines, in pieces of about `enoughBytes` or, if a line is longer, of that line. A piece is valid until
   * the next one is asked for.
   */
  *pieces(_count: number, enoughBytes: number): Generator<Buffer> {
    this.#flush();
    let buffer = Buffer.allocUnsafe(enoughBytes);
    let kept = 0; // bytes at the start of the buffer, which belong to the next piece
    for (let position = 0; ; ) {
      const got = this.#try('read', () => readSync(this.#descriptor, buffer, kept, buffer.length - kept, position));
      if (got === 0) return;
      position += got;
      const filled = kept + got;
      const end = buffer.lastIndexOf(lineFeed, filled - 1) + 1;
      if (end > 0) yield buffer.subarray(0, end);
      kept = filled - end;
      const next = kept === buffer.length ? Buffer.allocUnsafe(2 * kept) : buffer;
      buffer.copy(next, 0, end, filled);
      buffer = next;
    }
  }

  /** Closes and removes the file. */
  remove(): void {
    closeSync(this.#descriptor);
    rmSync(this.#path, { force: true });
  }

  #copy(bytes: Uint8Array, start: number, end: number): number {
    this.#buffer.set(bytes.subarray(start, end), this.#used);
    return end - start;
  }

  #flush(): void {
    this.#write(this.#buffer.subarray(0, this.#used));
    this.#used = 0;
  }

  #write(bytes: Uint8Array): void {
    this.#try('write', () => {
      for (let written = 0; written < bytes.length; ) written += writeSync(this.#descriptor, bytes, written);
    });
  }

  #try<T>(doing: 'read' | 'write', work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw diskError(doing, this.#path, error);
    }
  }
}
