/**
 * The snapshot: every animal up to some record of the journal, as one JSON document that a person can read.
 *
 *     {"format":"petstore","version":1,"sequence":2,"lastId":2,"count":2,"pets":[
 *     {"id":1,"name":"Rex","categoryId":1,"status":"available"},
 *     {"id":2,"name":"Mia","categoryId":2,"status":"sold"}
 *     ],"crc32":[
 *     "8d5a0b3c…"
 *     ]}
 *
 * `sequence` is the number of the journal's last record in it. `crc32` holds eight hexadecimal digits for each line
 * before it, the first line's first, many to a string: damage is found, and found by its line. A line's checksum covers
 * it without its comma and line feed.
 */
import { statSync } from 'node:fs';
import { statusOfLine } from '../domain/pet.ts';
import { crc32, crcHex } from '../files/crc32.ts';
import { damaged } from '../files/errors.ts';
import { readLines, type Line } from '../files/lines.ts';
import { replaceFile } from '../files/replace.ts';
import type { LineTable } from './line-table.ts';

export interface Snapshot {
  /** The number of the journal's last record in the snapshot. */
  readonly sequence: number;
  /** The largest id ever given to an animal. */
  readonly lastId: number;
  /** The length of the file; 0 without a file. */
  readonly bytes: number;
}

/** Bounds how long the event loop stands still for one piece: its checksums are computed at one go. */
const pieceBytes = 32 * 1024;
/** After so much it is synced: behind one sync of it all, those of the journal would wait for long. */
const syncBytes = 1024 * 1024;
const checksumBytes = 4;
/** Of 64 checksums. */
const stringBytes = 64 * checksumBytes;
const petStart = '{"id":';
const petsEnd = '],"crc32":[';
const documentEnd = ']}';
const comma = 0x2c;
const lineFeed = 0x0a;
const digits = '([0-9]{1,15})';
const headPattern = new RegExp(
  `^\\{"format":"petstore","version":1,"sequence":${digits},"lastId":${digits},"count":${digits},"pets":\\[$`,
);

/**
 * Replaces the snapshot by one of the table's first `count` rows, a piece at a time between requests.
 * Rejects with what the disk reports; the old snapshot is untouched then.
 */
export async function writeSnapshot(
  path: string,
  table: LineTable,
  { sequence, lastId, count }: { readonly sequence: number; readonly lastId: number; readonly count: number },
): Promise<Snapshot> {
  const numbers = `"sequence":${sequence},"lastId":${lastId},"count":${count}`;
  const headLine = `{"format":"petstore","version":1,${numbers},"pets":[`;
  const checksums = Buffer.allocUnsafeSlow(checksumBytes * (count + 1));
  checksums.writeUInt32BE(crc32(Buffer.from(headLine)));
  let size = 0;
  await replaceFile(path, async (file) => {
    let unsynced = 0;
    const write = async (bytes: Buffer): Promise<void> => {
      await file.writeFile(bytes);
      size += bytes.length;
      unsynced += bytes.length;
      if (unsynced < syncBytes) return;
      await file.datasync();
      unsynced = 0;
    };
    await write(Buffer.from(`${headLine}\n`));
    let row = 0;
    for (const bytes of table.pieces(count, pieceBytes)) {
      for (let start = 0; start < bytes.length; ) {
        const next = bytes.indexOf(lineFeed, start) + 1;
        checksums.writeUInt32BE(crc32(bytes, start, next - 2), checksumBytes * ++row);
        start = next;
      }
      if (row < count) await write(bytes);
      else await write(Buffer.concat([bytes.subarray(0, -2), Buffer.from('\n')])); // no comma behind the last
    }
    await write(Buffer.from(`${petsEnd}\n`));
    let strings = '';
    for (let start = 0; start < checksums.length; start += stringBytes) {
      strings += `${checksumLine(checksums, start)}\n`;
      if (strings.length < pieceBytes) continue;
      await write(Buffer.from(strings));
      strings = '';
    }
    await write(Buffer.from(`${strings}${documentEnd}\n`));
  });
  return { sequence, lastId, bytes: size };
}

/**
 * Reads the snapshot, adding each animal to the table, which must copy the bytes it is given.
 * Without a file the snapshot is empty.
 * Throws OperatorError that names the damaged line; what was added to the table is worthless then.
 */
export function readSnapshot(path: string, table: Pick<LineTable, 'append'>): Snapshot {
  const size = statSync(path, { throwIfNoEntry: false })?.size;
  if (size === undefined) return { sequence: 0, lastId: 0, bytes: 0 };
  const lines = readLines(path);
  let number = 0;
  const nextLine = (): Line => {
    number++;
    const { done, value: line } = lines.next();
    if (done === true || !line.complete) throw damaged(path, number, 'the file ends here, before its time');
    return line;
  };
  try {
    const headLine = nextLine();
    const head = headPattern.exec(textOf(headLine));
    const count = Number(head?.[3]);
    if (head === null || count > size) throw damaged(path, 1, 'this is not how a snapshot of this program begins');
    const checksums = Buffer.allocUnsafeSlow(checksumBytes * (count + 1));
    checksums.writeUInt32BE(crc32(headLine.bytes, headLine.start, headLine.end));
    for (let row = 1; row <= count; row++) {
      const { bytes, start, end } = nextLine();
      const hasComma = bytes[end - 1] === comma;
      const petEnd = hasComma ? end - 1 : end;
      const status = statusOfLine(bytes, start, petEnd);
      if (hasComma !== row < count || status === null) {
        throw damaged(path, findDamagedLine(path) ?? number, 'this is not the line of an animal');
      }
      table.append(bytes, status, start, petEnd);
      checksums.writeUInt32BE(crc32(bytes, start, petEnd), checksumBytes * row);
    }
    if (textOf(nextLine()) !== petsEnd) throw damaged(path, findDamagedLine(path) ?? number, `here the line ${petsEnd} is due`);
    for (let start = 0; start < checksums.length; start += stringBytes) {
      const found = textOf(nextLine());
      const expected = checksumLine(checksums, start);
      if (found === expected) continue;
      let at = 0;
      while (found[at] === expected[at]) at++;
      if (found.length !== expected.length || !/[0-9a-f]/.test(expected[at]!)) {
        throw damaged(path, number, 'this is not a line of checksums');
      }
      const row = start / checksumBytes + Math.floor((at - 1) / 8);
      throw damaged(path, row + 1, `it does not match its checksum (in line ${number})`);
    }
    if (textOf(nextLine()) !== documentEnd) throw damaged(path, number, `here the line ${documentEnd} is due`);
    if (lines.next().done !== true) throw damaged(path, number + 1, 'something follows the end of the document');
    return { sequence: Number(head[1]), lastId: Number(head[2]), bytes: size };
  } finally {
    lines.return();
  }
}

/** The line of checksums that begins at `start` of them all, without its line feed. */
function checksumLine(checksums: Buffer, start: number): string {
  const end = start + stringBytes;
  return `"${checksums.toString('hex', start, end)}"${end < checksums.length ? ',' : ''}`;
}

function textOf({ bytes, start, end }: Line): string {
  return bytes.toString('latin1', start, end);
}

/**
 * A second look at a snapshot whose lines do not add up: the line that says how many there are, or one that holds two
 * animals because the line feed between them was damaged; null if it is neither.
 */
function findDamagedLine(path: string): number | null {
  let headSum = '';
  let sumsFollow = false;
  for (const line of readLines(path)) {
    const { bytes, start, end, number } = line;
    if (number === 1) headSum = crcHex(crc32(bytes, start, end));
    if (sumsFollow) return bytes.toString('latin1', start + 1, start + 9) === headSum ? null : 1;
    const text = textOf(line);
    if (text.includes(petStart, 1)) return number;
    sumsFollow = text === petsEnd;
  }
  return null;
}
