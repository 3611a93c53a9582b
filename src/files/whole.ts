import { readFileSync } from 'node:fs';
import { counted } from '../domain/counted.ts';
import { DamagedFileError, diskError } from './errors.ts';
import { sizeOf } from './lines.ts';

/**
 * Reads a file into memory; returns undefined if there is none. Throws OperatorError: a DamagedFileError if it has more
 * than `maxBytes`, without reading it.
 */
export function readWhole(path: string, maxBytes: number): Buffer | undefined {
  const size = sizeOf(path);
  if (size === undefined) return undefined;
  if (size > maxBytes) {
    throw new DamagedFileError(path, 1, `the file has ${counted(size, 'byte')}, but may have ${maxBytes} at most`);
  }
  try {
    return readFileSync(path);
  } catch (error) {
    throw diskError('read', path, error);
  }
}
