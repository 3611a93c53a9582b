import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { ApiError } from '../domain/api-error.ts';
import { parseQuery, splitPath } from './url.ts';

const query = (text: string): [string, readonly string[]][] => [...parseQuery(text)];

test('a path is split at its slashes, decoded once, and nothing is collapsed', () => {
  const cases: [path: string, segments: (string | null)[]][] = [
    ['/', ['']],
    ['/v1', ['v1']],
    ['/v1/pets', ['v1', 'pets']],
    ['/v1/pets/', ['v1', 'pets', '']],
    ['//v1', ['', 'v1']],
    ['/v1//pets', ['v1', '', 'pets']],
    ['///', ['', '', '']],
    ['/./..', ['.', '..']],
    ['/%2e%2E', ['..']],
    ['/V1/Pets', ['V1', 'Pets']],
    ['/a%2Fb', ['a/b']],
    ['/a%2fb/c', ['a/b', 'c']],
    ['/%70ets', ['pets']],
    ['/%2570ets', ['%70ets']],
    ['/%25', ['%']],
    ['/a+b', ['a+b']],
    ['/a%20b', ['a b']],
    ['/a;b=c', ['a;b=c']],
    ['/%00', ['\0']],
    ['/%C3%A4%E2%82%AC%F0%9F%90%95', ['ä€🐕']],
    ['/%EF%BB%BF', ['\u{feff}']],
    ['/__proto__/constructor', ['__proto__', 'constructor']],
  ];
  for (const [path, segments] of cases) assert.deepEqual(splitPath(path), segments, path);
});

/** Percent signs that begin no escape, and bytes that are no UTF-8. */
const broken = ['%', '%%', '%a', '%4', '%zz', '%4g', '%g4', '% 1', '%-1', '%u0041', 'a%', '%E4', '%C3', '%C3%', '%C3%28', '%80',
  '%FF', '%C0%AF', '%C1%81', '%E0%80%AF', '%ED%A0%80', '%ED%BF%BF', '%F0%80%80%80', '%F4%90%80%80', '%F0%9F%90', '%E2%82', '%41%', '%C3%A4%C3'];

test('a broken escape spoils its segment alone', () => {
  for (const text of broken) {
    assert.deepEqual(splitPath(`/a/${text}/b`), ['a', null, 'b'], text);
    assert.deepEqual(splitPath(`/x${text}`), [null], text);
  }
});

test('a query gives each name with all its values, decoded', () => {
  const cases: [text: string, parameters: [string, string[]][]][] = [
    ['', []],
    ['&', []],
    ['&&&', []],
    ['a=1', [['a', ['1']]]],
    ['a=1&b=2', [['a', ['1']], ['b', ['2']]]],
    ['&a=1&&b=2&', [['a', ['1']], ['b', ['2']]]],
    ['a=1&b=2&a=3&a=1', [['a', ['1', '3', '1']], ['b', ['2']]]],
    ['a', [['a', ['']]]],
    ['a=', [['a', ['']]]],
    ['a&a=', [['a', ['', '']]]],
    ['=', [['', ['']]]],
    ['=1', [['', ['1']]]],
    ['a==1', [['a', ['=1']]]],
    ['a=b=c', [['a', ['b=c']]]],
    ['%61=%62', [['a', ['b']]]],
    ['a%3Db=c%26d', [['a=b', ['c&d']]]],
    ['%61=1&a=2', [['a', ['1', '2']]]],
    ['a=%2531', [['a', ['%31']]]],
    ['a=1+2', [['a', ['1+2']]]],
    ['a=?/#;[]', [['a', ['?/#;[]']]]],
    ['a;b', [['a;b', ['']]]],
    ['A=1&a=2', [['A', ['1']], ['a', ['2']]]],
    ['__proto__=1&constructor=2&toString', [['__proto__', ['1']], ['constructor', ['2']], ['toString', ['']]]],
  ];
  for (const [text, parameters] of cases) assert.deepEqual(query(text), parameters, text);
  assert.equal(parseQuery('a=1').get('__proto__'), undefined);
});

test('a broken escape anywhere in a query is an invalid parameter', () => {
  for (const text of broken) {
    for (const broken of [text, `${text}=1`, `a=${text}`, `a=1&b=${text}&c=2`, `unknown${text}`]) {
      assert.throws(() => parseQuery(broken), (error) => error instanceof ApiError && error.code === 'invalid_parameter', broken);
    }
  }
});

test('what encodeURIComponent made comes back', () => {
  const text = fc.string({ unit: fc.constantFrom(...'aZ0 %/&=+?#;\0\x7f\x80ä€🐕\u{ffff}\u{10ffff}'), maxLength: 12 });
  const path = fc.array(text, { minLength: 1, maxLength: 6 });
  fc.assert(fc.property(path, fc.array(fc.tuple(text, text), { maxLength: 6 }), (segments, pairs) => {
    assert.deepEqual(splitPath(`/${segments.map(encodeURIComponent).join('/')}`), segments);
    const expected = new Map<string, string[]>();
    for (const [name, value] of pairs) expected.set(name, [...(expected.get(name) ?? []), value]);
    assert.deepEqual(query(pairs.map((pair) => pair.map(encodeURIComponent).join('=')).join('&')), [...expected]);
  }));
});

test('the cost is linear in the length', () => {
  const start = performance.now();
  for (const unit of ['/', '%', '%41', '%zz', '&', '=', 'a=&', 'a', '%F0', '+']) {
    const long = unit.repeat((1 << 20) / unit.length);
    splitPath(`/${long}`);
    try {
      parseQuery(long);
    } catch (error) {
      assert(error instanceof ApiError);
    }
  }
  assert(performance.now() - start < 20_000);
});
