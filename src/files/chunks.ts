import { closeSync, openSync, readSync } from 'node:fs';
import { diskError } from './errors.ts';

const chunkBytes = 1024 * 1024;

/** Reads a file in chunks. A chunk is valid until the next one is asked for. Throws OperatorError. */
export function* readChunks(path: string): Generator<Buffer, void, void> {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(path, 'r');
    const buffer = Buffer.allocUnsafe(chunkBytes);
    for (let got = -1; got !== 0; ) {
      got = readSync(descriptor, buffer, 0, chunkBytes, null);
      if (got > 0) yield buffer.subarray(0, got);
    }
  } catch (error) {
    throw diskError('read', path, error);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
