import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../domain/operator-error.ts';
import { storeIdOf } from '../files/store-id.ts';
import { KeyRing } from '../keys/key-ring.ts';
import { UsageFile } from '../limits/usage-file.ts';
import { sendMessage } from './channel.ts';
import { execute, type Command, type CommandName, type CommandResponse, type Result } from './commands.ts';
import { describeHolder, FolderLock, type Held } from './folder-lock.ts';

/** How long a command waits for another command to release the folder, or for a server to start. */
const lockTimeoutMs = 10_000;
const responseTimeoutMs = 30_000;
const retryMs = 20;

/**
 * Runs a command on a data folder: sends it to the server that uses the folder, or takes the lock of the folder,
 * waiting for other commands, and executes it here. `log` receives a line if a damaged file was set aside.
 * Throws an OperatorError if the command fails.
 */
export async function runCommand<Op extends CommandName>(
  folder: string,
  command: Command<Op>,
  log: (line: string) => void,
): Promise<Result<Op>> {
  if (command.op !== 'create' && !existsSync(folder)) {
    throw new OperatorError(`there is no data folder ${folder}; name the folder of the server with --data`);
  }
  const deadline = Date.now() + lockTimeoutMs;
  for (;;) {
    const lock = await FolderLock.acquire(folder, 'command');
    if (lock instanceof FolderLock) {
      try {
        const store = storeIdOf(folder);
        const keys = new KeyRing(folder, undefined, store);
        const accounts = { keys, openUsage: () => new UsageFile(folder, Date.now, log, undefined, store) };
        return (await execute(accounts, command, Date.now())) as Result<Op>;
      } finally {
        await lock.release();
      }
    }
    const response = lock.holder?.kind === 'server' ? await serverResponse(lock, command) : null;
    if (response !== null && 'error' in response) throw new OperatorError(response.error, response.exitCode);
    if (response !== null) return response.result as Result<Op>;
    if (Date.now() > deadline) {
      const holder = describeHolder(lock);
      throw new OperatorError(`the data folder ${folder} is in use by ${holder}; try again later`);
    }
    await delay(retryMs * (1 + Math.random()));
  }
}

/** Returns the response of the running server, or null if the server ended before it received the command. */
async function serverResponse(held: Held, command: object): Promise<CommandResponse | null> {
  try {
    return (await sendMessage(held.socketPath, command, responseTimeoutMs)) as CommandResponse | null;
  } catch (error) {
    if (error instanceof Error && 'syscall' in error) return null;
    const advice = 'check with "petstore keys list" or "petstore usage" whether the change was made';
    throw new OperatorError(`the server (process ${held.holder?.pid}) did not respond; ${advice}`);
  }
}
