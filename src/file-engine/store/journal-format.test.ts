import assert from 'node:assert/strict';
import test from 'node:test';
import { pet } from '../../testing/journal.ts';
import { decodeLine, encodeRecords } from './journal-format.ts';

test('records are encoded correctly, in the buffer if it is large enough', () => {
  const room = Buffer.alloc(4096);
  const pets = ['', 'a', 'ä', '€'.repeat(40), '🐈'.repeat(30), '€'.repeat(3)].map((name, index) => pet(index + 1, name));
  for (const durable of [0, 999_999_999_999_990]) {
    let inRoom = 0;
    for (let size = 0; size <= room.length; size++) {
      const { bytes, offsets } = encodeRecords(pets, durable, room.subarray(0, size));
      inRoom += Number(bytes.buffer === room.buffer);
      const lines = bytes.toString().split('\n');
      assert.equal(lines.pop(), '');
      assert.equal(lines.length, pets.length);
      let start = 0;
      for (const [index, line] of lines.entries()) {
        const end = start + Buffer.byteLength(line);
        const [from, to] = offsets.slice(2 * index);
        assert.equal(bytes.toString('latin1', from, to), pets[index]!.line);
        assert.deepEqual(decodeLine(bytes, start, end), {
          seq: durable + index + 1,
          durable,
          pet: { start: from, end: to },
        });
        start = end + 1;
      }
    }
    assert(inRoom > 1000, `${inRoom}`);
  }
});
