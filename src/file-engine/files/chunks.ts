import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { diskError } from '../../files/errors.ts';

const maxChunkBytes = 1024 * 1024;

/**
 * Reads a file in chunks, or its bytes from `start` to `end`. A chunk is valid until the next one is asked for. Throws
 * OperatorError.
 */
export function* readChunks(path: string, start = 0, end = Infinity): Generator<Buffer, void, void> {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const size = fstatSync(descriptor).size || Infinity; // 0 for a pipe and in /proc
    const buffer = Buffer.allocUnsafe(Math.min(maxChunkBytes, size, end - start));
    for (let position = start; position < end; ) {
      // Without a position, what cannot seek can be read too, such as a pipe.
      const most = Math.min(buffer.length, end - position);
      const got = readSync(descriptor, buffer, 0, most, start === 0 ? null : position);
      if (got === 0) return;
      position += got;
      yield buffer.subarray(0, got);
    }
  } catch (error) {
    throw diskError('read', path, error);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
