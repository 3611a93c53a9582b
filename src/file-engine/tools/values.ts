import { OperatorError } from '../../domain/operator-error.ts';
import { readChunks } from '../files/chunks.ts';
import { readJson, type JsonValue } from '../../json/read.ts';
import { JsonSyntaxError } from '../../json/source.ts';

/** A create has a body of at most 64 KiB, and an animal that was exported has a few bytes more. */
const maxValueBytes = 65 * 1024;
const [lineFeed, comma, quote, backslash, openBracket, closeBracket] = [0x0a, 0x2c, 0x22, 0x5c, 0x5b, 0x5d];
const isSpace = (byte: number): boolean => byte === 0x20 || byte === lineFeed || byte === 0x0d || byte === 0x09;
/** How much a byte outside of strings changes the depth: of the bits, 0x20 distinguishes braces from brackets. */
const depthOf = (byte: number): number => ((byte | 0x20) === 0x7b ? 1 : (byte | 0x20) === 0x7d ? -1 : 0);

/** A value in a file, with the line on which it begins, and its length. */
export interface ValueInFile {
  readonly value: JsonValue;
  readonly line: number;
  readonly bytes: number;
}

/** Returns the error for a line of a file that is imported. */
export function importError(path: string, line: number, why: string): OperatorError {
  return new OperatorError(`${path}, line ${line}: ${why}; nothing was imported`);
}

/**
 * Reads a file with JSON values: an array of them, or one on each line (NDJSON). Only one value at a time is in memory.
 * Throws OperatorError.
 */
export function* readValues(path: string): Generator<ValueInFile, void, void> {
  const text = Buffer.allocUnsafe(maxValueBytes);
  let used = 0;
  let line = 1;
  let firstLine = 1;
  let place: 'start' | 'lines' | 'array' | 'end' = 'start';
  let count = 0;
  let depth = 0;
  let inString = false;
  let escaped = false;

  const take = (): ValueInFile => {
    try {
      const bytes = used;
      used = 0;
      count++;
      return { value: readJson(text.subarray(0, bytes)), line: firstLine, bytes };
    } catch (error) {
      if (!(error instanceof JsonSyntaxError)) throw error;
      const problem = error.message.replace(/ at line [0-9]+, column [0-9]+$/, '');
      throw importError(path, firstLine + error.line - 1, `not JSON: ${problem}`);
    }
  };
  for (const chunk of readChunks(path)) {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at]!;
      if (byte === lineFeed) line++;
      if (place === 'end' && !isSpace(byte)) throw importError(path, line, 'the file continues after the array');
      if (used === 0 && isSpace(byte)) continue;
      if (place === 'start') {
        place = byte === openBracket ? 'array' : 'lines';
        if (place === 'array') continue;
      }
      if (place === 'lines' && byte === lineFeed) {
        yield take();
        continue;
      }
      if (place === 'array') {
        if (inString) {
          if (escaped) escaped = false;
          else if (byte === backslash) escaped = true;
          else if (byte === quote) inString = false;
        } else if (depth === 0 && (byte === comma || byte === closeBracket)) {
          if (byte === closeBracket) place = 'end';
          if (used === 0) firstLine = line;
          if (byte === comma || used > 0 || count > 0) yield take();
          continue;
        } else if (byte === quote) inString = true;
        else depth += depthOf(byte);
      }
      if (used === 0) firstLine = line;
      if (used === maxValueBytes) throw importError(path, firstLine, `a value has more than ${maxValueBytes} bytes`);
      text[used++] = byte;
    }
  }
  if (place === 'array') throw importError(path, line, 'the array does not end');
  if (used > 0) yield take();
}
