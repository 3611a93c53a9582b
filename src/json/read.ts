/**
 * The exact JSON reader.
 *
 * The problem. JSON.parse turns 9223372036854775807 into 9223372036854775808, silently uses the last of two equal
 * names, never sees that the bytes were not UTF-8, and has other error messages in every version of Node. And a body
 * comes from a stranger: a request with it may cost at most four times as much as JSON.parse (`npm run bench:costs`).
 *
 * The idea. One pass over the bytes checks the syntax and the names, and records only where each value is (tape.ts). A
 * value is made when the caller asks for it. Arrays and objects are views of the tape. A number keeps its source text,
 * which the caller interprets (domain/int64.ts).
 *
 * The invariants.
 * - The accepted texts are those of RFC 8259, and so those of JSON.parse, except for what JSON.parse does not see or
 *   refuse: invalid UTF-8 (section 8.1), a byte order mark (8.1), a name given twice in one object (4).
 * - The offset only grows, and the stack of open arrays and objects is in the tape: the time is linear, at any depth.
 */
import { quote, Source, space } from './source.ts';
import { nameCells, Tape } from './tape.ts';
import { endOfNumber, endOfScalar, endOfString } from './tokens.ts';

export type JsonValue = null | boolean | string | JsonNumber | JsonArray | JsonObject;

/** A JSON number as its source text (RFC 8259, section 6): no digit is lost. */
export class JsonNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An array: a view of the tape. */
export class JsonArray {
  readonly #tape: Tape;
  readonly #index: number;

  constructor(tape: Tape, index: number) {
    this.#tape = tape;
    this.#index = index;
  }

  /** Its elements, made anew by each call. */
  get items(): JsonValue[] {
    return [...this.each()];
  }

  /** Yields its elements, each of which is made when it is asked for: 100 million may not fit into memory. */
  *each(): Generator<JsonValue, void, void> {
    const { cells } = this.#tape;
    for (let at = this.#index + 2; at < cells[this.#index + 1]!; at = nextIndex(this.#tape, at)) {
      yield valueAt(this.#tape, at);
    }
  }
}

/** An object: a view of the tape. */
export class JsonObject {
  readonly #tape: Tape;
  readonly #index: number;

  constructor(tape: Tape, index: number) {
    this.#tape = tape;
    this.#index = index;
  }

  /** The 1-based line of its `{`. */
  get line(): number {
    return this.#tape.source.lineAt(this.#tape.cells[this.#index]!);
  }

  /** The value of a member; undefined if there is none of that name. */
  get(name: string): JsonValue | undefined {
    const index = this.#tape.find(this.#index, name);
    return index < 0 ? undefined : valueAt(this.#tape, index);
  }

  /** All members in their order, made anew by each call. */
  get members(): ReadonlyMap<string, JsonValue> {
    const { cells } = this.#tape;
    const members = new Map<string, JsonValue>();
    for (let at = this.#index + 2; at < cells[this.#index + 1]!; at = nextIndex(this.#tape, at + nameCells)) {
      members.set(this.#tape.string(at), valueAt(this.#tape, at + nameCells));
    }
    return members;
  }
}

/**
 * Reads one JSON text in UTF-8 (RFC 8259), of any depth, in linear time. The arrays, objects and strings of the result
 * may keep a copy of the whole text in memory.
 *
 * @throws JsonSyntaxError at the first error; invalid UTF-8 comes before all other errors
 */
export function readJson(bytes: Uint8Array): JsonValue {
  const tape = new Tape(new Source(bytes));
  scan(tape);
  return valueAt(tape, 0);
}

/** The cells of the last text that `useJson` has read. Allocating new ones takes as long as reading a short text. */
let spareCells: Int32Array | undefined;
/** More than a request of 64 KiB needs. */
const maxSpareCells = 2 ** 18;

/**
 * Reads a text as `readJson` does, and returns what `use` returns for its value. That value must not be used afterwards,
 * because the next text is read into the same memory.
 */
export function useJson<T>(bytes: Uint8Array, use: (value: JsonValue) => T): T {
  const tape = new Tape(new Source(bytes), spareCells);
  spareCells = undefined; // `use` may read another text
  try {
    scan(tape);
    return use(valueAt(tape, 0));
  } finally {
    const cells = tape.release();
    if (cells.length <= maxSpareCells) spareCells = cells;
  }
}

const [openBracket, openBrace, closeBrace, comma, colon] = [0x5b, 0x7b, 0x7d, 0x2c, 0x3a];

/** Fills the tape. Throws JsonSyntaxError. */
function scan(tape: Tape): void {
  const { source } = tape;
  const { bytes } = source;
  /**
   * The index of the innermost open array or object, or -1, and the byte that ends it. Its second cell is the index of
   * the one around it.
   */
  let container = -1;
  let close = 0;
  let at = 0;
  for (;;) {
    // A value begins.
    if (bytes[at]! <= 0x20) at = source.endOfRun(space, at);
    const byte = bytes[at]!;
    const value = tape.add(at);
    if (byte === openBracket || byte === openBrace) {
      tape.add(container);
      container = value;
      close = byte + 2;
      at = source.endOfRun(space, at + 1);
      if (bytes[at] !== close) {
        if (close === closeBrace) at = scanName(tape, container, at);
        continue;
      }
    } else if (byte === quote) {
      const end = endOfString(source, at);
      tape.add(end);
      at = end + 1;
    } else {
      at = endOfScalar(source, at);
    }

    // A value has ended, or an empty array or object ends here.
    for (;;) {
      if (bytes[at]! <= 0x20) at = source.endOfRun(space, at);
      const end = bytes[at]!;
      if (end === comma && container >= 0) {
        at += 1;
        if (close === closeBrace) at = scanName(tape, container, at);
        break;
      }
      if (container < 0) {
        if (at < source.length) source.failExpected('the end', at);
        return;
      }
      if (end !== close) source.failExpected(close === closeBrace ? '"," or "}"' : '"," or "]"', at);
      at += 1;
      const outer = tape.cells[container + 1]!;
      tape.cells[container + 1] = tape.length;
      container = outer;
      if (container >= 0) close = bytes[tape.cells[container]!]! + 2;
    }
  }
}

/** Adds a name of the object and steps over the colon. Returns the offset after it. */
function scanName(tape: Tape, object: number, start: number): number {
  const { source } = tape;
  const name = source.endOfRun(space, start);
  if (source.bytes[name] !== quote) source.failExpected('a name', name);
  const at = source.endOfRun(space, tape.addName(object, name) + 1);
  if (source.bytes[at] !== colon) source.failExpected('":"', at);
  return at + 1;
}

/** The value at an index of the tape. */
function valueAt(tape: Tape, index: number): JsonValue {
  const { source } = tape;
  const { bytes } = source;
  const start = tape.cells[index]!;
  switch (String.fromCharCode(bytes[start]!)) {
    case '{': return new JsonObject(tape, index);
    case '[': return new JsonArray(tape, index);
    case '"': return tape.string(index);
    case 't': return true;
    case 'f': return false;
    case 'n': return null;
    default: return new JsonNumber(source.text(start, endOfNumber(bytes, start)));
  }
}

/** The index after a value of the tape. */
function nextIndex({ cells, source }: Tape, index: number): number {
  const byte = source.bytes[cells[index]!];
  return byte === openBracket || byte === openBrace ? cells[index + 1]! : index + (byte === quote ? 2 : 1);
}
