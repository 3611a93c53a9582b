import { OperatorError } from '../domain/operator-error.ts';

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
