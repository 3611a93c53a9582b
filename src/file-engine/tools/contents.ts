import { isUtf8 } from 'node:buffer';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { InvalidResponseError, parseLine, receiveLines } from '../lock/channel.ts';
import { problemOf, requireFolder, responseTimeoutMs, resultOf, useFolder } from '../lock/use-folder.ts';
import type { ContentsHead, Unread } from '../lock/contents.ts';
import type { FolderLock, HeldLock } from '../lock/folder-lock.ts';
import { contents as readHead, readResponse } from '../lock/read-response.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { isOrderLine } from '../../domain/order.ts';
import { isPetLine, statusOfLine } from '../../domain/pet.ts';
import type { RecordHead } from '../files/record-file.ts';
import { storeIdOf } from '../files/store-id.ts';
import { JsonObject, readJson } from '../../json/read.ts';
import { KeyRing } from '../accounts/key-ring.ts';
import { decodeKey } from '../accounts/key-record.ts';
import { decodeUsage, UsageFile } from '../accounts/usage-file.ts';
import { recoverJournal } from '../store/journal-recovery.ts';
import { Journal, type JournalOptions } from '../store/journal.ts';
import { LineTable } from '../store/line-table.ts';
import { readOrders } from '../store/orders.ts';
import { readSnapshot } from '../store/snapshot.ts';
import type { ReadProgress } from '../../program/progress.ts';

/** Receives the animals, in ascending order of their ids. It must copy the bytes. */
export type PetSink = Pick<LineTable, 'append'>;

/** All that a data folder contains, besides the animals. */
export type Contents = Pick<ContentsHead, 'store' | 'sequence' | 'lastId'> & {
  readonly keys: Records;
  readonly usage: Records;
  readonly orders: readonly string[];
};

interface Records {
  readonly head: RecordHead;
  readonly lines: Iterable<string>;
}

const comma = 0x2c;
/** The time between two requests to a server that is still reading the animals. */
const waitMs = 200;
/** A server that reads its animals must have read another percent within this time: its disk may hang for minutes. */
const progressTimeoutMs = 600_000;
/** Keys, usages and orders are kept in memory. A million orders have about 100 MiB. */
const maxKeptBytes = 1024 * 1024 * 1024;

/**
 * Reads a data folder: a running server sends what it holds when it has read its animals, otherwise the files are read
 * under the lock, as at a start of the server. If `pets` is null, the animals are not read.
 * Rejects with OperatorError; the sink has received only a part of the animals then.
 */
export async function readContents(
  folder: string,
  pets: PetSink | null,
  log: (line: string) => void,
  progress: ReadProgress,
): Promise<Contents> {
  requireFolder(folder);
  return useFolder(folder, {
    withLock: (lock) => readFiles(folder, lock, pets, log),
    withoutLock: () => readFiles(folder, null, pets, log),
    withServer: (held) => awaitContents(held, pets, progress),
  });
}

async function readFiles(
  folder: string, lock: FolderLock | null, pets: PetSink | null, log: (line: string) => void,
): Promise<Contents> {
  const store = storeIdOf(folder);
  const keys = new KeyRing(folder, undefined, store);
  const orders = orderLines(folder);
  const usage = new UsageFile(folder, Date.now, log, undefined, store);
  keys.checkChanges(usage.recorded.keyChanges);
  const contents = { store, keys: keys.contents, usage: usage.contents, orders };
  if (pets === null) return { ...contents, sequence: 0, lastId: 0 };
  return { ...contents, ...(await readPets({ folder, store, recorded: usage.recorded.durable, lock, pets, log })) };
}

/** Returns the orders of a folder whose lock is held, as lines. Throws OperatorError. */
export function orderLines(folder: string): string[] {
  const table = new LineTable();
  readOrders(folder, table);
  const pieces = [...table.pieces(table.count, Infinity)].map(String);
  return pieces.join('').split(',\n').slice(0, -1);
}

/** What `readPets` needs. */
export interface PetSource extends Pick<JournalOptions, 'folder' | 'store' | 'recorded' | 'log'> {
  /** Null if the folder is on a file system that is mounted read-only. */
  readonly lock: Pick<FolderLock, 'check'> | null;
  readonly pets: PetSink;
}

/** Passes the animals of a folder that no other process changes to `pets`. Rejects with OperatorError. */
export async function readPets({ lock, pets, ...options }: PetSource): Promise<Pick<Contents, 'sequence' | 'lastId'>> {
  const { folder } = options;
  let lastId = 0;
  const table: PetSink = {
    append(bytes, status, start = 0, end = bytes.length) {
      lastId = idOf(bytes, start);
      pets.append(bytes, status, start, end);
    },
  };
  const snapshot = await readSnapshot(join(folder, 'pets.json'), table);
  const sequence = await recoverPets({ lock, pets: table, ...options }, snapshot.sequence);
  return { sequence, lastId: Math.max(snapshot.lastId, lastId) };
}

/**
 * Passes the animals of the journal after record `snapshotSequence` to `pets`. If the lock is held, leaves the journal
 * as a start does. Resolves to the number of the last record. Rejects with OperatorError.
 */
export async function recoverPets({ lock, pets, ...options }: PetSource, snapshotSequence: number): Promise<number> {
  if (lock === null) {
    const { torn, last } = await recoverJournal({ ...options, snapshotSequence, table: pets });
    if (torn !== null) options.log(`${torn.path}: the end is incomplete, from line ${torn.line} on, and is ignored`);
    return last;
  }
  const lost = new OperatorError(`the journal in ${options.folder} was removed or replaced; try again`);
  const saveSnapshot = (): Promise<void> => Promise.reject(lost);
  const checkLock = (): void => lock.check();
  const journal = await Journal.open({ ...options, table: pets, snapshotSequence, checkLock, saveSnapshot });
  await journal.close();
  return journal.durable;
}

/** The id in an animal line. */
export function idOf(bytes: Uint8Array, start: number): number {
  let id = 0;
  for (let at = start + '{"id":'.length; bytes[at] !== comma; at++) id = 10 * id + bytes[at]! - 0x30;
  return id;
}

/** Resolves to undefined if the server does not respond to commands. Waits until it has read its animals. */
async function awaitContents(
  held: HeldLock, pets: PetSink | null, progress: ReadProgress,
): Promise<Contents | undefined> {
  let most = -1;
  let deadline = 0;
  for (let hasWaited = false; ; hasWaited = true) {
    const contents = await receiveContents(held, pets, progress.expect);
    if (contents === undefined && hasWaited) {
      // Reading the files now would take the folder from the next start, which may be under way.
      const server = `the server (process ${held.holder?.pid})`;
      throw new OperatorError(`${server} stopped responding before it had read the animals; try again`);
    }
    if (contents === undefined || !('percent' in contents)) return contents;
    if (contents.percent > most) deadline = performance.now() + progressTimeoutMs;
    most = Math.max(most, contents.percent);
    if (performance.now() > deadline) {
      throw new OperatorError(`the server (process ${held.holder?.pid}) has read no more animals for 10 minutes`);
    }
    progress.wait(contents.percent);
    await delay(waitMs);
  }
}

/** Whether a line of the contents is one of a key, of a usage, of an order, or of an animal. */
const isLine: readonly ((bytes: Buffer, start: number, end: number) => boolean)[] = [
  decodes(decodeKey),
  decodes(decodeUsage),
  (bytes, start, end) => isOrderLine(bytes.toString('latin1', start, end)),
  (bytes, start, end) => isUtf8(bytes.subarray(start, end)) && isPetLine(bytes.toString('latin1', start, end)),
];

function decodes(decode: (record: JsonObject) => unknown): (bytes: Buffer, start: number, end: number) => boolean {
  return (bytes, start, end) => {
    try {
      const record = readJson(bytes.subarray(start, end));
      if (!(record instanceof JsonObject)) return false;
      decode(record);
      return true;
    } catch {
      return false;
    }
  };
}

/** Resolves to undefined if the server does not respond to commands. */
async function receiveContents(
  held: HeldLock, pets: PetSink | null, expect: (count: number) => void,
): Promise<Contents | Unread | undefined> {
  let head: ContentsHead | Unread | null | undefined;
  let received = 0;
  let keptBytes = 0;
  let previousId = 0;
  const kinds: [string[], string[], string[]] = [[], [], []];
  let ends: number[] = [];
  const onLine = (bytes: Buffer, start: number, end: number): void => {
    if (head === undefined) {
      const response = readResponse(parseLine(bytes, start, end), readHead);
      head = response === null ? null : resultOf(response);
      if (head === null || 'percent' in head) return;
      let sum = 0;
      ends = head.lines.map((count) => (sum += count));
      return expect(head.lines[3]);
    }
    const kind = ends.findIndex((until) => received < until);
    const lineEnd = kind < 2 ? end : end - 1; // without the comma
    if (!(kind >= 0 && isLine[kind]!(bytes, start, lineEnd))) throw new InvalidResponseError('a line is invalid');
    received++;
    if (kind < 3) {
      keptBytes += lineEnd - start;
      if (keptBytes > maxKeptBytes) throw new InvalidResponseError('the keys and orders are too long');
      return void kinds[kind]!.push(bytes.toString('utf8', start, lineEnd));
    }
    const id = idOf(bytes, start);
    if (id <= previousId) throw new InvalidResponseError('the animals are not in order');
    previousId = id;
    pets?.append(bytes, statusOfLine(bytes, start, lineEnd)!, start, lineEnd);
  };
  const pid = held.holder?.pid;
  try {
    await receiveLines(held.socketPath, { op: 'contents', pets: pets !== null }, responseTimeoutMs, onLine);
  } catch (error) {
    if (error instanceof OperatorError) throw error;
    const problem = `the server (process ${pid}) ${problemOf(error)}`;
    if (error instanceof InvalidResponseError) throw new OperatorError(problem);
    if (head === undefined) return undefined; // nothing was received yet
    throw new OperatorError(`the server (process ${pid}) broke the connection: ${(error as Error).message}; try again`);
  }
  if (head === undefined || head === null) return undefined;
  if ('percent' in head) return head;
  if (received < ends[3]!) {
    throw new OperatorError(`the server (process ${pid}) ended before it had sent all; try again`);
  }
  const { store, sequence, lastId } = head;
  const keys = { head: head.keys, lines: kinds[0] };
  return { store, sequence, lastId, keys, usage: { head: head.usage, lines: kinds[1] }, orders: kinds[2] };
}
