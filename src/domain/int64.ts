/**
 * Reads int64 values (-2^63 to 2^63 - 1) from text without losing a digit (decisions.md, "Pets" and "URLs").
 *
 * The text comes from a client and may be long, so the time must be linear in its length. Converting digits to a BigInt
 * takes longer than linear time, so at most 19 digits are converted.
 */
const MIN_INT64 = -(2n ** 63n);
const MAX_INT64 = 2n ** 63n - 1n;
const MAX_INT64_DIGITS = 19;
/** Every integer with this many digits is exact as a JavaScript number. */
const MAX_EXACT_DIGITS = 15;
const PLAIN_INTEGER = /^-?(?:0|[1-9]\d{0,18})$/;

/**
 * Returns the value of a JSON number (RFC 8259, section 6), or null if it is not an integer or not an int64. Only the
 * value matters, not the form: 1.0 and 10e-1 are 1, and -0 is 0.
 */
export function int64OfJsonNumber(text: string): bigint | null {
  if (PLAIN_INTEGER.test(text)) return int64OfPlain(text); // nearly all numbers
  const [mantissa = '', exponent = '0'] = text.split(/[eE]/);
  const [integer = '', fraction = ''] = mantissa.split('.');
  const negative = integer.startsWith('-');
  const digits = (negative ? integer.slice(1) : integer) + fraction;

  let start = 0;
  let end = digits.length;
  while (start < end && digits[start] === '0') start++;
  if (start === end) return 0n;
  while (digits[end - 1] === '0') end--;

  // The value is digits[start..end) times 10 to the power of `zeros`, and the last of these digits is not 0: so the
  // value is a fraction if `zeros` is negative. If Number rounds the exponent, it is far too large or small anyway.
  const zeros = Number(exponent) - fraction.length + (digits.length - end);
  if (zeros < 0 || end - start + zeros > MAX_INT64_DIGITS) return null;
  const magnitude = BigInt(digits.slice(start, end) + '0'.repeat(zeros));
  return withinInt64(negative ? -magnitude : magnitude);
}

/** Whether a text in a URL matches `-?(0|[1-9][0-9]*)` and is an int64. */
export function isInt64(text: string): boolean {
  return PLAIN_INTEGER.test(text) && (text.length <= MAX_EXACT_DIGITS || withinInt64(BigInt(text)) !== null);
}

function int64OfPlain(text: string): bigint | null {
  // Most integers are short, and converting a number to a BigInt takes a third of the time of converting a string.
  return text.length <= MAX_EXACT_DIGITS ? BigInt(Number(text)) : withinInt64(BigInt(text));
}

function withinInt64(value: bigint): bigint | null {
  return value >= MIN_INT64 && value <= MAX_INT64 ? value : null;
}
