/** JSON texts without rounding: JSON.parse reads numbers as doubles, which cannot hold every int64. */

export type Json = string | number | bigint | boolean | null | readonly Json[] | { readonly [name: string]: Json };

/** A string, a number, a literal or a punctuator of a valid JSON text. */
const tokens = /"(?:[^"\\]+|\\.)*"|-?\d[-+.\dEe]*|[a-z]+|[[\]{},:]/g;

/** Returns the value of a JSON text. Integers are bigints; names must not begin with U+0000. */
export function readJson(text: string): unknown {
  // Integers become strings that begin with U+0000, and so does every string that begins with it already.
  const marked = text.replace(tokens, (token) =>
    /^-?\d+$/.test(token) ? `"\\u0000${token}"` : token.replace(/^"(?=\\u0000)/, '"\\u0000s'));
  return JSON.parse(marked, (_, value: Json) => {
    if (typeof value !== 'string' || !value.startsWith('\0')) return value;
    return value.startsWith('\0s') ? value.slice(2) : BigInt(value.slice(1));
  });
}

/** Returns the JSON text of a value, without white space. */
export function writeJson(value: Json): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (value instanceof Array) return `[${value.map(writeJson).join()}]`;
  const members = Object.entries(value as { readonly [name: string]: Json });
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${writeJson(member)}`).join()}}`;
}

/** Returns a valid JSON text with other white space, for people. Its tokens are the same. */
export function indentJson(text: string): string {
  let indented = '';
  let depth = 0;
  let last = '';
  for (const [token] of text.matchAll(tokens)) {
    const isEnd = token === ']' || token === '}';
    const isFirst = last === '[' || last === '{';
    if (isEnd) depth--;
    if (isEnd ? !isFirst : isFirst || last === ',') indented += `\n${'  '.repeat(depth)}`;
    indented += token === ':' ? ': ' : token;
    if (token === '[' || token === '{') depth++;
    last = token;
  }
  return indented;
}

/** What a token is; `space` is everything between tokens. */
export type Kind = 'name' | 'string' | 'number' | 'literal' | 'mark' | 'space';

/** Returns all parts of a valid JSON text in their order, to be shown in different colours. */
export function* partsOf(text: string): Generator<readonly [Kind, string]> {
  let end = 0;
  for (const { 0: token, index } of text.matchAll(tokens)) {
    if (index > end) yield ['space', text.slice(end, index)];
    end = index + token.length;
    if (token.startsWith('"')) yield [/^\s*:/.test(text.slice(end, end + 9)) ? 'name' : 'string', token];
    else yield [/^[-\d]/.test(token) ? 'number' : /^[a-z]/.test(token) ? 'literal' : 'mark', token];
  }
  if (end < text.length) yield ['space', text.slice(end)];
}
