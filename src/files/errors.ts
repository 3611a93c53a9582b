import { constants } from 'node:os';
import { getSystemErrorMap } from 'node:util';
import { messageOf, OperatorError } from '../domain/operator-error.ts';

/** What the operator can do about an error of the file system, by its code. */
const remedies: Readonly<Record<string, string>> = {
  EROFS: 'the file system must be mounted for writing',
  ENOSPC: 'make room on the disk',
  EDQUOT: "make room, or raise the disk quota of the server's user",
  EMFILE: 'raise the limit of open files (LimitNOFILE, ulimit -n)',
  ENFILE: 'raise the limit of open files of the machine',
  EIO: 'the disk may be failing: the log of the machine says more',
  ENOENT: 'check the path',
  ENOTDIR: 'check the path',
  EISDIR: 'check the path',
  ELOOP: 'check the path',
  ENAMETOOLONG: 'choose a shorter path',
};
const otherRemedies = {
  read: "the server's user must be able to read it",
  write: "the server's user must be able to write to its folder, and the disk must have room",
};

/** A file cannot be read or written. */
export class DiskError extends OperatorError {}

/** Returns the error for the operator if the file system reports one: names the file and says what to do. */
export function diskError(doing: 'read' | 'write', path: string, error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  const { message, remedy = otherRemedies[doing] } = describeError(error);
  return new DiskError(`cannot ${doing} ${path}: ${message}; ${remedy}`);
}

/** Returns the result of `work`, which reads or writes `path`. Throws OperatorError for an error of the file system. */
export function onDisk<T>(doing: 'read' | 'write', path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw diskError(doing, path, error);
  }
}

/** Returns the error for the operator if the system reports one that no caller has described. */
export function systemError(error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  const { syscall, path } = error as NodeJS.ErrnoException;
  if (syscall === 'uv_cwd') {
    return new OperatorError('the current folder no longer exists; change to another one');
  }
  const { message, remedy = 'the user of this process must be permitted to do that' } = describeError(error);
  return new OperatorError(`cannot use ${path ?? 'the system'}: ${message}; ${remedy}`);
}

/**
 * Returns the code and the words of a system error, without the system call and the path, and what the operator can do
 * about it, if the code says that. Of another error: its message.
 */
export function describeError(error: unknown): { message: string; remedy: string | undefined } {
  const { code = '', errno = 0 } = error as NodeJS.ErrnoException;
  // Node has no name for this error (UNKNOWN, or "Unknown system error -122").
  if (-errno === constants.errno.EDQUOT) {
    return { message: 'EDQUOT: the disk quota is exceeded', remedy: remedies['EDQUOT'] };
  }
  const [, words] = getSystemErrorMap().get(-(constants.errno as Readonly<Record<string, number>>)[code]!) ?? [];
  return { message: words === undefined ? messageOf(error) : `${code}: ${words}`, remedy: remedies[code] };
}

/** This process does not hold the lock of the data folder any more, so it must not write there. The log says so. */
export class LockLostError extends OperatorError {}

/** A file was replaced or a folder was created (`done` says which), but a power cut may undo that. */
export class UnsyncedError extends OperatorError {
  constructor(path: string, error: unknown, done: string) {
    const { message, remedy } = describeError(error);
    const effect = `${done}, but a power cut may undo that`;
    super(`cannot sync the folder of ${path}: ${message}; ${effect}${remedy === undefined ? '' : `; ${remedy}`}`);
    this.cause = error;
  }
}

/**
 * Resolves to null when a file or a folder has its name and both are on disk, or to the reason why a power cut may undo
 * that. Rejects if it does not have its name.
 */
export function unsyncedReason(made: Promise<unknown>): Promise<string | null> {
  return made.then(() => null, (error: unknown) => {
    if (error instanceof UnsyncedError) return error.message;
    throw error;
  });
}

/** A file violates its format. The message names the file and the line, and says what to do. */
export class DamagedFileError extends OperatorError {
  /** The message without the advice: the file, the line and what is wrong. */
  readonly problem: string;

  constructor(path: string, line: number, why: string, advice = 'correct the file, or restore it from a backup') {
    const problem = `${path}, line ${line}: ${why}`;
    super(`${problem}; ${advice}`);
    this.problem = problem;
  }
}

/** Returns the error for a damaged snapshot or journal. They can only be restored together, with their folder. */
export function damaged(path: string, line: number, why: string): DamagedFileError {
  return new DamagedFileError(path, line, why, 'nothing was changed; restore the data folder from a backup');
}
