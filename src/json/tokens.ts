/** The tokens of a JSON text (RFC 8259, sections 2, 6 and 7): where they end, and what the escapes of a string mean. */
import { backslash, byteTable, plain, quote, type Source } from './source.ts';

const letterU = 0x75;
const isDigit = byteTable((byte) => Number(byte >= 0x30 && byte <= 0x39));
const isFractionOrExponent = byteTable((byte) => Number('.eE'.includes(String.fromCharCode(byte))));
const notHexadecimal = 16;
const hexadecimal = byteTable((byte) => {
  const value = parseInt(String.fromCharCode(byte), 16);
  return Number.isNaN(value) ? notHexadecimal : value;
});
/** The character that an escape means, by the byte after the backslash; 0 for `u` and for invalid escapes. */
const escaped = byteTable((byte) => {
  const index = '"\\/bfnrt'.indexOf(String.fromCharCode(byte));
  return index < 0 ? 0 : '"\\/\b\f\n\r\t'.charCodeAt(index);
});

/** The offset of the closing quote of the string that begins at `start`. Throws JsonSyntaxError. */
export function endOfString(source: Source, start: number): number {
  const { bytes } = source;
  for (let at = start + 1; ; ) {
    const byte = bytes[at]!;
    if (byte === quote) return at;
    if (byte >= 0x20 && byte !== backslash) at = source.endOfRun(plain, at + 1);
    else at = byte === backslash && escaped[bytes[at + 1]!] !== 0 ? at + 2 : endOfEscape(source, at);
  }
}

/** The offset after the escape whose backslash is at `start`. Throws JsonSyntaxError if there is no valid escape. */
export function endOfEscape(source: Source, start: number): number {
  const { bytes } = source;
  if (bytes[start] !== backslash) source.failExpected('an escape or a closing quote', start);
  if (escaped[bytes[start + 1]!] !== 0) return start + 2;
  if (bytes[start + 1] !== letterU) source.failExpected('a valid escape', start + 1);
  const digits = hexadecimal[bytes[start + 2]!]! | hexadecimal[bytes[start + 3]!]!
    | hexadecimal[bytes[start + 4]!]! | hexadecimal[bytes[start + 5]!]!;
  for (let at = start + 2; digits >= notHexadecimal && at < start + 6; at += 1) {
    if (hexadecimal[bytes[at]!] === notHexadecimal) source.failExpected('a hexadecimal digit', at);
  }
  return start + 6;
}

/** The UTF-16 code unit that the valid escape at `start` means. */
export function escapedUnit(bytes: Uint8Array, start: number): number {
  const digit = (index: number): number => hexadecimal[bytes[start + index]!]!;
  if (bytes[start + 1] !== letterU) return escaped[bytes[start + 1]!]!;
  return (digit(2) << 12) | (digit(3) << 8) | (digit(4) << 4) | digit(5);
}

/** The text of the valid string between two quotes. It may contain lone surrogates (section 8.2). */
export function stringBetween(source: Source, start: number, end: number): string {
  const text = source.text(start + 1, end);
  return text.indexOf('\\') < 0 ? text : (JSON.parse(source.text(start, end + 1)) as string);
}

/** The offset after the literal or the number at `start`. Throws JsonSyntaxError if there is neither. */
export function endOfScalar(source: Source, start: number): number {
  const { bytes } = source;
  const byte = bytes[start]!;
  if (byte >= 0x61) {
    const next = (bytes[start + 1]! << 16) | (bytes[start + 2]! << 8) | bytes[start + 3]!;
    if (byte === 0x74 && next === 0x727565) return start + 4; // true
    if (byte === 0x6e && next === 0x756c6c) return start + 4; // null
    if (byte === 0x66 && next === 0x616c73 && bytes[start + 4] === 0x65) return start + 5; // false
  }
  const end = endOfNumber(bytes, start);
  if (end === start) source.failExpected('a value', start);
  return end;
}

/** The offset after the number at `start`; `start` if there is none. */
export function endOfNumber(bytes: Uint8Array, start: number): number {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  if (isDigit[bytes[at]!] === 0) return start;
  at = bytes[at] === 0x30 ? at + 1 : endOfDigits(bytes, at + 1);
  if (isFractionOrExponent[bytes[at]!] === 0) return at;
  if (bytes[at] === 0x2e && isDigit[bytes[at + 1]!] === 1) at = endOfDigits(bytes, at + 2);
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    const sign = bytes[at + 1];
    const exponent = at + (sign === 0x2b || sign === 0x2d ? 2 : 1);
    if (isDigit[bytes[exponent]!] === 1) at = endOfDigits(bytes, exponent);
  }
  return at;
}

function endOfDigits(bytes: Uint8Array, start: number): number {
  let at = start;
  while (isDigit[bytes[at]!] === 1) at += 1;
  return at;
}
