import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { JsonNumber, JsonObject, kindOf, parseJson, type Json } from './json.ts';

const read = (text: string) => parseJson(Buffer.from(text));

/** The value that JSON.parse returns. */
function plain(value: Json): unknown {
  if (value instanceof JsonNumber) return Number(value.text);
  if (value instanceof JsonObject) return Object.fromEntries(value.members.map(([name, v]) => [name, plain(v)]));
  return Array.isArray(value) ? value.map(plain) : value;
}

test('what JSON.stringify writes is read like JSON.parse does', () => {
  assert.deepEqual(plain(read('{"__proto__":{"a":1}}')), JSON.parse('{"__proto__":{"a":1}}'));
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 2), (value, indent) => {
      const text = JSON.stringify(value, null, indent);
      assert.deepEqual(plain(read(text)), JSON.parse(text));
    }),
    { numRuns: 300 },
  );
});

test('text that JSON.parse rejects is rejected', () => {
  fc.assert(
    fc.property(
      fc.jsonValue(),
      fc.nat(),
      fc.constantFrom('', ',', '"', '\\', '}', '0', '.', 'e', '\n', 'tru', "'"),
      (value, at, bit) => {
        const whole = JSON.stringify(value);
        const damaged = whole.slice(0, at % whole.length) + bit + whole.slice((at % whole.length) + 1);
        let expected = true;
        try {
          JSON.parse(damaged);
        } catch {
          expected = false;
        }
        if (expected) read(damaged);
        else assert.throws(() => read(damaged), SyntaxError, damaged);
      },
    ),
    { numRuns: 1000 },
  );
});

test('a number keeps its digits', () => {
  const value = read('[9223372036854775807, 1.0, -0]') as JsonNumber[];
  assert.deepEqual(
    value.map((n) => n.text),
    ['9223372036854775807', '1.0', '-0'],
  );
});

test('the value of a 64-bit integer in any notation', () => {
  const cases: [string, bigint | undefined][] = [
    ['9223372036854775807', 9223372036854775807n],
    ['-9223372036854775808', -9223372036854775808n],
    ['9223372036854775808', undefined],
    ['-9223372036854775809', undefined],
    ['1.0', 1n],
    ['10e-1', 1n],
    ['1.50e1', 15n],
    ['-0', 0n],
    ['0e999999999', 0n],
    ['1e999999999', undefined],
    ['1.5', undefined],
    ['1e-1', undefined],
    ['900000000000000000000e-20', 9n],
  ];
  for (const [text, expected] of cases) assert.equal(new JsonNumber(text).int64(), expected, text);
});

test('surrogates, escapes and repeated names are kept', () => {
  assert.equal(read('"\\ud83d\\u0000\\b\\f\\n\\r\\t\\"\\\\\\/"'), '\ud83d\0\b\f\n\r\t"\\/');
  const object = read('{"a":1,"a":2}') as JsonObject;
  assert.equal(object.members.length, 2);
  assert.equal(kindOf(object.get('a')), 'the number 2');
});

test('invalid UTF-8 and a byte order mark are rejected', () => {
  assert.throws(() => parseJson(Uint8Array.of(0x22, 0xff, 0x22)), /not UTF-8/);
  assert.throws(() => read('\uFEFF1'), /begins with a byte order mark/);
});

test('a string of any length is read', () => {
  const text = 'a\\n\\"'.repeat(4_000_000);
  assert.equal((read(`["${text}\\\\"]`) as string[])[0]!.length, 12_000_001);
});

test('any depth is read', () => {
  const depth = 100_000;
  const nested = (open: string, inner: string, close: string) =>
    read(open.repeat(depth) + inner + close.repeat(depth));
  let levels = 0;
  for (let value = nested('[0,', '1', ']'); Array.isArray(value); value = value[1]!) levels++;
  assert.equal(levels, depth);
  for (let value = nested('{"a":', '{}', '}'); value instanceof JsonObject; value = value.get('a') ?? null) levels++;
  assert.equal(levels, 2 * depth + 1);
  assert.throws(() => nested('[', '', ''), { name: 'SyntaxError', message: /end of JSON input/ });
  assert.throws(() => nested('[', '1', '}'), { name: 'SyntaxError', message: /JSON at position 100001/ });
});
