/** What ends a line, controls a terminal or changes the direction of a text; and lone surrogates. */
const controlCharacters = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Bidi_Control}]/u;

/** Whether a text has a control character, a separator of lines, a mark of direction or a lone surrogate. */
export function hasControlCharacters(text: string): boolean {
  return controlCharacters.test(text);
}
