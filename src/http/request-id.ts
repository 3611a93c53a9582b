import { randomInt } from 'node:crypto';

/** What the ids of one process begin with: they differ from those of any other. */
const prefix = randomInt(36 ** 6).toString(36).padStart(6, '0');
/** The first count has two digits: an id has at least 8 characters (openapi.json). */
let count = 36;

/**
 * An id for a response (`X-Request-Id`), never given twice. It has at most 12 characters, for the first two billion responses:
 * V8 copies a concatenation of that length at once, and a longer one in Node's check of each header, at 5 % of a request's time.
 */
export function newRequestId(): string {
  count += 1;
  return prefix + count.toString(36);
}
