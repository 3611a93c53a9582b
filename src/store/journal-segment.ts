/** The segments: files `pets.<n>.journal`, where n is the number of the first record in the file. */
import { readdirSync } from 'node:fs';
import { AppendFile } from '../files/append-file.ts';
import { diskError, LockLostError } from '../files/errors.ts';
import { rename, rm } from '../files/replace.ts';
import { encodeMarker } from './journal-format.ts';

export interface Segment {
  /** The number of its first record, whether that has been written yet or not. */
  readonly first: number;
  /** Its length. */
  readonly bytes: number;
}

const segmentName = /^pets\.([1-9][0-9]{0,14})\.journal$/;

/** The path of the segment whose first record has this number. */
export function segmentPath(folder: string, first: number): string {
  return `${folder}/pets.${first}.journal`;
}

/** Returns the numbers of the segments in a folder, the oldest first. Throws OperatorError. */
export function listSegments(folder: string): number[] {
  try {
    const numbers = readdirSync(folder).flatMap((name) => segmentName.exec(name)?.[1] ?? []);
    return numbers.map(Number).sort((a, b) => a - b);
  } catch (error) {
    throw diskError('read', folder, error);
  }
}

/**
 * Creates a segment that contains only its first marker, and syncs it. The caller must sync the folder.
 * Rejects with the error of the file system or of `checkLock`; there is no such segment then.
 */
export async function startSegment(
  folder: string,
  store: string,
  first: number,
  checkLock: () => Promise<void>,
): Promise<AppendFile> {
  await checkLock();
  const path = segmentPath(folder, first);
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true }); // left by an attempt that failed or was interrupted
  const file = await AppendFile.open(temporary, 0, 'wx');
  try {
    await file.append(encodeMarker(first - 1, store));
    await file.sync();
    await checkLock();
    await rename(temporary, path);
  } catch (error) {
    await file.close().catch(() => {});
    if (!(error instanceof LockLostError)) await rm(temporary, { force: true }).catch(() => {});
    throw error;
  }
  return file;
}
