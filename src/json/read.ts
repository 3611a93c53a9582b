/**
 * The exact JSON reader.
 *
 * The problem. JSON.parse turns 9223372036854775807 into 9223372036854775808, lets the last of two equal names win in
 * silence, never sees that the bytes were not UTF-8, and words a fault differently in every version of Node. And a body
 * comes from a stranger: no text may cost much more than JSON.parse takes for it (`npm run bench:json`).
 *
 * The idea. One pass over the bytes, with a stack of open containers in place of recursion, so that nesting costs memory
 * and never the call stack. Only strings are decoded. A number keeps its source text; the caller interprets it
 * (domain/int64.ts). The members of an object are a list; a Map is made of them only when one is looked for.
 *
 * The invariants.
 * - Accepted is what RFC 8259 calls a JSON text, and so what JSON.parse accepts, but for what JSON.parse never sees or
 *   lets pass: invalid UTF-8 (section 8.1), a byte order mark (8.1), a name given twice in one object (4).
 * - `#at` only grows, and every loop moves it: the cost is linear.
 * - Equal names have equal hashes. Different names may have, too: an object in which two have compares the names themselves from then on.
 */
import { Buffer, isAscii, isUtf8 } from 'node:buffer';

/** A JSON number as the text it stood as (RFC 8259, section 6): no digit lost. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object with more names has them in a Set. With fewer, it takes less time to compare their hashes one by one. */
const maxCompared = 48;

/** An object. */
export class JsonObject {
  /** Names and values in turn. */
  readonly #entries: JsonValue[] = [];
  readonly #hashes: number[] = [];
  /** The names, once there are too many of them, or two have one hash. */
  #names: Set<string> | null = null;
  #members: Map<string, JsonValue> | null = null;
  readonly #lines: Lines;
  readonly #offset: number;

  /** It begins at `offset` of the text with these lines. */
  constructor(lines: Lines, offset: number) {
    this.#lines = lines;
    this.#offset = offset;
  }

  /** The 1-based line of its `{`. */
  get line(): number {
    return this.#lines.lineAt(this.#offset);
  }

  /** The members, in order of appearance. */
  get members(): ReadonlyMap<string, JsonValue> {
    if (this.#members === null) {
      this.#members = new Map();
      for (let i = 0; i < this.#entries.length; i += 2) this.#members.set(this.#entries[i] as string, this.#entries[i + 1]!);
    }
    return this.#members;
  }

  /** For the reader: adds the first member, which is null until `setLast`. */
  addFirst(name: string): void {
    this.#entries.push(name, null);
  }

  /** For the reader: adds another member, whose name has this hash. Returns whether its name is a new one. */
  add(name: string, hash: number): boolean {
    const entries = this.#entries;
    if (entries.length === 2) this.#hashes.push(hashOf(entries[0] as string));
    if (this.#names === null && (this.#hashes.length >= maxCompared || this.#hashes.includes(hash))) {
      this.#names = new Set(entries.filter((_, index) => index % 2 === 0) as string[]);
    }
    entries.push(name, null);
    if (this.#names === null) return this.#hashes.push(hash) > 0;
    return this.#names.add(name).size === entries.length / 2;
  }

  /** For the reader. */
  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /** For the reader: gives the member that was added last its value. */
  setLast(value: JsonValue): void {
    this.#entries[this.#entries.length - 1] = value;
  }
}

const isLineFeed = Uint8Array.from({ length: 256 }, (_, code) => Number(code === 0x0a));

/** The lines of a text, which are counted only when somebody asks. A line ends at LF, CR LF or CR. */
class Lines {
  readonly #bytes: Buffer;
  readonly #hasCarriageReturns: boolean;
  #line = 1;
  #counted = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#hasCarriageReturns = bytes.includes(0x0d);
  }

  /** The 1-based line of a byte. Those who ask for one after the other cause one pass. */
  lineAt(offset: number): number {
    const bytes = this.#bytes;
    if (offset < this.#counted) [this.#line, this.#counted] = [1, 0];
    let line = this.#line;
    let at = this.#counted;
    if (!this.#hasCarriageReturns) for (; at < offset - 3; at += 4) line += isLineFeed[bytes[at]!]! + isLineFeed[bytes[at + 1]!]! + isLineFeed[bytes[at + 2]!]! + isLineFeed[bytes[at + 3]!]!;
    for (; at < offset; at += 1) {
      if (bytes[at] === 0x0a || (bytes[at] === 0x0d && bytes[at + 1] !== 0x0a)) line += 1;
    }
    this.#line = line;
    this.#counted = offset;
    return line;
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

  constructor(problem: string, line: number, column: number) {
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
  const reader = new Reader(buffer);
  if (!isUtf8(buffer)) reader.fail('invalid UTF-8', firstInvalid(buffer));
  if (buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf) reader.fail('byte order mark', 0);
  return reader.read();
}

const quoteCode = 0x22;
const backslash = 0x5c;
/** A string with more escapes is decoded by JSON.parse, which takes a while to begin, and then less for each. */
const maxEscapes = 6;

/** What may follow a backslash, `u` apart, and what it stands for (RFC 8259, section 7). */
const escapes: ReadonlyMap<string, string> = new Map([
  ['"', '"'], ['\\', '\\'], ['/', '/'], ['b', '\b'], ['f', '\f'], ['n', '\n'], ['r', '\r'], ['t', '\t'],
]);
/** The same by the code of what follows. */
const meanings = Array.from({ length: 256 }, (_, code) => escapes.get(String.fromCharCode(code)));
const isEscape = Uint8Array.from(meanings, (meaning) => Number(meaning !== undefined));
const notHexadecimal = 16;
/** The value of a hexadecimal digit, by its code. */
const hexadecimal = Uint8Array.from({ length: 256 }, (_, code) => (/[\da-fA-F]/.test(String.fromCharCode(code)) ? parseInt(String.fromCharCode(code), 16) : notHexadecimal));

/** A run of bytes that is longer is left to a pattern, which begins more slowly than a loop and then takes half its time. */
const maxLoop = 32;
// Each takes no more than one step for each character, and never gives one back.
const plainRun = /[^"\\\0-\x1f]*/y;
const spaceRun = /[ \t\n\r]*/y;

const digitNumbers = Array.from({ length: 10 }, (_, digit) => new JsonNumber(String(digit)));

/** An odd number, with which names in use have different hashes. */
const hashFactor = 0x2545f491;
const hashFactorSquared = Math.imul(hashFactor, hashFactor);

class Reader {
  readonly #bytes: Buffer;
  /** The bytes as one character each. */
  readonly #text: string;
  readonly #isAscii: boolean;
  readonly #lines: Lines;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#lines = new Lines(bytes);
    this.#text = bytes.toString('latin1');
    this.#isAscii = isAscii(bytes);
  }

  read(): JsonValue {
    /** The containers whose end has not been read, but for the innermost. */
    const outer: (JsonValue[] | JsonObject)[] = [];
    let innermost: JsonValue[] | JsonObject | null = null;
    for (;;) {
      // A value begins. If it is a container that does not end at once, its first element begins.
      let value: JsonValue;
      const code = this.#next();
      if (code === 0x5b || code === 0x7b) {
        this.#at += 1;
        const opened: JsonValue[] | JsonObject = code === 0x5b ? [] : new JsonObject(this.#lines, this.#at - 1);
        if (this.#next() !== code + 2) {
          if (opened instanceof JsonObject) this.#name(opened);
          if (innermost !== null) outer.push(innermost);
          innermost = opened;
          continue;
        }
        this.#at += 1;
        value = opened;
      } else {
        value = this.#scalar(code);
      }

      // A value is complete. It goes into its container, and so does every container that ends behind it.
      for (;;) {
        const end = this.#next();
        if (innermost === null) return end < 0 ? value : this.#expected('the end');
        if (innermost instanceof JsonObject) {
          innermost.setLast(value);
          if (end === 0x2c) {
            this.#at += 1;
            this.#name(innermost);
            break;
          }
          if (end !== 0x7d) this.#expected('"," or "}"');
        } else {
          innermost.push(value);
          if (end === 0x2c) {
            this.#at += 1;
            break;
          }
          if (end !== 0x5d) this.#expected('"," or "]"');
        }
        this.#at += 1;
        value = innermost;
        innermost = outer.pop() ?? null;
      }
    }
  }

  /** Steps over white space. Gives the byte behind it, -1 at the end. */
  #next(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    let code = at < bytes.length ? bytes[at]! : -1;
    const loopEnd = at + maxLoop;
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      at = at < loopEnd ? at + 1 : this.#endOfRun(spaceRun, at);
      code = at < bytes.length ? bytes[at]! : -1;
    }
    this.#at = at;
    return code;
  }

  #endOfRun(pattern: RegExp, at: number): number {
    pattern.lastIndex = at;
    pattern.test(this.#text);
    return pattern.lastIndex;
  }

  /** Adds a member to `object`: a name that it does not have yet, and the colon behind it. */
  #name(object: JsonObject): void {
    if (this.#next() !== quoteCode) this.#expected('a name');
    const start = this.#at;
    const name = this.#string();
    if (object.isEmpty) {
      object.addFirst(name);
    } else {
      const isPlain = this.#isAscii && name.length === this.#at - start - 2;
      const hash = isPlain ? hashOfBytes(this.#bytes, start + 1, this.#at - 1) : hashOf(name);
      if (!object.add(name, hash)) this.fail(`name ${quote(name)} given twice in one object`, start);
    }
    if (this.#next() !== 0x3a) this.#expected('":"');
    this.#at += 1;
  }

  /** A value that is no container; it begins here, with the character of this code. */
  #scalar(code: number): JsonValue {
    if (code === quoteCode) return this.#string();
    const bytes = this.#bytes;
    const start = this.#at;
    if (code === 0x74 && bytes[start + 1] === 0x72 && bytes[start + 2] === 0x75 && bytes[start + 3] === 0x65) {
      this.#at = start + 4;
      return true;
    }
    if ((code === 0x66 || code === 0x6e) && this.#text.startsWith(code === 0x66 ? 'false' : 'null', start)) {
      this.#at = start + (code === 0x66 ? 5 : 4);
      return code === 0x66 ? false : null;
    }
    this.#at = this.#numberEnd();
    if (this.#at === start) this.#expected('a value');
    return this.#at === start + 1 ? digitNumbers[code - 0x30]! : new JsonNumber(this.#text.slice(start, this.#at));
  }

  /** Where the number that begins here ends (RFC 8259, section 6); here, if none does. */
  #numberEnd(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    if (bytes[at] === 0x2d) at += 1;
    if (bytes[at] === 0x30) at += 1;
    else if (isDigit(bytes[at])) at = endOfDigits(bytes, at);
    else return this.#at;
    if (bytes[at] === 0x2e && isDigit(bytes[at + 1])) at = endOfDigits(bytes, at + 1);
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      const sign = bytes[at + 1];
      const digits = at + (sign === 0x2b || sign === 0x2d ? 2 : 1);
      if (isDigit(bytes[digits])) at = endOfDigits(bytes, digits);
    }
    return at;
  }

  /** The string whose opening quote is here (RFC 8259, section 7). Keeps lone surrogates (8.2). */
  #string(): string {
    const bytes = this.#bytes;
    const start = this.#at;
    let at = start + 1;
    let escapeCount = 0;
    for (let plain = 0; ; ) {
      const code = at < bytes.length ? bytes[at]! : -1;
      if (code === quoteCode) break;
      if (code === backslash) {
        escapeCount += 1;
        plain = 0;
        at = isEscape[bytes[at + 1] ?? 0] === 1 ? at + 2 : this.#endOfEscape(at + 1);
      } else if (code >= 0x20) {
        plain += 1;
        at = plain < maxLoop ? at + 1 : this.#endOfRun(plainRun, at);
      } else { // a control character, or the end
        this.#at = at;
        this.#expected('an escape or a closing quote');
      }
    }
    this.#at = at + 1;
    if (escapeCount === 0) return this.#decoded(start + 1, at);
    if (escapeCount > maxEscapes) return JSON.parse(this.#decoded(start, at + 1)) as string;
    return withoutEscapes(this.#decoded(start + 1, at));
  }

  /** Where the escape of four hexadecimal digits ends whose backslash is before `at`. */
  #endOfEscape(at: number): number {
    const bytes = this.#bytes;
    this.#at = at;
    if (bytes[at] !== 0x75) this.#expected('a valid escape');
    for (this.#at += 1; this.#at <= at + 4; this.#at += 1) {
      if (hexadecimal[bytes[this.#at] ?? 0] === notHexadecimal) this.#expected('a hexadecimal digit');
    }
    return this.#at;
  }

  /** The text of these bytes. */
  #decoded(start: number, end: number): string {
    return this.#isAscii ? this.#text.slice(start, end) : this.#bytes.toString('utf8', start, end);
  }

  #expected(what: string): never {
    const at = this.#at;
    const code = this.#bytes.toString('utf8', at, at + 4).codePointAt(0);
    this.fail(`expected ${what} but found ${code === undefined ? 'the end' : quote(String.fromCodePoint(code))}`, at);
  }

  /** Throws the fault that lies at `offset`. */
  fail(problem: string, offset: number): never {
    const bytes = this.#bytes;
    let lineStart = offset;
    const lines = this.#text.slice(0, offset);
    if (lines.includes('\n') || lines.includes('\r')) while (lineStart > 0 && bytes[lineStart - 1] !== 0x0a && bytes[lineStart - 1] !== 0x0d) lineStart -= 1;
    else lineStart = 0;
    let column = offset - lineStart + 1;
    if (!this.#isAscii) for (let at = lineStart; at < offset; at += 1) if ((bytes[at]! & 0xc0) === 0x80) column -= 1; // not the first byte of a code point
    throw new JsonSyntaxError(problem, this.#lines.lineAt(lineStart), column);
  }
}

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= 0x30 && code <= 0x39;
}

function endOfDigits(bytes: Buffer, at: number): number {
  while (at < bytes.length && isDigit(bytes[at])) at += 1;
  return at;
}

function hashOf(text: string): number {
  let hash = 0;
  for (let at = 0; at < text.length; at += 1) hash = (Math.imul(hash, hashFactor) + text.charCodeAt(at)) | 0;
  return hash;
}

/** As `hashOf`, of an ASCII text; two characters at a time, as one multiplication has to wait for the one before it. */
function hashOfBytes(bytes: Buffer, start: number, end: number): number {
  let hash = 0;
  let at = start;
  for (; at < end - 1; at += 2) hash = (Math.imul(hash, hashFactorSquared) + Math.imul(bytes[at]!, hashFactor) + bytes[at + 1]!) | 0;
  return at < end ? (Math.imul(hash, hashFactor) + bytes[at]!) | 0 : hash;
}

/** What stands between the quotes of a string, with what its escapes stand for. They are valid. */
function withoutEscapes(text: string): string {
  let value = '';
  for (let at = 0; at < text.length; at += 1) {
    const next = text.indexOf('\\', at);
    if (next < 0) return value + text.slice(at);
    if (next > at) value += text.slice(at, next);
    at = next + 1;
    const meaning = meanings[text.charCodeAt(at)];
    if (meaning === undefined) {
      let code = 0;
      for (const end = at + 4; at < end; ) code = 16 * code + hexadecimal[text.charCodeAt(++at)]!;
      value += String.fromCharCode(code);
    } else {
      value += meaning;
    }
  }
  return value;
}

/** Where the first byte is that belongs to no code point. There must be one. */
function firstInvalid(bytes: Buffer): number {
  let valid = 0; // all before is UTF-8
  let invalid = bytes.length; // not all before is
  while (invalid - valid > 8) {
    const middle = (valid + invalid) >> 1;
    let start = middle; // of a code point, if it is UTF-8
    while (start > middle - 3 && (bytes[start]! & 0xc0) === 0x80) start -= 1;
    if (isUtf8(bytes.subarray(0, start))) valid = start;
    else invalid = start;
  }
  for (;;) {
    const size = [1, 2, 3, 4].find((count) => valid + count <= bytes.length && isUtf8(bytes.subarray(valid, valid + count)));
    if (size === undefined) return valid;
    valid += size;
  }
}

/** `text` for a message: in quotes, cut short, with escapes for all that does not print. */
function quote(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return JSON.stringify(short).replace(/(?! )[\p{C}\p{Z}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}
