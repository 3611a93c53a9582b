/** Helpers for the tests of the journal. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import { bytesOf } from '../domain/byte-text.ts';
import type { StoredPet } from '../domain/pet.ts';
import { withAnimalFiles } from '../file-engine/store/animal-files.ts';
import { recoverJournal, type RecoveryOptions } from '../file-engine/store/journal-recovery.ts';
import { Journal, type JournalOptions } from '../file-engine/store/journal.ts';
import type { LineTable } from '../file-engine/store/line-table.ts';
import { onSync } from './file-handle.ts';

export interface Opened {
  readonly journal: Journal;
  /** The ids of the animals that were added to the table. */
  readonly applied: number[];
  readonly logged: string[];
}

/** The id of the store in tests. */
export const testStore = '0123456789abcdef'.repeat(2);

/** For tests in which the folder stays as it is. */
export const undisturbed: Pick<JournalOptions, 'store' | 'recorded' | 'checkLock' | 'saveSnapshot'> = {
  store: testStore,
  recorded: 0,
  checkLock: (): void => {},
  saveSnapshot: () => Promise.reject(new Error('the journal is not in its place')),
};

/** Opens the journal in a folder, with a snapshot of the records up to `snapshotSequence`. */
export async function openJournal(folder: string, snapshotSequence = 0, guards = undisturbed): Promise<Opened> {
  const applied: number[] = [];
  const logged: string[] = [];
  const table = recordingTable((line) => applied.push((JSON.parse(line) as { id: number }).id));
  const log = (line: string): void => void logged.push(line);
  const journal = await openSegments({ folder, snapshotSequence, table, log, ...guards });
  return { journal, applied, logged };
}

/** Opens the journal with the segments in the folder. */
export function openSegments(options: Omit<JournalOptions, 'segments'>): Promise<Journal> {
  return withAnimalFiles(options.folder, ({ segments }) => Journal.open({ ...options, segments }));
}

/** Reads the segments in the folder. */
export function recoverSegments(options: Omit<RecoveryOptions, 'segments'>): ReturnType<typeof recoverJournal> {
  return withAnimalFiles(options.folder, ({ segments }) => recoverJournal({ ...options, segments }));
}

/** Returns a table that passes each added line to `add`. */
export function recordingTable(add: (line: string, status: string) => void): Pick<LineTable, 'append'> {
  return {
    append(bytes, status, start, end) {
      add(Buffer.from(bytes.subarray(start, end)).toString(), status);
    },
  };
}

export function pet(id: number, name = 'Rex'): StoredPet {
  const line = bytesOf(`{"id":${id},"name":"${name}","categoryId":9223372036854775807,"status":"sold"}`);
  return { id, line, status: 'sold' };
}

interface Line {
  readonly seq: number;
  readonly durable: number;
  readonly pet?: { readonly id: number };
}

/** Returns the content of a segment without its reserved space. */
export function contentOf(path: string): Buffer {
  const bytes = readFileSync(path);
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
}

/** Returns the lines of a segment, parsed as JSON. */
export function linesOf(path: string): Line[] {
  const text = contentOf(path).toString();
  assert(text === '' || text.endsWith('\n'));
  return text.split('\n').slice(0, -1).map((line) => JSON.parse(line) as Line);
}

/** Returns the integers from `from` to `to`. */
export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** Waits for `count` turns of the event loop. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits until a condition holds. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await turns(1);
}

/** Calls `watch` before each sync of a folder. If it throws, the sync fails. */
export async function onFolderSync(t: TestContext, watch: () => void): Promise<void> {
  await onSync(t, async (handle) => {
    if ((await handle.stat()).isDirectory()) watch();
  });
}
