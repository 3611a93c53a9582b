import { join } from 'node:path';
import { requireFolder } from '../lock/use-folder.ts';
import { writeRecords, type RecordHead } from '../files/record-file.ts';
import { replaceFile } from '../files/replace.ts';
import type { Spool } from '../files/spool.ts';
import { storeIdOf } from '../files/store-id.ts';
import { KeyRing, keysFormat, keysName } from '../accounts/key-ring.ts';
import { UsageFile, usageFormat, usageName } from '../accounts/usage-file.ts';
import { withAnimalFiles } from '../store/animal-files.ts';
import { encodeMarker } from '../store/journal-format.ts';
import { recoverJournal } from '../store/journal-recovery.ts';
import { segmentPath } from '../store/journal-segment.ts';
import type { LineTable } from '../store/line-table.ts';
import { readOrders, writeOrders } from '../store/orders.ts';
import { readSnapshot, writeSnapshot } from '../store/snapshot.ts';
import type { Progress } from '../../program/progress.ts';

/** Receives the animals, in ascending order of their ids. It must copy the bytes. */
export type PetSink = Pick<LineTable, 'append'>;

/** All that a data folder contains, besides the animals. */
export interface Contents {
  /** The id of the store. */
  readonly store: string;
  /** The number of the last journal record. */
  readonly sequence: number;
  /** The largest id that was ever assigned, as far as the files show it. */
  readonly lastId: number;
  readonly keys: Records;
  readonly usage: Records;
  readonly orders: readonly string[];
}

interface Records {
  readonly head: RecordHead;
  readonly lines: Iterable<string>;
}

const comma = 0x2c;

/**
 * Reads a data folder, whether a server uses it or not. Changes nothing. Everything that was confirmed before is in the
 * result, except what was counted in the last second.
 * Rejects with OperatorError; the sink has received only a part of the animals then.
 */
export async function readContents(
  folder: string, pets: PetSink, log: (line: string) => void, progress: Progress,
): Promise<Contents> {
  requireFolder(folder);
  const store = storeIdOf(folder);
  // This file first: what it records to be on disk is in the files that are read or opened after it.
  const usage = new UsageFile(folder, Date.now, log, undefined, store);
  const keys = new KeyRing(folder, undefined, store);
  const { durable: recorded, keyChanges } = usage.recorded;
  keys.checkChanges(keyChanges);
  const contents = { store, keys: keys.contents, usage: usage.contents, orders: orderLines(folder) };
  return { ...contents, ...(await readAnimals(folder, recorded, pets, log, progress)) };
}

/**
 * Reads the animals of a data folder, as `readContents` does. `recorded` is the last record that was on disk according
 * to usage.json, which must have been read before.
 */
export function readAnimals(
  folder: string, recorded: number, pets: PetSink, log: (line: string) => void, progress: Progress,
): Promise<Pick<Contents, 'sequence' | 'lastId'>> {
  return withAnimalFiles(folder, async ({ snapshot, segments, bytes: size }) => {
    progress.expect(size);
    const onRead = (bytes: number): void => progress.add(bytes);
    let largest = 0;
    const table: PetSink = {
      append(bytes, status, start = 0, end = bytes.length) {
        largest = idOf(bytes, start);
        pets.append(bytes, status, start, end);
      },
    };
    const { sequence: snapshotSequence, lastId } = await readSnapshot(snapshot, table, onRead);
    const { last } = await recoverJournal({ folder, segments, snapshotSequence, recorded, table, log, onRead });
    return { sequence: last, lastId: Math.max(lastId, largest) };
  });
}

/** Writes the files of a data folder to an empty folder, and closes the animals. Rejects with OperatorError. */
export async function writeContents(
  folder: string, { store, sequence, lastId, keys, usage, orders }: Contents, animals: Spool,
): Promise<void> {
  await writeSnapshot(join(folder, 'pets.json'), animals, { store, sequence, lastId });
  animals.close();
  await replaceFile(segmentPath(folder, sequence + 1), [encodeMarker(sequence, store)]);
  await writeRecords(join(folder, keysName), keysFormat, keys.head, keys.lines);
  await writeRecords(join(folder, usageName), usageFormat, usage.head, usage.lines);
  await writeOrders(folder, store, orders);
}

/** Returns the orders of a folder as lines. Throws OperatorError. */
export function orderLines(folder: string): string[] {
  const lines: string[] = [];
  readOrders(folder, { append: (line) => void lines.push(String(line)) });
  return lines;
}

/** The id in an animal line. */
export function idOf(bytes: Uint8Array, start: number): number {
  let id = 0;
  for (let at = start + '{"id":'.length; bytes[at] !== comma; at++) id = 10 * id + bytes[at]! - 0x30;
  return id;
}
