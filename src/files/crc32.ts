/** CRC-32 (ISO-HDLC, as in zip and PNG), reflected, polynomial 0xEDB88320. Node's own came only with 20.15. */
const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});
// The same of a byte that one, two or three zero bytes follow: four bytes take one step, in less than half the time.
const table1 = table.map((value) => table[value & 0xff]! ^ (value >>> 8));
const table2 = table1.map((value) => table[value & 0xff]! ^ (value >>> 8));
const table3 = table2.map((value) => table[value & 0xff]! ^ (value >>> 8));

/** CRC-32 of `bytes` from `start` (included) to `end` (excluded), as an unsigned 32-bit number. */
export function crc32(bytes: Uint8Array, start = 0, end = bytes.length): number {
  let crc = -1;
  let i = start;
  for (const fours = end - 3; i < fours; i += 4) {
    crc ^= bytes[i]! | (bytes[i + 1]! << 8) | (bytes[i + 2]! << 16) | (bytes[i + 3]! << 24);
    crc = table3[crc & 0xff]! ^ table2[(crc >>> 8) & 0xff]! ^ table1[(crc >>> 16) & 0xff]! ^ table[crc >>> 24]!;
  }
  for (; i < end; i++) crc = table[(crc ^ bytes[i]!) & 0xff]! ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** A CRC-32 as eight hexadecimal digits. */
export function crcHex(crc: number): string {
  return hexPairs[crc >>> 24]! + hexPairs[(crc >>> 16) & 0xff]! + hexPairs[(crc >>> 8) & 0xff]! + hexPairs[crc & 0xff]!;
}

/** The digits of each byte. `toString(16)` of so large a number takes five times as long. */
const hexPairs = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));
