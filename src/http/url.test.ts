import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { ApiError } from './api-error.ts';
import { checkQuery, decodePath, parseQuery, type Parameters } from './url.ts';

/** Returns the parameters of a query. Throws an ApiError if it is invalid. */
function read(query: string): Parameters {
  checkQuery(query);
  return parseQuery(query);
}

test('decodes a path once, and collapses nothing', () => {
  const cases: [path: string, decoded: string][] = [
    ['/', '/'],
    ['/v1/pets/', '/v1/pets/'],
    ['//v1//%70ets//', '//v1//pets//'],
    ['/./..', '/./..'],
    ['/%2e%2E', '/..'],
    ['/V1/Pets', '/V1/Pets'],
    ['/a%2Fb', '/a%2Fb'],
    ['/a%2fb/%63', '/a%2fb/%63'],
    ['/%61/b%2F%63/%64', '/a/b%2F%63/%64'],
    ['/%70ets', '/pets'],
    ['/%2570ets', '/%70ets'],
    ['/%25', '/%'],
    ['/a+b', '/a+b'],
    ['/a%20b', '/a b'],
    ['/a;b=c', '/a;b=c'],
    ['/%00', '/\0'],
    ['/%C3%A4%E2%82%AC%F0%9F%90%95', '/ä€🐕'],
    ['/%EF%BB%BF', '/\u{feff}'],
    ['*', '*'],
    ['%2A', '%2A'],
    ['%2Fv1', '%2Fv1'],
  ];
  for (const [path, decoded] of cases) assert.equal(decodePath(path), decoded, path);
});

/** Percent signs that do not begin an escape, and bytes that are not UTF-8. */
const brokenEscapes = [
  '%', '%%', '%a', '%4', '%zz', '%4g', '%g4', '% 1', '%-1', '%u0041', 'a%', '%E4', '%C3', '%C3%', '%C3%28', '%80',
  '%FF', '%C0%AF', '%C1%81', '%E0%80%AF', '%ED%A0%80', '%ED%BF%BF', '%F0%80%80%80', '%F4%90%80%80', '%F0%9F%90',
  '%E2%82', '%41%', '%C3%A4%C3',
];

test('keeps a segment with a broken escape and those after it, after an empty one', () => {
  for (const text of brokenEscapes) {
    assert.equal(decodePath(`/%61/${text}/%62`), `/a//${text}/%62`, text);
    assert.equal(decodePath(`/x${text}`), `//x${text}`, text);
  }
});

test('returns the names and values in a query in their order, decoded', () => {
  const cases: [text: string, parameters: [name: string, value: string][]][] = [
    ['', []],
    ['&', []],
    ['&&&', []],
    ['a=1', [['a', '1']]],
    ['a=1&b=2', [['a', '1'], ['b', '2']]],
    ['&a=1&&b=2&', [['a', '1'], ['b', '2']]],
    ['a=1&b=2&a=3&a=1', [['a', '1'], ['b', '2'], ['a', '3'], ['a', '1']]],
    ['a', [['a', '']]],
    ['a=', [['a', '']]],
    ['a&a=', [['a', ''], ['a', '']]],
    ['=', [['', '']]],
    ['=1', [['', '1']]],
    ['a==1', [['a', '=1']]],
    ['a=b=c', [['a', 'b=c']]],
    ['%61=%62', [['a', 'b']]],
    ['a%3Db=c%26d', [['a=b', 'c&d']]],
    ['%61=1&a=2', [['a', '1'], ['a', '2']]],
    ['a=%2531', [['a', '%31']]],
    ['a=1+2', [['a', '1+2']]],
    ['a=?/#;[]', [['a', '?/#;[]']]],
    ['a;b', [['a;b', '']]],
    ['A=1&a=2', [['A', '1'], ['a', '2']]],
    ['__proto__=1&constructor=2&toString', [['__proto__', '1'], ['constructor', '2'], ['toString', '']]],
  ];
  for (const [text, parameters] of cases) assert.deepEqual(read(text), parameters, text);
});

test('throws invalid_parameter for a broken escape anywhere in a query', () => {
  const isInvalidParameter = (error: unknown): boolean =>
    error instanceof ApiError && error.code === 'invalid_parameter';
  for (const text of brokenEscapes) {
    for (const broken of [text, `${text}=1`, `a=${text}`, `a=1&b=${text}&c=2`, `unknown${text}`]) {
      assert.throws(() => read(broken), isInvalidParameter, broken);
    }
  }
});

test('decodes what encodeURIComponent encodes', () => {
  const unit = fc.constantFrom(...'aZ0 %/&=+?#;\0\x7f\x80ä€🐕\u{ffff}\u{10ffff}');
  const text = fc.string({ unit, maxLength: 12 });
  const path = fc.array(text, { minLength: 1, maxLength: 6 });
  fc.assert(fc.property(path, fc.array(fc.tuple(text, text), { maxLength: 6 }), (segments, pairs) => {
    const slashed = segments.findIndex((segment) => segment.includes('/')); // it and the rest stay as they are
    const encoded = segments.map(encodeURIComponent);
    const decoded = encoded.map((segment, i) => (slashed >= 0 && i >= slashed ? segment : segments[i]));
    assert.equal(decodePath(`/${encoded.join('/')}`), `/${decoded.join('/')}`);
    assert.deepEqual(read(pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')), pairs);
  }));
});

test('decodes a path with one call, and makes no error for a broken escape', (t) => {
  const decode = t.mock.method(globalThis, 'decodeURIComponent');
  const units = ['/%', '/%FF', '/%41', '%41', '/a%2F', '%C3%A4', '/%C3'];
  for (const unit of units) decodePath(`/${unit.repeat(16_000 / unit.length)}`);
  assert.deepEqual(decode.mock.calls.map(({ error }) => error), units.map(() => undefined));
});

test('takes time linear in the length', () => {
  const start = performance.now();
  for (const unit of ['/', '%', '%41', '%zz', '&', '=', 'a=&', 'a', '%F0', '+']) {
    const long = unit.repeat((1 << 20) / unit.length);
    decodePath(`/${long}`);
    try {
      read(long);
    } catch (error) {
      assert(error instanceof ApiError);
    }
  }
  assert(performance.now() - start < 20_000);
});
