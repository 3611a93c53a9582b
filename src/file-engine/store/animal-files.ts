import { OpenFile } from '../files/open-file.ts';
import { listSegments, segmentPath } from './journal-segment.ts';

/** A segment of the journal, open for reading. */
export interface OpenSegment {
  /** The number of its first record. */
  readonly first: number;
  readonly file: OpenFile;
}

/** The files with the animals of a data folder, open for reading. */
export interface AnimalFiles {
  /** In ascending order. */
  readonly segments: readonly OpenSegment[];
  readonly snapshot: OpenFile;
  /** The length of all of them. */
  readonly bytes: number;
}

/**
 * Opens the files with the animals for as long as `read` takes. They fit together, and contain every animal that was
 * confirmed before, also if a server changes the folder meanwhile:
 *
 * - A confirmed record is in a segment or in the snapshot. A segment is removed only when a newer snapshot has its name,
 *   which contains all records of the segment; the oldest segment is removed first.
 * - So if a segment disappears before it is opened, the snapshot, which is opened last, contains the records of it and
 *   of all older segments.
 * - What is opened stays there. The segments are measured after the snapshot is open, because it can be newer than they
 *   were when they were opened. Only what was never confirmed, and reserved space, can be replaced or cut off.
 *
 * Rejects with OperatorError if the folder cannot be read, and with what `read` rejects with.
 */
export async function withAnimalFiles<T>(folder: string, read: (files: AnimalFiles) => Promise<T>): Promise<T> {
  const opened: OpenFile[] = [];
  const open = async (path: string): Promise<OpenFile> => {
    const file = await OpenFile.open(path);
    opened.push(file);
    return file;
  };
  try {
    const listed: OpenSegment[] = [];
    for (const first of listSegments(folder)) listed.push({ first, file: await open(segmentPath(folder, first)) });
    const segments = listed.slice(listed.findLastIndex(({ file }) => file.isMissing) + 1);
    const snapshot = await open(`${folder}/pets.json`);
    for (const { file } of segments) await file.measure();
    return await read({ segments, snapshot, bytes: opened.reduce((sum, { size }) => sum + size, 0) });
  } finally {
    await Promise.all(opened.map((file) => file.close()));
  }
}
