/** Names of animals: those that every server must keep, and those at the border, which it may refuse but not change. */
import * as fc from 'fast-check';

/**
 * Names that damage would show in, each for some way in which servers damage text: few requests, many characters. All are
 * ordinary text by `isOrdinary`, but for the length of some.
 */
export const tellingNames: readonly string[] = [
  ' leading, trailing and  double spaces ',
  `"quotes" 'single' \`back\` \\ / // \\n \\u0041 \\\\ {}[],:`,
  '<b>&amp;</b> &lt; &#39; %41 %00 %2F + ?a=b&c=d #x ; -- $HOME ${x} {{y}}',
  'Ünïcödé ÄÖÜß ÿ Ā Ł ſ ẞ Straße İıIi ﬁ ½ ² Ⅷ Ⓐ Ｆｕｌｌ ｶﾅ',
  'e\u0301 and \u00e9, a\u030a and \u00e5 and \u212b, \u1100\u1161 and \uac00, \u0041\u030a\u0301',
  'Ελληνικά Кириллица עברית العربية हिन्दी ไทย 日本語 한국어 中文 小花 ქართული',
  '🐈 🐕‍🦺 👩‍👩‍👧 🇩🇪 👍🏽 ☺️ 𝔣𝔩𝔲𝔣𝔣 𠜎 𐍈',
  'https://example.org/a?b=c ... www.example.org #1 น้ำ ﷺ ﺍ',
  'REX',
  '007',
  '1e3',
  '1.50',
  'null',
  'true',
  '-0',
  '0x1F',
  '[]',
  '{"name":"x"}',
  'undefined',
  '__proto__',
  'constructor',
  '“smart” ‘quotes’ … – — • ™ © ® € £ ¥ § ¶ † ‡ ‰ ‹› «»',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz 0123456789 !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
  `${'x'.repeat(63)}yz ${'äöü€🐾'.repeat(5)} the end`,
  ...[16, 32, 64, 100].map(ofLength),
];

/** Format characters, invisible but part of the text: soft hyphen, zero-width, direction, separators, byte order mark, variation. */
export const invisibleName =
  'a\u00adb\u200bc\u200cd\u200de\u200ef\u200fg\u2028h\u2029i\u202ej\u2060k\ufeffl\u00a0m\u3000n\u180eo\ufe0fp\u{e0001}q';

/** Characters that are nobody's: of private use, no characters at all, the replacement character itself. */
export const oddName = 'a\ue000b\uf8ffc\ufffdd\ufffee\uffffg\ufdd0h\u{f0000}i\u{1fffe}j\u{10ffff}k\u0378l';

/** Half of a surrogate pair, which JSON can only hold as an escape. */
export const halfName = 'half \ud83d of one';

/** U+0000, where many a string ends. */
export const nulName = 'before\u0000after';

/** Lines as different systems end them. */
export const linesName = 'one\r\ntwo\nthree\rfour\tfive\n';

/** Every control character that JSON can hold, U+0000 apart. */
export const controlName = `a${Array.from({ length: 31 }, (_, i) => String.fromCharCode(i + 1)).join('b')}c\u007fd\u0085e`;

const longestOrdinary = 64;

/**
 * Whether a server has no reason to refuse the name: 1 to 64 UTF-16 units of letters, marks, digits, punctuation, symbols and plain
 * spaces. How long a name may be is left open.
 */
export function isOrdinary(name: string): boolean {
  return (
    name.length >= 1 && name.length <= longestOrdinary && /^[\p{L}\p{M}\p{N}\p{P}\p{S}\u200d ]+$/u.test(name) && /\S/.test(name)
  );
}

const codePoints = 0x110000 - 0x800;

/** Any code point but halves of pairs, the simplest an a. (fast-check's own `binary` takes 0.7 s to be made.) */
const anyCharacter = fc.nat(codePoints - 1).map(
  (n) => {
    const code = (n + 0x61) % codePoints;
    return String.fromCodePoint(code < 0xd800 ? code : code + 0x800);
  },
  (character) => {
    const code = typeof character === 'string' && character !== '' ? character.codePointAt(0)! : -1;
    if (code < 0 || character !== String.fromCodePoint(code) || (code >= 0xd800 && code < 0xe000))
      throw new Error('no character');
    return ((code < 0xd800 ? code : code - 0x800) - 0x61 + codePoints) % codePoints;
  },
);

/** Any name at all, ordinary ones mostly. */
export const anyName: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), weight: 4 },
  { arbitrary: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 40 }), weight: 2 },
  // As long as the telling names are, so that those can be made smaller, too.
  { arbitrary: fc.string({ unit: anyCharacter, minLength: 1, maxLength: 120, size: 'small' }), weight: 2 },
  {
    arbitrary: fc.constantFrom(8, 10, 15, 16, 20, 24, 30, 31, 32, 33, 40, 48, 50, 60, 63, 64, 65, 80, 99, 100).map(ofLength),
    weight: 1,
  },
  {
    arbitrary: fc
      .array(fc.constantFrom(...tellingNames.flatMap((name) => name.split(/(?<= )/))), { minLength: 1, maxLength: 6 })
      .map((words) => words.join('').slice(0, 80)),
    weight: 2,
  },
);

/** A name of just so many characters, each place of it told apart: lengths are where servers cut. */
function ofLength(length: number): string {
  return Array.from({ length }, (_, i) => String.fromCharCode(97 + ((i * 7 + length) % 26))).join('');
}
