/** The last three digits of a number, by their value. */
const lastThree = Array.from({ length: 1_000 }, (_, value) => String(value).padStart(3, '0'));

/**
 * The digits of a whole number from 0 to 2^53 - 1, as `String` gives them: for numbers of which each request has another.
 *
 * V8 keeps the last 16,384 texts that `String` has made of numbers. With a new number for each request, most of what V8 finds alive
 * when it collects young garbage is these texts, and it copies them all.
 */
export function decimal(value: number): string {
  return value < 1_000 ? String(value) : String(Math.floor(value / 1_000)) + lastThree[value % 1_000]!;
}
