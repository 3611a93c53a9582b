/**
 * The tape: where the values and the names of a JSON text are. The names are in a hash table.
 *
 * The cells, in the order of the text:
 * - a number or a literal: its offset
 * - a string: the offsets of its quotes
 * - an array or an object: its offset, and the index after its last cell
 * - a name: the offsets of its quotes, its hash, the index of its object, and the next name of its chain or 0
 */
import { NameHash } from './name-hash.ts';
import { quoted, type Source } from './source.ts';
import { stringBetween } from './tokens.ts';

/** The number of cells of a name. The next cell is the first of the value. */
export const nameCells = 5;

const noCells = new Int32Array(0);

export class Tape {
  readonly source: Source;
  cells: Int32Array;
  length = 0;
  readonly #nameHash = new NameHash();
  /** The first name of each chain, or 0. The upper bits of a hash are the number of its chain. */
  #chains: Int32Array | null = null;
  readonly #shift: number;

  /** `cells` may have any values. */
  constructor(source: Source, cells: Int32Array = new Int32Array(64)) {
    this.source = source;
    this.cells = cells;
    this.#shift = Math.clz32((source.length >> 3) | 3); // a member has at least 5 bytes
  }

  /** Returns the cells, for another tape. No value of this one can be read any more. */
  release(): Int32Array {
    const { cells } = this;
    this.cells = noCells;
    this.#chains = null;
    return cells;
  }

  /** Adds a cell. Returns its index. */
  add(cell: number): number {
    if (this.length === this.cells.length) this.#grow();
    this.cells[this.length] = cell;
    this.length += 1;
    return this.length - 1;
  }

  /**
   * Adds the name that begins at `start`, and returns the offset of its closing quote.
   * Throws JsonSyntaxError if it is not a valid string, or the object has this name already.
   */
  addName(object: number, start: number): number {
    const end = this.#nameHash.read(this.source, object, start);
    const hash = this.#nameHash.value;
    this.#chains ??= new Int32Array(2 ** (32 - this.#shift));
    if (this.length + nameCells > this.cells.length) this.#grow();
    const { cells, length } = this;
    const chain = hash >>> this.#shift;
    const first = this.#chains[chain]!;
    for (let name = first; name !== 0; name = cells[name + 4]!) {
      if (cells[name + 2] === hash && cells[name + 3] === object) this.#refuseIfEqual(name, start, end);
    }
    cells[length] = start;
    cells[length + 1] = end;
    cells[length + 2] = hash;
    cells[length + 3] = object;
    cells[length + 4] = first;
    this.#chains[chain] = length;
    this.length += nameCells;
    return end;
  }

  /** The string or the name at an index. */
  string(index: number): string {
    return stringBetween(this.source, this.cells[index]!, this.cells[index + 1]!);
  }

  /** The index of the value of a member; -1 if the object has no member of that name. */
  find(object: number, name: string): number {
    const { cells } = this;
    this.#nameHash.readText(object, name);
    const hash = this.#nameHash.value;
    for (let at = this.#chains?.[hash >>> this.#shift] ?? 0; at !== 0; at = cells[at + 4]!) {
      if (cells[at + 2] === hash && cells[at + 3] === object && this.string(at) === name) return at + nameCells;
    }
    return -1;
  }

  #refuseIfEqual(index: number, start: number, end: number): void {
    const name = stringBetween(this.source, start, end);
    if (this.string(index) === name) this.source.fail(`name ${quoted(name)} given twice in one object`, start);
  }

  #grow(): void {
    const cells = new Int32Array(4 * this.cells.length);
    cells.set(this.cells);
    this.cells = cells;
  }
}
