/** The files of the journal, one after the other. */
import { rename, rm } from 'node:fs/promises';
import { AppendFile } from '../files/append-file.ts';
import { diskError } from '../files/disk-error.ts';
import { encodeMarker, segmentPath, type Segment } from './journal-format.ts';

/** A segment and its file, to be appended to. */
export interface OpenSegment {
  readonly segment: Segment;
  readonly file: AppendFile;
}

/** Opens a segment that is there. Throws what the disk reports. */
export function openSegment(segment: Segment): OpenSegment {
  return { segment, file: new AppendFile(segment.path, segment.bytes) };
}

/** `startSegment` where nobody but the operator is there to be told. Throws OperatorError. */
export async function firstSegment(folder: string, first: number): Promise<OpenSegment> {
  try {
    return await startSegment(folder, first);
  } catch (error) {
    throw diskError('write', segmentPath(folder, first), error);
  }
}

/** Makes a new segment that begins by telling how far the journal reached. Only its name is not durable yet. */
export async function startSegment(folder: string, first: number): Promise<OpenSegment> {
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
  return { segment: { path, first, bytes: file.size }, file };
}
