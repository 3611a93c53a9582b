/**
 * Makes sure that only one process uses a data folder at a time (decisions.md, "The data folder").
 *
 * The lock is a Unix socket on which its holder listens. The kernel closes the socket however the process ends, so a
 * socket that refuses connections has no holder, and no process id has to be trusted. The difficulty is to take over
 * from a dead holder without a second process doing the same. Unlinking the dead socket and binding its name again
 * would not be safe: a slow process would unlink the new socket of a fast one. So the names contain numbers that only
 * grow:
 *
 * 1. Listen on a socket under a unique name, so that the socket responds before it is linked.
 * 2. Find the highest lock.<n>. If it accepts connections, the lock is held. If it refuses them, its holder is dead.
 * 3. link() the socket to lock.<n+1>. Of all processes that saw the same n, this succeeds for one.
 * 4. List the folder again. A process that saw n long ago can succeed in step 3 although others have held the lock
 *    since. But then a higher number exists, because the highest number is never removed. Withdraw and start again.
 * 5. Remove the lower numbers.
 *
 * A holder does not remove its own socket when it ends, because step 4 needs the highest number. The exception is
 * lock.1 of a holder that has made the folder and failed: it is removed while it still accepts connections. No process
 * has seen it refuse one then, so for all of them it is as if it had never been there.
 *
 * If somebody removes the socket of a running holder, another process can take the lock. So before each write, the
 * holder checks that its lock is still the file of that name.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, lstatSync, mkdirSync, readdirSync, rmdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { counted } from '../../domain/counted.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { describeError, LockLostError } from '../../files/errors.ts';
import { isSame, statOf, type Identity } from '../../files/identity.ts';
import { syncFolder } from '../files/replace.ts';
import { refuseReserved } from '../files/reserved-names.ts';
import { maxSocketPathBytes, removeStaleSocket } from '../../files/stale-socket.ts';
import { Channel, ConnectionClosedError, foreignSocket, sendMessage } from './channel.ts';
import { oneOf, orNull, pid, plain, record, time } from './shape.ts';

/** How the holder of a lock identifies itself. */
export interface Holder {
  readonly kind: 'server' | 'command';
  readonly pid: number;
  /** The address on which it serves HTTP; null for a command, and for a server that does not listen yet. */
  readonly address: string | null;
  /** The time when it took the lock (RFC 3339). */
  readonly since: string;
}

const readHolder = record<Holder>({ kind: oneOf('server', 'command'), pid, address: orNull(plain), since: time });

/** Another process holds the lock. `holder` is null if it did not identify itself. */
export interface HeldLock {
  readonly socketPath: string;
  readonly holder: Holder | null;
}

const whoTimeoutMs = 2_000;
const whoBytes = 4 * 1024;
/** How often a holder is asked that closes the connection: one that ends may do so before it closes its socket. */
const whoAttempts = 3;
const lockName = /^lock\.([1-9][0-9]{0,14})$/;
const newLockName = /^lock\.new-[0-9a-f]{12}$/;
/** What file systems without Unix sockets or hard links report (vfat, exFAT, some of the network). */
const unsupported = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];
/** How often to try again because another process, which has made the folder and failed, removes it. */
const folderAttempts = 100;
/** Ignored: this user may not open the parent, or its file system is mounted read-only or cannot sync folders. */
const unsyncable = ['EACCES', 'EPERM', 'EROFS', 'EINVAL'];
const maxLockNumber = 999_999_999_999_999;

type Respond = (message: unknown) => Promise<unknown>;
/** Responds with null: the sender then looks for the holder again, which may be another process. */
const notServing: Respond = async () => null;

export class FolderLock {
  readonly #channel: Channel;
  readonly #pending = new Set<Promise<unknown>>();
  #holder: Holder;
  #respond = notServing;
  #onLost = (_reason: string): void => {};
  #path = '';
  /** The folders that `acquire` has made, the innermost last. */
  readonly #made: string[] = [];
  #identity: Identity | undefined;
  #lost = false;

  /**
   * Takes the lock of a folder. Creates the folder with mode 0700 if it does not exist. For a server, makes sure that
   * the folder's entry in its parent is on disk, whoever created it.
   * Returns the lock, or the current holder. Throws an OperatorError if the folder cannot be used, or is removed by
   * another process in each of `attempts` attempts.
   */
  static async acquire(
    folder: string, kind: Holder['kind'], attempts = folderAttempts,
  ): Promise<FolderLock | HeldLock> {
    const own = join(folder, `lock.new-${randomBytes(6).toString('hex')}`); // no lock.<n> has a longer name
    const excess = Buffer.byteLength(own) - maxSocketPathBytes;
    if (excess > 0) {
      const problem = `the data folder's path is ${counted(excess, 'byte')} too long for the lock's socket`;
      throw new OperatorError(`${problem}: ${folder}; choose a shorter one with --data`);
    }
    const lock = new FolderLock(kind);
    try {
      await makeFolder(folder, kind === 'server', lock.#made);
      await lock.#channel.listen(own);
      lock.#identity = statOf(own); // a link is the same file
      const held = await lock.#take(folder, own);
      if (held !== null) void lock.#channel.close();
      else await removeDeadSockets(folder);
      return held ?? lock;
    } catch (error) {
      void lock.#channel.close(); // removes its temporary socket at once
      removeEmptyFolders(lock.#made);
      if (error instanceof OperatorError) throw error;
      const { code = '', syscall = '' } = error as NodeJS.ErrnoException;
      // For a socket in a folder that does not exist, Node reports EACCES.
      const isRemoved = ['ENOENT', 'EACCES'].includes(code) && !existsSync(folder);
      if (isRemoved && attempts > 1) return FolderLock.acquire(folder, kind, attempts - 1);
      const isUnsupported = unsupported.includes(code) && ['listen', 'link'].includes(syscall);
      const { message, remedy = 'this user must be able to write there' } = describeError(error);
      const advice = isUnsupported ? 'its file system must have Unix sockets and hard links' : remedy;
      const problem = `cannot use the data folder ${folder}: ${message}`;
      throw new OperatorError(`${problem}; ${advice}; choose another folder with --data`);
    }
  }

  private constructor(kind: Holder['kind']) {
    this.#holder = { kind, pid: process.pid, address: null, since: new Date().toISOString() };
    this.#channel = new Channel(async (message) => {
      if ((message as { op?: unknown } | null)?.op === 'who') return this.#holder;
      const pending = this.#respond(message);
      this.#pending.add(pending);
      return pending.finally(() => this.#pending.delete(pending));
    });
  }

  /**
   * Sets the address that `who` returns: null until the server listens. From now on, messages other than "who" are
   * passed to `respond`, which must not reject; before, they receive null. `onLost` is called with the reason if
   * `check` finds that the lock is lost.
   */
  serve(address: string | null, respond: Respond, onLost = (_reason: string): void => {}): void {
    this.#holder = { ...this.#holder, address };
    this.#respond = respond;
    this.#onLost = onLost;
  }

  /**
   * Throws a LockLostError if the lock is not the file of its name any more, or was not once before. Another
   * process may use the folder then. Throws the error of the file system if that cannot be found out.
   */
  check(): void {
    if (!this.#lost && this.#identity !== undefined && isSame(statOf(this.#path), this.#identity)) return;
    const reason = `the lock ${this.#path} was removed or replaced, so another process may use the data folder`;
    const message = `${reason}; this one writes nothing more there: stop it, and start the server again`;
    if (!this.#lost) this.#onLost(message);
    this.#lost = true;
    throw new LockLostError(message);
  }

  /**
   * Releases the folder after responding to the messages that have arrived; the process must not change anything in it
   * afterwards. Messages that still arrive receive null.
   */
  async release(): Promise<void> {
    this.#respond = notServing;
    await Promise.all(this.#pending);
    await this.#channel.close();
  }

  /**
   * Releases the folder after work that has failed. Removes the folders that `acquire` has made, if nothing is in them.
   */
  async abandon(): Promise<void> {
    this.#respond = notServing;
    await Promise.all(this.#pending);
    const folder = dirname(this.#path);
    const isFirst = this.#made.length > 0 && basename(this.#path) === 'lock.1';
    try {
      const isOnly = isFirst && readdirSync(folder).join() === 'lock.1';
      if (isOnly && isSame(lstatSync(this.#path, { bigint: true }), this.#identity!)) {
        rmSync(this.#path);
        removeEmptyFolders(this.#made);
      }
    } catch {} // the error that the operator hears is the one before
    await this.#channel.close();
  }

  async #take(folder: string, own: string): Promise<HeldLock | null> {
    for (;;) {
      const { highest, socketPath, held } = await highestLock(folder);
      if (held !== null) return held;
      if (highest === maxLockNumber) {
        throw new OperatorError(`${socketPath} has the highest possible number; remove it when no server is running`);
      }
      const mine = join(folder, `lock.${highest + 1}`);
      try {
        linkSync(own, mine);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EEXIST') continue;
        throw error;
      }
      const numbers = lockNumbers(folder);
      if (numbers.at(-1)! > highest + 1) {
        rmSync(mine, { force: true });
        continue;
      }
      rmSync(own);
      this.#path = mine;
      for (const number of numbers) if (number <= highest) rmSync(join(folder, `lock.${number}`), { force: true });
      return null;
    }
  }
}

/** Removes the temporary sockets of killed processes. One of a process that starts now accepts connections, or soon. */
async function removeDeadSockets(folder: string): Promise<void> {
  const names = readdirSync(folder).filter((name) => newLockName.test(name));
  await Promise.all(names.map((name) => removeStaleSocket(join(folder, name)).catch(() => {}))); // they do no harm
}

/** Removes folders, the last one first, as long as they are empty. */
function removeEmptyFolders(folders: readonly string[]): void {
  try {
    for (const folder of [...folders].reverse()) rmdirSync(folder);
  } catch {} // another process uses it already
}

/** Returns the process that holds the lock of a folder, or null. Rejects with OperatorError if that is not known. */
export async function holderIn(folder: string): Promise<HeldLock | null> {
  requireDirectory(folder, folder);
  return (await highestLock(folder)).held;
}

/** Returns the highest number of a lock, or 0, and the process that holds that lock, or null. Throws OperatorError. */
async function highestLock(folder: string): Promise<{ highest: number; socketPath: string; held: HeldLock | null }> {
  for (;;) {
    const highest = lockNumbers(folder).at(-1) ?? 0;
    const socketPath = join(folder, `lock.${highest}`);
    const file = highest === 0 ? undefined : lstatSync(socketPath, { throwIfNoEntry: false });
    if (file?.isSocket() === false) throw new OperatorError(`${socketPath} is not a socket; remove it`);
    const holder = highest === 0 ? 'dead' : await holderOf(socketPath);
    if (holder === 'dead') return { highest, socketPath, held: null };
    if (lockNumbers(folder).at(-1) !== highest) continue; // the lock was taken meanwhile
    return { highest, socketPath, held: { socketPath, holder } };
  }
}

/**
 * Returns the holder of a lock, null if it does not identify itself, or `dead` if no process listens on the socket.
 * Throws an OperatorError if the socket belongs to another user, or this one may not connect.
 */
async function holderOf(socketPath: string): Promise<Holder | null | 'dead'> {
  const deadline = performance.now() + whoTimeoutMs;
  for (let attempt = 1; ; attempt++) {
    try {
      const leftMs = Math.max(1, deadline - performance.now());
      return readHolder(await sendMessage(socketPath, { op: 'who' }, leftMs, whoBytes));
    } catch (error) {
      if (error instanceof ConnectionClosedError && attempt < whoAttempts) continue;
      if (error instanceof OperatorError) throw error;
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EACCES') throw foreignSocket(socketPath);
      return code === 'ECONNREFUSED' ? 'dead' : null;
    }
  }
}

/** Describes the holder of a lock in a message. */
export function describeHolder({ socketPath, holder }: HeldLock): string {
  if (holder === null) return `a process that does not identify itself (${socketPath})`;
  const { kind, pid, address, since } = holder;
  return `process ${pid} (${kind}, ${address === null ? '' : `${address}, `}since ${since})`;
}

/** Returns the numbers of all locks in a folder in ascending order. */
function lockNumbers(folder: string): number[] {
  return readdirSync(folder)
    .flatMap((name) => lockName.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b);
}

/**
 * Creates a folder and its missing parents, adds them to `made`, and syncs the entry of each in its parent. With
 * `syncs`, it also syncs that of the first one that exists: the process that created it may have been killed before it
 * did. Rejects with the error of the file system. `mkdirSync` with `recursive` would never return for a folder in
 * /proc, where the system reports ENOENT although the parent exists (Node 20 to 26).
 */
async function makeFolder(folder: string, syncs: boolean, made: string[], inner = folder): Promise<void> {
  if (existsSync(folder)) {
    requireDirectory(folder, inner);
    if (!syncs) return;
    return syncFolder(dirname(folder)).catch((error: NodeJS.ErrnoException) => {
      if (!unsyncable.includes(error.code ?? '')) throw error;
    });
  }
  await makeFolder(dirname(folder), true, made, inner);
  refuseReserved(folder); // it may be in another data folder
  try {
    mkdirSync(folder, { mode: 0o700 });
    made.push(folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // another process may have created it
  }
  await syncFolder(dirname(folder));
}

/** Throws OperatorError if there is something else than a folder at a path, which is `folder` or above it. */
function requireDirectory(path: string, folder: string): void {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined || found.isDirectory()) return;
  throw new OperatorError(`cannot use the data folder ${folder}: ${path} is not a folder; choose another with --data`);
}
