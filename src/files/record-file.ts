/**
 * A small file of records that a person can read: one JSON document with one record, an object with an `id`, per line.
 *
 *     {"format":"petstore-keys","version":1,"keys":[
 *     {"id":"k1","name":"till", …},
 *     {"id":"k2","name":"web", …}
 *     ]}
 */
import { arrayMember, optionalNumberMember } from '../json/members.ts';
import { JsonObject } from '../json/read.ts';
import { badLine, readJsonFile } from './read-json.ts';
import { replaceFile } from './replace.ts';

const version = 1;
/** So many characters, at least, are written in one go; between two goes the event loop is free. */
const pieceLength = 64 * 1024;

/**
 * The records of a file, each as `decode` reads it; none where there is no file. What `decode` throws is told with its line.
 * Throws DamagedFileError that names the line, and OperatorError if the file cannot be read.
 */
export function readRecords<Item extends { readonly id: string }>(
  path: string,
  format: string,
  decode: (record: JsonObject) => Item,
): Item[] {
  const document = readJsonFile(path);
  if (document === null) return [];
  if (!(document instanceof JsonObject) || document.get('format') !== format) {
    throw badLine(path, 1, `this is not a ${format} file`);
  }
  const { line } = document;
  const orBadLine = <T>(at: number, read: () => T): T => {
    try {
      return read();
    } catch (error) {
      throw badLine(path, at, error instanceof Error ? error.message : String(error));
    }
  };
  if (optionalNumberMember(document, 'version') !== version) {
    throw badLine(path, line, `"version" is not ${version}: another version of petstore wrote this file`);
  }
  const ids = new Set<string>();
  return orBadLine(line, () => arrayMember(document, 'keys')).map((record) => {
    if (!(record instanceof JsonObject)) throw badLine(path, line, '"keys" must hold objects');
    return orBadLine(record.line, () => {
      const item = decode(record);
      if (ids.has(item.id)) throw new Error(`there is another key ${item.id} above`);
      ids.add(item.id);
      return item;
    });
  });
}

/** Replaces the file by one of these records, JSON texts without a line feed. Rejects with OperatorError; the old file is whole then. */
export async function writeRecords(path: string, format: string, records: Iterable<string>): Promise<void> {
  await replaceFile(path, async (file) => {
    let piece = `{"format":"${format}","version":${version},"keys":[`;
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
