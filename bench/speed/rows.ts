/** The loads by which servers are compared. */

export interface Row {
  readonly id: string;
  readonly title: string;
  readonly method: 'GET' | 'POST';
  /** Below the base path. */
  readonly path: string;
  /** What every answer must be. */
  readonly status: number;
  readonly connections: number;
  /** Whether every answer has the same body: it holds no new id, and no seconds that are left. */
  readonly isFixed: boolean;
  /** Which key goes along: one with room, one that has spent its day or minute, or none. */
  readonly key: 'full' | 'spent' | 'none';
}

/** So many animals each server begins with. */
export const animals = 1_000;

/** The animal that is asked for. */
export const knownId = 500;

const reads = { method: 'GET', status: 200, connections: 16, isFixed: true, key: 'full' } as const;
export const listRow: Row = { ...reads, id: 'list', title: 'list of 20', path: '/pets?limit=20' };
export const getRow: Row = { ...reads, id: 'get', title: 'get', path: `/pets/${knownId}` };
export const createRow: Row = createAt(64);
export const unauthorizedRow: Row = { ...reads, id: '401', title: '401', path: '/pets?limit=20', status: 401, key: 'none' };
export const refusedRow: Row = { ...reads, id: '429', title: '429', path: '/pets?limit=20', status: 429, isFixed: false, key: 'spent' };

/** The loads of `npm run bench`. */
export const rows: readonly Row[] = [listRow, getRow, createRow, unauthorizedRow, refusedRow];

/** Creates at other numbers of connections than `createRow`, few to many. */
export const createsAt: readonly Row[] = [1, 16, 256].map(createAt);

function createAt(connections: number): Row {
  return {
    id: `create-${connections}`,
    title: `create at ${connections} ${connections === 1 ? 'connection' : 'connections'}`,
    method: 'POST',
    path: '/pets',
    status: 201,
    connections,
    isFixed: false,
    key: 'full',
  };
}
