/**
 * Records in memory, as the JSON lines they are on the disk and on the wire.
 *
 * A record never changes once it exists. So it is kept as its bytes, in large blocks outside the garbage collector's
 * reach, each line followed by a comma and a line feed: a page is a few runs of bytes, and a snapshot is the
 * blocks written out. Beside them stand one column with the place of each row in its block and, for each status, one
 * with the rows that have it: about 10 bytes a record besides its JSON.
 *
 * Invariants: rows are in ascending id; every line begins with `{"id":` and its digits; a line lies within one block.
 */
import { firstIndex, Uint32Column } from './column.ts';

/** What `page` is asked for. */
export interface PageQuery {
  /** The most records on the page: 1 or more. */
  readonly limit: number;
  /** Only records with a larger id; undefined begins with the first. */
  readonly after: bigint | undefined;
  /** Only records with this status; undefined takes all. */
  readonly status: string | undefined;
}

export interface Page {
  /** A JSON array of the records in UTF-8: a string with one character for each byte (`latin1`) or, if it is large, pieces. */
  readonly body: string | readonly Buffer[];
  /** The `after` of the next page, in digits, or null if no record follows. */
  readonly next: string | null;
}

interface Block {
  readonly bytes: Buffer;
  readonly firstRow: number;
  used: number;
}

const blockBytes = 1024 * 1024;
/** Up to this length a loop copies a line faster than a call does: it halves the time of a start. */
const shortLineBytes = 256;
const separator = ',\n';
const idPrefix = '{"id":';
const comma = 0x2c;
const zero = 0x30;
const lineFeed = 0x0a;

export class LineTable {
  readonly #blocks: Block[] = [];
  readonly #places = new Uint32Column();
  readonly #rowsByStatus = new Map<string, Uint32Column>();

  /** How many records there are. */
  get count(): number {
    return this.#places.length;
  }

  /** The largest id, or null without a record. */
  get lastId(): bigint | null {
    return this.count === 0 ? null : this.#idAt(this.count - 1);
  }

  /** Adds a record: its JSON line in UTF-8, from `start` to `end` of `line`, whose id is larger than all before it. */
  append(line: Uint8Array, status: string, start = 0, end = line.length): void {
    const length = end - start;
    const needed = length + separator.length;
    let block = this.#blocks.at(-1);
    if (block === undefined || block.used + needed > block.bytes.length) {
      const bytes = Buffer.allocUnsafeSlow(Math.max(blockBytes, needed));
      block = { bytes, firstRow: this.count, used: 0 };
      this.#blocks.push(block);
    }
    const row = this.count;
    const { bytes, used } = block;
    this.#places.push(used);
    if (length > shortLineBytes) bytes.set(line.subarray(start, end), used);
    else for (let i = 0; i < length; i++) bytes[used + i] = line[start + i]!;
    bytes[used + length] = comma;
    bytes[used + length + 1] = lineFeed;
    block.used += needed;

    let rows = this.#rowsByStatus.get(status);
    if (rows === undefined) this.#rowsByStatus.set(status, (rows = new Uint32Column()));
    rows.push(row);
  }

  /** The record with this id, or null: the bytes of its JSON line, one character for each (`latin1`). */
  get(id: bigint): string | null {
    let row = this.#usualRow(id);
    if (row < 0) {
      row = this.#rowAfter(id) - 1;
      if (row < 0 || this.#idAt(row) !== id) return null;
    }
    const block = this.#blockOf(row);
    return block.bytes.toString('latin1', this.#places.at(row), this.#endOf(row, block) - separator.length);
  }

  /** A page in ascending id. Its cost depends on its own size, not on how many records there are. */
  page({ limit, after, status }: PageQuery): Page {
    const begin = after === undefined ? 0 : this.#rowAfter(after);
    if (status === undefined) return this.#pageOf(begin, Math.min(limit, this.count - begin), this.count, (n) => n);
    const rows = this.#rowsByStatus.get(status);
    if (rows === undefined) return emptyPage;
    const first = firstIndex(rows.length, (index) => rows.at(index) >= begin);
    return this.#pageOf(first, Math.min(limit, rows.length - first), rows.length, (n) => rows.at(n));
  }

  /**
   * The bytes of the first `count` records, each followed by a comma and a line feed, in pieces of at most `maxBytes`
   * (more only for a single longer record), with the number of records in each piece.
   */
  *pieces(count: number, maxBytes: number): Generator<{ bytes: Buffer; rows: number }> {
    let row = 0;
    while (row < count) {
      const block = this.#blockOf(row);
      const start = this.#places.at(row);
      const first = row;
      let end = start;
      while (row < count && this.#isIn(row, block)) {
        const next = this.#endOf(row, block);
        if (next - start > maxBytes && row > first) break;
        end = next;
        row++;
      }
      yield { bytes: block.bytes.subarray(start, end), rows: row - first };
    }
  }

  /** The page of `count` entries from `first` on, of a list of `length` entries that `rowAt` turns into rows. */
  #pageOf(first: number, count: number, length: number, rowAt: (entry: number) => number): Page {
    if (count <= 0) return emptyPage;
    const runs: Run[] = [];
    let size = 0;
    for (let entry = first; entry < first + count; ) {
      const row = rowAt(entry);
      const block = this.#blockOf(row);
      let last = row;
      entry++;
      while (entry < first + count && rowAt(entry) === last + 1 && this.#isIn(last + 1, block)) {
        last++;
        entry++;
      }
      const run = { bytes: block.bytes, start: this.#places.at(row), end: this.#endOf(last, block) };
      size += run.end - run.start;
      runs.push(run);
    }
    const more = first + count < length;
    return { body: bodyOf(runs, size), next: more ? this.#digitsAt(rowAt(first + count - 1)) : null };
  }

  /** The first row whose id is larger than `id`. */
  #rowAfter(id: bigint): number {
    const row = this.#usualRow(id);
    return row >= 0 ? row + 1 : firstIndex(this.count, (row) => this.#idAt(row) > id);
  }

  /** The row with this id if it is where it stands as long as no id was skipped, at row id - 1; else -1. */
  #usualRow(id: bigint): number {
    const row = Number(id) - 1;
    if (!(row >= 0 && row < this.count)) return -1;
    // Digit by digit, as far as it has so many: the text of an id, or its BigInt, is dear to make.
    const { bytes } = this.#blockOf(row);
    let at = this.#places.at(row) + idPrefix.length;
    let found = 0;
    for (; bytes[at] !== comma && found <= row; at++) found = found * 10 + (bytes[at]! - zero);
    return bytes[at] === comma && found === row + 1 ? row : -1;
  }

  #idAt(row: number): bigint {
    return BigInt(this.#digitsAt(row));
  }

  /** The row's id as it stands in its line. */
  #digitsAt(row: number): string {
    const { bytes } = this.#blockOf(row);
    const start = this.#places.at(row) + idPrefix.length;
    return bytes.toString('latin1', start, bytes.indexOf(comma, start));
  }

  #blockOf(row: number): Block {
    const blocks = this.#blocks;
    return blocks[firstIndex(blocks.length, (index) => blocks[index]!.firstRow > row) - 1]!;
  }

  /** Whether `row` is in `block`, if it is known to be in it or the one behind its last. */
  #isIn(row: number, block: Block): boolean {
    return row === block.firstRow || this.#places.at(row) > 0;
  }

  #endOf(row: number, block: Block): number {
    return row + 1 < this.count && this.#isIn(row + 1, block) ? this.#places.at(row + 1) : block.used;
  }
}

/** A stretch of a block: lines, each with its separator. */
interface Run {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/** Up to this size, a copy is cheaper than several writes; above, a copy for each slow reader would fill the memory. */
const maxTextBytes = 16 * 1024;
const openBracket = Buffer.from('[');
const closeBracket = Buffer.from(']');
const emptyPage: Page = { body: '[]', next: null };

/** The JSON array of the lines in `runs`, which are `size` bytes long: a bracket before them, and one in place of the last separator. */
function bodyOf(runs: readonly Run[], size: number): string | readonly Buffer[] {
  const lines = runs.map(({ bytes, start, end }) => bytes.subarray(start, end));
  const pieces = [openBracket, ...lines.slice(0, -1), lines.at(-1)!.subarray(0, -separator.length), closeBracket];
  return size > maxTextBytes ? pieces : Buffer.concat(pieces).toString('latin1');
}
