/**
 * The small server's own exact JSON reader and writer: numbers keep their digits. It shares no code with the kit's
 * reader, because the kit could not find a fault that both have.
 */

/** A JSON number as its text. */
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
 * Reads a JSON text. Throws an error if it is not JSON. JSON.parse checks the syntax and reads the strings. Before it
 * reads them, every string gets the prefix `s`, and every number becomes a string with the prefix `n`, so that no
 * number is converted to a double and no name is special.
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

/** Writes a value as JSON. A lone surrogate is written as an escape, as by JSON.stringify. */
export function writeJson(value: Json): string {
  if (value instanceof Digits) return value.text;
  if (value instanceof Map)
    return `{${[...value].map(([name, inner]) => `${JSON.stringify(name)}:${writeJson(inner)}`).join()}}`;
  if (Array.isArray(value)) return `[${value.map(writeJson).join()}]`;
  return JSON.stringify(value);
}
