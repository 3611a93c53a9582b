/** Bodies of 64 KiB that are expensive to read, each in its own way. */

const size = 64 * 1024;

interface Body {
  readonly name: string;
  readonly bytes: Buffer;
}

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
const digits = (index: number): string => index.toString(36);

/** The permutation of eight letters that has this number. */
function permutation(index: number): string {
  const rest = [...'abcdefgh'];
  let [text, number] = ['', index];
  for (let count = rest.length; count > 0; count -= 1) {
    text += rest.splice(number % count, 1)[0]!;
    number = Math.floor(number / count);
  }
  return text;
}

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
  ['permutations of eight letters', permutation],
  ['a different first byte', (index) => `${digits(index).padStart(3, '0')}${'a'.repeat(28)}`],
  ...['\\u0031', 'é', '\\u00e9', '\\ud83d\\ude00'].map((prefix): [string, typeof digits] =>
    [`${prefix} and digits`, (index) => `${prefix}${digits(index)}`]),
  ['emoji', emoji],
  ...[64, 300, 3_000].map((bytes): [string, typeof digits] =>
    [`${bytes} bytes`, (index) => digits(index).padStart(bytes, 'a')]),
];
/** Units of long strings and names, and what may precede a fault. */
const units = ['a', 'é', '😀', '\\n', '\\"', 'a\\n', '\\u0041'];
const spaces = [' ', '\n', '\r', '\r\n'];
/** Endings with invalid UTF-8 after the last character. */
const invalid = ['"a', '\n', '\uFFFD'].map((text): [string, Buffer] => [
  `${JSON.stringify(text)} again and again, then invalid UTF-8`,
  Buffer.concat([Buffer.from(fill(text)), Buffer.of(0xff)]),
]);

const texts: readonly [name: string, text: string | Buffer][] = [
  ['a usual NewPet with a long name', `{"name":"${fill('a', 100)}","categoryId":1,"status":"available"}`],
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
    [`a NewPet whose name is all ${unit}`, `{"name":"${fill(unit, 100)}","categoryId":1}`],
  ]),
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

/** The bodies, none longer than 64 KiB. */
export const bodies: readonly Body[] = texts.map(([name, text]) => {
  const bytes = Buffer.from(text as string);
  if (bytes.length > size) throw new Error(`${name} has ${bytes.length} bytes`);
  return { name, bytes };
});
