import { statSync } from 'node:fs';
import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OperatorError } from '../../domain/operator-error.ts';
import { diskError, UnsyncedError, unsyncedReason } from '../../files/errors.ts';
import { syncFolder, syncName } from './replace.ts';
import { refuseReserved } from './reserved-names.ts';

/** A result, with the reason why a power cut may undo it; null if it is on disk. */
export type Made<T> = T & { readonly unsynced: string | null };

/**
 * Creates a folder with mode 0700, complete or not at all: `fill` receives a temporary folder beside it, which is
 * renamed when its files are on disk. The folder must not exist, or be empty. Returns the result of `fill`.
 * Rejects with OperatorError, or with the error of `fill`; there is no new folder then.
 */
export async function createFolder<T extends object>(
  path: string, fill: (temporary: string) => Promise<T>,
): Promise<Made<T>> {
  const refused = new OperatorError(`${path} is not an empty folder; name one that does not exist`);
  let temporary;
  let result;
  try {
    requireParent(path);
    const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error.code === 'ENOTDIR' ? refused : error;
    });
    if (names.length > 0) throw refused;
    temporary = await mkdtemp(`${path}.tmp-`);
    result = await fill(temporary);
    await syncFolder(temporary);
    await rename(temporary, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'EBUSY') throw new OperatorError(`${path} is a mount point; name a new folder in it`);
      throw ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code ?? '') ? refused : error;
    });
  } catch (error) {
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true }).catch(() => {});
    const reason: unknown = error instanceof UnsyncedError ? error.cause : error; // its file has been removed again
    throw reason instanceof Error && 'syscall' in reason ? diskError('write', path, reason) : reason;
  }
  return { ...result, unsynced: await unsyncedReason(syncName(path, 'the folder was created')) };
}

/**
 * Throws OperatorError if there is no folder in which a file, a folder or a socket of this path can be made, or if that
 * is a data folder which reserves the name.
 */
export function requireParent(path: string): void {
  const parent = dirname(path);
  let isFolder = false;
  try {
    isFolder = statSync(parent).isDirectory();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const absent = `cannot write ${path}: the folder ${parent} does not exist; create it`;
    if (code === 'ENOENT') throw new OperatorError(absent);
    if (code !== 'ENOTDIR') throw diskError('write', path, error);
  }
  if (!isFolder) throw new OperatorError(`cannot write ${path}: ${parent} is not a folder; choose another path`);
  refuseReserved(path);
}
