/**
 * A pairwise covering set: combinations that have one row of each dimension and together contain each pair of rows of
 * two dimensions. A combination has at most one row that must be refused or is open. A pair of accepted rows is covered
 * only by a combination without such a row, because a refusal hides the effect of the pair.
 *
 * The algorithm is greedy: each combination starts with the row that was used least, and each further row is the one
 * that adds the most new pairs. So the first combinations already use every row, if there are enough of them.
 */
import { isAlone, type Row } from './model.ts';

/** What the covering set needs to know about a row. */
export type Coverable = Pick<Row, 'expect' | 'most' | 'of' | 'unusable'>;

/** The index of a row in each dimension. */
export type Combination = readonly number[];

export interface CoverOptions {
  readonly seed: number;
  /** The maximum number of combinations. */
  readonly most: number;
  /** The maximum number of combinations for a requirement or a gap. */
  readonly quota?: (of: NonNullable<Row['of']> | undefined) => number;
}

/** A generator of pseudorandom numbers, at least 0 and less than 1 (mulberry32). */
export function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Which pairs of rows are open: possible and not covered yet. A row is its index among all rows of the model. */
class Pairs {
  readonly #size: number;
  readonly #open: Uint8Array;

  constructor(size: number) {
    this.#size = size;
    this.#open = new Uint8Array(size * size);
  }

  set(one: number, other: number, isOpen: boolean): void {
    this.#open[one * this.#size + other] = this.#open[other * this.#size + one] = Number(isOpen);
  }

  isOpen(one: number, other: number): boolean {
    return this.#open[one * this.#size + other] === 1;
  }

  /** The number of open pairs. */
  get count(): number {
    return this.#open.reduce((sum, open) => sum + open, 0) / 2;
  }
}

/** All rows of a model, and the pairs of rows that a combination can contain. */
function pairsOf(dimensions: readonly (readonly Coverable[])[]) {
  const rows = dimensions.flatMap((of, dimension) => of.map((row, index) => ({ row, dimension, index })));
  const pairs = new Pairs(rows.length);
  const mayMeet = (one: Coverable, other: Coverable) =>
    !(isAlone(one) && isAlone(other)) && one.unusable === undefined && other.unusable === undefined;
  rows.forEach((one, i) =>
    rows.forEach((other, j) => {
      if (one.dimension < other.dimension && mayMeet(one.row, other.row)) pairs.set(i, j, true);
    }),
  );
  const first = dimensions.map((_, dimension) => rows.findIndex((row) => row.dimension === dimension));
  return { rows, pairs, first };
}

/** Marks the pairs of a combination as covered. */
function mark(pairs: Pairs, chosen: readonly number[], isRowAlone: (row: number) => boolean): void {
  const alone = chosen.filter(isRowAlone);
  const starts = alone.length > 0 ? alone : chosen;
  for (const one of starts) for (const other of chosen) if (one !== other) pairs.set(one, other, false);
}

/** How many of the possible pairs these combinations cover. */
export function coverage(
  dimensions: readonly (readonly Coverable[])[],
  combinations: readonly Combination[],
): { readonly pairs: number; readonly possible: number } {
  const { rows, pairs, first } = pairsOf(dimensions);
  const possible = pairs.count;
  for (const combination of combinations)
    mark(
      pairs,
      combination.map((index, dimension) => first[dimension]! + index),
      (row) => isAlone(rows[row]!.row),
    );
  return { pairs: possible - pairs.count, possible };
}

/** Combinations that cover all pairs, or as many as the options allow. Those of only accepted rows are first. */
export function cover(dimensions: readonly (readonly Coverable[])[], options: CoverOptions): Combination[] {
  const { seed, most, quota = () => Infinity } = options;
  const random = randomOf(seed);
  const { rows, pairs } = pairsOf(dimensions);
  const uses = rows.map(() => 0);
  const spent = new Map<Coverable['of'], number>();
  const found: Combination[] = [];
  const isAvailable = (i: number) => uses[i]! < (rows[i]!.row.most ?? Infinity);
  const accepted = rows.flatMap(({ row }, i) => (isAlone(row) || row.unusable !== undefined ? [] : [i]));
  const alone = rows.flatMap(({ row }, i) => (isAlone(row) && row.unusable === undefined ? [i] : []));
  const isOwn = (i: number, j: number) => rows[i]!.dimension === rows[j]!.dimension;

  /** The number of open pairs of a row with rows that can still be used. */
  const openOf = (i: number) => accepted.filter((j) => isAvailable(j) && pairs.isOpen(i, j)).length;
  /** The candidate with the highest gain; of several, the one used least; of several of these, a random one. */
  const best = (candidates: readonly number[], gain: (i: number) => number) => {
    const ranked = candidates.map((i) => ({ i, rank: [gain(i), -uses[i]!, random()] as const }));
    const isBetter = (one: readonly number[], other: readonly number[]) => {
      const at = one.findIndex((part, k) => part !== other[k]);
      return at >= 0 && one[at]! > other[at]!;
    };
    return ranked.reduce<(typeof ranked)[number] | undefined>(
      (first, next) => (first === undefined || isBetter(next.rank, first.rank) ? next : first),
      undefined,
    )?.i;
  };

  const combine = (start: number, countsAll: boolean) => {
    const chosen = [start];
    const gain = (i: number) => (countsAll ? chosen : [start]).filter((j) => pairs.isOpen(i, j)).length;
    while (chosen.length < dimensions.length) {
      const candidates = accepted.filter((i) => isAvailable(i) && !chosen.some((j) => isOwn(i, j)));
      const next = best(candidates, gain);
      if (next === undefined) return;
      chosen.push(next);
    }
    for (const i of chosen) uses[i]!++;
    const of = rows[start]!.row.of;
    if (!countsAll) spent.set(of, (spent.get(of) ?? 0) + 1);
    mark(pairs, chosen, (i) => isAlone(rows[i]!.row));
    const inOrder = chosen.map((i) => rows[i]!).sort((one, other) => one.dimension - other.dimension);
    found.push(inOrder.map(({ index }) => index));
  };

  for (let start; found.length < Math.min(most, quota(undefined)); combine(start, true)) {
    const candidates = accepted.filter((i) => isAvailable(i) && openOf(i) > 0);
    start = best(candidates, openOf);
    if (start === undefined) break;
  }
  while (found.length < most) {
    const mayStart = ({ of }: Coverable) => (spent.get(of) ?? 0) < quota(of);
    // In the order of the model, in which the rows that are most likely to find a fault are first.
    const candidates = alone.filter((i) => isAvailable(i) && mayStart(rows[i]!.row));
    const start = candidates.sort((i, j) => uses[i]! - uses[j]! || i - j).find((i) => openOf(i) > 0);
    if (start === undefined) break;
    combine(start, false);
  }
  return found;
}
