/**
 * `petstore salvage`: copies every intact line of a damaged data folder to a new one, and names what was lost.
 *
 * A line of the journal has its own checksum. An animal in the snapshot is intact if its checksum is anywhere in the
 * snapshot's list, so that damage to other lines, even to a line feed, does not matter. The small files have one
 * checksum for all: if it is wrong, the lines that can be read are kept, and the report says so. Pages that the disk
 * cannot read are reported as lost.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../../domain/counted.ts';
import { messageOf } from '../../domain/operator-error.ts';
import { orderLine, readOrder } from '../../domain/order.ts';
import { hasLongId, maxPetId, petLine, readNewPet, statusOfLine, type PetStatus } from '../../domain/pet.ts';
import { crc32 } from '../../domain/crc32.ts';
import { DamagedFileError, describeError, DiskError } from '../../files/errors.ts';
import { readLines, type Line } from '../files/lines.ts';
import { createFolder, type Made } from '../files/new-folder.ts';
import { OpenFile } from '../files/open-file.ts';
import { readRecords, writeRecords, type RecordFormat, type RecordNumbers } from '../files/record-file.ts';
import { replaceFile } from '../files/replace.ts';
import { refuseNewerFormats, storeIdOf } from '../files/store-id.ts';
import { JsonObject, readJson } from '../../json/read.ts';
import { decodeKey, encodeKey } from '../accounts/key-record.ts';
import { keysFormat, keysName } from '../accounts/key-ring.ts';
import { decodeUsage, encodeUsage, usageFormat, usageName } from '../accounts/usage-file.ts';
import { decodeLine, encodeMarker } from '../store/journal-format.ts';
import { listSegments, segmentPath } from '../store/journal-segment.ts';
import { LineTable } from '../store/line-table.ts';
import { ordersFormat, ordersName, writeOrders } from '../store/orders.ts';
import { writeSnapshot } from '../store/snapshot.ts';
import { idOf } from './contents.ts';

/** What was salvaged, and one line for each thing that was lost or may be wrong. */
export interface Salvaged {
  readonly animals: number;
  readonly keys: number;
  readonly orders: number;
  readonly lost: readonly string[];
}

interface Animals {
  readonly lineById: Map<number, { line: string; status: PetStatus }>;
  /** Ids with two different intact lines, because files of different stores were mixed. The first line is kept. */
  readonly conflicts: Set<number>;
  sequence: number;
  lastId: number;
  /** The last record that the snapshot contains, or null if it does not show that. */
  inSnapshot: number | null;
  /** The intact records in the journal. */
  readonly inJournal: Set<number>;
}

/**
 * Rejects with OperatorError if the folder cannot be read or a file in it has a newer format, and if the new folder
 * cannot be written.
 */
export async function salvage(folder: string, to: string): Promise<Made<Salvaged>> {
  refuseNewerFormats(folder);
  return createFolder(to, async (made) => {
    const lost: string[] = [];
    let store: string;
    try {
      store = storeIdOf(folder);
    } catch (error) {
      lost.push(`the id of the store, which gets a new one: ${messageOf(error)}`);
      store = storeIdOf(made);
    }
    const usage = await salvageRecords(join(folder, usageName), usageFormat, readUsageLine, lost);
    const keys = await salvageRecords(join(folder, keysName), keysFormat, readKeyLine, lost);
    const orders = await salvageRecords(join(folder, ordersName), ordersFormat, readOrderLine, lost);

    const animals: Animals = {
      lineById: new Map(), conflicts: new Set(), sequence: usage.durable, lastId: 0, inSnapshot: null,
      inJournal: new Set(),
    };
    const damagedIds = new Map<number, string>();
    const segments = listSegments(folder);
    // The journal contains all animals of a store that has had no snapshot yet.
    const isOld = segments[0] !== 1 || existsSync(join(folder, 'pets.json'));
    if (isOld) await salvageSnapshot(join(folder, 'pets.json'), animals, damagedIds, lost);
    if (segments.length === 0) {
      lost.push('the journal, which does not exist, with the animals added since the snapshot');
    }
    if (isOld && animals.inSnapshot === null && !lost.some((line) => line.includes('pets.json'))) {
      lost.push(`${join(folder, 'pets.json')}: its first line is missing or damaged`);
    }
    for (const first of segments) {
      await salvageSegment(segmentPath(folder, first), animals, damagedIds, lost);
    }
    const { lineById, conflicts, sequence, inJournal } = animals;
    const inSnapshot = animals.inSnapshot ?? (segments[0] ?? 1) - 1;
    let found = inSnapshot;
    for (const record of inJournal) if (record > inSnapshot) found++;
    const missingRecords = Math.max(0, sequence - found);
    if (missingRecords > 0) {
      const records = `of the records ${inSnapshot + 1} to ${sequence}`;
      lost.push(`${counted(missingRecords, `${records} is`, `${records} are`)} missing in the journal`);
    }
    const keysMissing = keys.keyChanges < usage.keyChanges && !lost.some((line) => line.includes(keysName));
    if (keysMissing) lost.push(`${join(folder, keysName)} is missing or an old copy: later changes of keys are lost`);
    const ids = [...lineById.keys()].sort((a, b) => a - b);
    const known = [...ids.slice(-1), ...damagedIds.keys()].reduce((a, b) => Math.max(a, b), animals.lastId);
    const lastId = Math.min(known + missingRecords, maxPetId); // the missing records may have had the next ids
    for (const [id, where] of damagedIds) {
      const other = lineById.has(id) ? '; another line has this id and is kept' : '';
      lost.push(`animal ${id}: ${where} is damaged${other}`);
    }
    for (const id of conflicts) lost.push(`animal ${id}: two different lines have this id; the first one is kept`);
    const missing = rangesOf(ids, lastId);
    if (missing !== '' && lost.length > 0) lost.push(`the ids ${missing} have no animal: lost, or never there`);

    const table = new LineTable();
    for (const id of ids) {
      const { line, status } = lineById.get(id)!;
      table.append(Buffer.from(line), status);
    }
    const keyChanges = Math.max(keys.keyChanges, usage.keyChanges);
    await writeSnapshot(join(made, 'pets.json'), table, { store, sequence, lastId });
    await replaceFile(segmentPath(made, sequence + 1), [encodeMarker(sequence, store)]);
    await writeRecords(join(made, keysName), keysFormat, { store, keyChanges }, keys.lines);
    await writeRecords(join(made, usageName), usageFormat, { store, durable: sequence, keyChanges }, usage.lines);
    await writeOrders(made, store, orders.lines);
    return { animals: ids.length, keys: keys.lines.length, orders: orders.lines.length, lost };
  });
}

type ReadLine = (record: JsonObject) => { id: unknown; line: string };

const readUsageLine: ReadLine = (record) => {
  const { id, usage } = decodeUsage(record);
  return { id, line: encodeUsage(id, usage, (time) => new Date(time).toISOString()) };
};
const readKeyLine: ReadLine = (record) => {
  const key = decodeKey(record);
  return { id: key.id, line: encodeKey(key) };
};
const readOrderLine: ReadLine = (record) => {
  const order = readOrder(record);
  return { id: order.id, line: orderLine(order) };
};

/** Returns the records of a file; if it is damaged, those on lines of their own that can be read. */
async function salvageRecords(
  path: string, format: RecordFormat, read: ReadLine, lost: string[],
): Promise<{ lines: string[] } & RecordNumbers> {
  try {
    const { records, ...numbers } = readRecords(path, format, read);
    return { lines: records.map(({ line }) => line), ...numbers };
  } catch (error) {
    if (!(error instanceof DamagedFileError || error instanceof DiskError)) throw error;
    const problem = error instanceof DamagedFileError ? error.problem : `${path} cannot be read as a whole`;
    lost.push(`${problem}; the records that can be read are kept, but may be wrong`);
  }
  const lineById = new Map<unknown, string>();
  await readIntactLines(path, lost, ({ bytes, start, end, number }) => {
    const text = bytes.toString('utf8', start, end).replace(/,$/, '');
    if (text.startsWith('{"format"') || /^(\[|\].*)?$/.test(text)) return;
    try {
      const record = readJson(Buffer.from(text));
      if (!(record instanceof JsonObject)) throw new Error('this is not a JSON object');
      const { id, line } = read(record);
      lineById.set(id, line);
    } catch (error) {
      const id = /"id":("[^"]*"|-?[0-9]+)/.exec(text)?.[1] ?? 'unknown';
      lost.push(`the record with the id ${id} in ${path}, line ${number}: ${messageOf(error)}`);
    }
  });
  return { lines: [...lineById.values()], durable: 0, keyChanges: 0 };
}

/** Reads a file by lines. Pages that the disk cannot read are read as zero bytes, and added to `lost`. */
async function readIntactLines(path: string, lost: string[], visit: (line: Line) => void): Promise<void> {
  const unreadable: { from: number; to: number; why: string }[] = [];
  const problems: string[] = [];
  const file = await OpenFile.open(path);
  try {
    await readLines(file, visit, {
      onUnreadable: (from, to, error) => {
        const last = unreadable.at(-1);
        if (last?.to === from) last.to = to;
        else unreadable.push({ from, to, why: describeError(error).message });
      },
    });
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    problems.push(error.message);
  } finally {
    await file.close();
  }
  for (const { from, to, why } of unreadable) problems.push(`${path}, bytes ${from} to ${to - 1}: ${why}`);
  for (const line of problems) if (!lost.includes(line)) lost.push(line); // the snapshot is read twice
}

const petStart = '{"id":';
const recordStart = '{"seq":';

/** Adds the animals of the snapshot. */
async function salvageSnapshot(
  path: string, animals: Animals, damagedIds: Map<number, string>, lost: string[],
): Promise<void> {
  if (!existsSync(path)) return void lost.push(`${path} does not exist`);
  const checksums = new Set<number>();
  let balance = 0; // how many more checksums there are than animals
  await readIntactLines(path, lost, ({ bytes, start, end }) => {
    const text = bytes.toString('latin1', start, end);
    if (text.startsWith(petStart)) balance--;
    // By position, because the quote before the digits may be damaged, or one of them.
    const groups = text.startsWith(petStart) ? [] : (text.slice(1).match(/.{8}/g) ?? []);
    const found = groups.filter((digits) => /^[0-9a-f]{8}$/.test(digits));
    if (2 * found.length <= groups.length) return; // this is not a line of checksums
    for (const digits of found) checksums.add(Number.parseInt(digits, 16));
    balance += found.length;
  });
  const isCutOff = balance < 0;
  let unverified = 0;
  await readIntactLines(path, lost, ({ bytes, start, end: lineEnd, number }) => {
    const head = /"sequence":([0-9]{1,15}),"lastId":([0-9]{1,15})/.exec(bytes.toString('latin1', start, start + 200));
    if (number === 1 && head !== null && checksums.has(crc32(bytes, start, lineEnd))) {
      animals.sequence = Math.max(animals.sequence, Number(head[1]));
      animals.inSnapshot = Number(head[1]);
      animals.lastId = Number(head[2]);
    }
    for (const [from, to] of partsOf(bytes, start, lineEnd, petStart)) {
      // A line ends before its comma; if its line feed is damaged, there is another byte after the comma.
      const ends = [to, to - 1, to - 2].filter((at) => statusOfLine(bytes, from, at) !== null);
      const verified = ends.find((at) => checksums.has(crc32(bytes, from, at)));
      const readable = verified ?? (isCutOff ? ends[0] : undefined);
      if (!keep(animals, bytes, from, readable)) {
        noteDamage(bytes, from, to, `${path}, line ${number},`, damagedIds, lost);
      } else if (verified === undefined) unverified++;
    }
  });
  if (!isCutOff) return;
  const kept = counted(unverified, 'animal of it is', 'animals of it are');
  lost.push(`the end of ${path}; ${kept} kept although their checksums are missing`);
}

/** Adds the animals of a segment of the journal. */
async function salvageSegment(
  path: string, animals: Animals, damagedIds: Map<number, string>, lost: string[],
): Promise<void> {
  await readIntactLines(path, lost, ({ bytes, start, end: lineEnd, number, complete }) => {
    let end = lineEnd;
    if (!complete) end = start + bytes.subarray(start, lineEnd).findLastIndex((byte) => byte !== 0) + 1;
    if (end === start) return;
    for (const [from, to] of partsOf(bytes, start, end, recordStart)) {
      const decoded = decodeLine(bytes, from, to) ?? decodeLine(bytes, from, to - 1);
      if (decoded !== null) animals.sequence = Math.max(animals.sequence, decoded.seq);
      if (decoded?.pet === null) continue;
      if (decoded !== null) animals.inJournal.add(decoded.seq);
      if (decoded === null || !keep(animals, bytes, decoded.pet.start, decoded.pet.end)) {
        noteDamage(bytes, from, to, `${path}, line ${number},`, damagedIds, lost);
      }
    }
  });
}

/** The lines of a snapshot that are not animals. */
const isStructure = /^(\{"format":|\],"crc32":\[|"[0-9a-f]{8}|\]\})/;

/** Yields the parts of a line that begin with `prefix`: more than one if a line feed is damaged. */
function* partsOf(bytes: Buffer, start: number, end: number, prefix: string): Generator<[from: number, to: number]> {
  const line = bytes.subarray(0, end);
  const first = line.indexOf(prefix, start);
  if (first !== start && !isStructure.test(line.toString('latin1', start, start + 20))) {
    yield [start, first < 0 ? end : first];
  }
  for (let from = first; from >= 0; ) {
    const next = line.indexOf(prefix, from + 1);
    yield [from, next < 0 ? end : next];
    from = next;
  }
}

/** Keeps the animal from `start` to `end`, unless `end` is undefined or this is not the line of an animal. */
function keep({ lineById, conflicts }: Animals, bytes: Buffer, start: number, end: number | undefined): boolean {
  if (end === undefined || hasLongId(bytes, start)) return false;
  const line = bytes.toString('utf8', start, end);
  const id = idOf(bytes, start);
  try {
    const pet = readNewPet(readJson(bytes.subarray(start, end)));
    if (petLine(id, pet) !== line) return false;
    const kept = lineById.get(id);
    if (kept === undefined) lineById.set(id, { line, status: pet.status });
    else if (kept.line !== line) conflicts.add(id);
    return true;
  } catch {
    return false;
  }
}

function noteDamage(
  bytes: Buffer, start: number, end: number, where: string, damagedIds: Map<number, string>, lost: string[],
): void {
  const id = /"id":([1-9][0-9]{0,14}),/.exec(bytes.toString('latin1', start, Math.min(end, start + 200)))?.[1];
  if (id === undefined) lost.push(`${where} is damaged, and does not show an id`);
  else damagedIds.set(Number(id), where.slice(0, -1));
}

const maxRanges = 20;

/** The numbers from 1 to `last` that are not in `ids`, as a text: `3, 7-9`. */
function rangesOf(ids: readonly number[], last: number): string {
  const ranges: string[] = [];
  let next = 1;
  for (const id of [...ids, last + 1]) {
    if (id > next) ranges.push(id === next + 1 ? `${next}` : `${next}-${id - 1}`);
    next = id + 1;
  }
  const more = ranges.length > maxRanges ? ` and ${counted(ranges.length - maxRanges, 'more range')}` : '';
  return ranges.slice(0, maxRanges).join(', ') + more;
}
