import { closeSync, openSync, readSync } from 'node:fs';

const chunkBytes = 1024 * 1024;
const lineFeed = 0x0a;

/** One line of a file: the bytes from `start` to `end` (without its line feed) of a buffer that is reused. */
export interface Line {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** 1-based. */
  readonly number: number;
  /** Where in the file the line begins, in bytes. */
  readonly offset: number;
  /** False for a last line without a line feed. */
  readonly complete: boolean;
}

/** Reads a file line by line, holding no more of it than a chunk and its longest line. Throws what the disk reports. */
export function* readLines(path: string): Generator<Line, void, void> {
  const descriptor = openSync(path, 'r');
  try {
    let buffer = Buffer.allocUnsafe(chunkBytes);
    let held = 0; // bytes in the buffer
    let base = 0; // where in the file the buffer begins
    let number = 0;
    for (;;) {
      const got = readSync(descriptor, buffer, held, buffer.length - held, null);
      const filled = held + got;
      let start = 0;
      for (let end = buffer.indexOf(lineFeed, held); end >= 0 && end < filled; end = buffer.indexOf(lineFeed, start)) {
        yield { bytes: buffer, start, end, number: ++number, offset: base + start, complete: true };
        start = end + 1;
      }
      if (got === 0) {
        if (held > 0) yield { bytes: buffer, start: 0, end: held, number: ++number, offset: base, complete: false };
        return;
      }
      base += start;
      held = filled - start;
      const next = held === buffer.length ? Buffer.allocUnsafe(2 * buffer.length) : buffer;
      buffer.copy(next, 0, start, filled);
      buffer = next;
    }
  } finally {
    closeSync(descriptor);
  }
}
