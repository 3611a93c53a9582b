import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { UsageError } from '../options.ts';

/**
 * Makes the folder of `--report`: now rather than after a long run, there is one that can be written to.
 *
 * @throws UsageError if there is none
 */
export function makeFolder(folder: string): void {
  try {
    makeWritable(folder);
  } catch (error) {
    throw new UsageError(`--report ${folder}: ${(error as Error).message}`);
  }
}

/** Makes a folder, and those above it, where there is none. Throws what the system reports, also if it cannot be written to. */
export function makeWritable(folder: string): void {
  makeMissing(folder);
  accessSync(folder, constants.W_OK);
}

/** As `mkdirSync` with `recursive`, which never ends where the system lets nobody make a folder: below /proc. */
function makeMissing(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  // Newer Nodes take what is asked for below a file for missing, others tell of it themselves.
  if (found !== undefined) throw new Error(`ENOTDIR: not a directory, '${folder}'`);
  makeMissing(dirname(folder));
  mkdirSync(folder);
}
