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
  readonly #offsets = new Uint32Column();
  readonly #rowsByStatus = new Map<string, Uint32Column>();

  /** How many records there are. */
  get count(): number {
    return this.#offsets.length;
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
    this.#offsets.push(used);
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
    let row = this.#directRow(id);
    if (row < 0) {
      row = this.#rowAfter(id) - 1;
      if (row < 0 || this.#idAt(row) !== id) return null;
    }
    const block = this.#blockOf(row);
    return block.bytes.toString('latin1', this.#offsets.at(row), this.#endOf(row, block) - separator.length);
  }

  /** A page in ascending id. Its cost depends on its own size, not on how many records there are. */
  page({ limit, after, status }: PageQuery): Page {
    const begin = after === undefined ? 0 : this.#rowAfter(after);
    if (status === undefined) return this.#pageOf(begin, limit, this.count, (entry) => entry);
    const rows = this.#rowsByStatus.get(status);
    if (rows === undefined) return emptyPage;
    const first = firstIndex(rows.length, (index) => rows.at(index) >= begin);
    return this.#pageOf(first, limit, rows.length, (entry) => rows.at(entry));
  }

  /**
   * The bytes of the first `count` records, each followed by a comma and a line feed, in pieces of at most `maxBytes`
   * (more only for a single longer record).
   */
  *pieces(count: number, maxBytes: number): Generator<Buffer> {
    for (let row = 0; row < count; ) {
      const block = this.#blockOf(row);
      const start = this.#offsets.at(row);
      let end = start;
      while (row < count && this.#isInBlock(row, block)) {
        const next = this.#endOf(row, block);
        if (next - start > maxBytes && end > start) break;
        end = next;
        row++;
      }
      yield block.bytes.subarray(start, end);
    }
  }

  /** The page of at most `limit` entries from `first` on, of a list of `length` entries that `rowAt` turns into rows. */
  #pageOf(first: number, limit: number, length: number, rowAt: (entry: number) => number): Page {
    const end = Math.min(first + limit, length);
    if (first >= end) return emptyPage;
    const runs: Buffer[] = [];
    for (let entry = first; entry < end; ) {
      const row = rowAt(entry++);
      const block = this.#blockOf(row);
      let last = row;
      for (; entry < end && rowAt(entry) === last + 1 && this.#isInBlock(last + 1, block); entry++) last++;
      runs.push(block.bytes.subarray(this.#offsets.at(row), this.#endOf(last, block)));
    }
    return { body: bodyOf(runs), next: end < length ? this.#digitsAt(rowAt(end - 1)) : null };
  }

  /** The first row whose id is larger than `id`. */
  #rowAfter(id: bigint): number {
    const row = this.#directRow(id);
    return row >= 0 ? row + 1 : firstIndex(this.count, (row) => this.#idAt(row) > id);
  }

  /** The row with this id if it is where it stands as long as no id was skipped, at row id - 1; else -1. */
  #directRow(id: bigint): number {
    const row = Number(id) - 1;
    if (!(row >= 0 && row < this.count)) return -1;
    // Digit by digit, as far as it has so many: the text of an id, or its BigInt, is dear to make.
    const { bytes } = this.#blockOf(row);
    let at = this.#offsets.at(row) + idPrefix.length;
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
    const start = this.#offsets.at(row) + idPrefix.length;
    return bytes.toString('latin1', start, bytes.indexOf(comma, start));
  }

  #blockOf(row: number): Block {
    const blocks = this.#blocks;
    return blocks[firstIndex(blocks.length, (index) => blocks[index]!.firstRow > row) - 1]!;
  }

  /** Whether `row` is in `block`, if it is known to be in it or the one behind its last. */
  #isInBlock(row: number, block: Block): boolean {
    return row === block.firstRow || this.#offsets.at(row) > 0;
  }

  #endOf(row: number, block: Block): number {
    return row + 1 < this.count && this.#isInBlock(row + 1, block) ? this.#offsets.at(row + 1) : block.used;
  }
}

/** Up to this size, a copy is cheaper than several writes; above, a copy for each slow reader would fill the memory. */
const maxTextBytes = 16 * 1024;
const openBracket = Buffer.from('[');
const closeBracket = Buffer.from(']');
const emptyPage: Page = { body: '[]', next: null };

/** The JSON array of the lines in `runs`: a bracket before them, and one in place of the last separator. */
function bodyOf(runs: readonly Buffer[]): string | readonly Buffer[] {
  const pieces = [openBracket, ...runs.slice(0, -1), runs.at(-1)!.subarray(0, -separator.length), closeBracket];
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  return size > maxTextBytes ? pieces : Buffer.concat(pieces, size).toString('latin1');
}
