/**
 * The snapshot: all animals up to some record of the journal, as one JSON document (docs/files.md).
 *
 *     {"format":"petstore","version":2,"store":"5f0c9b6e…","sequence":2,"lastId":2,"count":2,"pets":[
 *     {"id":1,"name":"Rex","categoryId":1,"status":"available"},
 *     {"id":2,"name":"Mia","categoryId":2,"status":"sold"}
 *     ],"crc32":[
 *     "8d5a0b3c…"
 *     ]}
 *
 * The problem. A snapshot of a million animals takes most of a second, and requests must not wait for it. When it is
 * read, any damage must be found, and the message must name the line.
 *
 * The idea. Animals never change, so the first rows of the table stay as they are while the file is written in small
 * pieces between requests. The checksums of all lines are at the end, so that the animals are a plain JSON array.
 *
 * The invariants.
 * - The file is replaced in one step: it is always a whole snapshot, the old one or the new one.
 * - `crc32` contains a checksum for the head line and for each animal line, without its comma and line feed. All
 *   other bytes can have only one value, which the reader verifies.
 * - `sequence` is a record that was on disk before the snapshot was begun.
 */
import { hasLongId, statusOfLine } from '../../domain/pet.ts';
import { crc32, crcHex } from '../../domain/crc32.ts';
import { damaged } from '../../files/errors.ts';
import { readLines, type Line } from '../files/lines.ts';
import type { OpenFile } from '../files/open-file.ts';
import { replaceFile } from '../files/replace.ts';
import { headMembers } from '../files/store-id.ts';
import { Uint32Column } from './column.ts';
import type { LineTable } from './line-table.ts';

/** What is known of a snapshot. */
export interface Snapshot {
  /** The number of the last journal record that the snapshot contains. */
  readonly sequence: number;
  /** The largest id that was ever assigned, even if no animal has it. */
  readonly lastId: number;
  /** The length of the file; 0 if there is none. */
  readonly bytes: number;
}

/** The animals of a snapshot, in ascending order of their ids. */
export type SnapshotTable = Pick<LineTable, 'count' | 'pieces'>;

/** Limits how long the event loop is blocked: the checksums of a piece are computed in one turn. */
const pieceBytes = 32 * 1024;
/** The checksums in one string. */
const checksumsPerLine = 64;
const petsEnd = '],"crc32":[';
const documentEnd = ']}';
const comma = 0x2c;
const lineFeed = 0x0a;
const digits = '([0-9]{1,15})';
const version = '"version":2,"store":"[0-9a-f]{32}"';
export const headPattern = new RegExp(
  `^\\{"format":"petstore",${version},"sequence":${digits},"lastId":${digits},"count":${digits},"pets":\\[$`,
);

/**
 * Replaces the snapshot by one of the animals that are now in the table. More may be added while it is written.
 * `onPiece` is called before each small piece of the file. Resolves to the new snapshot. Rejects with OperatorError if
 * it cannot be written; the old one is unchanged then.
 */
export async function writeSnapshot(
  path: string,
  table: SnapshotTable,
  { store, sequence, lastId }: Pick<Snapshot, 'sequence' | 'lastId'> & { readonly store: string },
  checkLock?: () => void,
  onPiece = (): void => {},
): Promise<Snapshot> {
  const { count } = table;
  const numbers = `"sequence":${sequence},"lastId":${lastId},"count":${count}`;
  const headLine = `{${headMembers('petstore', store)},${numbers},"pets":[`;
  let bytes = 0;
  const pieces = function* (): Generator<string | Buffer> {
    for (const piece of encodeSnapshot(headLine, table, count)) {
      bytes += piece.length; // those that are strings are ASCII
      onPiece();
      yield piece;
    }
  };
  await replaceFile(path, pieces(), checkLock);
  return { sequence, lastId, bytes };
}

/** Yields the snapshot in pieces. */
function* encodeSnapshot(headLine: string, table: SnapshotTable, count: number): Generator<string | Buffer> {
  const checksums = new Uint32Column();
  checksums.push(crc32(Buffer.from(headLine)));
  yield `${headLine}\n`;
  for (const bytes of table.pieces(count, pieceBytes)) {
    for (let start = 0; start < bytes.length; ) {
      const next = bytes.indexOf(lineFeed, start) + 1;
      checksums.push(crc32(bytes, start, next - 2));
      start = next;
    }
    yield checksums.length <= count ? bytes : bytes.subarray(0, -2); // no comma after the last animal
  }
  let text = count > 0 ? `\n${petsEnd}\n` : `${petsEnd}\n`;
  for (let first = 0; first < checksums.length; first += checksumsPerLine) {
    text += `${checksumLine(checksums, first)}\n`;
    if (text.length < pieceBytes) continue;
    yield text;
    text = '';
  }
  yield `${text}${documentEnd}\n`;
}

/**
 * Reads the snapshot and adds its animals to the table, which may keep the buffers that it is given. If there was no
 * file, the snapshot is empty. `onRead` is called with the number of further bytes that were read.
 * Rejects with OperatorError if the file is damaged, and with what `onRead` throws; the table must not be used then.
 */
export async function readSnapshot(
  file: OpenFile,
  table: Pick<LineTable, 'append'>,
  onRead?: (bytes: number) => void,
): Promise<Snapshot> {
  if (file.isMissing) return { sequence: 0, lastId: 0, bytes: 0 };
  const { path, size } = file;
  const reader = new SnapshotReader(path, size, table);
  let number = 0;
  await readLines(file, (line) => {
    number = line.number;
    if (reader.snapshot !== null) throw damaged(path, number, 'the document has ended, but the file continues');
    if (!line.complete) throw damaged(path, number, 'the file ends too early');
    reader.read(line);
  }, { onRead, keepsBytes: true });
  if (reader.snapshot === null) throw damaged(path, number + 1, 'the file ends too early');
  return reader.snapshot;
}

/** Reads the lines of a snapshot one by one. Each method throws OperatorError if its line is not as expected. */
class SnapshotReader {
  /** The snapshot, when its last line was read. */
  snapshot: Snapshot | null = null;
  /** Reads the next line. A generator would be shorter but take twice as long. */
  read: (line: Line) => void = (line) => this.#readHead(line);
  readonly #path: string;
  readonly #size: number;
  readonly #table: Pick<LineTable, 'append'>;
  #head: Omit<Snapshot, 'bytes'> & { readonly count: number } = { sequence: 0, lastId: 0, count: 0 };
  /** The checksums of the head line and of the animals. */
  readonly #checksums = new Uint32Column();
  /** How many of them have been compared with the file. */
  #compared = 0;

  constructor(path: string, size: number, table: Pick<LineTable, 'append'>) {
    this.#path = path;
    this.#size = size;
    this.#table = table;
  }

  /** How many animals were read. */
  get #rows(): number {
    return this.#checksums.length - 1;
  }

  #readHead(line: Line): void {
    const head = headPattern.exec(textOf(line));
    if (head === null) throw damaged(this.#path, 1, 'this is not the first line of a snapshot');
    this.#head = { sequence: Number(head[1]), lastId: Number(head[2]), count: Number(head[3]) };
    this.#checksums.push(crc32(line.bytes, line.start, line.end));
    this.read = (next) => {
      this.read = textOf(next) === petsEnd ? (end) => this.#readPetsEnd(end) : (pet) => this.#readPet(pet);
      this.read(next);
    };
  }

  #readPet({ bytes, start, end, number }: Line): void {
    const hasMore = bytes[end - 1] === comma;
    const petEnd = hasMore ? end - 1 : end;
    const status = statusOfLine(bytes, start, petEnd);
    if (status === null) throw damaged(this.#path, number, 'this is not the line of an animal');
    if (hasLongId(bytes, start)) throw damaged(this.#path, number, 'the id has more than 15 digits');
    this.#table.append(bytes, status, start, petEnd, hasMore);
    this.#checksums.push(crc32(bytes, start, petEnd));
    if (!hasMore) this.read = (next) => this.#readPetsEnd(next);
  }

  #readPetsEnd(line: Line): void {
    if (textOf(line) !== petsEnd) {
      if (this.#rows < this.#head.count) throw damaged(this.#path, line.number - 1, 'a comma is missing at the end');
      throw damaged(this.#path, line.number, `this line should be ${petsEnd}`);
    }
    this.read = (next) => this.#readChecksums(next);
  }

  #readChecksums(line: Line): void {
    const found = textOf(line);
    const expected = checksumLine(this.#checksums, this.#compared);
    if (found !== expected) {
      let at = 0;
      while (found[at] === expected[at]) at++;
      if (!/[0-9a-f]/.test(expected[at] ?? '')) {
        throw damaged(this.#path, line.number, 'this is not the expected line of checksums');
      }
      const row = this.#compared + Math.floor((at - 1) / 8);
      throw damaged(this.#path, row + 1, `the line does not match its checksum (in line ${line.number})`);
    }
    this.#compared += checksumsPerLine;
    if (this.#compared < this.#checksums.length) return;
    const { count } = this.#head;
    if (this.#rows !== count) throw damaged(this.#path, 1, `the number of animals is ${this.#rows}, not ${count}`);
    this.read = (next) => this.#readEnd(next);
  }

  #readEnd(line: Line): void {
    if (textOf(line) !== documentEnd) throw damaged(this.#path, line.number, `this line should be ${documentEnd}`);
    const { sequence, lastId } = this.#head;
    this.snapshot = { sequence, lastId, bytes: this.#size };
  }
}

/** The line of checksums from `first` on, without its line feed. */
function checksumLine(checksums: Uint32Column, first: number): string {
  const end = Math.min(first + checksumsPerLine, checksums.length);
  let digits = '';
  for (let index = first; index < end; index++) digits += crcHex(checksums.at(index));
  return `"${digits}"${end < checksums.length ? ',' : ''}`;
}

function textOf({ bytes, start, end }: Line): string {
  return bytes.toString('latin1', start, end);
}
