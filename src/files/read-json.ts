import { readFileSync } from 'node:fs';
import { readJson, type JsonValue } from '../json/read.ts';
import { JsonSyntaxError } from '../json/source.ts';
import { DamagedFileError } from './damaged-file.ts';
import { diskError } from './disk-error.ts';

/** The JSON document in a file, or null if there is no such file. Throws OperatorError that names the line at fault. */
export function readJsonFile(path: string): JsonValue | null {
  try {
    const document = readJson(readFileSync(path));
    if (document === null) throw new DamagedFileError(path, 1, 'the document must not be null');
    return document;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw new DamagedFileError(path, error.line, error.message);
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw diskError('read', path, error);
  }
}
