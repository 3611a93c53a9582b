/** The workloads by which servers are compared. */

export interface Workload {
  readonly id: string;
  readonly title: string;
  readonly method: 'GET' | 'POST';
  /** Path and query below the base path. */
  readonly path: string;
  /** The status of every response. */
  readonly status: number;
  readonly connections: number;
  /** Whether every response has the same body: it contains neither a new id nor the seconds until a window ends. */
  readonly isFixed: boolean;
  /** Which key is sent: one that is never refused, one whose day is used up, or none. */
  readonly key: 'full' | 'spent' | 'none';
}

/** The number of animals that each server starts with. */
export const animals = 1_000;

/** The animal that `get` requests. */
export const knownId = 500;

const read = { method: 'GET', status: 200, connections: 16, isFixed: true, key: 'full' } as const;
export const list: Workload = { ...read, id: 'list', title: 'list of 20', path: '/pets?limit=20' };
export const get: Workload = { ...read, id: 'get', title: 'get', path: `/pets/${knownId}` };
export const unauthorized: Workload = { ...list, id: '401', title: '401', status: 401, key: 'none' };
export const refused: Workload = { ...list, id: '429', title: '429', status: 429, isFixed: false, key: 'spent' };
export const reads: readonly Workload[] = [list, get, unauthorized, refused];

/** Creates over few and over many connections. */
export const creates: readonly Workload[] = [1, 16, 64, 256].map((connections) => ({
  id: `create-${connections}`,
  title: `create, ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
  ...{ method: 'POST', path: '/pets', status: 201, connections, isFixed: false, key: 'full' },
}));
/** The create that every target is measured by. */
export const create = creates[2]!;

/** The workloads of `npm run bench`. */
export const workloads: readonly Workload[] = [...reads, create];
