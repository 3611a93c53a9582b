/**
 * How long the event loop is blocked while a snapshot of all animals is written. The server writes one when its journal
 * has become longer than its snapshot. It starts on a folder whose journal is almost that long, and creates extend it.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { LoadClient } from '../measure/client.ts';
import { filledFolder, type OwnServer } from '../measure/own-server.ts';

/**
 * The longest delay of the event loop, in milliseconds: under a load during which a snapshot was written, and under the
 * same load without one.
 */
export type Snapshot = Readonly<Record<'during' | 'without', number>>;

/** Room in the journal for about 370 creates. */
const spareBytes = 64 * 1024;
/**
 * With this share of the animals in the snapshot, the journal with the others is as long as the snapshot, because lines
 * of the journal are longer.
 */
const shareInSnapshot = 0.62;
/** The number of creates: they take longer than writing the snapshot. */
const creates = 20_000;

/**
 * Creates a data folder whose snapshot is almost due, with about `animals`, or as many as a snapshot needs if more.
 * Returns the folder and how many animals it has.
 */
export async function folderBeforeSnapshot(animals: number): Promise<readonly [folder: string, animals: number]> {
  return filledFolder(Math.round(shareInSnapshot * animals), spareBytes);
}

/** Measures one snapshot of a fresh server on a copy of that folder, with a client that creates. */
export async function measureSnapshot({ folder, process }: OwnServer, client: LoadClient): Promise<Snapshot> {
  const snapshots = new Set<number>();
  const measure = async (): Promise<number> => {
    await process.usage('watch');
    await client.send(creates);
    const { stallMs = NaN } = await process.usage();
    snapshots.add(statSync(join(folder, 'pets.json')).ino);
    return stallMs;
  };
  snapshots.add(statSync(join(folder, 'pets.json')).ino);
  const during = await measure();
  if (snapshots.size !== 2) throw new Error('no snapshot was written where one was due');
  const without = await measure();
  if (snapshots.size !== 2) throw new Error('a second snapshot was written');
  return { during, without };
}
