/** CRC-32 (ISO-HDLC, as in zip and PNG), reflected, polynomial 0xEDB88320. Node has one only since 20.15. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});
// The same for a byte followed by one, two or three zero bytes: with them, one step covers four bytes in half the time.
const table1 = table.map((value) => table[value & 0xff]! ^ (value >>> 8));
const table2 = table1.map((value) => table[value & 0xff]! ^ (value >>> 8));
const table3 = table2.map((value) => table[value & 0xff]! ^ (value >>> 8));

/**
 * Returns the CRC-32 of `bytes` from `start` (inclusive) to `end` (exclusive), as an unsigned 32-bit integer. `before`
 * is the CRC-32 of the bytes that precede them, if there are any.
 */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length, before = 0): number {
  let crc = ~before;
  let i = start;
  for (const fours = end - 3; i < fours; i += 4) {
    crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    crc = table3[crc & 0xff]! ^ table2[(crc >>> 8) & 0xff]! ^ table1[(crc >>> 16) & 0xff]! ^ table[crc >>> 24]!;
  }
  for (; i < end; i++) crc = table[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Formats a CRC-32 as eight lower-case hexadecimal digits. */
export function crcHex(crc: number): string {
  return hexPairs[crc >>> 24]! + hexPairs[(crc >>> 16) & 0xff]! + hexPairs[(crc >>> 8) & 0xff]! + hexPairs[crc & 0xff]!;
}

/** The digits of each byte: five times as fast as `toString(16)` of the whole number. */
const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
