/**
 * An exact JSON parser (RFC 8259). It shares no code with the server's, so that an error in one of them is noticed.
 * Numbers keep their digits, lone surrogates are kept, and bytes that are not UTF-8 are rejected.
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

/**
 * Parses a JSON text of any depth. It does not recurse, because a valid response may be nested too deeply for the call
 * stack.
 *
 * @throws SyntaxError that names the error and its position
 */
export function parseJson(bytes: Uint8Array): Json {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SyntaxError('the bytes are not UTF-8');
  }
  let at = 0;

  const fail = (what: string): never => {
    throw new SyntaxError(`${what} at character ${at}`);
  };
  const skipSpace = () => {
    while (' \t\n\r'.includes(text[at] ?? 'none')) at++;
  };
  /** Consumes a character if it is the next one. */
  const skip = (character: string): boolean => {
    if (text[at] !== character) return false;
    at++;
    return true;
  };
  /** Consumes what a sticky pattern matches at the current position. */
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0];
    at += found?.length ?? 0;
    return found;
  };

  const string = (): string => {
    at++;
    let value = '';
    for (;;) {
      value += take(/[^"\\\u0000-\u001f]*/y);
      if (skip('"')) return value;
      const escape =
        take(/\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/y) ??
        fail(at < text.length ? 'an invalid character in a string' : 'an unterminated string');
      value += JSON.parse(`"${escape}"`) as string;
    }
  };

  const scalar = (): Json => {
    if (text[at] === '"') return string();
    const number = take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (number !== undefined) return new JsonNumber(number);
    const word = take(/true|false|null/y) ?? fail('no value');
    return word === 'null' ? null : word === 'true';
  };

  /** The contents so far of all open arrays and objects, outermost first. In an object, each value follows its name. */
  const contents: Json[] = [];
  /** For each open array or object: whether it is an object, and the index at which its contents begin. */
  const areObjects: boolean[] = [];
  const starts: number[] = [];

  /** Begins an element: reads the name and the colon of a member if the innermost container is an object. */
  const begin = () => {
    if (areObjects.at(-1) !== true) return;
    skipSpace();
    contents.push(text[at] === '"' ? string() : fail('no name'));
    skipSpace();
    if (!skip(':')) fail('no colon');
  };
  /** Closes the innermost container, and returns it. */
  const close = (): Json => {
    const inside = contents.splice(starts.pop()!);
    if (areObjects.pop() !== true) return inside;
    return new JsonObject(
      Array.from({ length: inside.length / 2 }, (_, i) => [inside[2 * i] as string, inside[2 * i + 1]!] as const),
    );
  };

  for (;;) {
    skipSpace();
    const isObject = skip('{');
    if (isObject || skip('[')) {
      areObjects.push(isObject);
      starts.push(contents.length);
      skipSpace();
      if (text[at] !== (isObject ? '}' : ']')) {
        begin();
        continue;
      }
    } else contents.push(scalar());
    // A value is complete, or the innermost container is empty: close each container that ends here.
    for (;;) {
      skipSpace();
      if (starts.length === 0) {
        if (at < text.length) fail('text after the end');
        return contents[0]!;
      }
      if (!skip(areObjects.at(-1) === true ? '}' : ']')) break;
      contents.push(close());
    }
    if (!skip(',')) fail('no comma and no closing bracket');
    begin();
  }
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
