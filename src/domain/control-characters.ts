/** What ends a line, controls a terminal or changes the direction of a text; and lone surrogates. */
const controlCharacters = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Whether a text has a control character, a separator of lines, a mark of direction or a lone surrogate. */
export function hasControlCharacters(text: string): boolean {
  return text.search(controlCharacters) >= 0;
}

/** Returns a text in which each of these characters is replaced by `\u` and four digits, as in JSON. */
export function escapeControlCharacters(text: string): string {
  return text.replace(controlCharacters, (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
