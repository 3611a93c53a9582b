import { lstatSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';

/**
 * Removes the socket of a killed process: one on which no process listens. Leaves every other file. Throws or rejects
 * with the error of the file system.
 */
export async function removeStaleSocket(path: string): Promise<void> {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return;
  const isStale = await new Promise<boolean>((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
  });
  if (isStale) await rm(path, { force: true });
}
