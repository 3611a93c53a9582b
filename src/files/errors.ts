import { messageOf, OperatorError } from '../domain/operator-error.ts';

/** Returns the error for the operator if the file system reports one: names the file and says what to do. */
export function diskError(doing: 'read' | 'write', path: string, error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  const advice = {
    read: "the server's user must be able to read it",
    write: "the server's user must be able to write to its folder, and the disk must have room",
  };
  return new OperatorError(`cannot ${doing} ${path}: ${messageOf(error)}; ${advice[doing]}`);
}

/** This process does not hold the lock of the data folder any more, so it must not write there. The log says so. */
export class LockLostError extends OperatorError {}

/** A file was replaced, but a power cut may bring the old one back. */
export class UnsyncedError extends OperatorError {
  constructor(path: string, error: unknown) {
    super(`${path} was replaced, but a power cut may bring the old file back: ${messageOf(error)}`);
  }
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
