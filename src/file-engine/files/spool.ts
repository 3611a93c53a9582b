import { closeSync, openSync, readSync, rmSync } from 'node:fs';
import { onDisk } from '../../files/errors.ts';
import { ByteBuffer, writeAll } from './output.ts';

const separator = Buffer.from(',\n');
const lineFeed = 0x0a;

/**
 * Lines in a temporary file, each followed by a comma and a line feed: what a `LineTable` is in memory, for commands
 * that handle more lines than should be in memory. The file has no name, so nothing is left of it however the process
 * ends. All methods but `close` throw OperatorError.
 */
export class Spool {
  readonly #path: string;
  readonly #descriptor: number;
  readonly #buffer = new ByteBuffer((bytes) => onDisk('write', this.#path, () => writeAll(this.#descriptor, bytes)));
  #count = 0;

  /** Creates the file, for a moment with this path. */
  constructor(path: string) {
    this.#path = path;
    this.#descriptor = onDisk('write', path, () => {
      rmSync(path, { force: true }); // left by a process that was killed at this moment
      const descriptor = openSync(path, 'wx+', 0o600);
      rmSync(path);
      return descriptor;
    });
  }

  /** The number of lines. */
  get count(): number {
    return this.#count;
  }

  /** Adds the line from `start` to `end` of `bytes`. */
  append(bytes: Uint8Array, _status?: string, start = 0, end = bytes.length): void {
    this.#buffer.append(bytes, start, end);
    this.#buffer.append(separator);
    this.#count++;
  }

  /**
   * Yields all lines, in pieces of about `enoughBytes` or, if a line is longer, of that line. A piece is valid until
   * the next one is asked for.
   */
  *pieces(_count: number, enoughBytes: number): Generator<Buffer> {
    this.#buffer.flush();
    let buffer = Buffer.allocUnsafe(enoughBytes);
    let kept = 0; // bytes at the start of the buffer, which belong to the next piece
    for (let position = 0; ; ) {
      const read = (): number => readSync(this.#descriptor, buffer, kept, buffer.length - kept, position);
      const got = onDisk('read', this.#path, read);
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

  /** Closes the file, which frees its space. */
  close(): void {
    try {
      closeSync(this.#descriptor);
    } catch {} // nothing in it is needed any more
  }
}
