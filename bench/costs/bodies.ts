/** Bodies of 64 KiB that are expensive to read, each in its own way. */

const size = 64 * 1024;

/** As many items as fit, separated by commas. With some values of `close`, the text is not JSON. */
function filled(open: string, item: string | ((index: number) => string), close: string): string {
  let text = open;
  let length = Buffer.byteLength(open + close);
  for (let index = 0; ; index += 1) {
    const next = `${index === 0 ? '' : ','}${typeof item === 'string' ? item : item(index)}`;
    length += Buffer.byteLength(next);
    if (length > size) return text + close;
    text += next;
  }
}

/** One object of as many members as fit. */
const object = (name: (index: number) => string, first = ''): string =>
  filled(`{${first}`, (index) => `"${name(index)}":1`, '}');

/** A number in base 4, with emoji for the digits. */
const emoji = (index: number): string =>
  index.toString(4).replace(/./g, (digit) => String.fromCodePoint(0x1f600 + Number(digit)));

/** As many copies of a text as fit, with room for `room` bytes more. */
const fill = (text: string, room = 2): string => text.repeat(Math.floor((size - room) / Buffer.byteLength(text)));

/** An object of `count` members with these names. */
function members(count: number, name: (index: number) => string): string {
  return `{${Array.from({ length: count }, (_, index) => `"${name(index)}":1`).join()}}`;
}
export const digits = (index: number): string => index.toString(36);
/** Five digits, none greater than 7. */
const octal = (index: number): string => index.toString(8).padStart(5, '0');

/**
 * Texts of 2^n characters (Thue and Morse). Those of (`one`, `other`) and of (`other`, `one`) have the same polynomial
 * hash, whatever its odd factor.
 */
function thueMorse(n: number, one: string, other: string): string {
  return n === 0 ? one : thueMorse(n - 1, one, other) + thueMorse(n - 1, other, one);
}

function nameWithEqualHash(index: number): string {
  const prefix = index % 2 === 0 ? thueMorse(7, 'a', '!') : thueMorse(7, '!', 'a');
  return prefix + String(index >> 1).padStart(3, '0');
}

/** Items of arrays. */
const items = [
  '{}', '[]', '1', '10', '-1.5e3', '""', '"a"', 'true', 'false', 'null', '{"a":1}', ' 1 ', '  1  ', '{ "a" : 1 }',
  '{"\\u0061":1}', '"\\n"', '"\\u0041"',
  ...[4, 12, 13].map((count) => `"${'\\n'.repeat(count)}"`),
  `"${'\\u0041'.repeat(4)}"`,
  ...[2, 16, 17, 40].map((count) => members(count, digits)),
  members(16, (index) => 'a'.repeat(20) + digits(index)),
];
/** Names of the members of one object. */
const names: readonly [what: string, name: (index: number) => string][] = [
  ['digits and letters', digits],
  ['numbers', String],
  ['negative numbers', (index) => String(-index)],
  ['numbers far apart', (index) => String((index * 104_729) % 2 ** 31)],
  ['multiples of 65,536', (index) => String(index * 2 ** 16)],
  ['numbers from 2^32 - 2,000', (index) => String(2 ** 32 - 2_000 + index)],
  ['numbers with leading zeros', (index) => `0${index}`],
  ['numbers of 100 digits', (index) => String(index).padEnd(100, '7')],
  ['the letters a and b', (index) => index.toString(2).replaceAll('0', 'a').replaceAll('1', 'b')],
  ['the same digits and sum of digits in all', (index) => `${octal(index)}${octal(8 ** 5 - 1 - index)}`],
  ['a different first byte', (index) => `${digits(index).padStart(3, '0')}${'a'.repeat(28)}`],
  ...['\\u0031', 'é', '\\u00e9', '\\ud83d\\ude00'].map((prefix): [string, typeof digits] =>
    [`${prefix} and digits`, (index) => `${prefix}${digits(index)}`]),
  ['emoji', emoji],
  ...[64, 300, 3_000].map((bytes): [string, typeof digits] =>
    [`${bytes} bytes`, (index) => digits(index).padStart(bytes, 'a')]),
];
/** Units of long strings and names, and what may precede a fault. */
const units = ['a', 'é', '😀', '\\n', '\\"', 'a\\n', '\\u0041', '\\u0000', '\\ud800'];
const spaces = [' ', '\n', '\r', '\r\n'];
/** Endings with invalid UTF-8 after the last character. */
const invalid = ['"a', '\n', '\uFFFD'].map((text): [string, Buffer] => [
  `${JSON.stringify(text)} again and again, then invalid UTF-8`,
  Buffer.concat([Buffer.from(fill(text)), Buffer.of(0xff)]),
]);

/** A NewPet whose name, or whose categoryId, fills the body. */
export const petNamed = (unit: string): string => `{"name":"${fill(unit, 100)}","categoryId":1}`;
const petIn = (categoryId: string): string => `{"name":"a","categoryId":${categoryId}}`;
/** As many digits as the number of a NewPet may have. */
const length = size - 100;

/** The bodies, none longer than 64 KiB. */
export const bodies: readonly [name: string, body: string | Buffer][] = [
  ['a NewPet before many members', object(digits, '"name":"a","categoryId":1,"status":"sold",')],
  ['one number', fill('1')],
  ...items.map((item): [string, string] => [`[${item},…]`, filled('[', item, ']')]),
  ...names.map(([what, name]): [string, string] => [`names: ${what}`, object(name)]),
  ['names with equal hashes', members(440, nameWithEqualHash)],
  ['a name twice, at the end', filled('{', (index) => `"${digits(index)}":1`, ',"0":1}')],
  ...units.flatMap((unit): [string, string][] => [
    [`one string of ${unit}`, `"${fill(unit)}"`],
    [`a string of ${unit} that is not closed`, `"${fill(unit, 1)}`],
    [`one long name of ${unit}`, `{"${fill(unit, 10)}":1}`],
    [`a NewPet whose name is all ${unit}`, petNamed(unit)],
  ]),
  ['a number of 1', petIn('1'.repeat(length))],
  ['a number 1000…e-64000', petIn(`1${'0'.repeat(length - 10)}e-${length - 11}`)],
  ['a number 0.000…1', petIn(`0.${'0'.repeat(length - 10)}1`)],
  ['a number 0.000…1e64000', petIn(`0.${'0'.repeat(length - 20)}1e${length - 19}`)],
  ['a number 0.000…', petIn(`0.${'0'.repeat(length)}`)],
  ...['1', '0', '-0'].map((first): [string, string] =>
    [`an exponent of ${first}`, petIn(`1e${first.padEnd(length, first.at(-1))}`)]),
  ['a wrong status', `{"name":"a","categoryId":1,"status":"${fill('a', 100)}"}`],
  ['wrong members', `{"name":${'['.repeat(9_000)}${']'.repeat(9_000)},"categoryId":"${'a'.repeat(30_000)}"}`],
  ['[[[[…]]]]', '['.repeat(size / 2) + ']'.repeat(size / 2)],
  ['{"a":{"a":…}}', '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000)],
  ['short strings after one é', filled('["é",', '"ab"', ']')],
  ...spaces.flatMap((space): [string, string][] => [
    [`${JSON.stringify(space)} again and again`, `${fill(space)}{}`],
    [`${JSON.stringify(space)} again and again, then a fault`, `${fill(space)}x`],
  ]),
  ['é, then a fault', `["${fill('é', 4)}"x`],
  ['[{},{},…, not closed', filled('[', '{}', '')],
  ['[1,1,…, a wrong end', filled('[', '1', '}')],
  ...invalid,
  ['invalid UTF-8 alone', Buffer.alloc(size, 0x80)],
];
