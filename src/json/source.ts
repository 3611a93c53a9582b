/** The bytes of a JSON text: long runs, line numbers, and the error for an offset. */
import { Buffer, isAscii, isUtf8 } from 'node:buffer';

/**
 * Why bytes are not a JSON text. The message says what is wrong and where, in one short printable line for the sender.
 * `line` and `column` count from 1: a line ends at LF, CR LF or CR; a column is a code point.
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

export const quote = 0x22;
export const backslash = 0x5c;
const lineFeed = 0x0a;
const carriageReturn = 0x0d;

/** A value for each byte. */
export function byteTable(value: (byte: number) => number): Uint8Array {
  return Uint8Array.from({ length: 0x100 }, (_, byte) => value(byte));
}

/** A value for each two bytes. The index is the two bytes as a 16-bit number in the byte order of this machine. */
function pairTable(value: (first: number, second: number) => number): Uint8Array {
  const bytes = new Uint8Array(2);
  const pair = new Uint16Array(bytes.buffer);
  return Uint8Array.from({ length: 0x10000 }, (_, index) => {
    pair[0] = index;
    return value(bytes[0]!, bytes[1]!);
  });
}

/** A set of bytes: 1 for a byte that is in it, and for two bytes that are in it. */
interface ByteSet {
  readonly bytes: Uint8Array;
  readonly pairs: Uint8Array;
}

function byteSet(has: (byte: number) => boolean): ByteSet {
  return { bytes: byteTable((byte) => Number(has(byte))), pairs: pairTable((a, b) => Number(has(a) && has(b))) };
}

/** White space (RFC 8259, section 2). */
export const space = byteSet((byte) => byte === 0x20 || byte === lineFeed || byte === carriageReturn || byte === 0x09);
/** The bytes that represent themselves in a string (section 7). */
export const plain = byteSet((byte) => byte >= 0x20 && byte !== quote && byte !== backslash);

/** Bits 0 and 1: the number of LF, CR LF and CR in two bytes. Bit 2: the first byte is LF. Bit 3: the second is CR. */
const lineEnds = pairTable((first, second) => {
  const ends = [first, second].filter((byte) => byte === lineFeed || byte === carriageReturn).length;
  const count = first === carriageReturn && second === lineFeed ? 1 : ends;
  return count + (first === lineFeed ? 4 : 0) + (second === carriageReturn ? 8 : 0);
});

/** The rest of a longer run is read two bytes at a time, which takes half the time per byte. */
const maxSingleBytes = 24;

export class Source {
  readonly length: number;
  /** The text in UTF-8, followed by some 0: each token ends before, and several bytes may be read at once. */
  readonly bytes: Buffer;
  readonly #isAscii: boolean;
  #lazyText: string | null = null;
  #lazyPairs: Uint16Array | null = null;
  /** The last result of `lineAt`, and the number of pairs that were counted for it. */
  #line = 1;
  #countedPairs = 0;

  /** @throws JsonSyntaxError if the bytes are not UTF-8, or begin with a byte order mark */
  constructor(input: Uint8Array) {
    this.length = input.length;
    const memory = Buffer.allocUnsafe(input.length + 8);
    this.bytes = memory.byteOffset % 2 === 0 ? memory : memory.subarray(1); // as Uint16Array requires
    this.bytes.set(input);
    for (let at = input.length; at < this.bytes.length; at += 1) this.bytes[at] = 0;
    this.#isAscii = isAscii(input);
    if (!isUtf8(input)) this.fail('invalid UTF-8', firstInvalid(this.bytes));
    if (input[0] === 0xef && input[1] === 0xbb && input[2] === 0xbf) this.fail('byte order mark', 0);
  }

  get #pairs(): Uint16Array {
    this.#lazyPairs ??= new Uint16Array(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length >> 1);
    return this.#lazyPairs;
  }

  /** The offset after a run, which may be empty, of bytes of a set. */
  endOfRun(set: ByteSet, start: number): number {
    const { bytes } = this;
    let at = start;
    for (const end = start + maxSingleBytes; set.bytes[bytes[at]!] === 1; at += 1) {
      if (at === end) return this.#endOfLongRun(set, at);
    }
    return at;
  }

  #endOfLongRun(set: ByteSet, start: number): number {
    const pairs = this.#pairs;
    let pair = (start + 1) >> 1;
    while ((set.pairs[pairs[pair]!]! & set.pairs[pairs[pair + 1]!]!) === 1) pair += 2;
    pair += set.pairs[pairs[pair]!]!;
    return 2 * pair + set.bytes[this.bytes[2 * pair]!]!;
  }

  /** The string of the code points from `start` to `end`. */
  text(start: number, end: number): string {
    if (!this.#isAscii) return this.bytes.toString('utf8', start, end);
    this.#lazyText ??= this.bytes.toString('latin1', 0, this.length); // each slice is then much cheaper than toString
    return this.#lazyText.slice(start, end);
  }

  /** The 1-based line of a byte that does not end a line. Calls with ascending offsets take one pass in total. */
  lineAt(offset: number): number {
    const pairs = this.#pairs;
    const end = (offset + 1) >> 1;
    if (end < this.#countedPairs) [this.#line, this.#countedPairs] = [1, 0];
    let line = this.#line;
    let previous = this.#countedPairs === 0 ? 0 : lineEnds[pairs[this.#countedPairs - 1]!]!;
    for (let pair = this.#countedPairs; pair < end; pair += 1) {
      const ends = lineEnds[pairs[pair]!]!;
      line += (ends & 3) - ((previous >> 3) & (ends >> 2)); // a CR and this LF are one line end
      previous = ends;
    }
    this.#line = line;
    this.#countedPairs = end;
    return line;
  }

  /** Throws the error for an unexpected character, or the end of the text, at an offset. */
  failExpected(what: string, offset: number): never {
    const found = this.bytes.toString('utf8', offset, Math.min(offset + 4, this.length)).codePointAt(0);
    const name = found === undefined ? 'the end' : quoted(String.fromCodePoint(found));
    this.fail(`expected ${what} but found ${name}`, offset);
  }

  /** Throws the error for a problem at an offset. */
  fail(problem: string, offset: number): never {
    const before = this.bytes.subarray(0, offset);
    const lineStart = Math.max(before.lastIndexOf(lineFeed), before.lastIndexOf(carriageReturn)) + 1;
    let column = offset - lineStart + 1;
    if (!isAscii(before)) {
      for (let at = lineStart; at < offset; at += 1) if ((before[at]! & 0xc0) === 0x80) column -= 1; // in a code point
    }
    throw new JsonSyntaxError(problem, this.lineAt(lineStart), column);
  }
}

/** The offset of the first byte that is not UTF-8. There must be one. */
function firstInvalid(bytes: Buffer): number {
  const chunkLength = 1024;
  let start = 0;
  for (let end = 0; isUtf8(bytes.subarray(start, end)); ) {
    start = end;
    end = start + chunkLength;
    while (end > start + chunkLength - 3 && (bytes[end]! & 0xc0) === 0x80) end -= 1; // a code point is not divided
  }
  const chunk = bytes.subarray(start, start + chunkLength);
  const replaced = Buffer.from(chunk.toString()); // with U+FFFD in place of each invalid sequence
  let at = 0;
  while (chunk[at] === replaced[at]) at += 1;
  while ((replaced[at]! & 0xc0) === 0x80) at -= 1; // the sequence begins like U+FFFD
  return start + at;
}

/** `text` for a message: in quotes, shortened, with escapes for characters that do not print. */
export function quoted(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return JSON.stringify(short).replace(/(?! )[\p{C}\p{Z}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}
