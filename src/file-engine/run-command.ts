import { execute, NoResponseError, type AccountCommandName, type Command, type Result } from '../control/commands.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { FileEngine } from './file-engine.ts';
import { ConnectionClosedError, InvalidResponseError } from './lock/channel.ts';
import type { FolderLock, HeldLock } from './lock/folder-lock.ts';
import { askCommand, type Response } from './lock/read-response.ts';
import { problemOf, requireFolder, responseTimeoutMs, resultOf, useFolder } from './lock/use-folder.ts';

/**
 * Runs a command on a data folder: sends it to the server that uses the folder, or takes the lock of the folder,
 * waiting for other commands, and executes it here. A command that only reads does not need the lock. `log` receives a
 * line if a file is damaged.
 * Throws an OperatorError if the command fails.
 */
export async function runCommand<Op extends AccountCommandName>(
  folder: string,
  command: Command<Op>,
  log: (line: string) => void,
): Promise<Result<Op>> {
  if (command.op !== 'create') requireFolder(folder);
  const onlyReads = command.op === 'list' || command.op === 'usage';
  const executeHere = (lock: FolderLock | null): Promise<unknown> => {
    const { keys } = new FileEngine(folder, log, { lock });
    return execute({ keys }, command, Date.now());
  };
  const result = await useFolder(folder, {
    withLock: async (lock) => executeHere(lock),
    withoutLock: onlyReads ? async () => executeHere(null) : null,
    async withServer(held) {
      const response = await serverResponse(held, command, onlyReads);
      return response === null ? undefined : resultOf(response);
    },
  });
  return result as Result<Op>;
}

/**
 * Returns the response of the running server, or null if it is about to end, or has ended, and the command can be
 * repeated: it was not received, or it only reads.
 */
async function serverResponse(
  held: HeldLock, command: Parameters<typeof askCommand>[1], onlyReads: boolean,
): Promise<Response<unknown>> {
  try {
    const response = await askCommand(held.socketPath, command, responseTimeoutMs);
    const sent = 'secret' in command ? command.secret : undefined;
    const made = response !== null && 'result' in response ? (response.result as { secret?: unknown }).secret : sent;
    if (sent === undefined || made === sent) return response;
    throw new InvalidResponseError('the response has another secret');
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    if (error instanceof Error && 'syscall' in error) return null;
    if (onlyReads && error instanceof ConnectionClosedError) return null;
    const server = `the server (process ${held.holder?.pid})`;
    if (onlyReads) throw new OperatorError(`${server} ${problemOf(error)}`);
    const advice = 'check with "petstore keys list" or "petstore usage" whether the change was made';
    throw new NoResponseError(`${server} ${problemOf(error)}; ${advice}`);
  }
}
