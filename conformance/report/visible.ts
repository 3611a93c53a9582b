/**
 * Makes invisible characters visible. Reports show what a server sent in terminals, browsers and build logs, and it may
 * contain escape sequences, lone surrogates, or characters that reverse the direction of a line.
 *
 * Such characters are written as JSON escapes (`\u202e`, in UTF-16 units), so that a body in a curl line keeps its
 * meaning. Backslashes are not doubled, because that would change the curl line. In plain text, `\u0000` is therefore
 * ambiguous; HTML uses `mark` to distinguish the two.
 */

// Everything that is invisible or affects other characters: controls, format characters, lone surrogates, spaces other
// than U+0020, line separators, ignorable characters, private use, and noncharacters, which XML forbids.
const unseen =
  /(?! )[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu;

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

type Mark = (written: string) => string;
const unmarked: Mark = (written) => written;

/** The text on one line, with invisible characters escaped. `mark` wraps each escape. */
export function visible(text: string, mark: Mark = unmarked): string {
  return text.replace(unseen, (character) => mark(short[character] ?? units(character)));
}

/** The same, but line feeds and CR LF become line feeds. */
export function visibleLines(text: string, mark: Mark = unmarked): string {
  return text
    .split(/\r?\n/)
    .map((line) => visible(line, mark))
    .join('\n');
}

/** At most about `max` characters of a text, and the number of those left out. */
export function clipped(text: string, max: number): string {
  if (text.length <= max) return text;
  // Not between the halves of a surrogate pair: the first would look like a lone surrogate that the server sent.
  const end = /[\ud800-\udbff]/.test(text.charAt(max - 1)) ? max - 1 : max;
  return `${text.slice(0, end)} … (${(text.length - end).toLocaleString('en-US')} more characters)`;
}

function units(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
