/**
 * An exact JSON parser (RFC 8259). It shares no code with the server's, so that an error in one of them is noticed.
 * Numbers keep their digits, repeated names and lone surrogates are kept, and bytes that are not UTF-8 are rejected.
 */

/** A JSON number as its text. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** Its value if it is a 64-bit integer, such as `1`, `1.0` and `10e-1`, otherwise undefined. */
  int64(): bigint | undefined {
    const [, sign, whole, fraction = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(
      this.text,
    )!;
    const digits = (whole! + fraction).replace(/^0+/, '');
    if (digits === '') return 0n;
    const significant = digits.replace(/0+$/, '');
    const zeros = digits.length - significant.length - fraction.length + Number(exponent);
    if (zeros < 0 || significant.length + zeros > 19) return undefined;
    const value = BigInt(`${sign}${significant}${'0'.repeat(zeros)}`);
    return BigInt.asIntN(64, value) === value ? value : undefined;
  }
}

/** A JSON object: its members in order, including repeated names. */
export class JsonObject {
  readonly members: readonly (readonly [name: string, value: Json])[];

  constructor(members: readonly (readonly [string, Json])[]) {
    this.members = members;
  }

  /** The value of the last member with a name, as in most parsers, or undefined. */
  get(name: string): Json | undefined {
    return this.members.findLast(([n]) => n === name)?.[1];
  }
}

export type Json = null | boolean | string | JsonNumber | JsonObject | Json[];

/** The tokens of a valid JSON text, without commas and colons, and of each string only its beginning. */
const tokenPattern = /[[\]{}"]|[^\s,:[\]{}"]+/g;

/**
 * Parses a JSON text of any depth. `JSON.parse`, which does not recurse either, says whether the text is valid.
 *
 * @throws SyntaxError that names the error
 */
export function parseJson(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SyntaxError('the bytes are not UTF-8');
  }
  if (text.startsWith('\ufeff')) throw new SyntaxError('the text begins with a byte order mark');
  JSON.parse(text);
  /** What the text and each open array and object contain so far, outermost first: in an object, names and values. */
  const open: Json[][] = [[]];
  const tokens = new RegExp(tokenPattern);
  for (let found = tokens.exec(text); found !== null; found = tokens.exec(text)) {
    // A pattern of whole strings would exhaust the call stack if one has millions of escapes.
    const token = found[0] === '"' ? text.slice(found.index, endOfString(text, found.index)) : found[0];
    tokens.lastIndex = found.index + token.length;
    if (token === '[' || token === '{') open.push([]);
    else {
      const value = token === ']' ? open.pop()! : token === '}' ? objectOf(open.pop()!) : scalarOf(token);
      open.at(-1)!.push(value);
    }
  }
  return open[0]![0]!;
}

/** The index after the quotation mark that ends the string that begins at `begin`. */
function endOfString(text: string, begin: number): number {
  for (let end = text.indexOf('"', begin + 1); ; end = text.indexOf('"', end + 1)) {
    let first = end;
    while (text[first - 1] === '\\') first--;
    if ((end - first) % 2 === 0) return end + 1;
  }
}

function objectOf(namesAndValues: readonly Json[]): JsonObject {
  const member = (_: unknown, i: number) => [namesAndValues[2 * i] as string, namesAndValues[2 * i + 1]!] as const;
  return new JsonObject(Array.from({ length: namesAndValues.length / 2 }, member));
}

function scalarOf(token: string): Json {
  return /^[-\d]/.test(token) ? new JsonNumber(token) : (JSON.parse(token) as string | boolean | null);
}

/** Describes a value by its JSON type. */
export function kindOf(value: Json | undefined): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  if (value instanceof JsonNumber) return `the number ${shortened(value.text)}`;
  if (value instanceof JsonObject) return 'an object';
  return typeof value === 'string' ? `the string ${shortened(JSON.stringify(value))}` : `${value}`;
}

/** The text, truncated for a message. */
export function shortened(text: string, length = 120): string {
  return text.length <= length ? text : `${text.slice(0, length)}… (${text.length} characters)`;
}
