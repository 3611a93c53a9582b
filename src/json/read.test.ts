import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { anyCharacter } from '../testing/strings.ts';
import { JsonArray, JsonNumber, JsonObject, readJson, useJson, type JsonValue } from './read.ts';
import { JsonSyntaxError } from './source.ts';

const read = (text: string): JsonValue => readJson(Buffer.from(text));

/** Returns what JSON.parse returns for the same text. */
function plain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return Number(value.text);
  if (value instanceof JsonObject) return Object.fromEntries([...value.members].map(([name, member]) => [name, plain(member)]));
  return value instanceof JsonArray ? value.items.map(plain) : value;
}

/** Returns the error that readJson throws. Fails if it throws none. */
function errorOf(input: string | Uint8Array): JsonSyntaxError {
  try {
    readJson(Buffer.from(input));
  } catch (error) {
    assert(error instanceof JsonSyntaxError, String(error));
    assert.match(error.message, new RegExp(` at line ${error.line}, column ${error.column}$`));
    assert.match(error.message, /^[^\p{C}\p{Zl}\p{Zp}]{1,300}$/u, 'short, in one line, and printable');
    return error;
  }
  return assert.fail(`accepted: ${Buffer.from(input).toString('utf8').slice(0, 80)}`);
}

function parsed(text: string): { value: unknown } | null {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return null;
  }
}

// JSON texts of every spelling.

const space = fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), maxLength: 2 });
const digits = fc.string({ unit: fc.constantFrom(...'0123456789'), minLength: 1, maxLength: 25 });
const numberText = fc
  .tuple(
    fc.constantFrom('', '-'),
    fc.oneof(fc.constant('0'), digits.map((text) => text.replace(/^0+/, '') || '0')),
    fc.oneof(fc.constant(''), digits.map((text) => `.${text}`)),
    fc.oneof(fc.constant(''), fc.tuple(fc.constantFrom('e', 'E', 'e+', 'E-'), digits).map((parts) => parts.join(''))),
  )
  .map((parts) => parts.join(''));

const escapeUnit = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;
const characterText = fc.oneof(
  fc.string({ unit: anyCharacter, minLength: 1, maxLength: 1 }).map((character) =>
    character < ' ' || character === '"' || character === '\\' ? escapeUnit(character.charCodeAt(0)) : character,
  ),
  fc.constantFrom(...'"\\/bfnrt').map((character) => `\\${character}`),
  fc.integer({ min: 0, max: 0xffff }).map(escapeUnit), // lone surrogates among them
  fc.integer({ min: 0, max: 0xffff }).map((unit) => `\\u${unit.toString(16).padStart(4, '0').toUpperCase()}`),
);
const stringText = fc.array(characterText, { maxLength: 8 }).map((characters) => `"${characters.join('')}"`);
const nameText = fc.oneof(stringText, fc.constantFrom('"__proto__"', '"constructor"', '"\\u005f_proto__"', '""', '"0"', '"1"'));

const { jsonText } = fc.letrec<{ jsonText: string; value: string; array: string; object: string }>((tie) => ({
  jsonText: fc.tuple(space, tie('value'), space).map((parts) => parts.join('')),
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom('null', 'true', 'false'),
    numberText,
    stringText,
    tie('array'),
    tie('object'),
  ),
  array: fc.tuple(space, fc.array(tie('jsonText'), { maxLength: 4 })).map(([gap, items]) => `[${items.join(',') || gap}]`),
  object: fc
    .tuple(
      space,
      fc.uniqueArray(fc.tuple(nameText, tie('jsonText')), { maxLength: 4, selector: ([name]) => JSON.parse(name) as string }),
    )
    .map(([gap, members]) => `{${members.map(([name, value]) => `${gap}${name}${gap}:${value}`).join(',') || gap}}`),
}));

test('every JSON text has the value that JSON.parse returns', () => {
  fc.assert(fc.property(jsonText, (text) => assert.deepEqual(plain(read(text)), parsed(text)?.value)), { numRuns: 1000 });
});

test('the same memory serves one text after the other, and a text that is read meanwhile has its own', () => {
  const use = <T>(text: string, read: (value: JsonValue) => T): T => useJson(Buffer.from(text), read);
  fc.assert(
    fc.property(jsonText, jsonText, (one, other) => {
      assert.throws(() => use('{"a":[1,{"b":', plain), JsonSyntaxError);
      assert.deepEqual(use(`${'['.repeat(500)}1${']'.repeat(500)}`, (value) => value instanceof JsonArray), true);
      assert.deepEqual(use(one, plain), parsed(one)!.value);
      const both = use(one, (value) => [use(other, plain), plain(value)]);
      assert.deepEqual(both, [parsed(other)!.value, parsed(one)!.value]);
    }),
    { numRuns: 300 },
  );
  const late = use('{"a":1}', (value) => value);
  use('{"b":2}', () => {});
  assert(late instanceof JsonObject);
  assert.deepEqual([late.get('a'), late.get('b')], [undefined, undefined]);
  assert.throws(() => use('{"a":1}', () => assert.fail('of the caller')), /of the caller/);
});

test('what JSON.stringify writes is read back, indented or not', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2, '\t'), (value, indent) => {
      assert.deepEqual(plain(read(JSON.stringify(value, null, indent))), JSON.parse(JSON.stringify(value)));
    }),
  );
});

test('a damaged text is accepted if and only if JSON.parse accepts it', () => {
  const damage = fc.tuple(
    fc.nat({ max: 9_999 }).map((part) => part / 10_000), // fc.double favours the smallest numbers: nearly always the beginning
    fc.nat({ max: 2 }),
    fc.oneof(fc.constantFrom('', 'nul', '\\u', '\u00a0', '\u2028', '\u0000', '\u007f'), fc.constantFrom(...'[]{}:,"\\-+.eE019ntf /\n\r\t\f')),
  );
  let refused = 0;
  let accepted = 0;
  fc.assert(
    fc.property(jsonText, fc.array(damage, { minLength: 1, maxLength: 3 }), (whole, damages) => {
      let text = whole;
      for (const [where, cut, put] of damages) {
        const at = Math.floor(where * (text.length + 1));
        text = text.slice(0, at) + put + text.slice(at + cut);
      }
      if (Buffer.from(text).toString() !== text) return; // a lone surrogate has no UTF-8
      const expected = parsed(text);
      if (expected === null) {
        refused++;
        errorOf(text);
        return;
      }
      accepted++;
      try {
        assert.deepEqual(plain(read(text)), expected.value);
      } catch (error) {
        if (!(error instanceof JsonSyntaxError)) throw error;
        assert.match(error.message, /given twice/); // the damage made two names equal, which JSON.parse accepts
      }
    }),
    { numRuns: 1500 },
  );
  assert(accepted > 100 && refused > 1000, `the damage is neither too weak nor too strong: ${accepted}, ${refused}`);
});

// Edge cases by the ideas of github.com/nst/JSONTestSuite.

const ACCEPTED = [
  // white space and lone values
  ' [] ', '[]\n', '\t{\r\n}\t', '[ 1\n,\t2 ]', 'null', 'true', 'false', '42', '-0.1', '""', '" "', '"a"',
  // arrays and objects
  '[]', '[[]   ]', '[""]', '[null,1,"1",{}]', '[1,null,null,null,2]', '{}', '{"":0}', '{"a":[]}', '{"a":{"b":"c"}}',
  '{"\\u0000":1}', '{"min":-1.0e+28,"max":1.0e+28}', '{"1":1,"0":0}', '{"constructor":1,"__proto__":2,"toString":3}',
  // numbers
  '[0]', '[-0]', '[-1]', '[-123]', '[0e1]', '[0e+1]', '[0e00]', '[1E22]', '[1E-2]', '[1E+2]', '[1e2]', '[20e1]', '[0.5]',
  '[123e45]', '[123.456e78]', '[-0.0]', '[1.000000000000000005]', '[-0.000000000000000000000000000000000000000000000001]',
  '[9223372036854775807]', '[-237462374673276894279832749832423479823246327846]', '[1e400]', '[-1e400]', '[1e-400]',
  '[0.4e00669999999999999999999999999999999999999999999999999999999999999999999999999999]',
  // strings: escapes, halves of pairs, noncharacters, what needs no escape
  '["\\"\\\\\\/\\b\\f\\n\\r\\t"]', '["\\u0060\\u012a\\u12AB\\uabCD"]', '["\\\\u0000"]', '["\\\\n"]', '["\\u0022\\u005C"]',
  '["\\u0000"]', '["\\ud83d\\ude39\\uD834\\uDD1E"]', '["\\ud800"]', '["\\udc00"]', '["\\uDd1e\\uD834"]', '["\\ud800\\n"]',
  '["\\ud800\\u0061"]', '["\\ud800\\ud800\\udc00"]', '["\\uDBFF\\uDFFE\\uFDD0\\uFFFE"]', '["\\uFEFF"]', '["\ufeff\ufffd"]',
  '["\u007f\u0080\u00a0\u200b\u2028\u2029"]', '["\u{1f600}\u{10ffff}\uffff"]', '["a/*b*/c//d#e\'"]',
];

const REFUSED = [
  // nothing, too much, and what only resembles white space
  '', ' ', '\n', '[] []', '[]]', '{}}', '1 2', '""x', '[1]x', '[]#', '\u00a0[]', '[\f]', '[\v]', '[\u2060]', '[]\u0000', '\u0000',
  // arrays
  '[', '[1', '[1,', '[1,]', '[,1]', '[,]', '[1,,2]', '[1 2]', '["": 1]', '[1:2]', '[1}', '[}', ']', ',', '[[]', '["a', '[[1,2]', '[\n1\n,1',
  // objects
  '{', '{,}', '{"a"', '{"a":', '{"a":1', '{"a":1,', '{"a":1,}', '{"a":1,,"b":2}', '{"a" 1}', '{"a",1}', '{"a"::1}', '{"a":1 "b":2}',
  '{a:1}', "{'a':1}", '{1:1}', '{null:1}', '{[]:1}', '{"a":1]', '{"a"}', '{:1}', '{"a":}', '{"a":/*x*/1}', '{"a":1}//', '{{}:1}', '}',
  // words
  'nul', 'nulll', 'NULL', 'True', 'tru', 'truefalse', 'fals', 'undefined', 'NaN', '-NaN', 'Infinity', '-Infinity', '+Infinity', '\\u0031', 'ｎull',
  // numbers
  '-', '+', '+1', '--1', '- 1', '01', '-01', '00', '-00', '012', '1.', '-1.', '.5', '-.5', '1..2', '1.2.3', '1.e1', '0.e1', '0e', '0e+', '1e', '1e+',
  '1e1.5', '1e1e1', '1eE2', '1e+-2', '1 000', '1_000', '1,5', '0x1', '0b1', '0o7', '1a', '1n', '1f', '１', '٣', '[1\u0000]', '[-a]', '[2.e-3]',
  // strings
  '"', '"a', "'a'", '`a`', 'a', '"\\"', '"\\', '"\\u', '"\\u00', '"\\u00"', '"\\u00G0"', '"\\u-001"', '"\\u+001"', '"\\u 001"', '"\\u0x01"', '"\\u{41}"',
  '"\\U0041"', '"\\x41"', '"\\a"', '"\\v"', '"\\0"', '"\\\'"', '"\\\n"', '"\\\u0000"', '"\\é"', '"\\\u{1f600}"', '"\\ud800\\u"', '"\\ud800\\u1"',
  '"\t"', '"\n"', '"\r"', '"\u0000"', '"\u001f"', '"a" "b"', '{"a\n":1}', '"\\u００４１"', '\\"a"', '"a""', '“a”',
];

test('what must be accepted is accepted, with the value that JSON.parse returns', () => {
  for (const text of ACCEPTED) assert.deepEqual(plain(read(text)), JSON.parse(text), text);
});

test('what must be refused is refused, as by JSON.parse', () => {
  for (const text of REFUSED) {
    assert.equal(parsed(text), null, text);
    errorOf(text);
  }
});

test('every beginning of a text that is a container is refused, at its end', () => {
  const text = '{"a": [1.5e+3, "\\u00e9\\n", {"b": null}], "c": -0}';
  for (let length = 0; length < text.length; length++) {
    assert.equal(parsed(text.slice(0, length)), null);
    errorOf(text.slice(0, length));
  }
});

// What JSON.parse does not do.

test('numbers keep their text', () => {
  for (const text of ['9223372036854775807', '-0', '1.0', '10E-1', '1e2', '0e999999999', '-12345678901234567890.50e+007']) {
    const value = read(` ${text} `);
    assert(value instanceof JsonNumber);
    assert.equal(value.text, text);
  }
});

test('members keep their order, and __proto__ is a name like any other', () => {
  const object = read('{"b":1,"__proto__":{"x":2},"10":3,"1":4,"\\u0000":5}');
  assert(object instanceof JsonObject);
  assert.deepEqual([...object.members.keys()], ['b', '__proto__', '10', '1', '\u0000']);
  assert(object.members.get('__proto__') instanceof JsonObject);
});

test('every object has its line; LF, CR LF and CR each end one', () => {
  const value = read('[{},\n{"a":{\r\n"b":\r{}}},\n\r{}]');
  assert(value instanceof JsonArray);
  const linesOf = (item: JsonValue): number[] =>
    item instanceof JsonObject ? [item.line, ...[...item.members.values()].flatMap(linesOf)] : [];
  assert.deepEqual(value.items.flatMap(linesOf), [1, 2, 2, 4, 6]);
});

test('an error names its line and column', () => {
  const cases: [text: string, message: string][] = [
    ['', 'expected a value but found the end at line 1, column 1'],
    ['{"a": x}', 'expected a value but found "x" at line 1, column 7'],
    ['{\n  "a": 1,\n}', 'expected a name but found "}" at line 3, column 1'],
    ['{\r\n"a" 1}', 'expected ":" but found "1" at line 2, column 5'],
    ['[1\r2]', 'expected "," or "]" but found "2" at line 2, column 1'],
    ['{"a":01}', 'expected "," or "}" but found "1" at line 1, column 7'],
    ['[-]', 'expected a value but found "-" at line 1, column 2'],
    ['["é😀", "\t"]', 'expected an escape or a closing quote but found "\\t" at line 1, column 9'],
    ['"\\ud83', 'expected a hexadecimal digit but found the end at line 1, column 7'],
    ['"\\u00g0"', 'expected a hexadecimal digit but found "g" at line 1, column 6'],
    ['"\\😀"', 'expected a valid escape but found "😀" at line 1, column 3'],
    ['{"a":1}\n\n"', 'expected the end but found "\\"" at line 3, column 1'],
    ['[\u00a01]', 'expected a value but found "\\u{a0}" at line 1, column 2'],
    ['[\u202e]', 'expected a value but found "\\u{202e}" at line 1, column 2'],
    ['[]\u0000', 'expected the end but found "\\u0000" at line 1, column 3'],
    ['\ufeff{}', 'byte order mark at line 1, column 1'],
    [' \ufeff{}', 'expected a value but found "\\u{feff}" at line 1, column 2'],
  ];
  for (const [text, message] of cases) assert.equal(errorOf(text).message, message);
});

test('a name given twice in one object is an error, however it is spelled and wherever it is', () => {
  const cases: [text: string, message: string][] = [
    ['{"a":1,"a":1}', 'name "a" given twice in one object at line 1, column 8'],
    ['[{"x":{"a":1,\n "b":2, "\\u0061":3}}]', 'name "a" given twice in one object at line 2, column 9'],
    ['{"__proto__":1,"__proto__":2}', 'name "__proto__" given twice in one object at line 1, column 16'],
    ['{"":1,"":2}', 'name "" given twice in one object at line 1, column 7'],
    ['{"\\ud800":1,"\\uD800":2}', 'name "\\ud800" given twice in one object at line 1, column 13'],
    ['{"a\\n\u2028":1,"a\\n\u2028":2}', 'name "a\\n\\u{2028}" given twice in one object at line 1, column 11'],
    [`{"${'x'.repeat(99)}":1,"${'x'.repeat(99)}":2}`, `name "${'x'.repeat(40)}…" given twice in one object at line 1, column 106`],
    [`{"${'😀'.repeat(99)}":1,"${'😀'.repeat(99)}":2}`, `name "${'😀'.repeat(20)}…" given twice in one object at line 1, column 106`],
  ];
  for (const [text, message] of cases) assert.equal(errorOf(text).message, message);
  assert.deepEqual(plain(read('[{"a":{"a":1}},{"a":1,"A":2,"á":3,"a\\u0301":4}]')), [{ a: { a: 1 } }, { a: 1, A: 2, á: 3, 'a\u0301': 4 }]);

  fc.assert(
    fc.property(fc.uniqueArray(fc.string({ unit: anyCharacter }), { minLength: 1, maxLength: 9 }), fc.nat(), fc.nat(), (names, pick, put) => {
      const again = names[pick % names.length] ?? '';
      const respelled = again.split('').map((unit) => escapeUnit(unit.charCodeAt(0))).join('');
      const members = names.map((name) => `${JSON.stringify(name)}:0`);
      read(`{${members.join(',')}}`);
      members.splice(put % (names.length + 1), 0, `"${respelled}":0`);
      assert.match(errorOf(`[{"in":{${members.join(',')}}}]`).message, /given twice/);
    }),
  );
});

test('an object is refused at the first name that JSON.parse reads as an earlier name, and at no other', () => {
  const escapedText = (text: string): string => text.split('').map((unit) => escapeUnit(unit.charCodeAt(0))).join('');
  const spelled = (text: string, mask: number): string => {
    const characters = [...text].map((character, index) =>
      (mask >> index % 8) & 1 ? escapedText(character) : JSON.stringify(character).slice(1, -1));
    return `"${characters.join('')}"`;
  };
  const name = fc.oneof(
    fc.constantFrom('', '0', '1', '01', '-1', '1.0', '1e0', '__proto__', '9'.repeat(400)),
    fc.constantFrom('4294967294', '4294967295', '4294967296'),
    fc.nat({ max: 40 }).map(String),
    fc.tuple(fc.constantFrom('a', 'é', '一', '😀'), fc.nat({ max: 9 })).map(([unit, length]) => unit.repeat(length)),
    fc.string({ unit: anyCharacter, maxLength: 9 }),
    fc.constantFrom('\ud83d', '\ude00', '\ud83d\ude00', '\ude00\ud83d', '\ud83d\ud83d\ude00'),
  );
  const spelledName = fc.tuple(name, fc.nat({ max: 255 })).map(([text, mask]) => spelled(text, mask));
  let equal = 0;
  fc.assert(
    fc.property(fc.array(spelledName, { maxLength: 30 }), (names) => {
      const decoded = names.map((text) => JSON.parse(text) as string);
      const members = names.map((text, index) => `${text}:${index}`);
      const first = decoded.findIndex((text, index) => decoded.indexOf(text) < index);
      const text = `[{},{${members.join(',')}}]`;
      if (first >= 0) {
        equal += 1;
        const start = `[{},{${members.slice(0, first).join(',')},`;
        const { message, column } = errorOf(text);
        assert.match(message, /given twice/);
        assert.equal(column, [...start].length + 1);
        return;
      }
      const object = (read(text) as JsonArray).items[1] as JsonObject;
      assert.deepEqual([...object.members.keys()], decoded);
      for (const [index, text] of decoded.entries()) assert.deepEqual(object.get(text), new JsonNumber(String(index)));
      assert.equal(object.get(`${decoded.join('')}?`), undefined);
    }),
    { numRuns: 2000 },
  );
  assert(equal > 200 && equal < 1800, `neither too many nor too few equal names: ${equal}`);
});

test('a member is found by its name, however long, and only in its own object', () => {
  const long = 'é😀x'.repeat(30_000);
  const object = read(`{"a":{"b":1},"b":{"a":2},"${long}":3,"${'\\u0041'.repeat(70_000)}":4}`);
  assert(object instanceof JsonObject);
  assert(object.get('a') instanceof JsonObject && object.get('b') instanceof JsonObject);
  assert.deepEqual((object.get('a') as JsonObject).get('b'), new JsonNumber('1'));
  assert.equal((object.get('a') as JsonObject).get('a'), undefined);
  assert.deepEqual(object.get(long), new JsonNumber('3'));
  assert.deepEqual(object.get('A'.repeat(70_000)), new JsonNumber('4'));
  assert.equal(object.get('A'.repeat(69_999)), undefined);
  assert.equal((read('{}') as JsonObject).get(''), undefined);
});

test('an error after long runs of any length names its line and column', () => {
  const space = fc.constantFrom(' ', '\n', '\r', '\t', '\r\n');
  const spaces = fc.array(space, { maxLength: 99 }).map((parts) => parts.join(''));
  const characters = fc.string({ unit: fc.constantFrom('a', 'é', '一', '😀'), maxLength: 99 });
  fc.assert(
    fc.property(spaces, characters, spaces, fc.constantFrom('x', '"\t'), (before, inside, after, end) => {
      const start = `${before}["${inside}",${after}`;
      const lines = start.split(/\r\n?|\n/);
      const { line, column } = errorOf(start + end);
      assert.deepEqual([line, column], [lines.length, [...(lines.at(-1) ?? '')].length + end.length]);
      const object = (read(`${start}{}]`) as JsonArray).items[1];
      assert.equal((object as JsonObject).line, lines.length);
    }),
    { numRuns: 1000 },
  );
});

test('bytes that are not UTF-8 are an error where the first invalid sequence begins', () => {
  const bad: [what: string, ...bytes: number[]][] = [
    ['a continuation alone', 0x80],
    ['bytes that never occur', 0xff],
    ['an overlong "/"', 0xc0, 0xaf],
    ['an overlong U+0000', 0xe0, 0x80, 0x80],
    ['an overlong U+FFFF', 0xf0, 0x8f, 0xbf, 0xbf],
    ['an encoded surrogate', 0xed, 0xa0, 0x80],
    ['an encoded pair of surrogates', 0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80],
    ['a value above U+10FFFF', 0xf4, 0x90, 0x80, 0x80],
    ['five bytes', 0xf8, 0x88, 0x80, 0x80, 0x80],
    ['a sequence cut short', 0xe2, 0x82],
    ['U+FFFD cut short', 0xef, 0xbf],
    ['Latin-1', 0xe9],
  ];
  for (const [what, ...bytes] of bad) {
    // U+FFFD itself is no error, and invalid UTF-8 takes precedence over an earlier syntax error.
    const error = errorOf(Buffer.concat([Buffer.from('[x\n"\ufffdé😀'), Buffer.from(bytes), Buffer.from('\ufffd"]')]));
    assert.equal(error.message, 'invalid UTF-8 at line 2, column 5', what);
    assert.equal(errorOf(Buffer.from(bytes)).message, 'invalid UTF-8 at line 1, column 1', what);
  }
  assert.equal(errorOf(Buffer.from('[]', 'utf16le')).message, 'expected a value but found "\\u0000" at line 1, column 2');
  assert.equal(errorOf(Buffer.from('\ufeff[]', 'utf16le')).message, 'invalid UTF-8 at line 1, column 1');
});

test('bytes in a string are accepted if and only if they are UTF-8; the error is after the longest valid part', () => {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const decoded = (bytes: Uint8Array): string | null => {
    try {
      return decoder.decode(bytes);
    } catch {
      return null;
    }
  };
  const piece = fc.oneof(
    fc.string({ unit: anyCharacter, minLength: 1, maxLength: 2 }).map((text) => Buffer.from(text)),
    fc.constantFrom('\ufffd', '\u0080', '\ud7ff', '\u{10000}').map((text) => Buffer.from(text)),
    fc.uint8Array({ min: 0x80, maxLength: 3 }),
    fc.constantFrom(0xe0, 0xed, 0xef, 0xf0, 0xf4).map((byte) => Uint8Array.of(byte, 0xbf, 0xbd)),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 6 }), (pieces) => {
      // DEL replaces the bytes that a string must not contain unescaped.
      const inside = Buffer.concat(pieces).map((byte) => (byte < 0x20 || byte === 0x22 || byte === 0x5c ? 0x7f : byte));
      const input = Buffer.concat([Buffer.from('"'), inside, Buffer.from('"')]);
      const text = decoded(inside);
      if (text !== null) return assert.equal(readJson(input), text);
      let good = input.length;
      while (decoded(input.subarray(0, good)) === null) good--;
      assert.equal(errorOf(input).column, 1 + [...input.toString('utf8', 0, good)].length);
    }),
    { numRuns: 1000 },
  );
});

test('only the given bytes of a larger buffer are read', () => {
  assert.deepEqual(plain(readJson(new TextEncoder().encode('x[1]x').subarray(1, 4))), [1]);
});

// Cost, without a clock: recursion, backtracking or quadratic time would fail at these sizes.

/** Returns how deep the first elements nest. It is a loop, because recursion would exceed the stack. */
function depthOf(value: JsonValue): number {
  for (let depth = 0, inner: JsonValue | undefined = value; ; depth++) {
    if (inner instanceof JsonArray) inner = inner.items[0];
    else if (inner instanceof JsonObject) inner = inner.get('a');
    else return depth;
  }
}

test('nesting is limited only by the input', () => {
  for (const depth of [30_000, 300_000]) {
    assert.equal(depthOf(read('['.repeat(depth) + ']'.repeat(depth))), depth);
    assert.equal(depthOf(read('{"a":'.repeat(depth) + '0' + '}'.repeat(depth))), depth);
    assert.equal(depthOf(read('[{"a":'.repeat(depth / 2) + '0' + '}]'.repeat(depth / 2))), depth);
    assert.equal(errorOf('['.repeat(depth)).column, depth + 1);
    assert.equal(errorOf('{"a":\n'.repeat(depth)).line, depth + 1);
    assert.equal(errorOf('['.repeat(depth) + ']'.repeat(depth + 1)).column, 2 * depth + 1);
    assert.equal(errorOf('['.repeat(depth) + '}').column, depth + 1);
  }
});

test('long tokens, long gaps and many members are read to the last character', () => {
  for (const size of [64 * 1024, 2 * 1024 * 1024]) {
    const ones = '1'.repeat(size);
    for (const number of [ones, `-${ones}.${ones}e-${ones}`, `0.${'0'.repeat(size)}`]) {
      const value = read(number);
      assert(value instanceof JsonNumber && value.text === number);
    }
    assert.equal(errorOf(`${ones}.`).column, size + 1);
    assert.equal(errorOf(`1e${ones}x`).column, size + 3);

    assert.equal(read(`"${'x'.repeat(size)}"`), 'x'.repeat(size));
    assert.equal(read(`"${'\\n'.repeat(size / 2)}"`), '\n'.repeat(size / 2));
    assert.equal(read(`"${'\\u0041b'.repeat(size / 8)}"`), 'Ab'.repeat(size / 8));
    assert.equal(errorOf(`"${'\\\\'.repeat(size / 2)}`).column, size + 2);
    assert.equal(errorOf(`"${'\ufffd'.repeat(size)}`).column, size + 2);
    assert.equal(errorOf(Buffer.concat([Buffer.from(`"${'\ufffd'.repeat(size)}`), Buffer.of(0xff)])).column, size + 2);
    assert.equal(errorOf(Buffer.alloc(size, 0xff)).column, 1);
    assert.equal(errorOf('\r\n'.repeat(size)).line, size + 1);

    const items = read(`[${'{},\n'.repeat(size / 8)}0]`);
    assert(items instanceof JsonArray && items.items.length === size / 8 + 1);
    const last = items.items.at(-2);
    assert(last instanceof JsonObject && last.line === size / 8);
  }
});

test('names may be many or long', () => {
  for (const count of [10_000, 300_000]) {
    const members = Array.from({ length: count }, (_, i) => `"k${i}":${i}`).join(',');
    const object = read(`{${members}}`);
    assert(object instanceof JsonObject && object.members.size === count);
    assert.match(errorOf(`{${members},"k${count - 1}":0}`).message, /^name "k\d+" given twice/);
    const long = '\\u0041'.repeat(count);
    assert.match(errorOf(`{"${long}":0,"${'A'.repeat(count)}":0}`).message, /^name "A{40}…" given twice/);
  }
});
