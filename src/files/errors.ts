import { messageOf, OperatorError } from '../domain/operator-error.ts';

/** What the disk reported, with the file that Node's own message may leave out, and what to do. */
export function diskError(doing: 'read' | 'write', path: string, error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  const advice = {
    read: "the server's user must be able to read it",
    write: "the server's user must be able to write to its folder, and the disk must have room",
  };
  return new OperatorError(`cannot ${doing} ${path}: ${messageOf(error)}; ${advice[doing]}`);
}

/** A file that contains what it must not. The message names the file and the line, and says what to do. */
export class DamagedFileError extends OperatorError {
  /** The file, the line and what is wrong there. */
  readonly problem: string;

  constructor(path: string, line: number, why: string, advice = 'correct the file, or restore it from a backup') {
    const problem = `${path}, line ${line}: ${why}`;
    super(`${problem}; ${advice}`);
    this.problem = problem;
  }
}

/** The error of a damaged snapshot or journal, which can only be restored together. */
export function damaged(path: string, line: number, why: string): DamagedFileError {
  return new DamagedFileError(path, line, why, 'nothing was changed; restore the data folder from a backup');
}
