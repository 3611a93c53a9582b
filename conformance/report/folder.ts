/** Folders for reports. */
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Creates a folder and its parents if they do not exist.
 *
 * @throws the error of the system if that fails, or if the folder is not writable
 */
export function makeWritable(folder: string): void {
  makeMissing(folder);
  accessSync(folder, constants.W_OK);
}

/** Like `mkdirSync` with `recursive`, which never returns where the system allows no folders: below /proc. */
function makeMissing(folder: string): void {
  const found = statSync(folder, { throwIfNoEntry: false });
  if (found?.isDirectory() === true) return;
  // Some versions of Node report a path below a file as missing, others throw.
  if (found !== undefined) throw new Error(`ENOTDIR: not a directory, '${folder}'`);
  if (dirname(folder) !== folder) makeMissing(dirname(folder)); // it is itself for the root of a missing drive
  mkdirSync(folder);
}
