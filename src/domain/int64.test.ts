import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { int64OfJsonNumber, isInt64 } from './int64.ts';

const MIN = -9223372036854775808n;
const MAX = 9223372036854775807n;
const LONG = 60_000;

test('the value of a JSON number matters, not its form', () => {
  const cases: [text: string, value: bigint | null][] = [
    ['0', 0n],
    ['-0', 0n],
    ['0.0', 0n],
    ['-0.00e-5', 0n],
    ['0e999999999', 0n],
    ['0E-999999999', 0n],
    ['0.000e+1', 0n],
    ['1', 1n],
    ['1.0', 1n],
    ['10e-1', 1n],
    ['0.1e1', 1n],
    ['0.001E+3', 1n],
    ['100.00e-2', 1n],
    ['-1', -1n],
    ['-10E-01', -1n],
    ['1e2', 100n],
    ['1E+2', 100n],
    ['1e0', 1n],
    ['1e-0', 1n],
    ['1.5e1', 15n],
    ['12.340e2', 1234n],
    ['1e018', 10n ** 18n],
    ['1.5', null],
    ['0.1', null],
    ['1e-1', null],
    ['-1.5', null],
    ['15e-1', null],
    ['12.345e2', null],
    ['1e-999999999', null],
    ['9007199254740993', 9007199254740993n],
    ['9007199254740993.0', 9007199254740993n],
  ];
  for (const [text, value] of cases) assert.equal(int64OfJsonNumber(text), value, text);
});

test('the smallest and the largest int64 are accepted in any form, the next integers are not', () => {
  const cases: [digits: string, max: bigint | null, min: bigint | null][] = [
    ['9223372036854775806', MAX - 1n, MIN + 2n],
    ['9223372036854775807', MAX, MIN + 1n],
    ['9223372036854775808', null, MIN],
    ['9223372036854775809', null, null],
    ['9999999999999999999', null, null],
    ['10000000000000000000', null, null],
    ['18446744073709551616', null, null],
  ];
  for (const [digits, positive, negative] of cases) {
    const rest = digits.slice(1);
    for (const text of [
      digits,
      `${digits}.0`,
      `${digits}00e-2`,
      `${digits[0]}.${rest}e${rest.length}`,
      `0.${digits}000E+${digits.length}`,
    ]) {
      assert.equal(int64OfJsonNumber(text), positive, text);
      assert.equal(int64OfJsonNumber(`-${text}`), negative, `-${text}`);
    }
    assert.equal(int64OfJsonNumber(`${digits}.1`), null);
    assert.equal(isInt64(digits), positive !== null, digits);
    assert.equal(isInt64(`-${digits}`), negative !== null, `-${digits}`);
  }
  for (const text of ['1e19', '1e20', '0.1e20', '1e400', '1e999999999', '-1e19', `1e${'9'.repeat(400)}`]) {
    assert.equal(int64OfJsonNumber(text), null, text);
  }
});

test('the value of a JSON number is that of exact arithmetic', () => {
  /** Returns the same by rational arithmetic, for exponents that BigInt can handle. */
  const exact = (digits: bigint, exponent: number): bigint | null => {
    const scale = 10n ** BigInt(Math.abs(exponent));
    if (exponent < 0 && digits % scale !== 0n) return null;
    const value = exponent < 0 ? digits / scale : digits * scale;
    return value >= MIN && value <= MAX ? value : null;
  };
  let integers = 0;
  const int64ish = fc.oneof(
    fc.bigInt({ min: MIN - 9n, max: MIN + 9n }),
    fc.bigInt({ min: MAX - 9n, max: MAX + 9n }),
    fc.bigInt({ min: 2n * MIN, max: 2n * MAX }),
    fc.bigInt({ min: -99n, max: 99n }),
    fc
      .tuple(fc.integer({ min: -99, max: 99 }), fc.nat({ max: 20 }))
      .map(([digits, zeros]) => BigInt(digits) * 10n ** BigInt(zeros)),
  );
  fc.assert(
    fc.property(
      int64ish,
      fc.nat({ max: 25 }), // digits after the point
      fc.nat({ max: 4 }), // zeros written at the end
      fc.integer({ min: -3, max: 3 }), // added to the exponent that restores the integer
      fc.constantFrom('e', 'E', 'e0', 'E000'),
      (integer, places, zeros, off, e) => {
        const digits = (integer < 0n ? -integer : integer).toString().padStart(places + 1, '0');
        const whole = digits.slice(0, digits.length - places);
        const fraction = digits.slice(digits.length - places) + '0'.repeat(zeros);
        const exponent = places + off;
        const sign = integer < 0n ? '-' : '';
        const power = `${exponent < 0 ? e.replace(/^e/i, '$&-') : e}${Math.abs(exponent)}`;
        const text = `${sign}${whole}${fraction && `.${fraction}`}${power}`;
        const expected = exact(integer, off);
        if (expected !== null) integers++;
        assert.equal(int64OfJsonNumber(text), expected, text);
      },
    ),
    { numRuns: 3000 },
  );
  assert(integers > 500, 'too few of the numbers were integers');
});

test('the time for a long JSON number is linear', () => {
  for (const length of [LONG, 100 * LONG]) {
    const zeros = '0'.repeat(length);
    const nines = '9'.repeat(length);
    const cases: [text: string, value: bigint | null][] = [
      [`1${zeros}e-${length}`, 1n],
      [`-1${zeros}.${zeros}e-${length}`, -1n],
      [`0.${zeros}7e${length + 1}`, 7n],
      [`1.${zeros}`, 1n],
      [`1.${zeros}1`, null],
      [`1${zeros}`, null],
      [`1${zeros}1e-${length}`, null],
      [`1${zeros}e-${length + 1}`, null],
      [nines, null],
      [`0.${nines}e${length}`, null],
      [`1e${nines}`, null],
      [`1e-${nines}`, null],
      [`0e${nines}`, 0n],
      [`-0.${zeros}e-${nines}`, 0n],
      [`12e-${zeros}1`, null],
      [`12e+${zeros}1`, 120n],
      [`1${'010'.repeat(length / 3)}`, null],
    ];
    for (const [text, value] of cases)
      assert.equal(int64OfJsonNumber(text), value, `${text.slice(0, 9)}…${text.slice(-9)}`);
    for (const text of [nines, `-${nines}`, zeros, `1${zeros}`, `1${zeros}x`]) assert.equal(isInt64(text), false);
  }
});

test('an integer in a URL has one form only', () => {
  for (const text of ['0', '-0', '7', '-7', '10', '999999999999999', '1000000000000001', '9007199254740993']) {
    assert.equal(isInt64(text), true, text);
  }
  for (const text of [
    '',
    '-',
    '--1',
    '+5',
    '05',
    '-05',
    '00',
    '5.0',
    '5e0',
    '0x5',
    '5n',
    ' 5',
    '5 ',
    '5\n',
    '\n5',
    '5\u0000',
    '1_0',
    '٥',
    '５',
    'Infinity',
  ]) {
    assert.equal(isInt64(text), false, JSON.stringify(text));
  }
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'--00123456789.+e \n'), maxLength: 22 }), (text) => {
      if (isInt64(text)) assert.equal(BigInt(text).toString(), text === '-0' ? '0' : text);
      else if (/^-?\d{1,18}$/.test(text)) assert.match(text, /^-?0\d/);
    }),
  );
  fc.assert(fc.property(fc.bigInt(-(2n ** 64n), 2n ** 64n), (value) => {
    assert.equal(isInt64(value.toString()), value >= MIN && value <= MAX);
  }));
});
