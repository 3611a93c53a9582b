/** The path of a Unix socket: a process takes it if nothing is there, and removes it if it still has it. */
import { randomBytes } from 'node:crypto';
import { linkSync, lstatSync, renameSync, rmSync, type BigIntStats } from 'node:fs';
import { connect } from 'node:net';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { isSame } from './identity.ts';

/** The longest path of a socket, without the terminating zero byte (unix(7); <sys/un.h> of macOS). */
export const maxSocketPathBytes = process.platform === 'linux' ? 107 : 103;
/** Much longer than a process takes from `bind`, which creates its socket, to `listen`. */
const listenTimeoutMs = 100;

/**
 * Removes the socket of a killed process: one that refuses two connections, 0.1 s apart. Leaves every other file.
 * Rejects with the error of the file system.
 */
export async function removeStaleSocket(path: string): Promise<void> {
  const found = socketAt(path);
  if (found === null || !(await isRefused(path))) return;
  await delay(listenTimeoutMs);
  if (await isRefused(path)) removeSocket({ path, state: found });
}

/** A socket that was found at a path. */
export interface NamedSocket {
  readonly path: string;
  /** Tells it from another one that has the path later. */
  readonly state: BigIntStats;
}

/**
 * Returns a path at which a socket can listen until `nameSocket` gives it its own. Node removes the path at which a
 * server has begun to listen when that closes, whoever has it then, so it must not be the one that clients know. It is
 * no longer than that one: the length is limited.
 */
export function temporarySocketPath(path: string): string {
  const length = Math.min(Buffer.byteLength(basename(path)), 20);
  const ending = length < 9 ? '' : '.tmp';
  const name = randomBytes(10).toString('hex').slice(0, length - ending.length) + ending;
  if (name === basename(path)) return temporarySocketPath(path); // one in 16, if the name has one character
  return join(dirname(path), name);
}

/**
 * Gives a socket that listens at a temporary path its own one. Throws the error of the file system: EEXIST if something
 * has that path.
 */
export function nameSocket(temporary: string, path: string): NamedSocket {
  const state = socketAt(temporary);
  linkSync(temporary, path);
  rmSync(temporary);
  return { path, state: state! };
}

/**
 * Removes the path of a socket, unless something else has it now. Throws the error of the file system.
 *
 * Of several processes that start at the same time, a slow one must not remove the new socket of a fast one. No system
 * call removes a file only if it is a certain one. So the file is renamed, and a new socket is linked to its path
 * again. If a third process binds the path between these two system calls, the link fails, and the new socket has lost
 * its path. The lock avoids this by using each path once, but clients know the path of this socket.
 */
export function removeSocket({ path, state }: NamedSocket): void {
  if (!isSameSocket(socketAt(path), state)) return;
  const aside = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return; // another process has removed it
    throw error;
  }
  if (!isSameSocket(socketAt(aside), state)) linkSync(aside, path);
  rmSync(aside);
}

/** Returns the state of the socket with this name; null if there is none, or another file. */
function socketAt(path: string): BigIntStats | null {
  const found = lstatSync(path, { bigint: true, throwIfNoEntry: false });
  return found?.isSocket() === true ? found : null;
}

/** Whether both are the same socket. The number of a removed one can be used again, but not the time of its `bind`. */
function isSameSocket(one: BigIntStats | null, other: BigIntStats): boolean {
  return one !== null && isSame(one, other) && one.mtimeNs === other.mtimeNs;
}

/** Whether a socket exists on which no process listens. */
function isRefused(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path, () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code === 'ECONNREFUSED'));
  });
}
