/**
 * A table of records in memory, each as the JSON line that it is on disk and in responses.
 *
 * The problem. A shop may have a million animals. As JavaScript objects they would take more memory, each garbage
 * collection would visit them all, and each response would format them again.
 *
 * The idea. A record never changes, so it is kept as its bytes. The lines are in large blocks outside the JavaScript
 * heap, each followed by a comma and a line feed: a page is a few slices of blocks, and a snapshot is the blocks
 * themselves. One column has the offset of each row in its block, and one column per status has the rows with that
 * status. That is about 10 bytes per record besides its JSON.
 *
 * The invariants.
 * - Rows are in ascending order of id.
 * - Every line begins with `{"id":` and the digits of the id.
 * - A line is within one block.
 */
import { bytesOf, byteText, type ByteText } from '../../domain/byte-text.ts';
import type { Page, PageQuery } from '../../engine.ts';
import { firstIndex, Uint32Column } from './column.ts';

interface Block {
  readonly bytes: Buffer;
  used: number;
  /** The row after its last one. */
  endRow: number;
  /** True if the table must not write to `bytes`. */
  readonly isShared: boolean;
}

const blockBytes = 1024 * 1024;
/** Up to this length a loop copies a line faster than `set`. */
const shortLineBytes = 256;
/** Pieces of a snapshot are made of so few rows at a time that requests do not wait for it. */
const rowsPerTurn = 1024;
const separator = ',\n';
const idPrefix = '{"id":';
const comma = 0x2c;
const lineFeed = 0x0a;
const noRows = new Uint32Column();

export class LineTable {
  readonly #blocks: Block[] = [];
  readonly #offsets = new Uint32Column();
  readonly #rowsByStatus = new Map<string, Uint32Column>();

  /** The number of records. */
  get count(): number {
    return this.#offsets.length;
  }

  /** The largest id, or null if there is no record. */
  get lastId(): bigint | null {
    return this.count === 0 ? null : this.#idAt(this.count - 1);
  }

  /**
   * Adds a record: the JSON line from `start` to `end` of `line`, in UTF-8. Its id must be larger than all others.
   * `isKept`: `line` never changes again, and a comma and a line feed follow the record. The table then uses `line`
   * itself as a block. Copies would take a third of the time of a start.
   */
  append(line: Buffer, status: string, start = 0, end = line.length, isKept = false): void {
    const row = this.count;
    const needed = end - start + separator.length;
    let block = this.#blocks.at(-1);
    const continues = block?.bytes === line && block.used === start;
    if (isKept) {
      if (!continues) this.#blocks.push((block = { bytes: line, used: start, endRow: row, isShared: true }));
      this.#offsets.push(start);
      block!.used += needed;
    } else {
      if (block === undefined || block.isShared || block.used + needed > block.bytes.length) {
        const bytes = Buffer.allocUnsafeSlow(Math.max(blockBytes, needed));
        this.#blocks.push((block = { bytes, used: 0, endRow: row, isShared: false }));
      }
      this.#offsets.push(block.used);
      this.#copy(line, start, end, block);
    }
    block!.endRow++;

    let rows = this.#rowsByStatus.get(status);
    if (rows === undefined) this.#rowsByStatus.set(status, (rows = new Uint32Column()));
    rows.push(row);
  }

  /** Writes a line and a separator at the end of a block. */
  #copy(line: Buffer, start: number, end: number, block: Block): void {
    const length = end - start;
    const { bytes, used } = block;
    if (length > shortLineBytes) bytes.set(line.subarray(start, end), used);
    else for (let i = 0; i < length; i++) bytes[used + i] = line[start + i]!;
    bytes[used + length] = comma;
    bytes[used + length + 1] = lineFeed;
    block.used += length + separator.length;
  }

  /** Returns the JSON line of the record with this id, an int64 in decimal; null if there is none. */
  get(id: string): ByteText | null {
    // If no id was skipped, the record is in the row id - 1. Comparing its digits is faster than making a BigInt.
    const row = Number(id) - 1;
    if (this.#hasId(row, id)) return this.#lineAt(row);
    const value = BigInt(id);
    const found = firstIndex(this.count, (row) => this.#idAt(row) >= value);
    return found < this.count && this.#idAt(found) === value ? this.#lineAt(found) : null;
  }

  /** Returns a page, in ascending order of id. The cost depends on the size of the page, not on that of the table. */
  page({ limit, after, status }: PageQuery): Page {
    const begin = after === undefined ? 0 : this.#rowAfter(after);
    if (status === undefined) return this.#pageOf(begin, limit, this.count, (entry) => entry);
    const rows = this.#rowsByStatus.get(status) ?? noRows;
    const first = firstIndex(rows.length, (index) => rows.at(index) >= begin);
    return this.#pageOf(first, limit, rows.length, (entry) => rows.at(entry));
  }

  /**
   * Yields the lines of the first `count` records, each followed by a comma and a line feed. A piece ends at the latest
   * with the record that brings it to `enoughBytes`.
   */
  *pieces(count: number, enoughBytes: number): Generator<Buffer> {
    for (let row = 0; row < count; row += rowsPerTurn) {
      yield* this.#slices(row, Math.min(row + rowsPerTurn, count), (entry) => entry, enoughBytes);
    }
  }

  /**
   * Returns the page of at most `limit` entries from `first` on, of a list with `length` entries. `rowAt` returns the
   * row of an entry.
   */
  #pageOf(first: number, limit: number, length: number, rowAt: (entry: number) => number): Page {
    const end = Math.min(first + limit, length);
    const next = end < length ? this.#digitsAt(rowAt(end - 1)) : null;
    if (first >= end) return { body: emptyPage, next };
    const row = rowAt(first);
    const lastRow = rowAt(end - 1);
    const block = this.#blockOf(row);
    if (lastRow - row === end - 1 - first && lastRow < block.endRow) { // the usual case without a filter
      const start = this.#offsets.at(row);
      const stop = this.#endOf(lastRow, block) - separator.length;
      if (stop - start <= textBytes.length) {
        return { body: `[${byteText(block.bytes, start, stop)}]` as ByteText, next };
      }
    }
    let size = 1; // after the bracket
    this.#forRanges(first, end, rowAt, Infinity, (bytes, from, to) => {
      if (size + to - from <= textBytes.length) bytes.copy(textBytes, size, from, to);
      size += to - from;
    });
    if (size > textBytes.length) {
      const slices = this.#slices(first, end, rowAt, Infinity);
      const last = slices.pop()!.subarray(0, -separator.length);
      return { body: [openBracket, ...slices, last, closeBracket], next };
    }
    const bracket = size - separator.length; // in place of the last separator
    textBytes[bracket] = closeBracket[0]!;
    return { body: byteText(textBytes, 0, bracket + 1), next };
  }

  /** Returns the lines of the entries from `first` to `end`, as slices of blocks. */
  #slices(first: number, end: number, rowAt: (entry: number) => number, enoughBytes: number): Buffer[] {
    const slices: Buffer[] = [];
    this.#forRanges(first, end, rowAt, enoughBytes, (bytes, from, to) => slices.push(bytes.subarray(from, to)));
    return slices;
  }

  /**
   * Calls `take` with each range of bytes that the lines of the entries from `first` to `end` are in. Consecutive rows
   * of a block share one, until it has `enoughBytes`.
   */
  #forRanges(
    first: number, end: number, rowAt: (entry: number) => number, enoughBytes: number,
    take: (bytes: Buffer, from: number, to: number) => void,
  ): void {
    let block: Block | undefined;
    for (let entry = first; entry < end; ) {
      let row = rowAt(entry++);
      // Finding a block takes longer than copying a line.
      if (block === undefined || row >= block.endRow) block = this.#blockOf(row);
      const start = this.#offsets.at(row);
      for (; entry < end && row + 1 < block.endRow && rowAt(entry) === row + 1; entry++) {
        if (this.#offsets.at(row + 1) - start >= enoughBytes) break;
        row++;
      }
      take(block.bytes, start, this.#endOf(row, block));
    }
  }

  /** Returns the first row whose id is larger than `id`; the number of rows if there is none. */
  #rowAfter(id: string): number {
    const row = Number(id) - 1; // which has this id if no id was skipped
    if (this.#hasId(row, id)) return row + 1;
    const value = BigInt(id);
    return firstIndex(this.count, (row) => this.#idAt(row) > value);
  }

  /** Whether there is such a row, and its id is this text. */
  #hasId(row: number, id: string): boolean {
    if (!(row >= 0 && row < this.count)) return false;
    const { bytes } = this.#blockOf(row);
    const start = this.#offsets.at(row) + idPrefix.length;
    for (let i = 0; i < id.length; i++) if (bytes[start + i] !== id.charCodeAt(i)) return false;
    return bytes[start + id.length] === comma;
  }

  #lineAt(row: number): ByteText {
    const block = this.#blockOf(row);
    return byteText(block.bytes, this.#offsets.at(row), this.#endOf(row, block) - separator.length);
  }

  #idAt(row: number): bigint {
    return BigInt(this.#digitsAt(row));
  }

  /** The id of a row, in decimal. */
  #digitsAt(row: number): string {
    const { bytes } = this.#blockOf(row);
    const start = this.#offsets.at(row) + idPrefix.length;
    return bytes.toString('latin1', start, bytes.indexOf(comma, start));
  }

  #blockOf(row: number): Block {
    const blocks = this.#blocks;
    return blocks[firstIndex(blocks.length, (index) => blocks[index]!.endRow > row)]!;
  }

  #endOf(row: number, block: Block): number {
    return row + 1 < block.endRow ? this.#offsets.at(row + 1) : block.used;
  }
}

const emptyPage = bytesOf('[]');
const openBracket = Buffer.from('[');
const closeBracket = Buffer.from(']');
/**
 * Holds the page that is being made, if it fits: one copy is faster than several writes. Larger pages are not copied,
 * because their copies would fill the memory while slow clients read them.
 */
const textBytes = Buffer.allocUnsafeSlow(16 * 1024);
textBytes[0] = openBracket[0]!;
