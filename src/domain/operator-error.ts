/** A problem that the operator can solve. The message is one line that states what is wrong, where, and what to do. */
export class OperatorError extends Error {
  /** The exit code of the program: 2 if the command line is wrong, else 1. */
  readonly exitCode: number;

  constructor(message: string, exitCode = 1) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Returns the message of a thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
