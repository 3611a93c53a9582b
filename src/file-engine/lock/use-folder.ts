/** How `petstore` gets access to what a server keeps in memory: it asks the server, or uses the files. */
import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../../domain/operator-error.ts';
import { onDisk } from '../../files/errors.ts';
import { InvalidResponseError } from './channel.ts';
import { describeHolder, FolderLock, holderIn, type HeldLock } from './folder-lock.ts';
import type { Response } from './read-response.ts';

/** How long a command waits for another command to release the folder, or for a server to start. */
const lockTimeoutMs = 10_000;
/** How long a command waits for the response of a server: longer than it takes a server to find that its disk hangs. */
export const responseTimeoutMs = 10_000;
const retryMs = 20;

/** Throws an OperatorError if there is no such data folder. */
export function requireFolder(folder: string): void {
  if (!folderExists(folder)) throw new OperatorError(noFolder(folder));
}

/** Whether there is a file or a folder of this name. Throws OperatorError if that cannot be found out. */
export function folderExists(folder: string): boolean {
  return onDisk('read', folder, () => statSync(folder, { throwIfNoEntry: false })) !== undefined;
}

/** Returns the message for a data folder that does not exist. */
export function noFolder(folder: string): string {
  return `there is no data folder ${folder}; name the folder of the server with --data`;
}

/** Returns the result in a response of a server. Throws the error in it as an OperatorError. */
export function resultOf<T>(response: Exclude<Response<T>, null>): T {
  if ('error' in response) throw new OperatorError(response.error, response.exitCode);
  return response.result;
}

/** What to do with a data folder. */
export interface FolderUse<T> {
  /** No other process uses the folder. */
  withLock(lock: FolderLock): Promise<T>;
  /** No other process uses the folder, and the work only reads. Null if it writes. */
  readonly withoutLock: (() => Promise<T>) | null;
  /** A server uses the folder. Resolves to undefined if it does not respond to commands: it is starting or stopping. */
  withServer(held: HeldLock): Promise<T | undefined>;
}

/**
 * Asks the server that uses a data folder, or uses the folder when no other process does. Creates the folder to lock it
 * if it does not exist. Rejects with an OperatorError if the folder stays in use.
 */
export async function useFolder<T>(folder: string, use: FolderUse<T>): Promise<T> {
  const deadline = Date.now() + lockTimeoutMs;
  for (;;) {
    const held = await processIn(folder);
    if (held === null && use.withoutLock !== null) return use.withoutLock();
    const lock = held ?? (await FolderLock.acquire(folder, 'command'));
    if (lock instanceof FolderLock) {
      try {
        const result = await use.withLock(lock);
        await lock.release();
        return result;
      } catch (error) {
        await lock.abandon();
        throw error;
      }
    }
    const result = lock.holder?.kind === 'server' ? await use.withServer(lock) : undefined;
    if (result !== undefined) return result;
    if (Date.now() > deadline) {
      const holder = describeHolder(lock);
      throw new OperatorError(`the data folder ${folder} is in use by ${holder}; try again later`);
    }
    await delay(retryMs * (1 + Math.random()));
  }
}

/**
 * Returns the process that uses a folder, or null. Unlike taking the lock, this writes nothing, so that a server can be
 * asked while its disk is full or frozen.
 */
async function processIn(folder: string): Promise<HeldLock | null> {
  return holderIn(folder).catch((error: unknown) => {
    if (error instanceof OperatorError) throw error;
    return null; // there is no such folder, or it cannot be read: using it says why
  });
}

/** Says what is wrong with the response of a server. */
export function problemOf(error: unknown): string {
  return error instanceof InvalidResponseError
    ? 'sent a response that this program does not know, so it is another version, or another program'
    : 'did not respond';
}
