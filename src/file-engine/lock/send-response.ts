/** The responses of a server to the commands that `petstore` sends over the socket of the lock. */
import type { CommandName, Result } from '../../control/commands.ts';
import { messageOf, OperatorError } from '../../domain/operator-error.ts';
import { LineStream } from './channel.ts';

/** Other requests are handled between two pieces of a response. */
const itemsPerPiece = 100;

export type CommandResponse = { readonly result: unknown } | { readonly error: string; readonly exitCode: number };

/**
 * Returns the response with the result of a command: null if this process does not have it (undefined), and the error
 * if `execute` rejects. Keys and usages are sent as a line each, after their number. Never rejects.
 */
export async function responseTo(
  command: unknown, execute: (command: unknown) => Promise<unknown>,
): Promise<CommandResponse | LineStream | null> {
  try {
    const result = await execute(command);
    const { op } = command as { op: CommandName };
    if (op === 'list') return lineStreamOf((result as Result<'list'>).keys);
    if (op === 'usage') return lineStreamOf((result as Result<'usage'>).usages);
    if (result instanceof LineStream) return result;
    return result === undefined ? null : { result };
  } catch (error) {
    return { error: messageOf(error), exitCode: error instanceof OperatorError ? error.exitCode : 1 };
  }
}

function lineStreamOf(items: readonly object[]): LineStream {
  const pieces = function* (): Generator<string> {
    for (let start = 0; start < items.length; start += itemsPerPiece) {
      yield items.slice(start, start + itemsPerPiece).map((item) => `${JSON.stringify(item)}\n`).join('');
    }
  };
  return new LineStream({ result: { count: items.length } }, pieces());
}
