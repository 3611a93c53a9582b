/** The requests that the growth bench sends: at random places, and as large whatever the number of animals. */
import { creates, getOf, make, pageOf, type Exchange, type Workload } from '../speed/workloads.ts';
import type { Random } from '../measure/random.ts';

const maxLimit = 20;
/** The number of animals among which one has the status. */
const spans = { available: 2, sold: 5, pending: 50 } as const;
const statuses = Object.keys(spans) as (keyof typeof spans)[];

/** The create, over 16 connections, as the other workloads. */
export const create: Workload = { ...creates[1]!, title: 'create' };

/** The workloads of a server that starts with animals 1 to `animals`, each with `count` requests. */
export function workloadsOf(animals: number, count: number): readonly Workload[] {
  const read = (title: string, one: (random: Random) => Exchange): Workload =>
    ({ id: title, title, method: 'GET', connections: create.connections, key: 'full', exchanges: make(count, one) });
  const page = (random: Random, status?: keyof typeof spans): Exchange => {
    const limit = random(1, maxLimit);
    const after = random(0, animals - limit * (status === undefined ? 1 : spans[status]));
    return pageOf({ ...(status !== undefined && { status }), limit, after }, animals);
  };
  return [
    read('page', (random) => page(random)),
    read('page by status', (random) => page(random, statuses[random(0, statuses.length - 1)])),
    read('get', (random) => getOf(random(1, animals))),
    create,
  ];
}
