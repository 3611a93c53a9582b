/**
 * `petstore salvage`: copies every intact line of a damaged data folder to a new one, and names what was lost.
 *
 * The problem. Damage to one line, even to its line feed, must not make other lines unusable, and there may be millions
 * of animals.
 *
 * The idea. A record of the journal has its own checksum. An animal in the snapshot is intact if its checksum is
 * anywhere in the snapshot's list, so the checksums are read first. Intact animals are written to a temporary file.
 * They are in ascending order of id, unless files were mixed: then they are sorted in memory. The small files have one
 * checksum for all lines: if it is wrong, the lines that can be read are kept, and the report says so.
 *
 * The invariant. Only animal lines that `petLine` returns are kept.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../../domain/counted.ts';
import { crc32 } from '../../domain/crc32.ts';
import { messageOf, OperatorError } from '../../domain/operator-error.ts';
import { orderLine, readOrder } from '../../domain/order.ts';
import { hasPetLine, maxPetId } from '../../domain/pet.ts';
import { DamagedFileError, describeError, DiskError } from '../../files/errors.ts';
import { readLines, type Line } from '../files/lines.ts';
import { createFolder, type Made } from '../files/new-folder.ts';
import { OpenFile } from '../files/open-file.ts';
import { readRecords, type RecordFormat, type RecordNumbers } from '../files/record-file.ts';
import { Spool } from '../files/spool.ts';
import { refuseNewerFormats, storeIdOf } from '../files/store-id.ts';
import { JsonObject, readJson } from '../../json/read.ts';
import { decodeKey, encodeKey } from '../accounts/key-record.ts';
import { keysFormat, keysName } from '../accounts/key-ring.ts';
import { decodeUsage, encodeUsage, usageFormat, usageName } from '../accounts/usage-file.ts';
import { firstIndex } from '../store/column.ts';
import { decodeLine } from '../store/journal-format.ts';
import { listSegments, segmentPath } from '../store/journal-segment.ts';
import { ordersFormat, ordersName } from '../store/orders.ts';
import { headPattern } from '../store/snapshot.ts';
import { writeContents } from './contents.ts';

/** What was salvaged, and one line for each thing that was lost or may be wrong. */
export interface Salvaged {
  readonly animals: number;
  readonly keys: number;
  readonly orders: number;
  readonly lost: readonly string[];
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
    const usage = await salvageRecords(join(folder, usageName), usageFormat, decodeUsage, lost);
    const keys = await salvageRecords(join(folder, keysName), keysFormat, decodeKey, lost);
    const orders = await salvageRecords(join(folder, ordersName), ordersFormat, readOrder, lost);
    const keysMissing = keys.keyChanges < usage.keyChanges && !lost.some((line) => line.includes(keysName));
    if (keysMissing) lost.push(`${join(folder, keysName)} is missing or an old copy: later changes of keys are lost`);
    const { animals, sequence, lastId } = await salvageAnimals(folder, made, usage.durable, lost);

    const keyChanges = Math.max(keys.keyChanges, usage.keyChanges);
    const isoTime = (time: number): string => new Date(time).toISOString();
    const usageLines = usage.records.map(({ id, usage }) => encodeUsage(id, usage, isoTime));
    await writeContents(made, {
      store, sequence, lastId,
      keys: { head: { store, keyChanges }, lines: keys.records.map(encodeKey) },
      usage: { head: { store, durable: sequence, keyChanges }, lines: usageLines },
      orders: orders.records.map(orderLine),
    }, animals);
    return { animals: animals.count, keys: keys.records.length, orders: orders.records.length, lost };
  });
}

/** Returns the records of a file; if it is damaged, those on lines of their own that can be read. */
async function salvageRecords<Item extends { readonly id: unknown }>(
  path: string, format: RecordFormat, decode: (record: JsonObject) => Item, lost: string[],
): Promise<{ records: Item[] } & RecordNumbers> {
  try {
    return readRecords(path, format, decode);
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    const problem = error instanceof DamagedFileError ? error.problem : `${path} cannot be read as a whole`;
    lost.push(`${problem}; the records that can be read are kept, but may be wrong`);
  }
  const itemById = new Map<unknown, Item>();
  await readIntactLines(path, lost, ({ bytes, start, end, number }) => {
    const text = bytes.toString('utf8', start, end).replace(/,$/, '');
    if (/^(\{"format"|\]|\[?$)/.test(text)) return;
    try {
      const record = readJson(Buffer.from(text));
      if (!(record instanceof JsonObject)) throw new Error('this is not a JSON object');
      const item = decode(record);
      itemById.set(item.id, item);
    } catch (error) {
      const id = /"id":("[^"]*"|-?[0-9]+)/.exec(text)?.[1] ?? 'unknown';
      lost.push(`the record with the id ${id} in ${path}, line ${number}: ${messageOf(error)}`);
    }
  });
  return { records: [...itemById.values()], durable: 0, keyChanges: 0 };
}

/** Reads a file by lines. Pages that the disk cannot read are read as zero bytes, and added to `lost`. */
async function readIntactLines(path: string, lost: string[], visit: (line: Line) => void): Promise<void> {
  const unreadable: { from: number; to: number; why: string }[] = [];
  const onUnreadable = (from: number, to: number, error: unknown): void => {
    const last = unreadable.at(-1);
    if (last?.to === from) last.to = to;
    else unreadable.push({ from, to, why: describeError(error).message });
  };
  const file = await OpenFile.open(path);
  try {
    await readLines(file, visit, { onUnreadable });
  } catch (error) {
    if (!(error instanceof DiskError)) throw error;
    lost.push(error.message);
  } finally {
    await file.close();
  }
  for (const { from, to, why } of unreadable) lost.push(`${path}, bytes ${from} to ${to - 1}: ${why}`);
}

/** What the files show about the animals. */
interface Found {
  /** The lines of the intact ones. */
  readonly lines: Spool;
  /** Whether these are in ascending order of id, and the id of the last one. */
  isSorted: boolean;
  previousId: number;
  /** The largest id that was assigned. */
  lastId: number;
  /** The ids in damaged lines, and what the report says about them. */
  readonly damaged: Map<number, string>;
  /** The other lines of the report. */
  readonly lost: string[];
}

/**
 * Reads the animals of a folder. Returns them in ascending order of id, in a temporary file in the folder `made`, with
 * the numbers of their snapshot. `recorded` is the last record that was on disk according to usage.json.
 */
async function salvageAnimals(folder: string, made: string, recorded: number, lost: string[]) {
  const lines = new Spool(join(made, 'pets.found'));
  const found: Found = { lines, isSorted: true, previousId: 0, lastId: 0, damaged: new Map(), lost };
  const segments = listSegments(folder);
  const path = join(folder, 'pets.json');
  const hasSnapshot = existsSync(path);
  // The journal contains all animals of a store that has had no snapshot yet.
  if (!hasSnapshot && segments[0] !== 1) lost.push(`${path} does not exist`);
  if (segments.length === 0) lost.push('the journal, which does not exist, with the animals added since the snapshot');
  const inSnapshot = hasSnapshot ? await salvageSnapshot(path, found) : null;
  let sequence = Math.max(recorded, inSnapshot ?? 0);
  const before = inSnapshot ?? (segments[0] ?? 1) - 1;
  const records: number[] = [];
  for (const first of segments) {
    await readParts(segmentPath(folder, first), /(?=\{"seq":)/, found, (_part, bytes, start, end) => {
      const decoded = decodeLine(bytes, start, end) ?? decodeLine(bytes, start, end - 1);
      if (decoded === null) return null;
      sequence = Math.max(sequence, decoded.seq);
      if (decoded.pet === null) return undefined;
      if (decoded.seq > before) records.push(decoded.seq);
      return bytes.subarray(decoded.pet.start, decoded.pet.end);
    });
  }
  const inJournal = Float64Array.from(records).sort().filter((record, at, all) => record !== all[at - 1]);
  const missing = Math.max(0, sequence - before - inJournal.length);
  if (missing > 0) {
    const range = `of the records ${before + 1} to ${sequence}`;
    lost.push(`${counted(missing, `${range} is`, `${range} are`)} missing in the journal`);
  }
  const lastId = Math.min(found.lastId + missing, maxPetId); // the missing records may have had the next ids
  const animals = new Spool(join(made, 'pets.sorted'));
  sortAnimals(found, lastId, animals);
  lines.close();
  return { animals, sequence, lastId };
}

/** Adds the animals of a snapshot. Returns the number of its last record; null if its first line is not intact. */
async function salvageSnapshot(path: string, found: Found): Promise<number | null> {
  const { lost } = found;
  const lostBefore = lost.length;
  const { checksums, isCutOff } = await readChecksums(path);
  const isIntact = (line: Buffer): boolean => {
    const crc = crc32(line);
    return checksums[firstIndex(checksums.length, (index) => checksums[index]! >= crc)] === crc;
  };
  let sequence: number | null = null;
  let unverified = 0;
  await readParts(path, /(?=\{"id":)/, found, (part, bytes, start, end) => {
    const head = headPattern.exec(part);
    if (head !== null && isIntact(bytes.subarray(start, end))) {
      sequence = Number(head[1]);
      found.lastId = Math.max(found.lastId, Number(head[2]));
    }
    if (isStructure.test(part)) return undefined;
    // A comma follows and, if the line feed is damaged, another byte.
    const line = bytes.subarray(start, start + part.lastIndexOf('}') + 1);
    if (isIntact(line)) return line;
    if (!isCutOff || !hasPetLine(line)) return null;
    unverified++;
    return line;
  });
  const kept = counted(unverified, 'animal of it is', 'animals of it are');
  if (isCutOff) lost.push(`the end of ${path}; ${kept} kept although their checksums are missing`);
  else if (sequence === null && lost.length === lostBefore) lost.push(`${path}: its first line is missing or damaged`);
  return sequence;
}

/** The lines of a snapshot that are not animals. */
const isStructure = /^(\{"format":|\],"crc32":\[|"[0-9a-f]{8}|\]\})/;

/** Returns the checksums in a snapshot in ascending order, and whether there are fewer of them than animals. */
async function readChecksums(path: string): Promise<{ checksums: Uint32Array; isCutOff: boolean }> {
  const checksums: number[] = [];
  let animals = 0;
  // What cannot be read is reported when the animals are read.
  await readIntactLines(path, [], ({ bytes, start, end }) => {
    const text = bytes.toString('latin1', start, end);
    if (text.startsWith('{"id":')) return void animals++;
    // By position, because the quote before the digits may be damaged, or one of them.
    const groups = text.slice(1).match(/.{8}/g) ?? [];
    const found = groups.filter((digits) => /^[0-9a-f]{8}$/.test(digits));
    if (2 * found.length <= groups.length) return; // this is not a line of checksums
    for (const digits of found) checksums.push(Number.parseInt(digits, 16));
  });
  return { checksums: Uint32Array.from(checksums).sort(), isCutOff: checksums.length < animals };
}

/**
 * Adds the animals of a file. `beforePart` matches at the start of each part of a line, which has more than one if a
 * line feed is damaged. `readPart` returns the animal line in a part; undefined if it has none, null if it is damaged.
 */
async function readParts(
  path: string, beforePart: RegExp, found: Found,
  readPart: (part: string, bytes: Buffer, start: number, end: number) => Buffer | null | undefined,
): Promise<void> {
  await readIntactLines(path, found.lost, ({ bytes, start, end, number, complete }) => {
    // The last segment ends with reserved space.
    const length = complete ? end - start : bytes.subarray(start, end).findLastIndex((byte) => byte !== 0) + 1;
    let from = start;
    for (const part of bytes.toString('latin1', start, start + length).split(beforePart)) {
      const line = part === '' ? undefined : readPart(part, bytes, from, from + part.length);
      from += part.length;
      if (line === undefined) continue;
      const id = Number(/"id":([1-9][0-9]{0,14}),/.exec(part.slice(0, 200))?.[1] ?? 0);
      found.lastId = Math.max(found.lastId, id);
      if (line !== null && hasPetLine(line)) {
        found.isSorted &&= id > found.previousId;
        found.previousId = id;
        found.lines.append(line);
      } else if (id > 0) found.damaged.set(id, `animal ${id}: ${path}, line ${number} is damaged`);
      else found.lost.push(`${path}, line ${number}, is damaged, and does not show an id`);
    }
  });
}

const maxRanges = 20;

/** Adds the animals to `sorted` in ascending order of id, and what is wrong with ids up to `lastId` to `lost`. */
function sortAnimals({ lines, isSorted, damaged, lost }: Found, lastId: number, sorted: Spool): void {
  const inOrder = isSorted ? linesOf(lines) : [...linesOf(lines)].sort((a, b) => idIn(a) - idIn(b));
  const conflicts = new Set<number>();
  const missing: string[] = [];
  let kept = '';
  let next = 1;
  const goTo = (id: number): void => {
    if (id > next) missing.push(id === next + 1 ? `${next}` : `${next}-${id - 1}`);
    next = id + 1;
  };
  for (const line of inOrder) {
    const id = idIn(line);
    if (id >= next) {
      goTo(id);
      sorted.append(Buffer.from(line, 'latin1'));
      kept = line;
      const damage = damaged.get(id);
      if (damage !== undefined) damaged.set(id, `${damage}; another line has this id and is kept`);
    } else if (line !== kept) conflicts.add(id); // files of different stores were mixed
  }
  goTo(lastId + 1);
  for (const damage of damaged.values()) lost.push(damage);
  for (const id of conflicts) lost.push(`animal ${id}: two different lines have this id; the first one is kept`);
  if (missing.length === 0 || lost.length === 0) return;
  const more = missing.length > maxRanges ? ` and ${counted(missing.length - maxRanges, 'more range')}` : '';
  lost.push(`the ids ${missing.slice(0, maxRanges).join(', ')}${more} have no animal: lost, or never there`);
}

/** Yields the lines of a spool, each with one character for a byte. */
function* linesOf(spool: Spool): Generator<string> {
  for (const piece of spool.pieces(spool.count, 64 * 1024)) yield* piece.toString('latin1').split(',\n').slice(0, -1);
}

function idIn(line: string): number {
  return Number.parseInt(line.slice('{"id":'.length), 10);
}
