/**
 * Returns a number with the noun, or the words, that follow it: `1 animal`, `2 animals`, `1 line is missing`. Every
 * message with a count uses this function. `many` is for every number but 1; by default it is `one` with an `s`.
 */
export function counted(count: number | bigint, one: string, many = `${one}s`): string {
  return `${count} ${Number(count) === 1 ? one : many}`;
}
