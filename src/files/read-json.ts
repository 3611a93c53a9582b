import { readFileSync } from 'node:fs';
import { OperatorError } from '../domain/operator-error.ts';
import { JsonSyntaxError, readJson, type JsonValue } from '../json/read.ts';
import { diskError } from './disk-error.ts';

/** The JSON document in a file, or null if there is no such file. Throws OperatorError that names the line at fault. */
export function readJsonFile(path: string): JsonValue | null {
  try {
    const document = readJson(readFileSync(path));
    if (document === null) throw badLine(path, 1, 'null is no document');
    return document;
  } catch (error) {
    if (error instanceof JsonSyntaxError) throw badLine(path, error.line, error.message);
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return null;
    throw diskError('read', path, error);
  }
}

/** The refusal of a file that a person may have written: names the line. */
export function badLine(path: string, line: number, why: string): OperatorError {
  return new OperatorError(`${path}, line ${line}: ${why}; mend the file, or restore it from a backup`);
}
