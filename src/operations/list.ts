/** What the lists of animals and of orders share: their parameters, and the link to the next page. */
import { ApiError } from '../domain/api-error.ts';
import { int64OfUrl } from '../domain/int64.ts';
import type { Reply } from '../http/reply.ts';
import type { Page, PageQuery } from '../store/line-table.ts';
import type { Call, Operation } from './operation.ts';

/** Bounds of `limit` (specification.md section 4.1). */
const minLimit = 1;
const maxLimit = 100;
const defaultLimit = 20;

/**
 * An operation that lists records by `limit`, `status` and `after`. `path` is where it stands, as its links show it;
 * `statuses` are the values of its filter.
 */
export function listOperation(
  path: string,
  statuses: readonly string[],
  pageOf: (query: PageQuery) => Page | Promise<Page>,
): Operation {
  return {
    takesJson: false,
    begin({ query }: Call) {
      const asked = { limit: limitOf(query), after: afterOf(query), status: statusOf(query, statuses) };
      return async (): Promise<Reply> => {
        const { body, next } = await pageOf(asked);
        return { status: 200, headers: next === null ? [] : ['Link', nextLink(path, asked, next)], body };
      };
    },
  };
}

/** `rel="next"` (RFC 8288): the same question, behind the page's last record. */
function nextLink(path: string, { limit, status }: PageQuery, after: bigint): string {
  const filter = status === undefined ? '' : `&status=${status}`;
  return `<${path}?limit=${limit}${filter}&after=${after}>; rel="next"`;
}

function limitOf(query: Call['query']): number {
  const text = single(query, 'limit');
  if (text === undefined) return defaultLimit;
  const limit = int64OfUrl(text);
  if (limit === null || limit < minLimit || limit > maxLimit) {
    throw new ApiError('invalid_parameter', `limit must be an integer from ${minLimit} to ${maxLimit}.`);
  }
  return Number(limit);
}

function afterOf(query: Call['query']): bigint | undefined {
  const text = single(query, 'after');
  if (text === undefined) return undefined;
  const after = int64OfUrl(text);
  if (after === null) throw new ApiError('invalid_parameter', 'after must be an int64: the id behind which the page begins.');
  return after;
}

function statusOf(query: Call['query'], statuses: readonly string[]): string | undefined {
  const text = single(query, 'status');
  if (text === undefined || statuses.includes(text)) return text;
  throw new ApiError('invalid_parameter', `status must be one of ${statuses.join(', ')}.`);
}

function single(query: Call['query'], name: string): string | undefined {
  const values = query.get(name);
  if (values !== undefined && values.length > 1) {
    throw new ApiError('invalid_parameter', `${name} is given more than once.`);
  }
  return values?.[0];
}
