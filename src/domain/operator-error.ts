/** A mistake or misfortune that the operator can mend: one line that says what, where and what to do. */
export class OperatorError extends Error {
  /** 2 for a command line that is wrong, else 1. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The message of what was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
