/**
 * Small JSON files of records that a person can read. A record is an object with an `id`, which no other record has.
 * The program writes one record per line:
 *
 *     {"format":"petstore-keys","version":1,"keys":[
 *     {"id":"k1","name":"till", …},
 *     {"id":"k2","name":"web", …}
 *     ]}
 */
import { readFileSync } from 'node:fs';
import { messageOf } from '../domain/operator-error.ts';
import { optionalNumberMember } from '../json/members.ts';
import { JsonArray, JsonObject, readJson, type JsonValue } from '../json/read.ts';
import { JsonSyntaxError } from '../json/source.ts';
import { DamagedFileError, diskError } from './errors.ts';
import { replaceFile } from './replace.ts';

/** What distinguishes one kind of file from another. */
export interface RecordFormat {
  /** The value of the member `format`. */
  readonly name: string;
  /** The name of the member with the array of records. */
  readonly member: string;
}

const version = 1;
/** The least number of characters per write. Between two writes, other work can be done. */
const pieceLength = 64 * 1024;

/**
 * Reads the records of a file and decodes each of them. Returns none if there is no file. If `format` is null, the
 * document itself is the array of records.
 * Throws DamagedFileError if the file violates the format, if two records have the same id, or if `decode` throws; and
 * another OperatorError if the file cannot be read.
 */
export function readRecords<Item extends { readonly id: unknown }>(
  path: string,
  format: RecordFormat | null,
  decode: (record: JsonObject) => Item,
): Item[] {
  let last: JsonObject | null = null;
  const recordById = new Map<unknown, JsonObject>();
  try {
    const items: Item[] = [];
    for (const record of recordsIn(readJson(readFileSync(path)), format)) {
      if (!(record instanceof JsonObject)) throw new Error('the next record is not a JSON object');
      last = record;
      const item = decode(record);
      const other = recordById.get(item.id);
      if (other !== undefined) throw new Error(`line ${other.line} has the same id, ${item.id}`);
      recordById.set(item.id, record);
      items.push(item);
    }
    return items;
  } catch (error) {
    if (error instanceof Error && 'code' in error) {
      if (error.code === 'ENOENT') return [];
      throw diskError('read', path, error);
    }
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
  records: Iterable<string>,
  checkLock?: () => void,
): Promise<void> {
  return replaceFile(path, encodeRecords(format, records), checkLock);
}

function* encodeRecords({ name, member }: RecordFormat, records: Iterable<string>): Generator<string> {
  let piece = `{"format":"${name}","version":${version},"${member}":[`;
  let separator = '\n';
  for (const record of records) {
    piece += separator + record;
    separator = ',\n';
    if (piece.length < pieceLength) continue;
    yield piece;
    piece = '';
  }
  yield `${piece}\n]}\n`;
}

/** Returns the array of records in a document. Throws an Error if the document does not have the format. */
function recordsIn(document: JsonValue, format: RecordFormat | null): readonly JsonValue[] {
  let records: JsonValue | undefined = document;
  if (format !== null) {
    if (!(document instanceof JsonObject) || document.get('format') !== format.name) {
      throw new Error(`this is not a ${format.name} file`);
    }
    if (optionalNumberMember(document, 'version') !== version) {
      throw new Error(`"version" is not ${version}: another version of petstore wrote this file`);
    }
    records = document.get(format.member);
  }
  if (!(records instanceof JsonArray)) throw new Error('the records must be a JSON array');
  return records.items;
}
