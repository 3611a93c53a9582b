import { mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { OperatorError } from '../domain/operator-error.ts';
import { diskError } from './errors.ts';
import { syncFolder } from './replace.ts';

/**
 * Creates a folder with mode 0700, complete or not at all: `fill` receives a temporary folder beside it, which is
 * renamed when its files are on disk. The folder must not exist, or be empty. Returns the result of `fill`.
 * Rejects with OperatorError, or with the error of `fill`.
 */
export async function createFolder<T>(path: string, fill: (temporary: string) => Promise<T>): Promise<T> {
  const refused = new OperatorError(`${path} is not an empty folder; name one that does not exist`);
  let temporary;
  try {
    const names = await readdir(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error.code === 'ENOTDIR' ? refused : error;
    });
    if (names.length > 0) throw refused;
    temporary = await mkdtemp(`${path}.tmp-`);
    const result = await fill(temporary);
    await syncFolder(temporary);
    await rename(temporary, path).catch((error: NodeJS.ErrnoException) => {
      throw ['ENOTEMPTY', 'EEXIST', 'ENOTDIR'].includes(error.code ?? '') ? refused : error;
    });
    temporary = undefined;
    await syncFolder(dirname(path));
    return result;
  } catch (error) {
    if (temporary !== undefined) await rm(temporary, { recursive: true, force: true }).catch(() => {});
    throw error instanceof Error && 'syscall' in error ? diskError('write', path, error) : error;
  }
}
