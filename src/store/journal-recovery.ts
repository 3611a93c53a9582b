/**
 * Reading the journal back.
 *
 * Behind the last line zeros may stand, into which the next would have been written: they are no part of it. (A disk that
 * lost its last writes, although it had confirmed their sync, looks the same. No journal can show that.)
 *
 * After a crash its end may be torn: a group was being written, and any part of it may be missing. Nobody was told of
 * these records, so they may go, and the tail is set aside. Damage of another kind must never be mistaken for this, for
 * then acknowledged records would go too. What tells them apart is what had been synced, and so no crash can have torn
 * it: all before a later segment, all that the snapshot holds, and every record whose number a line behind it knows as
 * `durable`. If the first damaged line is there, the start is refused and nothing is touched.
 */
import { createReadStream } from 'node:fs';
import { rm, truncate } from 'node:fs/promises';
import { statusOfLine } from '../domain/pet.ts';
import { asideName } from '../files/aside.ts';
import { damaged } from '../files/errors.ts';
import { readLines, type Line } from '../files/lines.ts';
import { replaceFile, syncFolder } from '../files/replace.ts';
import { decodeLine } from './journal-format.ts';
import { listSegments, segmentPath, type Segment } from './journal-segment.ts';
import type { LineTable } from './line-table.ts';

export interface JournalOptions {
  readonly folder: string;
  /** The number of the last record that the snapshot holds; 0 without one. */
  readonly snapshotSequence: number;
  /** Is given the animal of each record behind the snapshot, in order. It must copy the bytes, which change after the call. */
  readonly table: Pick<LineTable, 'append'>;
  readonly log: (line: string) => void;
}

export interface Recovery {
  /** The segments that can go on; none where a new one must begin. */
  readonly segments: Segment[];
  /** The number of the last record. */
  readonly last: number;
  /** The length of the last segment's part of which a line behind it shows that it had been synced. */
  readonly provenBytes: number;
}

/**
 * Adds each record behind the snapshot to the table, and sets a torn tail aside with one line in the log.
 * Throws OperatorError where the journal is damaged, or does not fit the snapshot.
 */
export async function recoverJournal(options: JournalOptions): Promise<Recovery> {
  const { folder, snapshotSequence, table, log } = options;
  const segments = listSegments(folder);
  if (segments.length === 0 && snapshotSequence > 0) {
    log(`${folder} has a snapshot but no journal; if that was lost, so are the animals added since the snapshot`);
  }
  let last = Math.min(snapshotSequence, (segments[0]?.first ?? Infinity) - 1);
  let provenBytes = 0;
  for (const [index, { first, bytes: length }] of segments.entries()) {
    const path = segmentPath(folder, first);
    if (first !== last + 1) throw damaged(path, 1, `it begins with record ${first}, but ${last + 1} comes next`);
    if (length === 0) throw damaged(path, 1, 'the file is empty, but its first line had been saved for good');
    let torn: Line | null = null;
    let contentEnd = length;
    let durable = -1;
    for (const line of readLines(path)) {
      const { bytes, start, number, offset, complete } = line;
      const end = complete ? line.end : endWithoutZeros(line);
      if (!complete) contentEnd = offset + end - start;
      if (!complete && end === start && number > 1) break;
      if (torn === null) {
        const decoded = decodeLine(bytes, start, end);
        if (decoded !== null && complete && decoded.seq === (decoded.pet === null ? last : last + 1)) {
          if (decoded.durable > durable) {
            durable = decoded.durable;
            provenBytes = offset; // where its group begins
          }
          if (decoded.pet === null) continue;
          last = decoded.seq;
          if (last <= snapshotSequence) continue;
          const status = statusOfLine(bytes, decoded.pet.start, decoded.pet.end);
          if (status === null) throw damaged(path, number, 'this is not the line of an animal');
          table.append(bytes, status, decoded.pet.start, decoded.pet.end);
          continue;
        }
        torn = line;
      }
      // A segment has its name only once its first line has been synced, and a next one once it has been as a whole.
      const proven = torn.number === 1 || index < segments.length - 1;
      const lastSynced = proven ? Infinity : Math.max(snapshotSequence, durableShownBy(bytes, start, end));
      if (lastSynced > last) throw damaged(path, torn.number, 'the line is damaged, and it had been saved for good');
    }
    if (torn !== null) log(await setTornEndAside(path, torn, contentEnd));
    segments[index] = { first, bytes: torn?.offset ?? contentEnd };
  }
  if (last < snapshotSequence && segments.length > 0) {
    // They end before the snapshot does: they have nothing to add, and their numbers do not lead on.
    for (const { first } of segments.splice(0)) await rm(segmentPath(folder, first));
    await syncFolder(folder);
  }
  return { segments, last: Math.max(last, snapshotSequence), provenBytes };
}

/** The number that a line knows to be on the disk, or 0. Line feeds before it may be damaged: then it is the last of several. */
function durableShownBy(bytes: Buffer, start: number, end: number): number {
  const from = bytes.subarray(start, end).lastIndexOf('{"seq":');
  return (from < 0 ? null : decodeLine(bytes, start + from, end))?.durable ?? 0;
}

function endWithoutZeros({ bytes, start, end }: Line): number {
  while (end > start && bytes[end - 1] === 0) end--;
  return end;
}

/** Moves everything from the torn line to `end` to a file of another name. Gives the line for the log. */
async function setTornEndAside(path: string, { number, offset }: Line, end: number): Promise<string> {
  const aside = asideName(path, 'torn');
  await replaceFile(aside, async (copy) => {
    for await (const piece of createReadStream(path, { start: offset, end: end - 1 })) {
      await copy.writeFile(piece as Buffer);
    }
  });
  await truncate(path, offset);
  return `${path}: a crash tore off the end, from line ${number} on; nothing acknowledged was in it. It is kept as ${aside}.`;
}
