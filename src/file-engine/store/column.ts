const chunkBits = 14;
const chunkLength = 1 << chunkBits;

/** A growing list of unsigned 32-bit integers, of 4 bytes each. It grows by chunks, so that nothing is copied. */
export class Uint32Column {
  readonly #chunks: Uint32Array[] = [];
  #length = 0;

  get length(): number {
    return this.#length;
  }

  push(value: number): void {
    const place = this.#length & (chunkLength - 1);
    if (place === 0) this.#chunks.push(new Uint32Array(chunkLength));
    this.#chunks[this.#length >>> chunkBits]![place] = value;
    this.#length++;
  }

  /** Returns the number at `index`, which must be less than `length`. */
  at(index: number): number {
    return this.#chunks[index >>> chunkBits]![index & (chunkLength - 1)]!;
  }
}

/** Returns the first index for which `holds` is true, by binary search; `length` if there is none. */
export function firstIndex(length: number, holds: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
