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

/** A truth value for each two bytes: 1 or 0. The second byte is the upper half of the index. */
function pairTable(has: (first: number, second: number) => boolean): Uint8Array {
  const table = new Uint8Array(0x10000); // `Uint8Array.from` would take a tenth of the time of a start
  for (let index = 0; index < table.length; index++) table[index] = Number(has(index & 0xff, index >> 8));
  return table;
}

/** A set of bytes: 1 for a byte that is in it, and for two bytes that are in it. */
type ByteSet = ReturnType<typeof byteSet>;

function byteSet(has: (byte: number) => boolean) {
  return { bytes: byteTable((byte) => Number(has(byte))), pairs: pairTable((a, b) => has(a) && has(b)) };
}

/** White space (RFC 8259, section 2). */
export const space = byteSet((byte) => byte === 0x20 || byte === lineFeed || byte === carriageReturn || byte === 0x09);
/** The bytes that represent themselves in a string (section 7). */
export const plain = byteSet((byte) => byte >= 0x20 && byte !== quote && byte !== backslash);

/** Whether a byte ends a line, given the next one. */
const endsLine = pairTable((byte, next) => byte === lineFeed || (byte === carriageReturn && next !== lineFeed));

/** The rest of a longer run is read eight bytes at a time, which takes a quarter of the time per byte. */
const maxSingleBytes = 24;
const sentinel = Buffer.alloc(8);

export class Source {
  readonly length: number;
  /** The text in UTF-8, followed by some 0: each token ends before, and several bytes may be read at once. */
  readonly bytes: Buffer;
  #lazyView: DataView | null = null;
  readonly #isAscii: boolean;
  #lazyText: string | null = null;

  /** @throws JsonSyntaxError if the bytes are not UTF-8, or begin with a byte order mark */
  constructor(input: Uint8Array) {
    this.length = input.length;
    this.bytes = Buffer.concat([input, sentinel]);
    this.#isAscii = isAscii(input);
    if (!isUtf8(input)) this.fail('invalid UTF-8', firstInvalid(input));
    if (input[0] === 0xef && input[1] === 0xbb && input[2] === 0xbf) this.fail('byte order mark', 0);
  }

  get #view(): DataView {
    return (this.#lazyView ??= new DataView(this.bytes.buffer, this.bytes.byteOffset, this.bytes.length));
  }

  /** The offset after a run, which may be empty, of bytes of a set. */
  endOfRun(set: ByteSet, start: number): number {
    const { bytes } = this;
    const { pairs } = set;
    for (let at = start; ; ) {
      for (const end = at + maxSingleBytes; at < end; at += 1) {
        if (set.bytes[bytes[at]!] === 0) return at;
      }
      const view = this.#view;
      for (; ; at += 8) {
        const low = view.getInt32(at, true);
        const high = view.getInt32(at + 4, true);
        if ((pairs[low & 0xffff]! & pairs[low >>> 16]! & pairs[high & 0xffff]! & pairs[high >>> 16]!) === 0) break;
      }
    }
  }

  /** The string of the code points from `start` to `end`. */
  text(start: number, end: number): string {
    if (!this.#isAscii) return this.bytes.toString('utf8', start, end);
    this.#lazyText ??= this.bytes.toString('latin1', 0, this.length); // each slice is then much cheaper than toString
    return this.#lazyText.slice(start, end);
  }

  /** The 1-based line of a byte that does not end a line. */
  lineAt(offset: number): number {
    const view = this.#view;
    let line = 1;
    let at = 0;
    for (; at < offset % 4; at += 1) line += endsLine[view.getUint16(at, true)]!;
    for (; at < offset; at += 4) {
      const even = view.getInt32(at, true);
      const odd = view.getInt32(at + 1, true);
      line += endsLine[even & 0xffff]! + endsLine[even >>> 16]! + endsLine[odd & 0xffff]! + endsLine[odd >>> 16]!;
    }
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

const longestCharacter = 4;

/**
 * The offset of the first character that is not UTF-8. There must be one. Each step is half as long as the last one.
 */
function firstInvalid(bytes: Uint8Array): number {
  let at = 0; // a character begins here, and all before are valid
  for (let step = bytes.length; ; step = Math.max(longestCharacter, step >> 1)) {
    let end = Math.min(at + step, bytes.length);
    const least = Math.max(at, end - longestCharacter); // the last character can be cut off
    while (end > least && !isUtf8(bytes.subarray(at, end))) end -= 1;
    if (end > least) at = end;
    else if (step <= longestCharacter) return at;
  }
}

/** `text` for a message: in quotes, shortened, with escapes for characters that do not print. */
export function quoted(text: string): string {
  const short = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  return JSON.stringify(short).replace(/(?! )[\p{C}\p{Z}]/gu, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}
