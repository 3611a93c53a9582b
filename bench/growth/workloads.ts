/** The requests that the growth bench sends: at random places, and as large whatever the number of animals. */
import { isDeepStrictEqual } from 'node:util';
import { animal } from '../measure/animal.mjs';
import type { LoadRequest } from '../measure/client.ts';
import { pathOf, petsOn, type PageQuery } from '../measure/pages.ts';
import type { Random } from '../measure/random.ts';

/** Makes a random request to a server that began with animals 1 to `animals`. */
type Make = (random: Random, animals: number) => LoadRequest;

const maxLimit = 20;
/** The number of animals among which one has the status. */
const spans = { available: 2, sold: 5, pending: 50 } as const;
const statuses = Object.keys(spans) as (keyof typeof spans)[];

/** The workloads by their names. */
export const workloads: Readonly<Record<'page' | 'page by status' | 'get' | 'create', Make>> = {
  page(random, animals) {
    const limit = random(1, maxLimit);
    return pageRequest({ limit, after: random(0, animals - limit) }, animals);
  },
  'page by status'(random, animals) {
    const status = statuses[random(0, statuses.length - 1)]!;
    const limit = random(1, maxLimit);
    return pageRequest({ status, limit, after: random(0, animals - spans[status] * limit) }, animals);
  },
  get(random, animals) {
    const id = random(1, animals);
    return getRequest(`/pets/${id}`, (body) => isDeepStrictEqual(body, { id, ...animal(id) }));
  },
  create(random, animals) {
    const pet = animal(random(1, animals));
    const isRight = (body: unknown): boolean => isDeepStrictEqual({ ...(body as object), id: 0 }, { id: 0, ...pet });
    const headers = { 'Content-Type': 'application/json' };
    return { method: 'POST', path: '/v1/pets', headers, body: JSON.stringify(pet), status: 201, isRight };
  },
};

function pageRequest(query: PageQuery, animals: number): LoadRequest {
  return getRequest(pathOf(query), (body) => isDeepStrictEqual(body, petsOn(query, animals)));
}

function getRequest(path: string, isRight: (body: unknown) => boolean): LoadRequest {
  return { method: 'GET', path: `/v1${path}`, headers: {}, status: 200, isRight };
}
