import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { OperatorError } from '../domain/operator-error.ts';
import { KeyRing } from '../keys/key-ring.ts';
import { UsageFile } from '../limits/usage-file.ts';
import { ask, ChannelClosedError } from './channel.ts';
import { FolderLock, type Held } from './folder-lock.ts';
import { runKeyCommand, type KeyCommand, type KeyResult } from './key-commands.ts';
import { isUsageCommand, runUsageCommand, type UsageCommand, type UsageResult } from './usage-commands.ts';

/** How long a command waits for the folder. */
const patienceMs = 10_000;
const answerTimeoutMs = 30_000;
const retryMs = 20;

/** What `petstore` asks for, and what comes of it. */
type Command = KeyCommand | UsageCommand;
type ResultOf<C extends Command> = C extends UsageCommand ? UsageResult : KeyResult;

/** An answer over the socket: a result, or why there is none. */
type Answer = { readonly result: unknown } | { readonly error: string; readonly exitCode: number };

/** What commands are carried out on. */
export interface Accounts {
  readonly keys: KeyRing;
  /** Called only for a command that needs it. */
  readonly openUsage: () => Promise<UsageFile>;
}

/** The server's end: what it answers to a command that arrives on the lock's socket. Never rejects. */
export async function answerCommand(accounts: Accounts, question: unknown): Promise<Answer> {
  try {
    if (typeof question !== 'object' || question === null) throw new OperatorError('this is no command');
    return { result: await run(accounts, question as Command, Date.now()) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { error: message, exitCode: error instanceof OperatorError ? error.exitCode : 1 };
  }
}

async function run({ keys, openUsage }: Accounts, command: Command, now: number): Promise<KeyResult | UsageResult> {
  return isUsageCommand(command) ? runUsageCommand(keys, await openUsage(), command, now) : runKeyCommand(keys, command, now);
}

/**
 * The command's end: has the server that runs on the folder carry out the command, or else takes the folder's lock and
 * does it itself, waiting for other commands; `log` is told of a file that was set aside then. Throws OperatorError.
 */
export async function carryOut<C extends Command>(folder: string, command: C, log: (line: string) => void): Promise<ResultOf<C>> {
  if (command.op !== 'create' && !existsSync(folder)) {
    throw new OperatorError(`there is no data folder ${folder}; name the server's with --data`);
  }
  const deadline = Date.now() + patienceMs;
  for (;;) {
    const lock = await FolderLock.acquire(folder, 'command', async () => null);
    if (lock instanceof FolderLock) {
      try {
        const accounts = { keys: new KeyRing(folder), openUsage: () => UsageFile.open(folder, Date.now, log) };
        return (await run(accounts, command, Date.now())) as ResultOf<C>;
      } finally {
        await lock.release();
      }
    }
    if (lock.holder?.kind === 'server') {
      const answer = await serverAnswer(lock, command);
      if (answer !== null) return resultOf(answer) as ResultOf<C>;
    }
    if (Date.now() > deadline) {
      const who = lock.holder === null ? 'a process that does not say who it is' : `process ${lock.holder.pid}`;
      throw new OperatorError(`the data folder ${folder} is held by ${who} (${lock.socketPath}); try again when it has ended`);
    }
    await delay(retryMs * (1 + Math.random()));
  }
}

/** The running server's answer, or null if it ended before it took the question. */
async function serverAnswer({ socketPath, holder }: Held, command: Command): Promise<Answer | null> {
  try {
    return (await ask(socketPath, command, answerTimeoutMs)) as Answer | null;
  } catch (error) {
    if (!(error instanceof ChannelClosedError)) return null;
    throw new OperatorError(`the server (process ${holder?.pid}) gave no answer; "petstore keys list" and "petstore usage" show whether the change was made`);
  }
}

function resultOf(answer: Answer): unknown {
  if ('result' in answer) return answer.result;
  throw new OperatorError(answer.error, answer.exitCode);
}
