import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../domain/operator-error.ts';
import { KeyRing } from '../keys/key-ring.ts';
import { ask, ChannelClosedError } from './channel.ts';
import { FolderLock, type Held } from './folder-lock.ts';
import { runKeyCommand, type KeyCommand, type KeyResult } from './key-commands.ts';

/** How long a command waits for the folder. */
const patienceMs = 10_000;
const answerTimeoutMs = 30_000;
const retryMs = 20;

/** An answer over the socket: a result, or why there is none. */
type Answer = { readonly result: KeyResult } | { readonly error: string; readonly exitCode: number };

/** The server's end: what it answers to a key command that arrives on the lock's socket. Never rejects. */
export async function answerKeyCommand(ring: KeyRing, question: unknown): Promise<Answer> {
  try {
    if (typeof question !== 'object' || question === null) throw new OperatorError('this is no command');
    return { result: await runKeyCommand(ring, question as KeyCommand, Date.now()) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { error: message, exitCode: error instanceof OperatorError ? error.exitCode : 1 };
  }
}

/**
 * The command's end: has the server that runs on the folder carry out the command, or else takes the folder's lock and
 * does it itself, waiting for other commands. Throws OperatorError.
 */
export async function carryOut(folder: string, command: KeyCommand): Promise<KeyResult> {
  if (command.op !== 'create' && !existsSync(folder)) {
    throw new OperatorError(`there is no data folder ${folder}; name the server's with --data`);
  }
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const lock = await FolderLock.acquire(folder, 'command', async () => null);
    if (lock instanceof FolderLock) {
      try {
        return await runKeyCommand(new KeyRing(folder), command, Date.now());
      } finally {
        await lock.release();
      }
    }
    if (lock.holder?.kind === 'server') {
      const answer = await serverAnswer(lock, command);
      if (answer !== null) return resultOf(answer);
    }
    if (Date.now() > deadline) {
      const who = lock.holder === null ? 'a process that does not say who it is' : `process ${lock.holder.pid}`;
      throw new OperatorError(`the data folder ${folder} is held by ${who} (${lock.socketPath}); try again when it has ended`);
    }
    await delay(retryMs * (1 + Math.random()));
  }
}

/** The running server's answer, or null if it ended before it took the question. */
async function serverAnswer({ socketPath, holder }: Held, command: KeyCommand): Promise<Answer | null> {
  try {
    return (await ask(socketPath, command, answerTimeoutMs)) as Answer | null;
  } catch (error) {
    if (!(error instanceof ChannelClosedError)) return null;
    throw new OperatorError(`the server (process ${holder?.pid}) gave no answer; "petstore keys list" shows whether the change was made`);
  }
}

function resultOf(answer: Answer): KeyResult {
  if ('result' in answer) return answer.result;
  throw new OperatorError(answer.error, answer.exitCode);
}
