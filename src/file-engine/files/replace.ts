import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { diskError, LockLostError, UnsyncedError } from '../../files/errors.ts';

/** The calls that change the entries of a folder, for the folders that must not import them from Node. */
export { rename, rm, truncate } from 'node:fs/promises';

/** A large file is synced in parts of about this length, because the syncs of other files wait for that of a part. */
const syncLength = 1024 * 1024;

/** Makes created, renamed and removed names in a folder durable. Rejects with the error of the file system. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Makes the name of a file or folder in its folder durable. `done` says what was done with it. Rejects with
 * UnsyncedError.
 */
export async function syncName(path: string, done = 'the file was replaced'): Promise<void> {
  try {
    await syncFolder(dirname(path));
  } catch (error) {
    throw new UnsyncedError(path, error, done);
  }
}

/**
 * Replaces a file in one step: at any time, and after a power cut, the file has either the old content or the new one.
 * The new content is written, piece by piece, to a temporary file with mode 0600 in the same folder.
 * Rejects with UnsyncedError if the file was replaced but the folder cannot be synced, and with another OperatorError
 * if the file is unchanged. `checkLock` throws if this process may not write to the folder any more.
 */
export async function replaceFile(
  path: string,
  pieces: Iterable<string | Buffer>,
  checkLock = (): void => {},
): Promise<void> {
  const temporary = `${path}.tmp`;
  let file;
  try {
    checkLock();
    await rm(temporary, { force: true }); // left by an interrupted replacement, maybe with another mode
    file = await open(temporary, 'wx', 0o600);
    let unsynced = 0;
    for (const piece of pieces) {
      await file.writeFile(piece);
      unsynced += piece.length;
      if (unsynced < syncLength) continue;
      await file.datasync();
      unsynced = 0;
    }
    await file.sync();
    await file.close();
    checkLock(); // writing can take long
    await rename(temporary, path);
  } catch (error) {
    await file?.close().catch(() => {});
    if (!(error instanceof LockLostError)) await rm(temporary, { force: true }).catch(() => {});
    throw diskError('write', path, error);
  }
  await syncName(path);
}
