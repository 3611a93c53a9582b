import { closeSync, openSync, readSync } from 'node:fs';
import { counted } from '../../domain/counted.ts';
import { DamagedFileError, diskError } from '../../files/errors.ts';
import { sizeOf } from './lines.ts';

/**
 * Reads a file into memory; returns undefined if there is none. Throws OperatorError: a DamagedFileError if it has more
 * than `maxBytes`, or more than its size: files in /proc have the size 0 and need not end.
 */
export function readWhole(path: string, maxBytes: number): Buffer | undefined {
  const size = sizeOf(path);
  if (size === undefined) return undefined;
  if (size > maxBytes) {
    throw new DamagedFileError(path, 1, `the file has ${counted(size, 'byte')}, but may have ${maxBytes} at most`);
  }
  const bytes = Buffer.allocUnsafe(size + 1);
  const length = fill(bytes, path);
  if (length > size) throw new DamagedFileError(path, 1, `the file has more than the ${counted(size, 'byte')} of its size`);
  return bytes.subarray(0, length);
}

/** Reads the beginning of a file; returns how much of `bytes` it fills. */
function fill(bytes: Buffer, path: string): number {
  try {
    const file = openSync(path, 'r');
    try {
      for (let length = 0; ; ) {
        const count = readSync(file, bytes, length, bytes.length - length, null);
        length += count;
        if (count === 0 || length === bytes.length) return length;
      }
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw diskError('read', path, error);
  }
}
