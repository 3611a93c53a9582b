import { open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { diskError } from './errors.ts';

/** Makes the names in a folder durable: what was created, renamed or removed in it. Throws what the disk reports. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Replaces a file in one step: whoever opens it, also after a power cut, finds the old content or the new one, whole.
 * `write` fills a temporary file in the same folder, of mode 0600.
 * Throws OperatorError with what the disk reports; what the file holds is whole then, too.
 */
export async function replaceFile(path: string, write: (file: FileHandle) => Promise<void>): Promise<void> {
  const temporary = `${path}.tmp`;
  let file: FileHandle | undefined;
  try {
    await rm(temporary, { force: true }); // what an interrupted replacement left, with whatever mode it had
    file = await open(temporary, 'wx', 0o600);
    await write(file);
    await file.sync();
    await file.close();
    await rename(temporary, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await file?.close().catch(() => {});
    await rm(temporary, { force: true }).catch(() => {});
    throw diskError('write', path, error);
  }
}
