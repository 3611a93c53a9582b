/** Returns a random integer from `min` to `max`. */
export type Random = (min: number, max: number) => number;

/** In each run the same integers: a linear congruential generator with the constants of Numerical Recipes. */
export function randomIntegers(seed: number): Random {
  let state = seed;
  return (min, max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return min + Math.floor((state / 2 ** 32) * (max - min + 1));
  };
}
