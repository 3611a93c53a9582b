import { readFileSync } from 'node:fs';
import { OperatorError } from '../domain/operator-error.ts';
import { readJson, type JsonValue } from '../json/read.ts';
import { JsonSyntaxError } from '../json/source.ts';
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

/** A file, one that a person may have written, holds what it must not. */
export class DamagedFileError extends OperatorError {
  /** The file, the line and what is wrong there. */
  readonly fault: string;

  constructor(fault: string) {
    super(`${fault}; mend the file, or restore it from a backup`);
    this.fault = fault;
  }
}

/** The refusal of a file: names the line. */
export function badLine(path: string, line: number, why: string): DamagedFileError {
  return new DamagedFileError(`${path}, line ${line}: ${why}`);
}
