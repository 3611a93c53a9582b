import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { indentJson, partsOf, readJson, writeJson, type Json } from './json.ts';

const exact = '{"min":-9223372036854775808,"max":9223372036854775807,"odd":9007199254740993}';

test('reads and writes every digit of an int64', () => {
  const value = readJson(exact) as { readonly min: bigint };
  assert.equal(value.min, -(2n ** 63n));
  assert.equal(writeJson(value), exact);
  assert.deepEqual(readJson('["9223372036854775807", "a \\" 1", 1.5, -1e3, true, null, {"1": 2}]'),
    ['9223372036854775807', 'a " 1', 1.5, -1000, true, null, { 1: 2n }]);
  for (const text of ['', '{', '[1,]', '{"a":1', '01x', 'nul']) assert.throws(() => readJson(text), SyntaxError, text);
});

test('indents a text without changing a token', () => {
  assert.equal(indentJson('[{"a":[],"b":{"c":9223372036854775807}},1.0E+2,"x: [,"]'), `[
  {
    "a": [],
    "b": {
      "c": 9223372036854775807
    }
  },
  1.0E+2,
  "x: [,"
]`);
  assert.equal(indentJson(' {\n} '), '{}');
  assert.equal(indentJson(' "x" '), '"x"');
});

test('any JSON value survives reading, writing and indenting', () => {
  const { json } = fc.letrec<{ json: Json }>((tie) => ({
    json: fc.oneof({ maxDepth: 4 },
      fc.constantFrom<Json>(null, true, false), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n }),
      fc.string({ unit: 'grapheme' }), fc.constantFrom('\0', '\x001', '\0s', '\0\0'),
      fc.array(tie('json')),
      fc.dictionary(fc.string().filter((name) => name !== '__proto__' && !name.startsWith('\0')), tie('json'))),
  }));
  fc.assert(fc.property(json, (value) => {
    const text = writeJson(value);
    const indented = indentJson(text);
    assert.deepEqual(readJson(text), readJson(indented));
    assert.equal(writeJson(readJson(indented) as Json), text);
    assert.equal([...partsOf(indented)].map(([, part]) => part).join(''), indented);
  }));
});

test('names the parts of a text, so that they can have different colours', () => {
  const parts = [...partsOf('{"a" : ["b",-1.5e3,true] }')].filter(([kind]) => kind !== 'mark' && kind !== 'space');
  assert.deepEqual(parts, [['name', '"a"'], ['string', '"b"'], ['number', '-1.5e3'], ['literal', 'true']]);
});
