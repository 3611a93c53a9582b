/** Bodies of 64 KiB that are expensive to read, each in its own way. */

const size = 64 * 1024;

interface Body {
  readonly name: string;
  readonly bytes: Buffer;
}

/** As many items as fit, separated by commas. `close` may be what breaks the text. */
function filled(open: string, item: string | ((index: number) => string), close: string): string {
  let text = open;
  for (let index = 0; ; index += 1) {
    const next = `${index === 0 ? '' : ','}${typeof item === 'string' ? item : item(index)}`;
    if (text.length + next.length + close.length > size) return text + close;
    text += next;
  }
}

const fill = (text: string, room = 2): string => text.repeat(Math.floor((size - room) / text.length));
const members = (count: number, name: (index: number) => string): string => `{${Array.from({ length: count }, (_, index) => `"${name(index)}":1`).join()}}`;
const digits = (index: number): string => index.toString(36);

/** Texts of 2^n characters; with each length those of `one` and `other` have the same polynomial hash, whatever its odd factor (Thue and Morse). */
function thueMorse(n: number, one = 'a', other = '!'): string {
  return n === 0 ? one : thueMorse(n - 1, one, other) + thueMorse(n - 1, other, one);
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
  ['one number', fill('1')],
  ['[{"a":1},…]', filled('[', '{"a":1}', ']')],
  ['objects of 2 members', filled('[', members(2, digits), ']')],
  ['objects of 16 members', filled('[', members(16, digits), ']')],
  ['objects of 16 members with long names', filled('[', members(16, (index) => 'a'.repeat(20) + digits(index)), ']')],
  ['objects of 17 members', filled('[', members(17, digits), ']')],
  ['objects of 40 members', filled('[', members(40, digits), ']')],
  ['one object of many members', filled('{', (index) => `"${digits(index)}":1`, '}')],
  ['one object of many members named by numbers', filled('{', (index) => `"${index}":1`, '}')],
  ['names with equal hashes', `{${Array.from({ length: 440 }, (_, index) => `"${thueMorse(7, ...(index % 2 === 0 ? (['a', '!'] as const) : (['!', 'a'] as const)))}${String(index >> 1).padStart(3, '0')}":1`).join()}}`],
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
  ['[{},{},…, not closed', filled('[', '{}', '')],
  ['[1,1,…, a wrong end', filled('[', '1', '}')],
  ['a string that is not closed', `"${fill('a', 1)}`],
  ['a string of emoji that is not closed', `"${'😀'.repeat(size / 4 - 1)}`],
  ['line feeds, then a fault', `${fill('\n')}x`],
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
