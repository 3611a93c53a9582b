import { OperatorError } from '../domain/operator-error.ts';

/** What the disk reported, with the file that Node's own message may leave out, and what to do. */
export function diskError(doing: 'read' | 'write', path: string, error: unknown): OperatorError {
  if (error instanceof OperatorError) return error;
  const why = error instanceof Error ? error.message : String(error);
  const advice = doing === 'read' ? "the server's user must be able to read it" : "its folder must be the server's user's to write, on a disk with room";
  return new OperatorError(`cannot ${doing} ${path}: ${why}; ${advice}`);
}
