/**
 * The store id: 32 hexadecimal digits that all files of a data folder contain, so that those of different folders are
 * not mixed. The head of every file that the program writes has the same three members (docs/files.md, "Common rules"):
 *
 *     "format":"petstore-keys","version":2,"store":"5f0c9b6e…"
 */
import { randomBytes } from 'node:crypto';
import { lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from '../../domain/operator-error.ts';
import { DiskError, onDisk } from '../../files/errors.ts';
import { readChunks } from './chunks.ts';
import { refuseIncomplete } from './incomplete.ts';
import { fileExists } from './open-file.ts';

/** The version of all formats. */
export const formatVersion = 2;

const fileName = /^((keys|orders|pets|usage)\.json|pets\.[1-9][0-9]{0,14}\.journal)$/;
const headBytes = 512;
const headPattern =
  /"format"\s*:\s*"petstore[a-z-]*"\s*,\s*"version"\s*:\s*([0-9]+)(?:\s*,\s*"store"\s*:\s*"([0-9a-f]{32})")?/;

/** Returns the members that begin the head of a file. */
export function headMembers(format: string, store: string): string {
  return `"format":"${format}","version":${formatVersion},"store":"${store}"`;
}

/**
 * Returns the id of the store in a folder; a new one if no file contains an id yet. Looks only at the heads of the
 * files. Throws OperatorError if their ids differ, if the format of a file is newer than this program, or if a copy to
 * the folder was interrupted.
 */
export function storeIdOf(folder: string): string {
  refuseIncomplete(folder);
  const namesById = new Map<string, string[]>();
  for (const name of namesIn(folder)) {
    const id = storeIdIn(join(folder, name));
    if (id !== undefined) namesById.set(id, [...(namesById.get(id) ?? []), name]);
  }
  if (namesById.size > 1) {
    const parts = Array.from(namesById, ([id, names]) => `${names.join(', ')} of store ${id}`);
    throw new OperatorError(`the files in ${folder} are of different stores: ${parts.join('; ')}; nothing was ` +
      'changed; put back the files of one store, for example from a backup');
  }
  return namesById.keys().next().value ?? randomBytes(16).toString('hex');
}

/**
 * Throws OperatorError if the format of a file in a folder is newer than this program. Ignores files that cannot be
 * read.
 */
export function refuseNewerFormats(folder: string): void {
  for (const name of namesIn(folder)) {
    try {
      storeIdIn(join(folder, name));
    } catch (error) {
      if (!(error instanceof DiskError)) throw error;
    }
  }
}

/** Whether this is a regular file with a head: one of a data folder or a backup. Throws OperatorError. */
export function hasHead(path: string): boolean {
  const found = onDisk('read', path, () => statSync(path, { throwIfNoEntry: false }));
  return found?.isFile() === true && headPattern.test(headOf(path));
}

/** The id in the head of a file, if there is one. Throws OperatorError if its format is newer than this program. */
function storeIdIn(path: string): string | undefined {
  const [, version, id] = headPattern.exec(headOf(path)) ?? [];
  if (Number(version) <= formatVersion || version === undefined) return id;
  const advice = 'use the version of petstore that wrote it; nothing was changed';
  throw new OperatorError(`${path} has version ${version} of its format, but this program supports only versions ` +
    `up to ${formatVersion}; ${advice}`);
}

/** The names of the files with a head, sorted. */
function namesIn(folder: string): string[] {
  return onDisk('read', folder, () => readdirSync(folder).filter((name) => fileName.test(name)).sort());
}

/** The beginning of a file. Throws OperatorError. */
function headOf(path: string): string {
  try {
    fileExists(path); // a file that is not regular is not opened
    const [head] = readChunks(path, 0, headBytes);
    return head?.toString('latin1') ?? '';
  } catch (error) {
    const found = onDisk('read', path, () => lstatSync(path, { throwIfNoEntry: false }));
    if (found === undefined) return ''; // a server has removed it meanwhile
    throw error;
  }
}
