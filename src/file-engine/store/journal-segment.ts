/** The segments: files `pets.<n>.journal`, where n is the number of the first record in the file. */
import { readdirSync } from 'node:fs';
import type { Log } from '../../observe/log.ts';
import { AppendFile } from '../files/append-file.ts';
import { asideName } from '../files/aside.ts';
import { readChunks } from '../files/chunks.ts';
import { LockLostError, onDisk } from '../../files/errors.ts';
import { rename, replaceFile, rm, syncFolder, truncate } from '../files/replace.ts';
import { encodeMarker } from './journal-format.ts';

export interface Segment {
  /** The number of its first record, whether that has been written yet or not. */
  readonly first: number;
  /** Its length. */
  readonly bytes: number;
}

/** The end of the last segment, if a crash has cut it off. No client has received a response to it. */
export interface TornEnd {
  readonly path: string;
  /** The number of the first line that is not good. */
  readonly line: number;
  /** The length of the lines before it. */
  readonly offset: number;
  /** Where its bytes end: after them there are only zeros. */
  readonly end: number;
  /** The number of the last record before it. */
  readonly record: number;
}

const segmentName = /^pets\.([1-9][0-9]{0,14})\.journal$/;

/** The path of the segment whose first record has this number. */
export function segmentPath(folder: string, first: number): string {
  return `${folder}/pets.${first}.journal`;
}

/** Returns the numbers of the segments in a folder, the oldest first. Throws OperatorError. */
export function listSegments(folder: string): number[] {
  const names = onDisk('read', folder, () => readdirSync(folder));
  return names.flatMap((name) => segmentName.exec(name)?.[1] ?? []).map(Number).sort((a, b) => a - b);
}

/**
 * Creates a segment that contains only its first marker, and syncs it. The caller must sync the folder.
 * Rejects with the error of the file system or of `checkLock`; there is no such segment then.
 */
export async function startSegment(
  folder: string,
  store: string,
  first: number,
  checkLock: () => void,
): Promise<AppendFile> {
  checkLock();
  const path = segmentPath(folder, first);
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true }); // left by an attempt that failed or was interrupted
  const file = await AppendFile.open(temporary, 0, 'wx');
  try {
    await file.append(encodeMarker(first - 1, store));
    await file.sync();
    checkLock();
    await rename(temporary, path);
  } catch (error) {
    await file.close().catch(() => {});
    if (!(error instanceof LockLostError)) await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  return file;
}

/**
 * Removes a segment that is not needed, and syncs the folder: otherwise a power cut might restore this segment but not
 * the next. Does nothing if there is no such file.
 * Rejects with the error of the file system or of `checkLock`.
 */
export async function removeSegment(folder: string, first: number, checkLock: () => void): Promise<void> {
  checkLock();
  await rm(segmentPath(folder, first), { force: true });
  await syncFolder(folder);
}

/** Moves a torn end to a file of its own, and logs that. Rejects with the error of the disk or of `checkLock`. */
export async function setTornEndAside(
  { path, line, offset, end, record }: TornEnd,
  log: Log,
  checkLock: () => void,
): Promise<void> {
  const aside = await asideName(path, 'torn');
  await replaceFile(aside, readChunks(path, offset, end), checkLock);
  checkLock();
  await truncate(path, offset);
  const kept = `if that was a crash, no client had received a response to it; it is kept as ${aside}`;
  log(`${path}: the end was cut off, from line ${line} on, after record ${record}; ${kept}`, 'warn');
}
