/** What the tests of the journal share. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { TestContext } from 'node:test';
import type { StoredPet } from '../domain/pet.ts';
import { Journal } from '../store/journal.ts';
import type { LineTable } from '../store/line-table.ts';
import { onSync } from './file-handle.ts';

export interface Opened {
  readonly journal: Journal;
  /** The ids of the animals in its table. */
  readonly applied: number[];
  readonly logged: string[];
}

/** Opens the journal in a folder, behind a snapshot that holds so many records. */
export async function openJournal(folder: string, snapshotSequence = 0): Promise<Opened> {
  const applied: number[] = [];
  const logged: string[] = [];
  const table = recordingTable((line) => applied.push((JSON.parse(line) as { id: number }).id));
  return { journal: await Journal.open({ folder, snapshotSequence, table, log: (line) => logged.push(line) }), applied, logged };
}

/** In place of a LineTable: gives each line that is added to `add`. */
export function recordingTable(add: (line: string, status: string) => void): Pick<LineTable, 'append'> {
  return {
    append(bytes, status, start, end) {
      add(Buffer.from(bytes.subarray(start, end)).toString(), status);
    },
  };
}

export function pet(id: number, name = 'Rex'): StoredPet {
  const line = `{"id":${id},"name":"${name}","categoryId":9223372036854775807,"status":"sold"}`;
  return { id, line, status: 'sold' };
}

export interface Line {
  readonly seq: number;
  readonly durable: number;
  readonly pet?: { readonly id: number };
}

/** What stands in a segment before the zeros into which it grows. */
export function contentOf(path: string): Buffer {
  const bytes = readFileSync(path);
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
}

/** The lines of a segment, each parsed as the JSON it must be. */
export function linesOf(path: string): Line[] {
  const text = contentOf(path).toString();
  assert(text === '' || text.endsWith('\n'));
  return text.split('\n').slice(0, -1).map((line) => JSON.parse(line) as Line);
}

/** The whole numbers from the one to the other. */
export function numbers(from: number, to: number): number[] {
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}

/** Lets so many turns of the event loop pass. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets `watch` see each sync of a folder, before it happens: it may throw in its place. */
export async function onFolderSync(t: TestContext, watch: () => void): Promise<void> {
  await onSync(t, async (handle) => {
    if ((await handle.stat()).isDirectory()) watch();
  });
}
