/** The files of the journal: `pets.<n>.journal`, n being the number of the first record in it. */
import { readdirSync, statSync } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { AppendFile } from '../files/append-file.ts';
import { encodeMarker } from './journal-format.ts';

export interface Segment {
  /** The number of the first record in it. */
  readonly first: number;
  /** The length of its content. */
  readonly bytes: number;
}

const segmentName = /^pets\.([1-9][0-9]{0,14})\.journal$/;

export function segmentPath(folder: string, first: number): string {
  return `${folder}/pets.${first}.journal`;
}

/** The segments in a folder, the oldest first; `bytes` is the length of the file. Throws what the disk reports. */
export function listSegments(folder: string): Segment[] {
  return readdirSync(folder)
    .flatMap((name) => segmentName.exec(name)?.[1] ?? [])
    .map(Number)
    .sort((a, b) => a - b)
    .map((first) => ({ first, bytes: statSync(segmentPath(folder, first)).size }));
}

/**
 * Makes a new segment that begins by telling how far the journal reached. Only its name is not durable yet.
 * Rejects with what the disk reports.
 */
export async function startSegment(folder: string, first: number): Promise<AppendFile> {
  const path = segmentPath(folder, first);
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true }); // what an attempt left that did not get this far
  const file = AppendFile.create(temporary);
  try {
    file.append(encodeMarker(first - 1));
    await file.sync();
    await rename(temporary, path);
  } catch (error) {
    file.close();
    await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  return file;
}
