import { existsSync, renameSync } from 'node:fs';
import { diskError } from './errors.ts';

/** Returns a path for a damaged file, or part of a file, that is kept: `<path>.<what>-<n>` with the first free n. */
export function asideName(path: string, what: string): string {
  let number = 1;
  while (existsSync(`${path}.${what}-${number}`)) number += 1;
  return `${path}.${what}-${number}`;
}

/** Renames a file to such a path, which it returns. Throws OperatorError if that fails. */
export function setAside(path: string, what: string): string {
  const aside = asideName(path, what);
  try {
    renameSync(path, aside);
  } catch (error) {
    throw diskError('write', aside, error);
  }
  return aside;
}
