import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { counted } from '../../domain/counted.ts';
import { DamagedFileError, diskError } from '../../files/errors.ts';
import { fileExists } from './open-file.ts';

/**
 * Reads a file into memory; returns undefined if there is none. Throws OperatorError: a DamagedFileError if it has more
 * than `maxBytes`, or more than its size: files in /proc have the size 0 and need not end.
 */
export function readWhole(path: string, maxBytes: number): Buffer | undefined {
  if (!fileExists(path)) return undefined;
  try {
    const file = openSync(path, 'r');
    try {
      return readDescriptor(file, path, maxBytes);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw diskError('read', path, error);
  }
}

function readDescriptor(file: number, path: string, maxBytes: number): Buffer {
  const { size } = fstatSync(file);
  if (size > maxBytes) {
    throw new DamagedFileError(path, 1, `the file has ${counted(size, 'byte')}, but may have ${maxBytes} at most`);
  }
  const bytes = Buffer.allocUnsafe(size + 1);
  let length = 0;
  for (let count = -1; count !== 0 && length <= size; length += count) {
    count = readSync(file, bytes, length, bytes.length - length, null);
  }
  if (length > size) throw new DamagedFileError(path, 1, `the file has more than the ${counted(size, 'byte')} of its size`);
  return bytes.subarray(0, length);
}
