import { ApiError } from '../domain/api-error.ts';

/**
 * Percent-decodes a path once. `.` and empty segments stay; an escaped slash separates nothing, so it becomes `%2F`.
 * A segment with a broken escape stays as it is, after an empty one, which no path has.
 */
export function decodePath(path: string): string {
  return path.includes('%') ? path.replace(/(?<=\/)[^/]+/g, decodeSegment) : path;
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment).replaceAll('/', '%2F');
  } catch {
    return `/${segment}`;
  }
}

/** The parameters of a query in their order, percent-decoded. */
export type Parameters = readonly (readonly [name: string, value: string])[];

/** Reads a query. Throws ApiError `invalid_parameter` for a broken percent-escape. */
export function parseQuery(query: string): Parameters {
  const pairs = query.split('&').filter((pair) => pair !== '');
  try {
    return pairs.map((pair) => {
      const [, name = '', value = ''] = /^([^=]*)=?(.*)$/s.exec(pair) ?? [];
      return [decodeURIComponent(name), decodeURIComponent(value)];
    });
  } catch {
    throw new ApiError('invalid_parameter', 'The query has a broken percent-escape.');
  }
}
