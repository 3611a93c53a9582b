/**
 * The exact JSON reader.
 *
 * The problem. JSON.parse turns 9223372036854775807 into 9223372036854775808, lets the last of two equal names win in
 * silence, never sees that the bytes were not UTF-8, and words a fault differently in every version of Node. And a body
 * comes from a stranger: no text may cost more than its length.
 *
 * The idea. One pass over the decoded text, with a stack of open containers in place of recursion, so that nesting costs
 * memory and never the call stack. A number stays the text it stood as: who needs its value decides what it must be
 * (domain/int64.ts). What stands in a string between two escapes is cut out in one piece.
 *
 * The invariants.
 * - Accepted is what RFC 8259 calls a JSON text, and so what JSON.parse accepts, but for what JSON.parse never sees or
 *   lets pass: invalid UTF-8 (section 8.1), a byte order mark (8.1), a name given twice in one object (4).
 * - `#at` only grows, and every loop moves it: the cost is linear. A fault's line and column are counted as it is thrown.
 *   Equal names are found by a Map, whose hashes a stranger cannot foretell; in Node before 20.20.2, 22.22.2 and 24.14.1
 *   he could, for names that are array indices (CVE-2026-21717), at a cost of some 25 ms for 64 KiB of them.
 * - Line breaks are legal between tokens only, so #skipSpace alone keeps `#line` true.
 */
import { isUtf8 } from 'node:buffer';

/** A JSON number as the text it stood as (RFC 8259, section 6): no digit lost. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object. `members` in order of appearance; `line` is the 1-based line of its `{`. */
export class JsonObject {
  readonly members: ReadonlyMap<string, JsonValue>;
  readonly line: number;

  constructor(members: ReadonlyMap<string, JsonValue>, line: number) {
    this.members = members;
    this.line = line;
  }
}

export type JsonValue = null | boolean | string | JsonNumber | JsonObject | JsonValue[];

/**
 * Why bytes are no JSON text. The message says what and where, in one short printable line fit for the sender.
 * `line` and `column` count from 1: a line ends at LF, CR LF or CR, a column is a code point.
 */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError';
  readonly line: number;
  readonly column: number;

  /** `problem` is what is wrong at `offset` (in UTF-16 units) of `text`. */
  constructor(problem: string, text: string, offset: number) {
    let line = 1;
    let column = 1;
    for (let i = 0; i < offset; i++) {
      if ((text.charCodeAt(i) & 0xfc00) !== 0xdc00) column++; // but for the second half of a surrogate pair
      if (breaksLine(text, i)) [line, column] = [line + 1, 1];
    }
    super(`${problem} at line ${line}, column ${column}`);
    this.line = line;
    this.column = column;
  }
}

/**
 * Reads one JSON text in UTF-8 (RFC 8259), of any depth, at a cost linear in its length. The strings of the result may
 * share the memory of the whole text: what is to outlive it by far wants a copy.
 *
 * @throws JsonSyntaxError at the first fault; one of the encoding goes before all others
 */
export function readJson(bytes: Uint8Array): JsonValue {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const text = buffer.toString('utf8');
  if (!isUtf8(buffer)) throw new JsonSyntaxError('invalid UTF-8', text, firstReplacement(buffer, text));
  if (text.startsWith('\uFEFF')) throw new JsonSyntaxError('byte order mark', text, 0);
  return new Reader(text).read();
}

// The tokens longer than a character (RFC 8259, sections 3, 6, 7). None costs more than its length, or takes a stack:
// behind a run of characters all is optional, so that a run once taken is never given back.
const WORD = /true|false|null/y;
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const UP_TO_FOUR_HEX_DIGITS = /[\da-fA-F]{0,4}/y;

/** What may follow a backslash, `u` apart, and what it stands for (RFC 8259, section 7). */
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['"', '"'], ['\\', '\\'], ['/', '/'], ['b', '\b'], ['f', '\f'], ['n', '\n'], ['r', '\r'], ['t', '\t'],
]);

/** A container whose end has not been read. In an object, `name` waits for its value. */
type Open =
  | { readonly end: ']'; readonly value: JsonValue[] }
  | { readonly end: '}'; readonly value: JsonObject; readonly members: Map<string, JsonValue>; name: string };

class Reader {
  readonly #text: string;
  #at = 0;
  #line = 1;

  constructor(text: string) {
    this.#text = text;
  }

  read(): JsonValue {
    const open: Open[] = [];
    for (;;) {
      // A value begins. If it is a container that does not end at once, its first element begins.
      const opened = this.#opened();
      if (opened !== undefined && !this.#token(opened.end)) {
        if (opened.end === '}') opened.name = this.#memberName(opened.members);
        open.push(opened);
        continue;
      }
      let value = opened === undefined ? this.#scalar() : opened.value;

      // A value is complete. It goes into its container, and so does every container that ends behind it.
      for (;;) {
        const into = open.at(-1);
        if (into === undefined) {
          this.#skipSpace();
          return this.#at === this.#text.length ? value : this.#fail('the end');
        }
        if (into.end === '}') into.members.set(into.name, value);
        else into.value.push(value);
        if (this.#token(',')) {
          if (into.end === '}') into.name = this.#memberName(into.members);
          break;
        }
        if (!this.#token(into.end)) this.#fail(`"," or "${into.end}"`);
        open.pop();
        value = into.value;
      }
    }
  }

  #opened(): Open | undefined {
    if (this.#token('[')) return { end: ']', value: [] };
    if (!this.#token('{')) return undefined;
    const members = new Map<string, JsonValue>();
    return { end: '}', value: new JsonObject(members, this.#line), members, name: '' };
  }

  /** A name that is not among `members` yet, and the colon behind it. */
  #memberName(members: ReadonlyMap<string, JsonValue>): string {
    if (!this.#token('"')) this.#fail('a name');
    const start = this.#at - 1;
    const name = this.#string();
    if (members.has(name)) throw new JsonSyntaxError(`name ${quote(name)} given twice in one object`, this.#text, start);
    if (!this.#token(':')) this.#fail('":"');
    return name;
  }

  #scalar(): JsonValue {
    if (this.#token('"')) return this.#string();
    const number = this.#match(NUMBER);
    if (number !== '') return new JsonNumber(number);
    const word = this.#match(WORD);
    if (word === '') this.#fail('a value');
    return word === 'null' ? null : word === 'true';
  }

  /** What follows an opening quote, with the closing one (RFC 8259, section 7). Keeps lone surrogates (8.2). */
  #string(): string {
    let value = '';
    for (;;) {
      value += this.#unescaped();
      if (this.#take('"')) return value;
      if (!this.#take('\\')) this.#fail('an escape or a closing quote'); // at a control character, or at the end
      value += this.#escaped();
    }
  }

  /** Characters up to a quote, a backslash, a control character or the end. (In short texts a loop is faster than a pattern.) */
  #unescaped(): string {
    const start = this.#at;
    let end = start;
    for (let code = this.#text.charCodeAt(end); code >= 0x20 && code !== 0x22 && code !== 0x5c; ) code = this.#text.charCodeAt(++end);
    this.#at = end;
    return this.#text.slice(start, end);
  }

  /** What follows a backslash. */
  #escaped(): string {
    if (this.#take('u')) {
      const digits = this.#match(UP_TO_FOUR_HEX_DIGITS);
      if (digits.length < 4) this.#fail('a hexadecimal digit');
      return String.fromCharCode(parseInt(digits, 16));
    }
    const meaning = ESCAPES.get(this.#text.charAt(this.#at)) ?? this.#fail('a valid escape');
    this.#at++;
    return meaning;
  }

  /** Steps over `character`, white space before it too, and says whether it stood there. */
  #token(character: string): boolean {
    this.#skipSpace();
    return this.#take(character);
  }

  /** Steps over what `pattern` finds here, and gives it: the empty string if it finds nothing. */
  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    if (!pattern.test(this.#text)) return '';
    const found = this.#text.slice(this.#at, pattern.lastIndex);
    this.#at = pattern.lastIndex;
    return found;
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #skipSpace(): void {
    for (; ; this.#at++) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d) return;
      if (breaksLine(this.#text, this.#at)) this.#line++;
    }
  }

  #fail(expected: string): never {
    const code = this.#text.codePointAt(this.#at);
    const found = code === undefined ? 'the end' : quote(String.fromCodePoint(code));
    throw new JsonSyntaxError(`expected ${expected} but found ${found}`, this.#text, this.#at);
  }
}

/** Whether the character at `at` ends a line: LF, or a CR that no LF follows. */
function breaksLine(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code === 0x0a || (code === 0x0d && text.charCodeAt(at + 1) !== 0x0a);
}

/** Where `text`, which is `bytes` decoded, has its first U+FFFD that stands for invalid bytes and not for itself. */
function firstReplacement(bytes: Buffer, text: string): number {
  let at = text.indexOf('\uFFFD');
  let byteAt = Buffer.byteLength(text.slice(0, at));
  while (bytes.toString('latin1', byteAt, byteAt + 3) === '\xEF\xBF\xBD') {
    const next = text.indexOf('\uFFFD', at + 1);
    byteAt += Buffer.byteLength(text.slice(at, next));
    at = next;
  }
  return at;
}

/** `text` for a message: in quotes, cut short, with escapes for all that does not print. */
function quote(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return JSON.stringify(short).replace(/(?! )[\p{C}\p{Z}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}
