/** The covering set covers all pairs of any model, is small, and depends only on the seed. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { cover, coverage, type Coverable, type Combination } from './cover.ts';
import { isAlone, mayCombine } from './model.ts';

const plain: Coverable = { expect: 'accepted' };
const refusable: Coverable = { expect: 'accepted', mayBeRefused: [403] };
const aloneRow = fc.constantFrom<Coverable>(
  { expect: 'open', of: 'create.nul' },
  { expect: { refused: [400] }, of: 'create.null' },
  { expect: 'open', of: 'create.chunked', mayBeRefused: [411] },
);

/** A dimension with some accepted rows, of which the first is the plain one, and some others. */
const dimension = fc
  .tuple(fc.array(fc.constantFrom(plain, plain, refusable), { maxLength: 5 }), fc.array(aloneRow, { maxLength: 6 }))
  .map(([accepted, alone]) => [plain, ...accepted, ...alone]);
const model = fc.array(dimension, { minLength: 2, maxLength: 7 });

type Model = readonly (readonly Coverable[])[];

/** The pairs that combinations must contain, counted without the code under test. */
function missing(dimensions: Model, combinations: readonly Combination[]): string[] {
  const rows = dimensions.flatMap((of, at) => of.map((row, index) => ({ row, at, index })));
  const has = (combination: Combination, { at, index }: { at: number; index: number }) => combination[at] === index;
  const countAlone = (combination: Combination) =>
    combination.filter((index, at) => isAlone(dimensions[at]![index]!)).length;
  return rows.flatMap((one) =>
    rows.flatMap((other) => {
      if (one.at >= other.at || !mayCombine(one.row, other.row)) return [];
      const wanted = Number(isAlone(one.row) || isAlone(other.row));
      const isCovered = combinations.some(
        (combination) => has(combination, one) && has(combination, other) && countAlone(combination) === wanted,
      );
      return isCovered ? [] : [`${one.at}.${one.index} with ${other.at}.${other.index}`];
    }),
  );
}

test('all pairs of any model are covered, and no combination has two rows that are not accepted', () => {
  fc.assert(
    fc.property(model, fc.integer(), (dimensions, seed) => {
      const combinations = cover(dimensions, { seed, most: Infinity });
      assert.deepEqual(missing(dimensions, combinations), []);
      for (const combination of combinations) {
        assert.equal(combination.length, dimensions.length);
        const used = combination.map((index, at) => dimensions[at]![index]!);
        const hasAlone = used.some(isAlone);
        assert.ok(used.filter((row) => isAlone(row) || (hasAlone && row === refusable)).length <= 1);
      }
      const { pairs, possible } = coverage(dimensions, combinations);
      assert.equal(pairs, possible);
    }),
    { numRuns: 200 },
  );
});

test('it is small: ten dimensions of four values need fewer than 40 combinations, not a million', () => {
  const dimensions = Array.from({ length: 10 }, () => [plain, plain, plain, plain]);
  for (const seed of [1, 2, 3]) {
    const combinations = cover(dimensions, { seed, most: Infinity });
    assert.ok(combinations.length >= 16 && combinations.length < 40, `${combinations.length}`);
  }
});

test('the same seed makes the same set, and another seed another one', () => {
  const dimensions = Array.from({ length: 5 }, () => [plain, plain, plain]);
  const of = (seed: number) => cover(dimensions, { seed, most: Infinity });
  assert.deepEqual(of(7), of(7));
  assert.notDeepEqual(of(7), of(8));
});

test('no limit is exceeded, and a part of the set uses every row before any a second time', () => {
  fc.assert(
    fc.property(model, fc.nat(40), (dimensions, most) => {
      const combinations = cover(dimensions, { seed: 1, most });
      assert.ok(combinations.length <= most);
      const whole = cover(dimensions, { seed: 1, most: Infinity });
      assert.deepEqual(combinations, whole.slice(0, most));
      const alone = combinations.flatMap((combination) =>
        combination.flatMap((index, at) => (isAlone(dimensions[at]![index]!) ? [`${at}.${index}`] : [])),
      );
      const rows = dimensions.flat().filter(isAlone).length;
      assert.equal(new Set(alone.slice(0, rows)).size, Math.min(rows, alone.length));
    }),
    { numRuns: 100 },
  );
});

test('each row that may be refused is used, although only a few combinations may have only accepted rows', () => {
  const headers = [plain, plain, plain, refusable, refusable, refusable];
  const open: Coverable = { expect: 'open', of: 'create.nul' };
  for (const seed of [1, 2, 3]) {
    const quota = (of: Coverable['of']) => (of === undefined ? 2 : Infinity);
    const combinations = cover([[plain, open], headers], { seed, most: 20, quota });
    for (const index of [3, 4, 5]) assert.ok(combinations.some(([, header]) => header === index), `${seed}`);
  }
});

test('a row that is limited is used no more often', () => {
  const rare: Coverable = { expect: 'accepted', most: 2 };
  const dimensions = [[plain, rare], [plain, plain, plain, plain], [plain, plain]];
  const combinations = cover(dimensions, { seed: 1, most: Infinity });
  assert.equal(combinations.filter(([first]) => first === 1).length, 2);
  const { pairs, possible } = coverage(dimensions, combinations);
  assert.ok(pairs < possible && possible === 2 * 4 + 2 * 2 + 4 * 2);
});

test('half of the uses of a limited row are left for rows that must be refused or are open', () => {
  const rare: Coverable = { expect: 'accepted', most: 4 };
  const wrong: Coverable = { expect: 'open', of: 'create.nul' };
  const dimensions = [[plain, rare], [plain, ...Array<Coverable>(6).fill(plain), ...Array<Coverable>(6).fill(wrong)]];
  const combinations = cover(dimensions, { seed: 1, most: Infinity }).filter(([first]) => first === 1);
  assert.deepEqual([combinations.length, combinations.filter(([, second]) => second! > 6).length], [4, 2]);
});

test('a quota bounds the combinations of one requirement', () => {
  const wrong: Coverable = { expect: 'open', of: 'create.nul' };
  const other: Coverable = { expect: 'open', of: 'create.comments' };
  const dimensions = [[plain, wrong, wrong, wrong, other], [plain, plain, plain]];
  const combinations = cover(dimensions, {
    seed: 1,
    most: Infinity,
    quota: (of) => (of === 'create.nul' ? 2 : Infinity),
  });
  const count = (...indexes: number[]) => combinations.filter(([first]) => indexes.includes(first!)).length;
  assert.deepEqual([count(1, 2, 3), count(4)], [2, 3]);
});
