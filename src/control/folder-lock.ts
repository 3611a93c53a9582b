/**
 * One process at a time per data folder.
 *
 * The lock is a Unix socket on which its holder listens: the kernel closes it however the process ends, so a socket
 * that refuses connections is nobody's, and no process id has to be trusted. What remains is to take over from a dead
 * holder without two starters doing so at once. To unlink the dead socket and bind its name again would not do: a slow
 * starter would unlink the quick one's. So names are numbers that only grow:
 *
 * 1. Listen under a name of one's own. Nothing can be linked that does not answer yet.
 * 2. Find the highest lock.<n>. If it answers, the folder is held. If it refuses, it is dead.
 * 3. link() the own socket to lock.<n+1>. That fails for all but one of those who saw the same n.
 * 4. Look again. A starter that saw n long ago can succeed although others have come and gone, but then a higher number
 *    exists, for the highest is never removed: it withdraws, and starts over.
 * 5. Who holds the lock removes the lower numbers.
 *
 * For step 4 a holder leaves its socket behind, dead, when it ends: the highest number must stay.
 */
import { randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OperatorError } from '../domain/operator-error.ts';
import { Channel, sendMessage } from './channel.ts';

/** What the holder of a lock says of itself. */
export interface Holder {
  readonly kind: 'server' | 'command';
  readonly pid: number;
  /** Where it serves HTTP; null before it does, and for a command. */
  readonly address: string | null;
  /** Since when it holds the lock (RFC 3339). */
  readonly since: string;
}

/** The folder is held by another process. `holder` is null if that did not say who it is. */
export interface Held {
  readonly socketPath: string;
  readonly holder: Holder | null;
}

const whoTimeoutMs = 2_000;
/** The longest path that a socket's address holds, without its closing zero byte (unix(7), macOS's <sys/un.h>). */
const maxSocketPathBytes = process.platform === 'linux' ? 107 : 103;
const lockName = /^lock\.([1-9][0-9]{0,14})$/;
const maxLockNumber = 999_999_999_999_999;

export class FolderLock {
  readonly #channel: Channel;
  readonly #pending = new Set<Promise<unknown>>();
  #holder: Holder;
  #releasing = false;

  /**
   * Takes the lock of a folder, making the folder (mode 0700) if there is none. Questions other than "who" that
   * arrive on its socket are given to `respond`, which must not reject.
   * Gives the lock, or who holds it. Throws OperatorError if the folder cannot be used.
   */
  static async acquire(
    folder: string,
    kind: Holder['kind'],
    respond: (message: unknown) => Promise<unknown>,
  ): Promise<FolderLock | Held> {
    const own = join(folder, `lock.new-${randomBytes(6).toString('hex')}`); // no lock.<n> is longer
    const excess = Buffer.byteLength(own) - maxSocketPathBytes;
    if (excess > 0) {
      const problem = `the data folder's path is ${excess} bytes too long for the lock's socket`;
      throw new OperatorError(`${problem}: ${folder}; choose a shorter one with --data`);
    }
    const lock = new FolderLock(kind, respond);
    try {
      makeFolder(folder);
      await lock.#channel.listen(own);
      const held = await lock.#take(folder, own);
      if (held !== null) void lock.#channel.close();
      return held ?? lock;
    } catch (error) {
      void lock.#channel.close();
      if (error instanceof OperatorError) throw error;
      const advice = 'this user must be able to write there; choose another folder with --data';
      throw new OperatorError(`cannot use the data folder ${folder}: ${(error as Error).message}; ${advice}`);
    }
  }

  private constructor(kind: Holder['kind'], respond: (message: unknown) => Promise<unknown>) {
    this.#holder = { kind, pid: process.pid, address: null, since: new Date().toISOString() };
    this.#channel = new Channel(async (message) => {
      if ((message as { op?: unknown } | null)?.op === 'who') return this.#holder;
      if (this.#releasing) return null;
      const pending = respond(message);
      this.#pending.add(pending);
      return pending.finally(() => this.#pending.delete(pending));
    });
  }

  /** Tells those who ask where this process serves HTTP. */
  announce(address: string): void {
    this.#holder = { ...this.#holder, address };
  }

  /**
   * Frees the folder, when the questions that arrived have been answered: nothing in it may be changed any more then.
   * Those that still arrive are answered null: the next holder is to be asked.
   */
  async release(): Promise<void> {
    this.#releasing = true;
    await Promise.all(this.#pending);
    await this.#channel.close();
  }

  async #take(folder: string, own: string): Promise<Held | null> {
    for (;;) {
      const highest = lockNumbers(folder).at(-1) ?? 0;
      if (highest > 0) {
        const socketPath = join(folder, `lock.${highest}`);
        const state = await probe(socketPath);
        if (state === 'gone' && lockNumbers(folder).at(-1) !== highest) continue;
        if (state === 'gone') return { socketPath, holder: null }; // a name that stands, and leads nowhere
        if (state !== 'dead') return { socketPath, holder: state.holder };
      }
      if (highest === maxLockNumber) {
        const last = join(folder, `lock.${highest}`);
        throw new OperatorError(`${last} has the highest number there can be; when no server is running, remove it`);
      }
      const mine = join(folder, `lock.${highest + 1}`);
      try {
        linkSync(own, mine);
      } catch (error) {
        if (codeOf(error) === 'EEXIST') continue;
        throw error;
      }
      const numbers = lockNumbers(folder);
      if (numbers.at(-1)! > highest + 1) {
        rmSync(mine, { force: true });
        continue;
      }
      rmSync(own);
      for (const number of numbers) if (number <= highest) rmSync(join(folder, `lock.${number}`), { force: true });
      return null;
    }
  }
}

/** Who holds the lock on this socket; `dead` if nobody listens, `gone` if there is no such socket any more. */
async function probe(socketPath: string): Promise<'dead' | 'gone' | { holder: Holder | null }> {
  try {
    const response = await sendMessage(socketPath, { op: 'who' }, whoTimeoutMs);
    return { holder: isHolder(response) ? response : null };
  } catch (error) {
    if (codeOf(error) === 'ECONNREFUSED') return 'dead';
    if (codeOf(error) === 'ENOENT') return 'gone';
    return { holder: null };
  }
}

/** Who holds a lock, as messages name it. */
export function describeHolder({ socketPath, holder }: Held): string {
  if (holder === null) return `a process that does not say who it is (${socketPath})`;
  const { kind, pid, address, since } = holder;
  return `process ${pid} (${kind}, ${address === null ? '' : `${address}, `}since ${since})`;
}

/** The numbers of the locks in a folder, ascending. */
function lockNumbers(folder: string): number[] {
  return readdirSync(folder)
    .map((name) => Number(lockName.exec(name)?.[1] ?? 0))
    .filter((number) => number > 0)
    .sort((a, b) => a - b);
}

/** As `mkdirSync` with `recursive`, which loops for ever where the system reports ENOENT though the parent exists: in /proc. */
function makeFolder(folder: string): void {
  const isFolder = (): boolean => statSync(folder, { throwIfNoEntry: false })?.isDirectory() === true;
  if (isFolder()) return;
  makeFolder(dirname(folder));
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (error) {
    if (!isFolder()) throw error; // another process may have been faster
  }
}

function isHolder(response: unknown): response is Holder {
  return typeof response === 'object' && response !== null && 'pid' in response && 'kind' in response && 'since' in response;
}

function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException).code;
}
