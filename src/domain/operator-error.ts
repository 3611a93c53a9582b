/** A mistake or misfortune that the operator can mend: one line that says what, where and what to do. */
export class OperatorError extends Error {
  /** 2 for a command line that is wrong, else 1. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The refusal to go on with a file that is damaged: names the file and the line. */
export function damaged(path: string, line: number, why: string): OperatorError {
  return new OperatorError(`${path}, line ${line}: ${why}. Nothing was changed; restore the data folder from a backup.`);
}
