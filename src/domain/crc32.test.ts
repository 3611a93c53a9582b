import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { crc32, crcHex } from './crc32.ts';

test('the CRC-32 of well-known texts', () => {
  const vectors: [text: string, crc: string][] = [
    ['', '00000000'],
    ['123456789', 'cbf43926'],
    ['a', 'e8b7be43'],
    ['The quick brown fox jumps over the lazy dog', '414fa339'],
    ['\u0000', 'd202ef8d'],
    ['\u0000'.repeat(32), '190a55ad'],
  ];
  for (const [text, crc] of vectors) assert.equal(crcHex(crc32(Buffer.from(text))), crc, JSON.stringify(text));
  assert.equal(crcHex(crc32(Buffer.alloc(32, 0xff))), 'ff6cab0b');
});

test('a CRC-32 is formatted with eight digits', () => {
  assert.equal(crcHex(0), '00000000');
  assert.equal(crcHex(0xab), '000000ab');
  assert.equal(crcHex(0xffffffff), 'ffffffff');
});

test('the CRC-32 of any part of any bytes is that of the definition', () => {
  const byDefinition = (bytes: Uint8Array): number => {
    let crc = 0xffffffff;
    for (const byte of bytes) {
      crc ^= byte;
      for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc >>> 0;
  };
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), fc.nat(300), fc.nat(300), (bytes, a, b) => {
      const start = Math.min(a, b, bytes.length);
      const end = Math.min(Math.max(a, b), bytes.length);
      assert.equal(crc32(bytes, start, end), byDefinition(bytes.slice(start, end)));
      assert.equal(crc32(bytes), byDefinition(bytes));
    }),
  );
});
