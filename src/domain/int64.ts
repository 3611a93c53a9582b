/**
 * True int64 (-2^63 to 2^63 - 1) out of text, no digit lost on the way (decisions.md, "Pets" and "URLs").
 *
 * The text comes from a stranger and may be long: cost is linear in it, and a BigInt, whose making is not, is made of no
 * more than 19 digits.
 */
const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;
const MAX_INT64_DIGITS = 19;
/** Every integer of so many digits is exact as a number. */
const MAX_EXACT_DIGITS = 15;
const PLAIN_INTEGER = /^-?(?:0|[1-9]\d{0,18})$/;

/**
 * The int64 of `text`, a number as JSON spells it (RFC 8259, section 6), or null if its value is not an integer or outside
 * int64. The value counts, not the spelling: 1.0 and 10e-1 are 1, -0 is 0.
 */
export function int64OfJsonNumber(text: string): bigint | null {
  if (PLAIN_INTEGER.test(text)) return int64OfPlain(text); // as nearly all are written
  const [mantissa = '', exponent = '0'] = text.split(/[eE]/);
  const [integer = '', fraction = ''] = mantissa.split('.');
  const negative = integer.startsWith('-');
  const digits = (negative ? integer.slice(1) : integer) + fraction;

  let start = 0;
  let end = digits.length;
  while (start < end && digits[start] === '0') start++;
  if (start === end) return 0n;
  while (digits[end - 1] === '0') end--;

  // The value is now digits[start..end) times ten to the power of `zeros`, and ends in no 0 of its own: a negative power is
  // a fraction. An exponent that Number cannot hold exactly is far beyond anything the length of a text makes up for.
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end - start + zeros > MAX_INT64_DIGITS) return null;
  const magnitude = BigInt(digits.slice(start, end) + '0'.repeat(zeros));
  return withinInt64(negative ? -magnitude : magnitude);
}

/** The int64 of an integer in a URL, which is `-?(0|[1-9][0-9]*)` and nothing else, or null. */
export function int64OfUrl(text: string): bigint | null {
  return PLAIN_INTEGER.test(text) ? int64OfPlain(text) : null;
}

function int64OfPlain(text: string): bigint | null {
  // Most integers are short, and a BigInt is made of a number in a third of the time that a text takes.
  return text.length <= MAX_EXACT_DIGITS ? BigInt(Number(text)) : withinInt64(BigInt(text));
}

function withinInt64(value: bigint): bigint | null {
  return value >= MIN_INT64 && value <= MAX_INT64 ? value : null;
}
