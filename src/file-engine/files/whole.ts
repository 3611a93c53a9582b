import { counted } from '../../domain/counted.ts';
import { DamagedFileError } from '../../files/errors.ts';
import { readChunks } from './chunks.ts';
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
  let length = 0;
  for (const chunk of readChunks(path, 0, bytes.length)) length += chunk.copy(bytes, length);
  if (length > size) throw new DamagedFileError(path, 1, `the file has more than the ${counted(size, 'byte')} of its size`);
  return bytes.subarray(0, length);
}
