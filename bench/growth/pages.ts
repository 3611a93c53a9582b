/** The pages that the growth bench requests, and the animals that they must contain. */
import { randomInt } from 'node:crypto';
import { animal } from '../measure/animal.mjs';

export interface PageQuery {
  readonly after?: number;
  readonly status?: 'sold';
}

export const pageLength = 20;

/** Every third animal is sold: a page of sold animals is full if this many animals follow. */
const soldSpan = 3 * pageLength;

/** The kinds of pages. Each function returns a query, given the number of animals: some return a random one. */
export const pageKinds = {
  'first page': () => ({}),
  'random page': (animals: number) => ({ after: randomInt(animals - pageLength + 1) }),
  'filtered page': (animals: number) => ({ status: 'sold', after: randomInt(animals - soldSpan + 1) }),
  'last page': (animals: number) => ({ after: animals - pageLength }),
} as const satisfies Record<string, (animals: number) => PageQuery>;

/** The path of a page below the base URL. */
export function pathOf({ after, status }: PageQuery): string {
  const filter = status === undefined ? '' : `status=${status}&`;
  return `/pets?${filter}limit=${pageLength}${after === undefined ? '' : `&after=${after}`}`;
}

/** The animals on a page of a server that has animals 1 to `animals`. */
export function petsOn({ after = 0, status }: PageQuery, animals: number): readonly object[] {
  const pets: object[] = [];
  for (let id = after + 1; id <= animals && pets.length < pageLength; id++) {
    const pet = animal(id);
    if (status === undefined || pet.status === status) pets.push({ id, ...pet });
  }
  return pets;
}
