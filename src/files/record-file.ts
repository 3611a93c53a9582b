/**
 * A small file of records that a person can read: one JSON document with one record, an object with an `id`, per line.
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

export interface RecordFormat {
  /** The value of the member `format`. */
  readonly name: string;
  /** The name of the member that holds the records. */
  readonly member: string;
}

const version = 1;
/** So many characters, at least, are written in one go; between two goes the event loop is free. */
const pieceLength = 64 * 1024;

/**
 * The records of a file, each as `decode` reads it; none where there is no file. `format` is null for a file that is
 * just an array of records. What `decode` throws is told with its line.
 * Throws DamagedFileError that names the line, and OperatorError if the file cannot be read.
 */
export function readRecords<Item extends { readonly id: unknown }>(
  path: string,
  format: RecordFormat | null,
  decode: (record: JsonObject) => Item,
): Item[] {
  let line = 1;
  const lines = new Map<unknown, number>();
  try {
    return recordsIn(readJson(readFileSync(path)), format).map((record) => {
      if (!(record instanceof JsonObject)) throw new Error('the next record is not a JSON object');
      line = record.line;
      const item = decode(record);
      const other = lines.get(item.id);
      if (other !== undefined) throw new Error(`the id ${item.id} is already in line ${other}`);
      lines.set(item.id, line);
      return item;
    });
  } catch (error) {
    if (error instanceof Error && 'code' in error) {
      if (error.code === 'ENOENT') return [];
      throw diskError('read', path, error);
    }
    throw new DamagedFileError(path, error instanceof JsonSyntaxError ? error.line : line, messageOf(error));
  }
}

/**
 * Replaces the file by one of these records, JSON texts without a line feed. Rejects with OperatorError; the old file
 * is whole then.
 */
export async function writeRecords(
  path: string,
  { name, member }: RecordFormat,
  records: Iterable<string>,
): Promise<void> {
  await replaceFile(path, async (file) => {
    let piece = `{"format":"${name}","version":${version},"${member}":[`;
    let separator = '\n';
    for (const record of records) {
      piece += separator + record;
      separator = ',\n';
      if (piece.length < pieceLength) continue;
      await file.writeFile(piece);
      piece = '';
    }
    await file.writeFile(`${piece}\n]}\n`);
  });
}

/** The array of records in a document. Throws an Error that says why this is not the format. */
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
