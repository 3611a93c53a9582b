/**
 * The mutant server's own exact JSON: numbers stay the digits they came with. It shares no line with the kit's reader,
 * since a mistake made in both would hide itself.
 */

/** A JSON number as it was written. */
export class Digits {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

export type JsonObject = Map<string, Json>;
export type Json = null | boolean | string | Digits | Json[] | JsonObject;

type Marked = null | boolean | string | Marked[] | { [name: string]: Marked };

/**
 * Reads a JSON text; throws if it is none. JSON.parse judges the text and reads the strings; before that every string
 * gets an `s` in front and every number becomes a string with an `n`, so that no digit passes through a double and no
 * name is special.
 */
export function readJson(text: string): Json {
  JSON.parse(text);
  const marked = text.replace(/"([^"\\]*(?:\\.[^"\\]*)*)"|-?\d[\d.eE+-]*/g, (token: string, inside?: string) =>
    inside === undefined ? `"n${token}"` : `"s${inside}"`,
  );
  return unmarked(JSON.parse(marked) as Marked);
}

function unmarked(value: Marked): Json {
  if (typeof value === 'string') return value.startsWith('n') ? new Digits(value.slice(1)) : value.slice(1);
  if (value === null || typeof value === 'boolean') return value;
  if (Array.isArray(value)) return value.map(unmarked);
  return new Map(Object.entries(value).map(([name, inner]) => [name.slice(1), unmarked(inner)]));
}

/** Writes a value as JSON. Half a surrogate pair is written as an escape, as JSON.stringify does it. */
export function writeJson(value: Json): string {
  if (value instanceof Digits) return value.text;
  if (value instanceof Map)
    return `{${[...value].map(([name, inner]) => `${JSON.stringify(name)}:${writeJson(inner)}`).join()}}`;
  if (Array.isArray(value)) return `[${value.map(writeJson).join()}]`;
  return JSON.stringify(value);
}
