/**
 * Returns a function that returns random integers from `min` to `max`, in each run the same ones: a linear congruential
 * generator with the constants of Numerical Recipes.
 */
export function randomIntegers(seed: number): (min: number, max: number) => number {
  let state = seed;
  return (min, max) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return min + Math.floor((state / 2 ** 32) * (max - min + 1));
  };
}
