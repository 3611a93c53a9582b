import { statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../domain/operator-error.ts';
import { diskError } from '../files/errors.ts';
import { FileEngine } from '../file-engine/file-engine.ts';
import { ConnectionClosedError, InvalidResponseError } from './channel.ts';
import { execute, type AccountCommandName, type Command, type Result } from './commands.ts';
import { describeHolder, FolderLock, holderIn, ReadOnlyError, type HeldLock } from './folder-lock.ts';
import { askCommand, type Response } from './responses.ts';

/** How long a command waits for another command to release the folder, or for a server to start. */
const lockTimeoutMs = 10_000;
/** How long a command waits for the response of a server: longer than it takes a server to find that its disk hangs. */
export const responseTimeoutMs = 10_000;
const retryMs = 20;

/**
 * Runs a command on a data folder: sends it to the server that uses the folder, or takes the lock of the folder,
 * waiting for other commands, and executes it here. `log` receives a line if a damaged file was set aside.
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

/** Throws an OperatorError if there is no such data folder. */
export function requireFolder(folder: string): void {
  if (!folderExists(folder)) throw new OperatorError(noFolder(folder));
}

/** Whether there is a file or a folder of this name. Throws OperatorError if that cannot be found out. */
export function folderExists(folder: string): boolean {
  try {
    return statSync(folder, { throwIfNoEntry: false }) !== undefined;
  } catch (error) {
    throw diskError('read', folder, error);
  }
}

/** Returns the message for a data folder that does not exist. */
export function noFolder(folder: string): string {
  return `there is no data folder ${folder}; name the folder of the server with --data`;
}

/** Returns the result in a response of a server. Throws the error in it as an OperatorError. */
export function resultOf<T>(response: Exclude<Response<T>, null>): T {
  if ('error' in response) throw new OperatorError(response.error, response.exitCode);
  return response.result;
}

/** What to do with a data folder. */
export interface FolderUse<T> {
  /** No other process uses the folder. */
  withLock(lock: FolderLock): Promise<T>;
  /**
   * No process holds the lock, and the file system is mounted read-only, so that nobody can take it. Null if the work
   * has to write.
   */
  readonly withoutLock: (() => Promise<T>) | null;
  /** A server uses the folder. Resolves to undefined if it does not respond to commands: it is starting or stopping. */
  withServer(held: HeldLock): Promise<T | undefined>;
}

/**
 * Takes the lock of a data folder, waiting for other commands, or asks the server that uses the folder. Creates the
 * folder if it does not exist. Rejects with an OperatorError if the folder stays in use.
 */
export async function useFolder<T>(folder: string, use: FolderUse<T>): Promise<T> {
  const deadline = Date.now() + lockTimeoutMs;
  for (;;) {
    const lock = (await serverIn(folder)) ?? (await FolderLock.acquire(folder, 'command').catch((error: unknown) => {
      if (error instanceof ReadOnlyError && use.withoutLock !== null) return holderIn(folder);
      throw error;
    }));
    if (lock === null) return use.withoutLock!();
    if (lock instanceof FolderLock) {
      try {
        const result = await use.withLock(lock);
        await lock.release();
        return result;
      } catch (error) {
        await lock.abandon();
        throw error;
      }
    }
    const result = lock.holder?.kind === 'server' ? await use.withServer(lock) : undefined;
    if (result !== undefined) return result;
    if (Date.now() > deadline) {
      const holder = describeHolder(lock);
      throw new OperatorError(`the data folder ${folder} is in use by ${holder}; try again later`);
    }
    await delay(retryMs * (1 + Math.random()));
  }
}

/**
 * Returns the process that uses a folder, or null. Unlike taking the lock, this writes nothing, so that a server can be
 * asked while its disk is full or frozen.
 */
async function serverIn(folder: string): Promise<HeldLock | null> {
  return holderIn(folder).catch((error: unknown) => {
    if (error instanceof OperatorError) throw error;
    return null; // there is no such folder, or it cannot be read: taking the lock says why
  });
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

/** Says what is wrong with the response of a server. */
export function problemOf(error: unknown): string {
  return error instanceof InvalidResponseError
    ? 'sent a response that this program does not know, so it is another version, or another program'
    : 'did not respond';
}

/**
 * A command was sent to a server, which has not responded: its disk may hang, or it has ended. Whether it made a change
 * is not known.
 */
export class NoResponseError extends OperatorError {}
