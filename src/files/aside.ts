import { readdirSync, renameSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { diskError } from './errors.ts';

/**
 * Returns a path for a damaged file, or part of a file, that is kept: `<path>.<what>-<n>` with the first free n.
 * Rejects with OperatorError if the folder cannot be read.
 */
export async function asideName(path: string, what: string): Promise<string> {
  const folder = dirname(path);
  const names = await readdir(folder).catch((error: unknown) => {
    throw diskError('read', folder, error);
  });
  return firstFree(path, what, names);
}

/** Renames a file to such a path, which it returns. Only for a start: it blocks. Throws OperatorError if that fails. */
export function setAside(path: string, what: string): string {
  let aside = path;
  try {
    aside = firstFree(path, what, readdirSync(dirname(path)));
    renameSync(path, aside);
  } catch (error) {
    throw diskError('write', aside, error);
  }
  return aside;
}

function firstFree(path: string, what: string, names: readonly string[]): string {
  let number = 1;
  while (names.includes(`${basename(path)}.${what}-${number}`)) number += 1;
  return `${path}.${what}-${number}`;
}
