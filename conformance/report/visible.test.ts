import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { rawCharacters } from '../testing/wellformed.ts';
import { clipped, visible, visibleLines } from './visible.ts';

const anyUnit = fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit));
const anyString = fc.string({
  unit: fc.oneof(anyUnit, fc.constantFrom('\ufeff', '\u202e', '\u001b', '\ud800', '😀', '\u{e0041}')),
});

test('invisible characters are written as JSON escapes', () => {
  assert.equal(
    visible('a\u0000b\u001b[2J\u202e\ud800x\udc00\uffff\u{e0041}\u00a0'),
    'a\\u0000b\\u001b[2J\\u202e\\ud800x\\udc00\\uffff\\udb40\\udc41\\u00a0',
  );
  assert.equal(visible('a\r\n\tb'), 'a\\r\\n\\tb');
  assert.equal(visible('Zoë, 猫, 😀 and é'), 'Zoë, 猫, 😀 and é');
});

test('no raw character is left, and JSON reads the same text', () => {
  fc.assert(
    fc.property(anyString, (text) => {
      const shown = visible(text);
      assert.deepEqual(rawCharacters(shown), []);
      assert.ok(!shown.includes('\n'));
      const plain = text.replace(/["\\]/g, '');
      assert.equal(JSON.parse(`"${visible(plain)}"`), plain);
    }),
  );
});

test('visibleLines keeps only line feeds', () => {
  assert.equal(visibleLines('a\r\nb\nc\rd\u0000'), 'a\nb\nc\\rd\\u0000');
});

test('mark wraps only the escapes', () => {
  assert.equal(
    visible('\\u0000\u0000', (written) => `[${written}]`),
    '\\u0000[\\u0000]',
  );
});

test('clipped says how much is missing, and never splits a surrogate pair', () => {
  assert.equal(clipped('abc', 3), 'abc');
  assert.equal(clipped('abcdef', 3), 'abc … (3 more characters)');
  assert.equal(clipped('ab😀cd', 3), 'ab … (4 more characters)');
});
