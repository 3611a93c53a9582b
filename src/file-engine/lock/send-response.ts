/** The responses of a server to the commands that `petstore` sends over the socket of the lock. */
import { messageOf, OperatorError } from '../../domain/operator-error.ts';

export type CommandResponse = { readonly result: unknown } | { readonly error: string; readonly exitCode: number };

/**
 * Returns the response with the result of a command: null if this process does not have it (undefined), and the error
 * if `execute` rejects. Never rejects.
 */
export async function responseTo(
  command: unknown, execute: (command: unknown) => Promise<unknown>,
): Promise<CommandResponse | null> {
  try {
    const result = await execute(command);
    return result === undefined ? null : { result };
  } catch (error) {
    return { error: messageOf(error), exitCode: error instanceof OperatorError ? error.exitCode : 1 };
  }
}
