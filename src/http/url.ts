import { ApiError } from '../domain/api-error.ts';

/**
 * Percent-decodes a path once. `.` and empty segments stay; an escaped slash separates nothing, so it becomes `%2F`.
 * A segment with a broken escape becomes empty.
 */
export function decodePath(path: string): string {
  if (!path.includes('%')) return path;
  return path.replace(/(?<=\/)[^/]+/g, (segment) => (decode(segment) ?? '').replaceAll('/', '%2F'));
}

/** The parameters of a query in their order, percent-decoded. */
export type Parameters = readonly (readonly [name: string, value: string])[];

/** Reads a query. Throws ApiError `invalid_parameter` for a broken percent-escape. */
export function parseQuery(query: string): Parameters {
  const parameters: [name: string, value: string][] = [];
  for (const pair of query.split('&')) {
    if (pair === '') continue;
    const sign = pair.indexOf('=');
    const name = decode(sign < 0 ? pair : pair.slice(0, sign));
    const value = decode(sign < 0 ? '' : pair.slice(sign + 1));
    if (name === null || value === null) {
      throw new ApiError('invalid_parameter', 'The query has a broken percent-escape.');
    }
    parameters.push([name, value]);
  }
  return parameters;
}

function decode(text: string): string | null {
  if (!text.includes('%')) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
