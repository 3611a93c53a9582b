import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { diskError } from './errors.ts';

/** A name that no file has yet, for what is kept of a file and no longer used: `pets.1.journal.torn-1`, where `what` is "torn". */
export function asideName(path: string, what: string): string {
  let number = 1;
  while (existsSync(`${path}.${what}-${number}`)) number += 1;
  return `${path}.${what}-${number}`;
}

/** Gives a file such a name, and tells which. Throws OperatorError with what the disk reports. */
export async function setAside(path: string, what: string): Promise<string> {
  const aside = asideName(path, what);
  try {
    await rename(path, aside);
  } catch (error) {
    throw diskError('write', aside, error);
  }
  return aside;
}
