/** Test support: arbitrary text. */
import * as fc from 'fast-check';

/**
 * Any character but halves of surrogate pairs, like the unit `binary` of fast-check. Fast-check needs half a second to
 * make its table of them.
 */
export const anyCharacter = fc
  .nat(0x10ffff)
  .filter((code) => code < 0xd800 || code > 0xdfff)
  .map(
    (code) => String.fromCodePoint(code),
    // With this, fast-check also generates texts such as __proto__.
    (text) => {
      const [only = '', ...more] = String(text);
      return more.length === 0 ? (only.codePointAt(0) ?? -1) : -1;
    },
  );
