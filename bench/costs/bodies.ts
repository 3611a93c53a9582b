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

const fill = (text: string, room = 2): string => text.repeat(Math.floor((size - room) / text.length));
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

const texts: readonly [name: string, text: string | Buffer][] = [
  ['a usual NewPet with a long name', `{"name":"${fill('a', 100)}","categoryId":1,"status":"available"}`],
  ['[{},{},…]', filled('[', '{}', ']')],
  ['[[],[],…]', filled('[', '[]', ']')],
  ['[1,1,…]', filled('[', '1', ']')],
  ['["","",…]', filled('[', '""', ']')],
  ['["a","a",…]', filled('[', '"a"', ']')],
  ['[true,true,…]', filled('[', 'true', ']')],
  ['[-1.5e3,…]', filled('[', '-1.5e3', ']')],
  ['[10,10,…]', filled('[', '10', ']')],
  ['[null,null,…]', filled('[', 'null', ']')],
  ['[false,false,…]', filled('[', 'false', ']')],
  ['one number', fill('1')],
  ['[{"a":1},…]', filled('[', '{"a":1}', ']')],
  ['objects of 2 members', filled('[', members(2, digits), ']')],
  ['objects of 16 members', filled('[', members(16, digits), ']')],
  ['objects of 16 members with long names', filled('[', members(16, (index) => 'a'.repeat(20) + digits(index)), ']')],
  ['objects of 17 members', filled('[', members(17, digits), ']')],
  ['objects of 40 members', filled('[', members(40, digits), ']')],
  ['one object of many members', object(digits)],
  ['one object of many members named by numbers', object(String)],
  ['names: negative numbers', object((index) => String(-index))],
  ['names: numbers far apart', object((index) => String((index * 104_729) % 2 ** 31))],
  ['names: multiples of 65,536', object((index) => String(index * 2 ** 16))],
  ['names: numbers from 2^32 - 2,000', object((index) => String(2 ** 32 - 2_000 + index))],
  ['names: numbers with leading zeros', object((index) => `0${index}`)],
  ['names: numbers of 100 digits', object((index) => String(index).padEnd(100, '7'))],
  ['names: numbers with an escape', object((index) => `\\u0031${index}`)],
  ['names of the letters a and b', object((index) => index.toString(2).replaceAll('0', 'a').replaceAll('1', 'b'))],
  ['names: permutations of eight letters', object(permutation)],
  ['names that differ in the first byte', object((index) => `${digits(index).padStart(3, '0')}${'a'.repeat(28)}`)],
  ['names in é', object((index) => `é${digits(index)}`)],
  ['names with an escape for é', object((index) => `\\u00e9${digits(index)}`)],
  ['names of emoji', object(emoji)],
  ['names of surrogate pairs in escapes', object((index) => `\\ud83d\\ude00${digits(index)}`)],
  ['names of 64 bytes', object((index) => `${digits(index)}`.padStart(64, 'a'))],
  ['names of 300 bytes', object((index) => `${digits(index)}`.padStart(300, 'a'))],
  ['names of 3,000 bytes', object((index) => `${digits(index)}`.padStart(3_000, 'a'))],
  ['one long name', `{"${fill('a', 10)}":1}`],
  ['one long name with an escape', `{"\\n${fill('a', 10)}":1}`.replace('aa', '')],
  ['one long name of \\n', `{"${fill('\\n', 10)}":1}`],
  ['one long name of \\"', `{"${fill('\\"', 10)}":1}`],
  ['one long name of a\\n', `{"${fill('a\\n', 10)}":1}`],
  ['one long name of \\u0061', `{"${fill('\\u0061', 10)}":1}`],
  ['a NewPet before many members', object(digits, '"name":"a","categoryId":1,"status":"sold",')],
  ['names with equal hashes', members(440, nameWithEqualHash)],
  ['names with escapes', filled('[', '{"\\u0061":1}', ']')],
  ['[[[[…]]]]', '['.repeat(size / 2) + ']'.repeat(size / 2)],
  ['{"a":{"a":…}}', '{"a":'.repeat(10_000) + '1' + '}'.repeat(10_000)],
  ['one long string', `"${fill('a')}"`],
  ['one string of é', `"${fill('é', 2).slice(0, size / 2 - 2)}"`],
  ['one string of emoji', `"${'😀'.repeat(size / 4 - 1)}"`],
  ['one string of \\n', `"${fill('\\n')}"`],
  ['one string of \\u0041', `"${fill('\\u0041')}"`],
  ['["\\n","\\n",…]', filled('[', '"\\n"', ']')],
  ['["\\u0041",…]', filled('[', '"\\u0041"', ']')],
  ['strings of 4 escapes', filled('[', `"${'\\n'.repeat(4)}"`, ']')],
  ['strings of 12 escapes', filled('[', `"${'\\n'.repeat(12)}"`, ']')],
  ['strings of 13 escapes', filled('[', `"${'\\n'.repeat(13)}"`, ']')],
  ['strings of 4 \\u escapes', filled('[', `"${'\\u0041'.repeat(4)}"`, ']')],
  ['spaces', `${fill(' ')}{}`],
  ['line feeds', `${fill('\n')}{}`],
  ['carriage returns', `${fill('\r')}{}`],
  ['spaces between tokens', filled('[ ', ' 1 ', ' ]')],
  ['two spaces between tokens', filled('[  ', '  1  ', '  ]')],
  ['objects with spaces', filled('[ ', '{ "a" : 1 }', ' ]')],
  ['short strings after one é', filled('["é",', '"ab"', ']')],
  ['a NewPet whose name is all \\u0041', `{"name":"${fill('\\u0041', 100)}","categoryId":1}`],
  ['a NewPet whose name is all emoji', `{"name":"${'😀'.repeat(size / 4 - 20)}","categoryId":1}`],
  ['[{},{},…, not closed', filled('[', '{}', '')],
  ['[1,1,…, a wrong end', filled('[', '1', '}')],
  ['a string that is not closed', `"${fill('a', 1)}`],
  ['a string of emoji that is not closed', `"${'😀'.repeat(size / 4 - 1)}`],
  ['line feeds, then a fault', `${fill('\n')}x`],
  ['carriage returns, then a fault', `${fill('\r')}x`],
  ['CR LF, then a fault', `${fill('\r\n')}x`],
  ['é, then a fault', `["${'é'.repeat(size / 2 - 4)}"x`],
  ['a name twice, at the end', filled('{', (index) => `"${digits(index)}":1`, ',"0":1}')],
  ['invalid UTF-8 at the end', Buffer.concat([Buffer.from(`"${fill('a')}`), Buffer.from([0xff])])],
  ['line feeds, then invalid UTF-8', Buffer.concat([Buffer.from(fill('\n')), Buffer.from([0xff])])],
  ['U+FFFD, then invalid UTF-8', Buffer.concat([Buffer.from('\uFFFD'.repeat(size / 3 - 1)), Buffer.from([0xff])])],
  ['invalid UTF-8 alone', Buffer.alloc(size, 0x80)],
];

/** The bodies, none longer than 64 KiB. */
export const bodies: readonly Body[] = texts.map(([name, text]) => {
  const bytes = Buffer.from(text as string);
  if (bytes.length > size) throw new Error(`${name} has ${bytes.length} bytes`);
  return { name, bytes };
});
