/**
 * Names of animals. Which strings are valid names is a gap (section 2): a server may reject any of them, but must not
 * change them.
 */
import * as fc from 'fast-check';

/**
 * Names that reveal the usual ways in which servers damage text. All are ordinary, except for the length of some. They
 * have many characters, so that few requests are needed.
 */
export const fragileNames: readonly string[] = [
  ' leading, trailing and  double spaces ',
  `"quotes" 'single' \`back\` \\ / // \\n \\u0041 \\\\ {}[],:`,
  '<b>&amp;</b> &lt; &#39; %41 %00 %2F + ?a=b&c=d #x ; -- $HOME ${x} {{y}}',
  'Ünïcödé ÄÖÜß ÿ Ā Ł ſ ẞ Straße İıIi ﬁ ½ ² Ⅷ Ⓐ Ｆｕｌｌ ｶﾅ',
  'e\u0301 and \u00e9, a\u030a and \u00e5 and \u212b, \u1100\u1161 and \uac00, \u0041\u030a\u0301',
  'Ελληνικά Кириллица עברית العربية हिन्दी ไทย 日本語 한국어 中文 小花 ქართული',
  '🐈 🐕‍🦺 👩‍👩‍👧 🇩🇪 👍🏽 ☺️ 𝔣𝔩𝔲𝔣𝔣 𠜎 𐍈',
  'https://example.org/a?b=c ... www.example.org #1 น้ำ ﷺ ﺍ',
  'f81d4fae-7dec-11d0-a765-00a0c91e6bf6 rex@example.org :cat: @rex',
  'pending, sold +44 20 7946 0958 192.0.2.7 4111 1111 1111 1112',
  'Cassie Bass, Titus, Killian',
  'Peacock of Scunthorpe, Dickens, Adam Drugi',
  'REX',
  '12',
  '007',
  'null',
  'true',
  '[]',
  '{"name":"x"}',
  '__proto__',
  'constructor',
  '“smart” ‘quotes’ … – — • ™ © ® € £ ¥ § ¶ † ‡ ‰ ‹› «»',
  'ABCDEFGHIJKLMNOPQRSTUVWXYZ abcdefghijklmnopqrstuvwxyz 0123456789 !"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~',
  `${'x'.repeat(63)}yz ${'äöü€🐾'.repeat(5)} the end`,
  ...[16, 32, 64, 100].map(ofLength),
];

/** Texts that a language or a format reads as another type: first those that are most likely to be converted. */
export const meaningfulNames: readonly string[] = [
  ...['yes', 'no', 'NaN', 'None', 'nil', '1e3', '2024-02-29', '-0', '0x1F', '1.50', 'True', 'FALSE', 'undefined'],
  ...['all', 'new', 'then', 'me', 'default', 'class', 'any', 'self', 'delete', 'toString'],
  ...['Infinity', 'on', 'OFF', '~', 'Null', '1.0.0', '12:30:00', '2024-02-29T12:30:00Z', '1_000', '+1', '.5', '1,5'],
  ...['y', 'N', '-inf', '.nan', '"x"', '0o17', '0b11', '1E400', '9007199254740993', '29.02.2024', '02/29/2024', 'N/A'],
  ...['#N/A', '=1+1', '(null)', '<null>', 'ja', 'nein', 'oui', 'vrai', 'faux', 'verdadero', '!!str', '*a', '&a', '- a'],
];

/**
 * A name, and names that a unique index, a join or a cache may take for it. Each differs from the first one, or from
 * its neighbour, in one respect: case, accents, their normal form, compatible characters, width, punctuation, spaces,
 * invisible characters, digits, a character beyond U+FFFF, a similar letter, or only after many characters.
 */
export const twinNames: readonly string[] = [
  ...['Moss fi 12', 'MOSS FI 12', 'M\u00f6ss fi 12', 'Mo\u0308ss fi 12', 'Mo\u00df fi 12', 'Moss \ufb01 12'],
  ...['Moss \uff46i 12', 'Moss, fi 12!', 'Moss-fi_12', 'Moss  fi 12', ' Moss fi 12', 'Moss fi 12 ', 'Mossfi12'],
  ...['Moss\u200b fi 12', 'Moss fi 1234', 'Moss fi 12🐈', 'M\u043ess fi 12'],
  ...['1', '2'].map((end) => `Moss fi 12 ${'and so on, '.repeat(4)}${end}`),
];

/** What a firewall looks for. */
const suspiciousName = "<script> ../../ '; SELECT -- ${x}";

/** Invisible characters: soft hyphen, zero-width, direction marks, separators, byte order mark, variation selectors. */
export const invisibleName =
  'a\u00adb\u200bc\u200cd\u200de\u200ef\u200fg\u2028h\u2029i\u202ej\u2060k\ufeff' +
  'l\u00a0m\u3000n\u180eo\ufe0fp\u{e0001}q';

/** Private-use characters, noncharacters, an unassigned character, and the replacement character. */
const unusualName = 'a\ue000b\uf8ffc\ufffdd\ufffee\uffffg\ufdd0h\u{f0000}i\u{1fffe}j\u{10ffff}k\u0378l';

/** A lone surrogate, which JSON can only contain as an escape. */
export const loneSurrogateName = 'half \ud83d of one';

/** U+0000, which ends strings in some languages. */
export const nulName = 'before\u0000after';

/** The line endings of different systems. */
const linesName = 'one\r\ntwo\nthree\rfour\tfive\n';

/** The names that each run creates. */
export const exampleNames: readonly string[] = [
  ...fragileNames,
  ...['x', invisibleName, unusualName, linesName, suspiciousName],
];

const controls = Array.from({ length: 31 }, (_, i) => String.fromCharCode(i + 1));

/** Every control character except U+0000. */
export const controlName = `a${controls.join('b')}c\u007fd\u0085e`;

const longestOrdinary = 64;

/**
 * Whether a server has no reason to reject a name: 1 to 64 UTF-16 units of letters, marks, digits, punctuation, symbols
 * and spaces. The specification does not say how long a name may be.
 */
export function isOrdinary(name: string): boolean {
  return (
    name.length >= 1 &&
    name.length <= longestOrdinary &&
    /^[\p{L}\p{M}\p{N}\p{P}\p{S}\u200d ]+$/u.test(name) &&
    /\S/.test(name)
  );
}

const codePoints = 0x110000 - 0x800;

/** Any code point except surrogates; shrinks to a. (fast-check's own `binary` takes 0.7 s to create.) */
const anyCharacter = fc.nat(codePoints - 1).map((n) => {
  const code = (n + 0x61) % codePoints;
  return String.fromCodePoint(code < 0xd800 ? code : code + 0x800);
});

/** Any name, mostly ordinary. */
export const anyName: fc.Arbitrary<string> = fc.oneof(
  { arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }), weight: 4 },
  { arbitrary: fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 40 }), weight: 2 },
  { arbitrary: fc.string({ unit: anyCharacter, minLength: 1, maxLength: 120, size: 'small' }), weight: 2 },
  {
    arbitrary: fc
      .constantFrom(8, 10, 15, 16, 20, 24, 30, 31, 32, 33, 40, 48, 50, 60, 63, 64, 65, 80, 99, 100)
      .map(ofLength),
    weight: 1,
  },
  {
    arbitrary: fc
      .array(fc.constantFrom(...fragileNames.flatMap((name) => name.split(/(?<= )/))), { minLength: 1, maxLength: 6 })
      .map((words) => [...words.join('')].slice(0, 80).join('')),
    weight: 2,
  },
);

/** A name of an exact length, at which a server may truncate. Neighbouring characters differ. */
function ofLength(length: number): string {
  return Array.from({ length }, (_, i) => String.fromCharCode(97 + ((i * 7 + length) % 26))).join('');
}
