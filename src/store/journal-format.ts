import { crc32, crcHex } from '../files/crc32.ts';
import { decimal } from '../json/decimal.ts';

/** One file of the journal. */
export interface Segment {
  readonly path: string;
  /** The number of the first record in it. */
  readonly first: number;
  /** The length of what stood in it when it was opened. */
  readonly bytes: number;
}

/** A whole line of the journal. `pet` is where in the line's buffer the animal's line stands; null for a marker. */
export interface Entry {
  readonly seq: number;
  readonly durable: number;
  readonly pet: { readonly start: number; readonly end: number } | null;
}

const segmentName = /^pets\.([1-9][0-9]{0,14})\.journal$/;
const headPattern = /^\{"seq":([0-9]{1,15}),"durable":([0-9]{1,15})(,"pet":)?/;
/** The longest head: two numbers of 15 digits. */
const maxHeadBytes = 60;
const crcPrefix = ',"crc":"';
const tailBytes = crcPrefix.length + '01234567"}'.length;

export function segmentPath(folder: string, first: number): string {
  return `${folder}/pets.${first}.journal`;
}

/** The number of the first record in the segment of this name, or null for another file's name. */
export function segmentFirst(name: string): number | null {
  const digits = segmentName.exec(name)?.[1];
  return digits === undefined ? null : Number(digits);
}

/** The lines of records numbered from `durable` + 1 on. */
export function encodeRecords(pets: readonly Buffer[], durable: number): Buffer {
  const afterSeq = `,"durable":${durable},"pet":`;
  const lines = pets.map((pet, index) => ({ head: `{"seq":${decimal(durable + 1 + index)}${afterSeq}`, pet }));
  const size = lines.reduce((sum, { head, pet }) => sum + head.length + pet.length + tailBytes + 1, 0);
  const bytes = Buffer.allocUnsafe(size);
  let end = 0;
  for (const { head, pet } of lines) {
    const start = end;
    end += bytes.write(head, end, 'latin1');
    end += pet.copy(bytes, end);
    end += bytes.write(tail(bytes, start, end), end, 'latin1');
  }
  return bytes;
}

/** The line that says that record number `durable` is on the disk. */
export function encodeMarker(durable: number): Buffer {
  const head = Buffer.from(`{"seq":${durable},"durable":${durable}`);
  return Buffer.concat([head, Buffer.from(tail(head, 0, head.length))]);
}

/** The entry in `bytes` from `start` to `end` (without the line feed), or null if the line is damaged. */
export function decodeLine(bytes: Buffer, start: number, end: number): Entry | null {
  const crcStart = end - tailBytes;
  if (crcStart < start) return null;
  if (bytes.toString('latin1', crcStart, end) + '\n' !== tail(bytes, start, crcStart)) return null;
  const head = headPattern.exec(bytes.toString('latin1', start, Math.min(start + maxHeadBytes, crcStart)));
  if (head === null) return null;
  const pet = head[3] === undefined ? null : { start: start + head[0].length, end: crcStart };
  return { seq: Number(head[1]), durable: Number(head[2]), pet };
}

function tail(bytes: Uint8Array, start: number, end: number): string {
  return `${crcPrefix}${crcHex(crc32(bytes, start, end))}"}\n`;
}
