/**
 * A pairwise covering set: combinations that have one row of each dimension and together contain each pair of rows of
 * two dimensions. A combination has at most one row that must be refused or is open, and then no other row because of
 * which it may be refused. A pair of accepted rows is covered only by a combination without such a row, because a
 * refusal hides the effect of the pair.
 *
 * The algorithm is greedy: each combination starts with the row that was used least, and each further row is the one
 * that adds the most new pairs. So the first combinations already use every row, if there are enough of them.
 */
import { isAlone, mayCombine, type Row } from './model.ts';

/** What the covering set needs to know about a row. */
export type Coverable = Pick<Row, 'expect' | 'mayBeRefused' | 'most' | 'of'>;

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

/** All rows of a model, and the pairs of rows that a combination can contain and that are not covered yet. */
function pairsOf(dimensions: readonly (readonly Coverable[])[]) {
  const rows = dimensions.flatMap((of, dimension) => of.map((row, index) => ({ row, dimension, index })));
  const uncovered = new Set<number>();
  const pairOf = (i: number, j: number) => Math.min(i, j) * rows.length + Math.max(i, j);
  rows.forEach((one, i) =>
    rows.forEach((other, j) => {
      if (one.dimension < other.dimension && mayCombine(one.row, other.row)) uncovered.add(pairOf(i, j));
    }),
  );
  /** Marks the pairs of a combination, given as indices of rows, as covered. */
  const mark = (chosen: readonly number[]) => {
    const alone = chosen.filter((i) => isAlone(rows[i]!.row));
    for (const i of alone.length > 0 ? alone : chosen) for (const j of chosen) uncovered.delete(pairOf(i, j));
  };
  return { rows, uncovered, mark, isUncovered: (i: number, j: number) => uncovered.has(pairOf(i, j)) };
}

/** How many of the possible pairs these combinations cover. */
export function coverage(
  dimensions: readonly (readonly Coverable[])[],
  combinations: readonly Combination[],
): { readonly pairs: number; readonly possible: number } {
  const { rows, uncovered, mark } = pairsOf(dimensions);
  const possible = uncovered.size;
  const first = dimensions.map((_, dimension) => rows.findIndex((row) => row.dimension === dimension));
  for (const combination of combinations) mark(combination.map((index, dimension) => first[dimension]! + index));
  return { pairs: possible - uncovered.size, possible };
}

/**
 * Combinations that cover all pairs, or as many as the options allow. Those of only accepted rows are first. They leave
 * half of the uses of a row to the others.
 */
export function cover(dimensions: readonly (readonly Coverable[])[], options: CoverOptions): Combination[] {
  const { seed, most, quota = () => Infinity } = options;
  const random = randomOf(seed);
  const { rows, mark, isUncovered } = pairsOf(dimensions);
  const uses = rows.map(() => 0);
  const spent = new Map<Coverable['of'], number>();
  const found: Combination[] = [];
  const accepted = rows.flatMap(({ row }, i) => (isAlone(row) ? [] : [i]));
  const alone = rows.flatMap(({ row }, i) => (isAlone(row) ? [i] : []));
  let share = alone.length > 0 ? 0.5 : 1;
  const isAvailable = (i: number) => uses[i]! < Math.ceil(share * (rows[i]!.row.most ?? Infinity));
  const isOwn = (i: number, j: number) => rows[i]!.dimension === rows[j]!.dimension;

  /** The number of uncovered pairs of a row with rows that can still be used. */
  const uncoveredOf = (i: number) => accepted.filter((j) => isAvailable(j) && isUncovered(i, j)).length;
  /** The candidate with the highest gain; of several, the one used least; of several of these, a random one. */
  const best = (candidates: readonly number[], gain: (i: number) => number) => {
    // No row is used a million times, so the gain decides first.
    const scored = candidates.map((i) => ({ i, score: 1e6 * gain(i) - uses[i]! + random() }));
    return scored.sort((one, other) => other.score - one.score)[0]?.i;
  };

  const combine = (start: number, countsAll: boolean) => {
    const chosen = [start];
    const gain = (i: number) => (countsAll ? chosen : [start]).filter((j) => isUncovered(i, j)).length;
    while (chosen.length < dimensions.length) {
      const candidates = accepted.filter((i) => {
        return isAvailable(i) && !chosen.some((j) => isOwn(i, j)) && mayCombine(rows[start]!.row, rows[i]!.row);
      });
      const next = best(candidates, gain);
      if (next === undefined) return;
      chosen.push(next);
    }
    for (const i of chosen) uses[i]!++;
    const of = rows[start]!.row.of;
    if (!countsAll) spent.set(of, (spent.get(of) ?? 0) + 1);
    mark(chosen);
    const inOrder = chosen.map((i) => rows[i]!).sort((one, other) => one.dimension - other.dimension);
    found.push(inOrder.map(({ index }) => index));
  };

  for (let start; found.length < Math.min(most, quota(undefined)); combine(start, true)) {
    const candidates = accepted.filter((i) => isAvailable(i) && uncoveredOf(i) > 0);
    start = best(candidates, uncoveredOf);
    if (start === undefined) break;
  }
  // They can only be in these combinations, of which there may be too few to use every row.
  for (const start of accepted.filter((i) => rows[i]!.row.mayBeRefused !== undefined))
    if (uses[start] === 0 && found.length < most) combine(start, true);
  share = 1;
  while (found.length < most) {
    const mayStart = ({ of }: Coverable) => (spent.get(of) ?? 0) < quota(of);
    // One of each requirement and gap; then in the order of the model, in which the rows that are most likely to find a
    // fault are first.
    const isFirst = (i: number) => Number(!spent.has(rows[i]!.row.of));
    const candidates = alone.filter((i) => isAvailable(i) && mayStart(rows[i]!.row));
    const inOrder = candidates.sort((i, j) => uses[i]! - uses[j]! || isFirst(j) - isFirst(i) || i - j);
    const start = inOrder.find((i) => uncoveredOf(i) > 0);
    if (start === undefined) break;
    combine(start, false);
  }
  return found;
}
