/**
 * The workloads by which servers are compared. Their requests vary as those of users do, and are the same in each run.
 */
import { animal, type Animal } from '../measure/animal.mjs';
import { pathOf, petsOn, type PageQuery } from '../measure/pages.ts';
import { randomIntegers, type Random } from '../measure/random.ts';

/** A request, and the response that every server must send. */
export interface Exchange {
  /** Path and query below the base path. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** An animal in JSON, which the request creates. */
  readonly body?: string;
  readonly status: number;
  /** The body of the response: what a list or a get returns, or the created animal without its id. Else an Error. */
  readonly expected?: object;
}

export interface Workload {
  readonly id: string;
  readonly title: string;
  readonly method: 'GET' | 'POST';
  readonly connections: number;
  /** Which key is sent: one that is never refused, many of these in turn, one whose day is used up, or none. */
  readonly key: 'full' | 'each' | 'spent' | 'none';
  /** They are sent in turn, again and again. */
  readonly exchanges: readonly Exchange[];
}

/** The number of animals that each server starts with. */
export const animals = 1_000;

/** Makes `count` exchanges, with random numbers that are the same in each run. */
export function make<T>(count: number, one: (random: Random, index: number) => T): readonly T[] {
  const random = randomIntegers(count);
  return Array.from({ length: count }, (_, index) => one(random, index));
}

/** A page of a random size at a random place: one in four of the default size, one in ten at the beginning. */
function randomPage(random: Random, status?: string): PageQuery {
  return {
    ...(status !== undefined && { status }),
    ...(random(1, 4) > 1 && { limit: random(1, 100) }),
    ...(random(1, 10) > 1 && { after: random(1, animals) }),
  };
}

/** A page of a server that has animals 1 to `count`. */
export function pageOf(query: PageQuery, count: number): Exchange {
  return { path: pathOf(query), status: 200, expected: petsOn(query, count) };
}

/** The animal with this id. */
export function getOf(id: number): Exchange {
  return { path: `/pets/${id}`, status: 200, expected: { id, ...animal(id) } };
}

/** One animal in ten does not exist. */
function randomGet(random: Random): Exchange {
  return random(1, 10) > 1
    ? getOf(random(1, animals))
    : { path: `/pets/${random(animals + 1, 1_000_000)}`, status: 404 };
}

/**
 * A create. One in four has no status. One in three is in ASCII, as some clients send it: `"\u5c0f\u82b1"`.
 */
function randomCreate(random: Random): Exchange {
  const pet = animal(random(1, animals));
  const [hasStatus, isAscii] = [random(1, 4) > 1, random(1, 3) === 1];
  const text = JSON.stringify(hasStatus ? pet : { name: pet.name, categoryId: pet.categoryId });
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  const expected: Animal = hasStatus ? pet : { ...pet, status: 'available' };
  return { path: '/pets', body: isAscii ? text.replace(/[^\x20-\x7e]/g, escape) : text, status: 201, expected };
}

/**
 * A client without a valid key may send 60 requests a minute. With 2,500 client addresses in turn, in the header that a
 * proxy adds, 150,000 requests a minute return 401. With four times as many addresses, a target's table of addresses
 * would not fit into the cache: the bench would measure that. Half of the requests have a wrong key.
 */
function unauthorizedRequest(random: Random, index: number): Exchange {
  const from = { 'X-Forwarded-For': `10.0.${Math.floor(index / 250)}.${1 + (index % 250)}` };
  const wrong = Array.from({ length: 36 }, () => random(0, 35).toString(36)).join('');
  const headers = random(1, 2) === 1 ? from : { ...from, Authorization: `Bearer petstore_${wrong}` };
  return { path: pathOf(randomPage(random)), headers, status: 401 };
}

const read = { method: 'GET', connections: 16, key: 'full' } as const;
const statuses = ['available', 'pending', 'sold'];

export const list: Workload = {
  ...{ ...read, id: 'list', title: 'list' },
  exchanges: make(1_000, (random) => pageOf(randomPage(random), animals)),
};
export const listByStatus: Workload = {
  ...{ ...read, id: 'status', title: 'list by status' },
  exchanges: make(1_000, (random) => pageOf(randomPage(random, statuses[random(0, 2)]), animals)),
};
export const get: Workload = { ...read, id: 'get', title: 'get', exchanges: make(1_000, randomGet) };
export const unauthorized: Workload = {
  ...{ ...read, id: '401', title: '401', key: 'none' },
  exchanges: make(2_500, unauthorizedRequest),
};
export const refused: Workload = {
  ...{ ...read, id: '429', title: '429', key: 'spent' },
  exchanges: make(1_000, (random) => ({ path: pathOf(randomPage(random)), status: 429 })),
};
export const reads: readonly Workload[] = [list, listByStatus, get, unauthorized, refused];

const newAnimals = make(500, randomCreate);

/** Creates over few and over many connections. */
export const creates: readonly Workload[] = [1, 16, 64, 256].map((connections) => ({
  id: `create-${connections}`,
  title: `create, ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
  ...{ method: 'POST', connections, key: 'full', exchanges: newAnimals },
}));
/** The create that every target is measured by. */
export const create = creates[2]!;

/** The workloads of `npm run bench`. */
export const workloads: readonly Workload[] = [...reads, create];
