/** Random choices that a seed determines. */
import { createHash } from 'node:crypto';

export interface Random {
  /** A number of at least 0 and less than 1. */
  next(): number;
  /** An integer from `least` to `most`, both included. */
  integer(least: number, most: number): number;
  pick<T>(values: readonly T[]): T;
  /** Different values, in random order. */
  some<T>(values: readonly T[], count: number): readonly T[];
}

/** The choices of a seed: mulberry32, which starts with a hash of it. */
export function randomOf(seed: string): Random {
  let state = createHash('sha256').update(seed).digest().readUInt32LE();
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const integer = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  const some = <T>(values: readonly T[], count: number): readonly T[] => {
    const left = [...values];
    return Array.from({ length: Math.min(count, left.length) }, () => left.splice(integer(0, left.length - 1), 1)[0]!);
  };
  return { next, integer, some, pick: (values) => some(values, 1)[0]! };
}
