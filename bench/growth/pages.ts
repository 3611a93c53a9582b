/** The pages that the growth bench requests. */
import { randomInt } from 'node:crypto';
import type { PageQuery } from '../measure/pages.ts';

const limit = 20;

/** Every fifth animal is sold: a page of sold animals is full if this many animals follow. */
const soldSpan = 5 * limit;

/** The kinds of pages. Each function returns a query, given the number of animals: some return a random one. */
export const pageKinds = {
  'first page': () => ({ limit }),
  'random page': (animals: number) => ({ limit, after: randomInt(animals - limit + 1) }),
  'filtered page': (animals: number) => ({ limit, status: 'sold', after: randomInt(animals - soldSpan + 1) }),
  'last page': (animals: number) => ({ limit, after: animals - limit }),
} as const satisfies Record<string, (animals: number) => PageQuery>;
