import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { diskError } from '../../files/errors.ts';

/**
 * Returns a path for a damaged file, or part of a file, that is kept: `<path>.<what>-<n>` with the first free n.
 * Rejects with OperatorError if the folder cannot be read.
 */
export async function asideName(path: string, what: string): Promise<string> {
  const folder = dirname(path);
  const names = await readdir(folder).catch((error: unknown) => {
    throw diskError('read', folder, error);
  });
  let number = 1;
  while (names.includes(`${basename(path)}.${what}-${number}`)) number += 1;
  return `${path}.${what}-${number}`;
}
