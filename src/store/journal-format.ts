import type { StoredPet } from '../domain/pet.ts';
import { crc32, crcHex } from '../files/crc32.ts';
import { decimal } from '../json/decimal.ts';

/** A whole line of the journal. `pet` is where in the line's buffer the animal's line stands; null for a marker. */
export interface JournalLine {
  readonly seq: number;
  readonly durable: number;
  readonly pet: { readonly start: number; readonly end: number } | null;
}

const headPattern = /^\{"seq":([0-9]{1,15}),"durable":([0-9]{1,15})(,"pet":)?/;
/** No head is longer, its two numbers of 15 digits each. */
const maxHeadBytes = 60;
const crcPrefix = ',"crc":"';
const checksumPartBytes = crcPrefix.length + '01234567"}'.length;

/** The lines of some records. */
export interface EncodedRecords {
  readonly bytes: Buffer;
  /** Where in them each animal's line begins and ends: start, end, start, end, … */
  readonly offsets: readonly number[];
}

/** The lines of records numbered from `durable` + 1 on: in `room`, if they are sure to fit, else in memory of their own. */
export function encodeRecords(pets: readonly StoredPet[], durable: number, buffer: Buffer): EncodedRecords {
  // In UTF-8, a UTF-16 unit takes three bytes at most.
  const mostBytes = pets.reduce((sum, { line }) => sum + maxHeadBytes + 3 * line.length + checksumPartBytes + 1, 0);
  const bytes = mostBytes <= buffer.length ? buffer : Buffer.allocUnsafeSlow(mostBytes);
  const afterSeq = `,"durable":${durable},"pet":`;
  const offsets: number[] = [];
  let end = 0;
  for (let index = 0; index < pets.length; index++) {
    const start = end;
    const head = `{"seq":${decimal(durable + 1 + index)}${afterSeq}`;
    end += bytes.write(head + pets[index]!.line, end);
    offsets.push(start + head.length, end);
    end += bytes.write(checksumPart(bytes, start, end), end, 'latin1');
  }
  return { bytes: bytes.subarray(0, end), offsets };
}

/** The line that says that record number `durable` is on the disk. */
export function encodeMarker(durable: number): Buffer {
  const head = Buffer.from(`{"seq":${durable},"durable":${durable}`);
  return Buffer.concat([head, Buffer.from(checksumPart(head, 0, head.length))]);
}

/** The entry in `bytes` from `start` to `end` (without the line feed), or null if the line is damaged. */
export function decodeLine(bytes: Buffer, start: number, end: number): JournalLine | null {
  const crcStart = end - checksumPartBytes;
  if (crcStart < start) return null;
  if (bytes.toString('latin1', crcStart, end) + '\n' !== checksumPart(bytes, start, crcStart)) return null;
  const head = headPattern.exec(bytes.toString('latin1', start, Math.min(start + maxHeadBytes, crcStart)));
  if (head === null) return null;
  const pet = head[3] === undefined ? null : { start: start + head[0].length, end: crcStart };
  return { seq: Number(head[1]), durable: Number(head[2]), pet };
}

function checksumPart(bytes: Uint8Array, start: number, end: number): string {
  return `${crcPrefix}${crcHex(crc32(bytes, start, end))}"}\n`;
}
