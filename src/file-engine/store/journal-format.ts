/** The lines of the journal (docs/files.md). */
import type { StoredPet } from '../../domain/pet.ts';
import { crc32, crcHex } from '../../domain/crc32.ts';
import { headMembers } from '../files/store-id.ts';
import { decimal } from '../../json/decimal.ts';

/**
 * A folder with a larger number is refused when it is opened: the next numbers could have 16 digits, which no start
 * could read. Nobody gets there: 100,000 animals a second take 300 years.
 */
export const maxSequence = 999_999_000_000_000;

const headPattern = /^\{"seq":([0-9]{1,15}),"durable":([0-9]{1,15})(,"pet":)?/;
/** An upper bound: a head with two numbers of 15 digits has 54 bytes. */
const maxHeadBytes = 60;
const crcPrefix = ',"crc":"';
const checksumPartBytes = crcPrefix.length + '01234567"}'.length;

/**
 * Encodes records with the numbers from `durable` + 1 on, in `buffer` if it is certainly large enough. Returns their
 * bytes, and where in them the animal lines are: start, end, start, end, …
 */
export function encodeRecords(pets: readonly StoredPet[], durable: number, buffer: Buffer) {
  const mostBytes = pets.reduce((sum, { line }) => sum + maxHeadBytes + line.length + checksumPartBytes + 1, 0);
  const bytes = mostBytes <= buffer.length ? buffer : Buffer.allocUnsafeSlow(mostBytes);
  const afterSeq = `,"durable":${durable},"pet":`;
  const offsets: number[] = [];
  let end = 0;
  for (let index = 0; index < pets.length; index++) {
    const start = end;
    const head = `{"seq":${decimal(durable + 1 + index)}${afterSeq}`;
    end += bytes.write(head + pets[index]!.line, end, 'latin1');
    offsets.push(start + head.length, end);
    end += bytes.write(checksumPart(bytes, start, end), end, 'latin1');
  }
  return { bytes: bytes.subarray(0, end), offsets };
}

/**
 * Encodes the marker that states that all records up to number `durable` are on disk. The first line of a segment also
 * contains the version of the format and the id of the store.
 */
export function encodeMarker(durable: number, store?: string): Buffer {
  const members = store === undefined ? '' : `,${headMembers('petstore-journal', store)}`;
  const head = Buffer.from(`{"seq":${durable},"durable":${durable}${members}`);
  return Buffer.concat([head, Buffer.from(checksumPart(head, 0, head.length))]);
}

/**
 * Decodes the line from `start` to `end` of `bytes`, without its line feed. Returns null if the line is damaged. The
 * member `pet` is the position of the animal line in `bytes`, or null for a marker.
 */
export function decodeLine(bytes: Buffer, start: number, end: number) {
  const crcStart = end - checksumPartBytes;
  if (crcStart < start) return null;
  if (bytes.toString('latin1', crcStart, end) + '\n' !== checksumPart(bytes, start, crcStart)) return null;
  const head = headPattern.exec(bytes.toString('latin1', start, Math.min(start + maxHeadBytes, crcStart)));
  if (head === null) return null;
  const pet = head[3] === undefined ? null : { start: start + head[0].length, end: crcStart };
  return { seq: Number(head[1]), durable: Number(head[2]), pet };
}

/** The end of a line: its checksum and its line feed. */
function checksumPart(bytes: Uint8Array, start: number, end: number): string {
  return `${crcPrefix}${crcHex(crc32(bytes, start, end))}"}\n`;
}
