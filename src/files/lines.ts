import { closeSync, openSync, readSync } from 'node:fs';
import { diskError } from './errors.ts';

const chunkBytes = 1024 * 1024;
const lineFeed = 0x0a;

/** A line: `bytes` from `start` to `end`, without its line feed. The buffer is reused for the following lines. */
export interface Line {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
  /** 1-based. */
  readonly number: number;
  /** The offset of the line in the file, in bytes. */
  readonly offset: number;
  /** False for a last line without line feed. */
  readonly complete: boolean;
}

/** Reads a file by lines. At most a chunk and the longest line are in memory. Throws OperatorError. */
export function* readLines(path: string): Generator<Line, void, void> {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    let buffer = Buffer.allocUnsafe(chunkBytes);
    let kept = 0; // bytes at the start of the buffer, which belong to the next line
    let base = 0; // the offset of the buffer in the file
    let number = 0;
    for (;;) {
      const got = readSync(descriptor, buffer, kept, buffer.length - kept, null);
      const filled = kept + got;
      let start = 0;
      for (let end = buffer.indexOf(lineFeed, kept); end >= 0 && end < filled; end = buffer.indexOf(lineFeed, start)) {
        yield { bytes: buffer, start, end, number: ++number, offset: base + start, complete: true };
        start = end + 1;
      }
      if (got === 0) {
        if (kept > 0) yield { bytes: buffer, start: 0, end: kept, number: ++number, offset: base, complete: false };
        return;
      }
      base += start;
      kept = filled - start;
      const next = kept === buffer.length ? Buffer.allocUnsafe(2 * buffer.length) : buffer;
      buffer.copy(next, 0, start, filled);
      buffer = next;
    }
  } catch (error) {
    throw diskError('read', path, error);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
