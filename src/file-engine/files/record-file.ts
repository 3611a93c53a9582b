/**
 * Small JSON files of records that a person can read. A record is an object with an `id`, which no other record has.
 * The program writes one record per line:
 *
 *     {"format":"petstore-keys","version":2,"store":"5f0c9b6e…","keys":[
 *     {"id":"k1","name":"till", …},
 *     {"id":"k2","name":"web", …}
 *     ],"crc32":"8d5a0b3c"}
 *
 * The checksum covers everything before its comma. Whoever edits the file removes it. So that damage to its name is
 * noticed, the document must not have unknown members.
 */
import { messageOf } from '../../domain/operator-error.ts';
import { arrayMember, countMember, optionalNumberMember } from './members.ts';
import { JsonArray, JsonObject, readJson, type JsonValue } from '../../json/read.ts';
import { JsonSyntaxError } from '../../json/source.ts';
import { crc32, crcHex } from '../../domain/crc32.ts';
import { DamagedFileError } from '../../files/errors.ts';
import { replaceFile } from './replace.ts';
import { formatVersion, headMembers } from './store-id.ts';
import { atOnce, type Steps } from './turns.ts';
import { readWhole } from './whole.ts';

/** What distinguishes one kind of file from another. */
export interface RecordFormat {
  /** The value of the member `format`. */
  readonly name: string;
  /** The name of the member with the array of records. */
  readonly member: string;
  /** Whether the document may also be that array itself, without a checksum. */
  readonly mayBeBare?: boolean;
}

/** The numbers that a file may state besides its records; 0 if it does not. */
export interface RecordNumbers {
  /** The number of the last journal record that was on disk when the file was written. */
  readonly durable: number;
  /** How often keys.json had been changed by a program. */
  readonly keyChanges: number;
}
const numberNames = ['durable', 'keyChanges'] as const;
const maxNumber = 99_999_999_999_999;
const noNumbers: RecordNumbers = { durable: 0, keyChanges: 0 };

/** What a file states besides its records. */
export type RecordHead = { readonly store: string } & Partial<RecordNumbers>;

/** The length of `checksumPart`. */
export const checksumPartBytes = ',"crc32":"01234567"}\n'.length;
/** The least number of characters per write. Between two writes, other work can be done. */
const pieceLength = 64 * 1024;
/** The file is read into memory: 3 million orders take 2 GB there. */
const maxBytes = 256 * 1024 * 1024;
/** How many records are decoded in one step: at most about 20 ms. */
const recordsPerStep = 1000;

/**
 * Reads the records of a file and decodes each of them. Returns none if there is no file.
 * Throws DamagedFileError if the file violates the format, if two records have the same id, or if `decode` throws; and
 * another OperatorError if the file cannot be read.
 */
export function readRecords<Item extends { readonly id: unknown }>(
  path: string,
  format: RecordFormat,
  decode: (record: JsonObject) => Item,
): { records: Item[] } & RecordNumbers {
  return atOnce(recordSteps(path, format, decode));
}

/** Does what `readRecords` does, in steps. The first one reads the whole file and checks its syntax. */
export function* recordSteps<Item extends { readonly id: unknown }>(
  path: string,
  format: RecordFormat,
  decode: (record: JsonObject) => Item,
): Steps<{ records: Item[] } & RecordNumbers> {
  let last: JsonObject | null = null;
  const recordById = new Map<unknown, JsonObject>();
  const bytes = readWhole(path, maxBytes);
  if (bytes === undefined) return { records: [], ...noNumbers };
  try {
    const records: Item[] = [];
    const document = readJson(bytes);
    for (const record of recordsIn(document, format).each()) {
      if (!(record instanceof JsonObject)) throw new Error('the next record is not a JSON object');
      last = record;
      const item = decode(record);
      const other = recordById.get(item.id);
      if (other !== undefined) throw new Error(`line ${other.line} has the same id, ${item.id}`);
      recordById.set(item.id, record);
      records.push(item);
      if (records.length % recordsPerStep === 0) yield;
    }
    last = null;
    return { records, ...(document instanceof JsonObject ? readHead(document, format, bytes) : noNumbers) };
  } catch (error) {
    const line = error instanceof JsonSyntaxError ? error.line : (last?.line ?? 1);
    throw new DamagedFileError(path, line, messageOf(error));
  }
}

/**
 * Replaces a file by one with these records, which are JSON texts without line feeds. Rejects as `replaceFile` does.
 */
export function writeRecords(
  path: string,
  format: RecordFormat,
  head: RecordHead,
  records: Iterable<string>,
  checkLock?: () => void,
): Promise<void> {
  return replaceFile(path, withChecksum(encodeRecords(format, head, records)), checkLock);
}

function* encodeRecords(format: RecordFormat, head: RecordHead, records: Iterable<string>): Generator<string> {
  const numbers = numberNames.map((name) => (head[name] === undefined ? '' : `"${name}":${head[name]},`)).join('');
  let piece = `{${headMembers(format.name, head.store)},${numbers}"${format.member}":[`;
  let separator = '\n';
  for (const record of records) {
    piece += separator + record;
    separator = ',\n';
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}\n]`;
}

function* withChecksum(pieces: Iterable<string>): Generator<Buffer> {
  let crc = 0;
  for (const piece of pieces) {
    const bytes = Buffer.from(piece);
    crc = crc32(bytes, 0, bytes.length, crc);
    yield bytes;
  }
  yield Buffer.from(checksumPart(crc));
}

/** The end of a file, after the bytes that the checksum covers. */
export function checksumPart(crc: number): string {
  return `,"crc32":"${crcHex(crc)}"}\n`;
}

/** Returns the array of records in a document. Throws an Error if the document does not have the format. */
function recordsIn(document: JsonValue, format: RecordFormat): JsonArray {
  if (format.mayBeBare && document instanceof JsonArray) return document;
  if (!(document instanceof JsonObject) || document.get('format') !== format.name) {
    throw new Error(format.mayBeBare ? 'the records must be a JSON array' : `this is not a ${format.name} file`);
  }
  return arrayMember(document, format.member);
}

/** Checks what is around the records, and returns the numbers in it. Throws an Error if it is invalid. */
function readHead(document: JsonObject, format: RecordFormat, bytes: Buffer): RecordNumbers {
  const { members } = document;
  const version = optionalNumberMember(document, 'version');
  const known = ['format', 'version', 'store', ...numberNames, format.member, 'crc32'];
  const unknown = [...members.keys()].find((name) => !known.includes(name));
  if (version !== formatVersion) throw new Error(`"version" is not ${formatVersion}`);
  if (unknown !== undefined) throw new Error(`${JSON.stringify(unknown)} is an unknown member`);
  const end = bytes.length - checksumPartBytes;
  if (members.has('crc32') && bytes.toString('latin1', end) !== checksumPart(crc32(bytes, 0, end))) {
    throw new Error('the file does not match its "crc32" (if you edited the file on purpose, remove that member)');
  }
  const number = (name: keyof RecordNumbers): number => {
    const value = members.has(name) ? countMember(document, name) : 0;
    if (value <= maxNumber) return value;
    throw new Error(`"${name}" may be ${maxNumber} at most`); // a larger one could become one that is not exact
  };
  return { durable: number('durable'), keyChanges: number('keyChanges') };
}
