/**
 * A small file of records that a person can read: one JSON document with one record, an object with an `id`, per line.
 *
 *     {"format":"petstore-keys","version":1,"keys":[
 *     {"id":"k1","name":"till", …},
 *     {"id":"k2","name":"web", …}
 *     ]}
 */
import { messageOf } from '../domain/operator-error.ts';
import { optionalNumberMember } from '../json/members.ts';
import { JsonArray, JsonObject, type JsonValue } from '../json/read.ts';
import { DamagedFileError } from './damaged-file.ts';
import { readJsonFile } from './read-json.ts';
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
 * The records of a file, each as `decode` reads it; none where there is no file. What `decode` throws is told with its
 * line. Throws DamagedFileError that names the line, and OperatorError if the file cannot be read.
 */
export function readRecords<Item extends { readonly id: string }>(
  path: string,
  { name, member }: RecordFormat,
  decode: (record: JsonObject) => Item,
): Item[] {
  const document = readJsonFile(path);
  if (document === null) return [];
  if (!(document instanceof JsonObject) || document.get('format') !== name) {
    throw new DamagedFileError(path, 1, `this is not a ${name} file`);
  }
  const { line } = document;
  if (optionalNumberMember(document, 'version') !== version) {
    const why = `"version" is not ${version}: another version of petstore wrote this file`;
    throw new DamagedFileError(path, line, why);
  }
  const records = document.get(member);
  if (!(records instanceof JsonArray)) throw new DamagedFileError(path, line, `"${member}" must be an array`);
  return decodeRecords(path, line, records.items, decode);
}

/**
 * Decodes an array of records with different ids, which begins in line `line` of a file.
 * Throws DamagedFileError that names the line of a record that is no object, whose id is not new, or at which `decode`
 * throws.
 */
export function decodeRecords<Item extends { readonly id: unknown }>(
  path: string,
  line: number,
  records: readonly JsonValue[],
  decode: (record: JsonObject) => Item,
): Item[] {
  const lines = new Map<unknown, number>();
  return records.map((record) => {
    try {
      if (!(record instanceof JsonObject)) throw new Error('the next record is not a JSON object');
      line = record.line;
      const item = decode(record);
      const other = lines.get(item.id);
      if (other !== undefined) throw new Error(`the id ${item.id} is already in line ${other}`);
      lines.set(item.id, line);
      return item;
    } catch (error) {
      throw new DamagedFileError(path, line, messageOf(error));
    }
  });
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
