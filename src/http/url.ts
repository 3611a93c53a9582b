import { ApiError } from './api-error.ts';

/**
 * Matches percent-escapes that are not broken: two hexadecimal digits each, and their bytes are UTF-8 (RFC 3629 section
 * 4). So decodeURIComponent is only called where it does not throw: each error would cost as much as decoding 10 KB.
 */
const escapes = (() => {
  const tail = '%[89ab][0-9a-f]';
  const three = `e0%[ab][0-9a-f]|e[1-9a-cef]${tail}|ed%[89][0-9a-f]`;
  const four = `f0%[9ab][0-9a-f]${tail}|f[1-3]${tail}${tail}|f4%8[0-9a-f]${tail}`;
  return `%[0-7][0-9a-f]|%(?:c[2-9a-f]|d[0-9a-f]|${three}|${four})${tail}`;
})();
/** The longest beginning of a text without a broken escape; without an escaped slash, too. */
const unbroken = new RegExp(`(?:[^%]|${escapes})*`, 'iy');
const unslashed = new RegExp(`(?:[^%]|(?!%2f)(?:${escapes}))*`, 'iy');

/** Returns the length of what a sticky pattern matches at the beginning of a text. */
function lengthOf(beginning: RegExp, text: string): number {
  beginning.lastIndex = 0;
  beginning.test(text);
  return beginning.lastIndex;
}

/**
 * Percent-decodes a path once, up to the first segment that no path of this server has: with an escaped slash, which
 * separates nothing, or with a broken escape, which gets an empty segment before it. The rest stays as it is, and so do
 * `.` and empty segments.
 */
export function decodePath(path: string): string {
  if (!path.includes('%') || !path.startsWith('/')) return path;
  const length = lengthOf(unslashed, path);
  if (length === path.length) return decodeURIComponent(path);
  const end = path.lastIndexOf('/', length);
  const isBroken = !path.startsWith('%2f', length) && !path.startsWith('%2F', length);
  return decodeURIComponent(path.slice(0, end)) + (isBroken ? '/' : '') + path.slice(end);
}

/** The parameters of a query in their order, percent-decoded. */
export type Parameters = readonly (readonly [name: string, value: string])[];

/** Throws ApiError `invalid_parameter` if a query has a broken percent-escape. */
export function checkQuery(query: string): void {
  if (!query.includes('%') || lengthOf(unbroken, query) === query.length) return;
  throw new ApiError('invalid_parameter', 'The query has a broken percent-escape.');
}

/** Reads a query that `checkQuery` accepts. */
export function parseQuery(query: string): Parameters {
  const parameters: [name: string, value: string][] = [];
  for (let start = 0; start < query.length; ) {
    const next = query.indexOf('&', start);
    const end = next < 0 ? query.length : next;
    if (end > start) {
      const pair = query.slice(start, end);
      const equals = pair.indexOf('=');
      const name = equals < 0 ? pair : pair.slice(0, equals);
      parameters.push([decoded(name), equals < 0 ? '' : decoded(pair.slice(equals + 1))]);
    }
    start = end + 1;
  }
  return parameters;
}

/** Decodes a part of a query that has no broken escape. */
function decoded(text: string): string {
  return text.includes('%') ? decodeURIComponent(text) : text;
}
