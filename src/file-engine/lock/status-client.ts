import { statfs } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { messageOf, OperatorError } from '../../domain/operator-error.ts';
import { systemError } from '../../files/errors.ts';
import { ConnectionClosedError, InvalidResponseError, sendMessage } from './channel.ts';
import { folderExists, noFolder, problemOf, responseTimeoutMs, resultOf } from './use-folder.ts';
import { describeHolder, holderIn, type HeldLock } from './folder-lock.ts';
import { readResponse, status as readStatus } from './read-response.ts';

/** How long a server that starts may take until it responds to commands. */
const startTimeoutMs = 10_000;
const retryMs = 20;

/** The status of a server that has responded. */
export type Status = ReturnType<typeof readStatus> & { readonly disk: { readonly freeBytes: number | null } };

/** What is known if no server has responded with its status. */
export interface NoStatus {
  readonly state: 'stopped' | 'starting' | 'stopping' | 'unresponsive' | 'unknown';
  /** One line. */
  readonly reason: string;
  /** The process that holds the lock of the folder, if it has identified itself. */
  readonly pid: number | null;
}

/**
 * Asks the server that uses a data folder for its status. Does not take the lock. Does not reject with an error that
 * the operator can correct: it becomes the reason in the result.
 */
export async function askStatus(folder: string): Promise<Status | NoStatus> {
  try {
    if (!folderExists(folder)) return { state: 'stopped', reason: noFolder(folder), pid: null };
    for (const deadline = Date.now() + startTimeoutMs; ; await delay(retryMs)) {
      const held = await holderIn(folder);
      if (held?.holder?.kind !== 'server') return withoutServer(folder, held);
      const status = await ask(folder, held);
      const isKnown = status.state !== 'starting' || 'percent' in status;
      if (isKnown || Date.now() > deadline) return status;
    }
  } catch (error) {
    const isExpected = error instanceof OperatorError || (error instanceof Error && 'syscall' in error);
    if (!isExpected) throw error;
    return { state: 'unknown', reason: systemError(error).message, pid: null };
  }
}

function withoutServer(folder: string, held: HeldLock | null): NoStatus {
  const nobody = `no server is running on ${folder}`;
  if (held === null) return { state: 'stopped', reason: nobody, pid: null };
  const { holder } = held;
  if (holder !== null) {
    return { state: 'stopped', reason: `${nobody}; ${describeHolder(held)} uses it`, pid: holder.pid };
  }
  const reason = `${describeHolder(held)} uses ${folder}; it was suspended, hangs, or is reading large files`;
  return { state: 'unresponsive', reason, pid: null };
}

/** Asks a server once. If it is `starting` without a percentage, it may have ended meanwhile: look for it again. */
async function ask(folder: string, held: HeldLock): Promise<Status | NoStatus> {
  const { pid, address } = held.holder!;
  const server = `the server (process ${pid})`;
  const starting: NoStatus = { state: 'starting', reason: `${server} does not respond to commands yet`, pid };
  let response;
  try {
    response = readResponse(await sendMessage(held.socketPath, { op: 'status' }, responseTimeoutMs), readStatus);
  } catch (error) {
    if (error instanceof ConnectionClosedError || (error instanceof Error && 'syscall' in error)) return starting;
    if (error instanceof OperatorError) throw error;
    const reason = `${server} ${problemOf(error)}`;
    if (error instanceof InvalidResponseError) return { state: 'unknown', reason, pid };
    return { state: 'unresponsive', reason: `${server} does not respond; it was suspended or hangs`, pid };
  }
  if (response === null && address === null) return starting;
  if (response === null) return { state: 'stopping', reason: `${server} is about to end`, pid };
  try {
    const { connections, ...report } = resultOf(response);
    return { ...report, disk: { freeBytes: await freeBytes(folder) }, connections };
  } catch (error) {
    return { state: 'unknown', reason: `${server}: ${messageOf(error)}`, pid };
  }
}

/**
 * Returns the free space for users without privileges; null if it is not known. The server does not ask for it, because
 * a disk that hangs would occupy one of its threads.
 */
async function freeBytes(folder: string): Promise<number | null> {
  return statfs(folder).then(({ bavail, bsize }) => bavail * bsize, () => null);
}
