/** Returns a number with its noun, which gets an `s` unless the number is 1: `1 animal`, `2 animals`. */
export function counted(count: number | bigint, noun: string): string {
  return `${count} ${noun}${Number(count) === 1 ? '' : 's'}`;
}
