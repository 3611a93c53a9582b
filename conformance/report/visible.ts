/**
 * What a server sent is shown to people: in a terminal, a browser, the page of a build. A name may hold an escape sequence, half
 * a surrogate pair, or a character that turns the rest of the line around. Here such characters become text one can see.
 *
 * They are written as JSON writes them (`\u202e`, in UTF-16 units), so that a body inside a curl line still means the same.
 * A backslash that was sent is not doubled, for that would break the curl line: in plain text `\u0000` may thus be either;
 * `mark` lets a form that can (HTML) tell the two apart.
 */

// All that has no ink or moves other ink: controls, formats, half surrogate pairs, spaces other than U+0020, line separators,
// ignorables such as variation selectors and fillers, private use, and what XML forbids beside.
const unseen =
  /(?! )[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gu;

const short: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

type Mark = (written: string) => string;
const unmarked: Mark = (written) => written;

/** `text` on one line, with every character that cannot be seen written out; `mark` wraps what was written out. */
export function visible(text: string, mark: Mark = unmarked): string {
  return text.replace(unseen, (character) => mark(short[character] ?? units(character)));
}

/** The same, but a line feed, alone or after a carriage return, stays a line feed. */
export function visibleLines(text: string, mark: Mark = unmarked): string {
  return text
    .split(/\r?\n/)
    .map((line) => visible(line, mark))
    .join('\n');
}

/** At most about `max` characters of `text`, and how many were left out. */
export function clipped(text: string, max: number): string {
  if (text.length <= max) return text;
  // Not between the halves of a pair: the first half would then look as if the server had sent it alone.
  const end = /[\ud800-\udbff]/.test(text.charAt(max - 1)) ? max - 1 : max;
  return `${text.slice(0, end)} … (${(text.length - end).toLocaleString('en-US')} more characters)`;
}

function units(character: string): string {
  return character
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('');
}
