/** `listPets` and `listOrders` (specification.md sections 4.1 and 4.4; decisions.md, "Orders"). */
import { ApiError } from '../http/api-error.ts';
import { isInt64 } from '../domain/int64.ts';
import { parseQuery, type Parameters } from '../http/url.ts';
import { mapSoon, type PageQuery, type Records } from '../engine.ts';
import type { Call, Operation } from './operation.ts';

/** Bounds of `limit` (specification.md section 4.1). */
const minLimit = 1;
const maxLimit = 100;
const defaultLimit = 20;

/**
 * Returns an operation that lists records by `limit`, `status` and `after`. `path` is its path for links; `statuses`
 * are the values of its filter.
 */
export function listOperation(
  name: string, path: string, statuses: readonly string[], records: Records,
): Operation {
  return {
    name,
    takesJson: false,
    begin({ query }: Call) {
      const parameters = parseQuery(query);
      const status = statusOf(parameters, statuses);
      const pageQuery = { limit: limitOf(parameters), after: afterOf(parameters), status };
      return () => mapSoon(records.page(pageQuery), ({ body, next }) => {
        return { status: 200, headers: next === null ? [] : ['Link', nextLink(path, pageQuery, next)], body };
      });
    },
  };
}

/** The link to the next page (RFC 8288): the same query, after the last record of this page. */
function nextLink(path: string, { limit, status }: PageQuery, after: string): string {
  const filter = status === undefined ? '' : `&status=${status}`;
  return `<${path}?limit=${limit}${filter}&after=${after}>; rel="next"`;
}

function limitOf(query: Parameters): number {
  const text = single(query, 'limit');
  if (text === undefined) return defaultLimit;
  const limit = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : 0;
  if (limit >= minLimit && limit <= maxLimit) return limit;
  throw new ApiError('invalid_parameter', `limit must be an integer from ${minLimit} to ${maxLimit}.`);
}

function afterOf(query: Parameters): string | undefined {
  const text = single(query, 'after');
  if (text === undefined || isInt64(text)) return text;
  throw new ApiError('invalid_parameter', 'after must be an int64: the id after which the page begins.');
}

function statusOf(query: Parameters, statuses: readonly string[]): string | undefined {
  const text = single(query, 'status');
  if (text === undefined || statuses.includes(text)) return text;
  throw new ApiError('invalid_parameter', `status must be one of ${statuses.join(', ')}.`);
}

function single(query: Parameters, name: string): string | undefined {
  let found: string | undefined;
  for (const [other, value] of query) {
    if (other !== name) continue;
    if (found !== undefined) throw new ApiError('invalid_parameter', `${name} must not be given more than once.`);
    found = value;
  }
  return found;
}
