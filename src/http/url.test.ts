import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { ApiError } from '../domain/api-error.ts';
import { decodePath, parseQuery } from './url.ts';

test('decodes a path once, and collapses nothing', () => {
  const cases: [path: string, decoded: string][] = [
    ['/', '/'],
    ['/v1/pets/', '/v1/pets/'],
    ['//v1//%70ets//', '//v1//pets//'],
    ['/./..', '/./..'],
    ['/%2e%2E', '/..'],
    ['/V1/Pets', '/V1/Pets'],
    ['/a%2Fb', '/a%2Fb'],
    ['/a%2fb/%63', '/a%2Fb/c'],
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

test('keeps a segment with a broken escape, after an empty one, and decodes the other segments as usual', () => {
  for (const text of brokenEscapes) {
    assert.equal(decodePath(`/a/${text}/%62`), `/a//${text}/b`, text);
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
  for (const [text, parameters] of cases) assert.deepEqual(parseQuery(text), parameters, text);
});

test('throws invalid_parameter for a broken escape anywhere in a query', () => {
  const isInvalidParameter = (error: unknown): boolean =>
    error instanceof ApiError && error.code === 'invalid_parameter';
  for (const text of brokenEscapes) {
    for (const broken of [text, `${text}=1`, `a=${text}`, `a=1&b=${text}&c=2`, `unknown${text}`]) {
      assert.throws(() => parseQuery(broken), isInvalidParameter, broken);
    }
  }
});

test('decodes what encodeURIComponent encodes', () => {
  const unit = fc.constantFrom(...'aZ0 %/&=+?#;\0\x7f\x80ä€🐕\u{ffff}\u{10ffff}');
  const text = fc.string({ unit, maxLength: 12 });
  const path = fc.array(text, { minLength: 1, maxLength: 6 });
  fc.assert(fc.property(path, fc.array(fc.tuple(text, text), { maxLength: 6 }), (segments, pairs) => {
    const decoded = segments.map((segment) => `/${segment.replaceAll('/', '%2F')}`).join('');
    assert.equal(decodePath(segments.map((segment) => `/${encodeURIComponent(segment)}`).join('')), decoded);
    assert.deepEqual(parseQuery(pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')), pairs);
  }));
});

test('takes time linear in the length', () => {
  const start = performance.now();
  for (const unit of ['/', '%', '%41', '%zz', '&', '=', 'a=&', 'a', '%F0', '+']) {
    const long = unit.repeat((1 << 20) / unit.length);
    decodePath(`/${long}`);
    try {
      parseQuery(long);
    } catch (error) {
      assert(error instanceof ApiError);
    }
  }
  assert(performance.now() - start < 20_000);
});
