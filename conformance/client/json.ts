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

/** Deeper nesting is rejected. */
const maxDepth = 200;

/**
 * Parses a JSON text.
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
    while (/[ \t\n\r]/.test(text.charAt(at))) at++;
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
      if (take(/"/y) !== undefined) return value;
      const escape =
        take(/\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/y) ??
        fail(at < text.length ? 'an invalid character in a string' : 'an unterminated string');
      value +=
        escape[1] === 'u'
          ? String.fromCharCode(parseInt(escape.slice(2), 16))
          : ('\b\f\n\r\t'['bfnrt'.indexOf(escape[1]!)] ?? escape[1]!);
    }
  };

  /** Parses the elements between brackets. */
  const sequence = <T>(end: RegExp, element: () => T): T[] => {
    at++;
    const elements: T[] = [];
    skipSpace();
    if (take(end) !== undefined) return elements;
    for (;;) {
      elements.push(element());
      skipSpace();
      if (take(end) !== undefined) return elements;
      take(/,/y) ?? fail('no comma and no closing bracket');
    }
  };

  const value = (depth: number): Json => {
    if (depth > maxDepth) fail('nested too deeply');
    skipSpace();
    switch (text[at]) {
      case '{':
        return new JsonObject(
          sequence(/\}/y, () => {
            skipSpace();
            const name = text[at] === '"' ? string() : fail('no name');
            skipSpace();
            take(/:/y) ?? fail('no colon');
            return [name, value(depth + 1)] as const;
          }),
        );
      case '[':
        return sequence(/\]/y, () => value(depth + 1));
      case '"':
        return string();
    }
    const number = take(/-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y);
    if (number !== undefined) return new JsonNumber(number);
    const word = take(/true|false|null/y) ?? fail('no value');
    return word === 'null' ? null : word === 'true';
  };

  const result = value(0);
  skipSpace();
  if (at < text.length) fail('text after the end');
  return result;
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
