/** What JSON.stringify writes for each UTF-16 unit up to the last one that it escapes, without surrogates. */
const escapes = Array.from({ length: 0x60 }, (_, unit) => JSON.stringify(String.fromCharCode(unit)).slice(1, -1));
const hexDigits = Buffer.from('0123456789abcdef');
const [quote, backslash, letterU] = [0x22, 0x5c, 0x75];

/** Returns a string as JSON: what JSON.stringify returns, which takes 50 ns for each lone surrogate. */
export function jsonString(text: string): string {
  if (text.isWellFormed()) return JSON.stringify(text); // nearly all
  const units = new Uint16Array(6 * text.length + 2);
  let end = 0;
  units[end++] = quote;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < escapes.length) {
      const escape = escapes[unit]!;
      for (let i = 0; i < escape.length; i++) units[end++] = escape.charCodeAt(i);
    } else if ((unit & 0xf800) !== 0xd800) {
      units[end++] = unit;
    } else if (text.codePointAt(at)! > 0xffff) {
      units[end++] = unit;
      units[end++] = text.charCodeAt(++at);
    } else {
      units[end++] = backslash;
      units[end++] = letterU;
      for (let shift = 12; shift >= 0; shift -= 4) units[end++] = hexDigits[(unit >> shift) & 0xf]!;
    }
  }
  units[end++] = quote;
  return Buffer.from(units.buffer, 0, 2 * end).toString('utf16le');
}
