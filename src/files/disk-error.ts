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
