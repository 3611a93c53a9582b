import { damaged, diskError } from '../../files/errors.ts';
import type { OpenFile } from './open-file.ts';

/** Limits how long the event loop is blocked: the lines of a chunk are visited in one turn. */
const maxChunkBytes = 256 * 1024;
/** The length of the buffers that are kept, in chunks. Few large ones take less memory and time than many small. */
const keptChunks = 4;
/** The kernel reads whole pages, so a page with a sector that the disk cannot read is lost as a whole. */
const pageBytes = 4096;
const lineFeed = 0x0a;
/** Far more than any line has: an animal has 64 KiB, and the reserved space of the journal 256 KiB. */
const maxLineBytes = 16 * 1024 * 1024;
const tooLong = `the line has more than ${maxLineBytes} bytes`;

/**
 * A line: `bytes` from `start` to `end`, without its line feed. The object is reused for the next line, and so is the
 * buffer unless `keepsBytes` is set.
 */
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

export interface ReadOptions {
  /** Called after each chunk with its length, and before the first one with 0. */
  readonly onRead?: ((bytes: number) => void) | undefined;
  /**
   * Called with the offsets of the start and the end of each page that the disk cannot read. It is read as zero bytes,
   * and a line of more than 16 MiB is visited in parts. Without it, both are errors.
   */
  readonly onUnreadable?: (from: number, to: number, error: unknown) => void;
  /** Whether the bytes of a line stay unchanged after its visit. */
  readonly keepsBytes?: boolean;
  /** The first line to visit: its offset and its number. */
  readonly from?: Pick<Line, 'offset' | 'number'>;
}

/**
 * Reads a file by lines, and calls `visit` with each. The event loop turns after each chunk.
 * Rejects with OperatorError if the file cannot be read or a line has more than 16 MiB, and with what `visit` or
 * `onRead` throws.
 */
export async function readLines(
  file: OpenFile,
  visit: (line: Line) => void,
  { onRead = (): void => {}, onUnreadable, keepsBytes = false, from = { offset: 0, number: 1 } }: ReadOptions = {},
): Promise<void> {
  const { path, size } = file;
  const chunkBytes = Math.min(maxChunkBytes, Math.max(size, 1));
  const keptBytes = keptChunks * chunkBytes;
  let readByPage = 0; // the end of a chunk that could not be read as a whole
  const read = async (buffer: Buffer, at: number, most: number, position: number): Promise<number> => {
    const length = position < readByPage ? Math.min(most, pageBytes - (position % pageBytes)) : most;
    try {
      return await file.read(buffer, at, length, position);
    } catch (error) {
      if (onUnreadable === undefined || position >= size) throw diskError('read', path, error);
      if (position < readByPage) {
        const end = Math.min(position + length, size);
        buffer.fill(0, at, at + end - position);
        onUnreadable(position, end, error);
        return end - position;
      }
      readByPage = position + length;
      return read(buffer, at, length, position);
    }
  };
  onRead(0); // the caller may want to end
  let buffer = Buffer.allocUnsafeSlow(keepsBytes ? keptBytes : 2 * chunkBytes);
  let start = 0; // of the next line in the buffer
  let filled = 0; // the end of what was read into it
  let base = from.offset; // that of the buffer in the file
  const line = { bytes: buffer, start: 0, end: 0, number: from.number - 1, offset: 0, complete: true };
  const visitNext = (end: number, complete: boolean): void => {
    line.bytes = buffer;
    line.start = start;
    line.end = end;
    line.number++;
    line.offset = base + start;
    line.complete = complete;
    visit(line);
  };
  for (;;) {
    if (buffer.length - filled < chunkBytes) { // move the beginning of the next line to where there is room
      const begun = filled - start;
      let length = keepsBytes ? keptBytes : buffer.length;
      while (length < begun + chunkBytes) length *= 2;
      const next = keepsBytes || length > buffer.length ? Buffer.allocUnsafeSlow(length) : buffer;
      buffer.copy(next, 0, start, filled);
      base += start;
      [buffer, start, filled] = [next, 0, begun];
    }
    const bytesRead = await read(buffer, filled, chunkBytes, base + filled);
    onRead(bytesRead);
    const before = filled;
    filled += bytesRead;
    const received = buffer.subarray(0, filled);
    for (let end = received.indexOf(lineFeed, before); end >= 0; end = received.indexOf(lineFeed, start)) {
      visitNext(end, true);
      start = end + 1;
    }
    if (bytesRead === 0) {
      if (filled > start) visitNext(filled, false);
      return;
    }
    if (filled - start > maxLineBytes) {
      if (onUnreadable === undefined) throw damaged(path, line.number + 1, tooLong);
      visitNext(filled, false);
      line.number--; // the rest has the same number
      start = filled;
    }
  }
}
