/**
 * The hash of a name, for a table of names that strangers choose.
 *
 * The problem. Nobody may be able to choose names that share a chain of the table. A Map of strings ensures that, but
 * making and adding a string for each name takes longer than three times JSON.parse.
 *
 * The idea. The hash is the sum of each byte times the random number of its position, and of the object's number times
 * another one. The upper bits are the chain. Whichever two names are chosen, they share one of n chains with a
 * probability of at most 2/n, as long as the random numbers are secret (multiply-shift hashing of vectors:
 * Dietzfelbinger, "Universal hashing and k-wise independent random variables via integer arithmetic without primes",
 * 1996).
 *
 * The invariant. Equal names have equal hashes: an escape counts as the UTF-8 bytes that it means.
 */
import { Buffer } from 'node:buffer';
import { randomFillSync } from 'node:crypto';
import { backslash, plain, quote, Source } from './source.ts';
import { endOfEscape, escapedUnit } from './tokens.ts';

/** The number of random numbers. They repeat in longer names, of which a body contains only a few. */
const positions = 0x2000;
/** The random number of each position, from 1; 0 is for the object. The last three are the first three again. */
const factors = randomFillSync(new Int32Array(positions + 3)).copyWithin(positions, 0, 3);
const isPlain = plain.bytes;

export class NameHash {
  /** The hash of the last name. */
  value = 0;

  /** Reads the name at `start`. Returns the offset of its closing quote. Throws JsonSyntaxError. */
  read(source: Source, object: number, start: number): number {
    this.value = Math.imul(factors[0]!, object);
    const at = this.#readPlain(source, start + 1, start);
    return source.bytes[at] === quote ? at : this.#readRest(source, at, at - start);
  }

  /** Reads bytes that represent themselves, of a name whose position 0 is at `zero`. Returns the offset after them. */
  #readPlain({ bytes }: Source, start: number, zero: number): number {
    let hash = this.value;
    let at = start;
    for (; ; at += 4) { // four bytes at a time, for the sake of long names
      const a = bytes[at]!;
      const b = bytes[at + 1]!;
      const c = bytes[at + 2]!;
      const d = bytes[at + 3]!;
      if ((isPlain[a]! & isPlain[b]! & isPlain[c]! & isPlain[d]!) === 0) break;
      const position = (at - zero) & (positions - 1);
      hash = (hash + Math.imul(factors[position]!, a) + Math.imul(factors[position + 1]!, b)
        + Math.imul(factors[position + 2]!, c) + Math.imul(factors[position + 3]!, d)) | 0;
    }
    for (; isPlain[bytes[at]!] === 1; at += 1) hash = withByte(hash, at - zero, bytes[at]!);
    this.value = hash;
    return at;
  }

  /** Reads the rest of a name, which begins with an escape. */
  #readRest(source: Source, start: number, startPosition: number): number {
    const { bytes } = source;
    let hash = this.value;
    let position = startPosition;
    let at = start;
    while (bytes[at] !== quote) {
      let end = endOfEscape(source, at);
      let codePoint = escapedUnit(bytes, at);
      if ((codePoint & 0xfc00) === 0xd800 && bytes[end] === backslash) {
        const low = escapedUnit(bytes, end);
        if ((low & 0xfc00) === 0xdc00) {
          codePoint = 0x10000 + ((codePoint & 0x3ff) << 10) + (low & 0x3ff);
          end = endOfEscape(source, end);
        }
      }
      if (codePoint < 0x80) {
        hash = withByte(hash, position++, codePoint);
      } else { // in UTF-8: the first byte, and `more` others of six bits each; a lone surrogate becomes three bytes
        let more = codePoint < 0x800 ? 1 : codePoint < 0x10000 ? 2 : 3;
        hash = withByte(hash, position++, ((0xf80 >> more) & 0xff) | (codePoint >> (6 * more)));
        for (; more > 0; more -= 1) hash = withByte(hash, position++, 0x80 | ((codePoint >> (6 * (more - 1))) & 0x3f));
      }
      for (at = end; ; at += 2, position += 2) { // two bytes at a time: runs are often short here
        const a = bytes[at]!;
        const b = bytes[at + 1]!;
        if ((isPlain[a]! & isPlain[b]!) === 0) break;
        const index = position & (positions - 1);
        hash = (hash + Math.imul(factors[index]!, a) + Math.imul(factors[index + 1]!, b)) | 0;
      }
      if (isPlain[bytes[at]!] === 1) hash = withByte(hash, position++, bytes[at++]!);
    }
    this.value = hash;
    return at;
  }

  /** Computes the hash of a name that is given as text. */
  readText(object: number, name: string): void {
    this.value = Math.imul(factors[0]!, object);
    for (let at = 0; at < name.length; at += 1) {
      const code = name.charCodeAt(at);
      if (code >= 0x80) {
        this.read(new Source(Buffer.from(JSON.stringify(name))), object, 0);
        return;
      }
      this.value = withByte(this.value, at + 1, code);
    }
  }
}

function withByte(hash: number, position: number, byte: number): number {
  return (hash + Math.imul(factors[position & (positions - 1)]!, byte)) | 0;
}
