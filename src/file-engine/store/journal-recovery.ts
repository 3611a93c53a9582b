/**
 * Recovery: reads the journal at a start.
 *
 * The problem. After a crash, any part of the last group may be missing. Nobody received a response to its creates, so
 * the start can go on without it. But damage to synced records must never be mistaken for that, because confirmed
 * animals would be lost silently.
 *
 * The idea. Find the first line that is not good. If it must have been on disk before the crash, a crash cannot have
 * damaged it: refuse to start. Otherwise the segment is torn: the caller keeps a copy of the rest and truncates it.
 * This code only reads, so commands that may not write can use it as well.
 *
 * The invariants. On disk before the crash were
 * - the first line of every segment, because it is synced before the segment gets its name,
 * - all segments but the last, because the next segment gets its name only after that,
 * - all records of the snapshot, because a snapshot is made of synced records,
 * - all records up to the largest `durable` of any line, wherever the line is,
 * - all records up to the number that `usage.json` recorded, if there is such a file.
 *
 * A command may read the journal while a server writes to it. Records that are on disk stay as they are, but the bytes
 * after them may change between two reads: zeros become records, and after a failed write other records take the place
 * of those that were refused. So a line can have parts of both. Therefore the records of a group are added only when a
 * later line shows that they were synced, or when there is no later one. If a line is not good, but was synced according
 * to a later one, its group is read again: it does not change any more. If it is wrong again, it is damaged. So what is
 * added is what a start would find after a crash at some moment since the journal was opened.
 *
 * After the last line there may be zeros, which are reserved space and not part of the journal. A disk that confirmed a
 * sync and lost the data leaves the same bytes. No journal can detect that.
 */
import type { Log } from '../../observe/log.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { hasLongId, statusOfLine, type PetStatus } from '../../domain/pet.ts';
import { damaged, DamagedFileError } from '../../files/errors.ts';
import { readLines, type Line } from '../files/lines.ts';
import type { OpenSegment } from './animal-files.ts';
import { decodeLine, maxSequence } from './journal-format.ts';
import { listSegments, segmentPath, type Segment, type TornEnd } from './journal-segment.ts';
import type { LineTable } from './line-table.ts';

/** A group is longer only in a forged journal: its records are not kept in memory for a second attempt. */
const maxGroupBytes = 64 * 1024 * 1024;

/** What recovery needs. */
export interface RecoveryOptions {
  readonly folder: string;
  /** All segments, the oldest first. */
  readonly segments: readonly OpenSegment[];
  /** The number of the last record that the snapshot contains; 0 without a snapshot. */
  readonly snapshotSequence: number;
  /** The number of the last record that another file shows to have been on disk; 0 if none does. */
  readonly recorded: number;
  /** Receives the animals of the records after the snapshot, in order. It must copy the bytes it is given. */
  readonly table: Pick<LineTable, 'append'>;
  readonly log: Log;
  /** Called while the segments are read, with the number of further bytes. If it throws, recovery ends with that. */
  readonly onRead?: ((bytes: number) => void) | undefined;
}

/** What was found in the journal. */
export interface RecoveredJournal {
  /** The segments, the oldest first, without the torn end. If there are none, a new one must be started. */
  readonly segments: Segment[];
  /** All segments, if they end before the snapshot does: they add nothing, and the next record would not fit them. */
  readonly obsolete: readonly Segment[];
  /** The torn end of the last segment; null if it is whole. */
  readonly torn: TornEnd | null;
  /** The number of the last record. */
  readonly last: number;
  /** How many bytes of the last segment are known to have been synced, because a later line shows it. */
  readonly provenBytes: number;
}

/**
 * Reads the journal, and adds the records after the snapshot to the table.
 * Rejects with OperatorError if the journal is damaged or does not fit the snapshot, or if records are missing.
 */
export async function recoverJournal(options: RecoveryOptions): Promise<RecoveredJournal> {
  const { folder, snapshotSequence, recorded, table, log, onRead } = options;
  const numbers = options.segments.map(({ first }) => first);
  const segments: Segment[] = [];
  /** The records of the last group. */
  const unproven: [bytes: Buffer, status: PetStatus, start: number, end: number][] = [];
  const addUnproven = (): void => {
    for (const record of unproven.splice(0)) table.append(...record);
  };
  let last = Math.min(snapshotSequence, (numbers[0] ?? Infinity) - 1);
  let provenBytes = 0;
  let torn: TornEnd | null = null; // only the last segment can be torn
  for (const [index, { first, file }] of options.segments.entries()) {
    const { path } = file;
    if (first !== last + 1) throw gap(path, first, last, index === 0 ? null : numbers[index - 1]!);
    addUnproven();
    let group = { offset: 0, number: 1, last }; // a second attempt begins with this line, after this record
    let provenEnd = 0; // the start of the last group
    let intactBytes = 0; // the length of the good lines
    let tornLine = 0; // the number of the first line that is not good; 0 if all are
    let tornEnd = 0; // where it ends, and all after it but zeros
    let durable = -1;
    const visit = (line: Line): void => {
      const { bytes, start, number, offset, complete } = line;
      let { end } = line;
      if (!complete) end = start + bytes.subarray(start, end).findLastIndex((byte) => byte !== 0) + 1;
      if (!complete && end === start && number > 1) return;
      const decoded = complete && tornLine === 0 ? decodeLine(bytes, start, end) : null;
      if (decoded !== null && decoded.seq === (decoded.pet === null ? last : last + 1)) {
        const isProof = decoded.durable > durable;
        if (isProof) {
          durable = decoded.durable;
          provenEnd = offset;
        }
        if (isProof || offset - group.offset > maxGroupBytes) {
          group = { offset, number, last };
          addUnproven();
        }
        intactBytes = offset + end + 1 - start;
        last = decoded.seq;
        if (decoded.pet === null || last <= snapshotSequence) return;
        const status = statusOfLine(bytes, decoded.pet.start, decoded.pet.end);
        if (status === null) throw damaged(path, number, 'the record does not contain an animal');
        if (hasLongId(bytes, decoded.pet.start)) throw damaged(path, number, 'the id has more than 15 digits');
        unproven.push([bytes, status, decoded.pet.start, decoded.pet.end]);
        return;
      }
      tornLine ||= number;
      tornEnd = offset + (complete ? end + 1 : end) - start;
      // Look for proof that the torn line had been synced.
      const proven = tornLine === 1 || index < numbers.length - 1;
      const lastSynced = proven ? Infinity : Math.max(snapshotSequence, recorded, durableShownBy(bytes, start, end));
      if (lastSynced > last) throw damaged(path, tornLine, 'the line is damaged, and it had been synced');
    };
    for (let isRead = false, failedAt = -1; !isRead; ) {
      try {
        await readLines(file, visit, { onRead, from: group, keepsBytes: true });
        isRead = true;
      } catch (error) {
        if (!(error instanceof DamagedFileError) || group.offset === failedAt) throw error;
        failedAt = intactBytes = group.offset;
        last = group.last;
        tornLine = 0;
        unproven.length = 0;
      }
    }
    provenBytes = provenEnd;
    if (intactBytes === 0) throw damaged(path, 1, 'the file is empty, but its first line had been synced');
    if (tornLine > 0) torn = { path, line: tornLine, offset: intactBytes, end: tornEnd, record: last };
    segments.push({ first, bytes: intactBytes });
  }
  addUnproven();
  const end = Math.max(last, snapshotSequence);
  if (end > maxSequence) {
    const path = numbers.length === 0 || end > last ? `${folder}/pets.json` : segmentPath(folder, numbers.at(-1)!);
    throw damaged(path, 1, `the number of a record is ${end}, but may be ${maxSequence} at most`);
  }
  if (end < recorded) {
    const segment = last < snapshotSequence ? undefined : numbers.at(-1);
    throw missing(segment === undefined ? `${folder}/pets.json` : segmentPath(folder, segment), end, recorded);
  }
  const isIncomplete = snapshotSequence > 0 && (segments.length === 0 || last < snapshotSequence);
  // A server may have begun the next segment after the others were listed.
  if (isIncomplete && !listSegments(folder).includes(snapshotSequence + 1)) {
    const note = 'if it was lost, the animals added since are lost too';
    const problem = `has a snapshot of the records up to ${snapshotSequence}, but no journal of later ones`;
    log(`${folder} ${problem}; ${note}`, 'warn');
  }
  const isObsolete = last < snapshotSequence;
  return { segments: isObsolete ? [] : segments, obsolete: isObsolete ? segments : [], torn, last: end, provenBytes };
}

/** The error if records between two files are missing. `before` is the number of the segment before, or null. */
function gap(path: string, first: number, last: number, before: number | null): OperatorError {
  const name = before === null ? 'pets.json' : `pets.${before}.journal`;
  const cause = `${name} is missing or an old copy, or pets.${last + 1}.journal is missing`;
  return damaged(path, 1, `its first record is ${first}, but should be ${last + 1}: ${cause}`);
}

/** The error if records at the end are missing. `path` is the file that should contain the last one. */
function missing(path: string, end: number, recorded: number): OperatorError {
  const problem = `${path}: record ${recorded}, which was on disk according to usage.json, is missing`;
  const cause = `the records end with ${end}, so the file is missing, cut off or an old copy`;
  const advice = 'restore the data folder from a backup, or remove usage.json to go on without these animals';
  const other = `pets.${end + 1}.journal is missing`;
  return new OperatorError(`${problem}; ${cause}, or ${other}; nothing was changed; ${advice}`);
}

/** The `durable` of a line, or 0. If the line feed before it is damaged, the bytes begin with earlier lines. */
function durableShownBy(bytes: Buffer, start: number, end: number): number {
  const from = bytes.subarray(start, end).lastIndexOf('{"seq":');
  return (from < 0 ? null : decodeLine(bytes, start + from, end))?.durable ?? 0;
}
