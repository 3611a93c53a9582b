/** What a client may vary in any request: the spelling of header names, and the connection. */
import { invalid } from '../client/credentials.ts';
import type { Request } from '../client/request.ts';
import { listPets } from '../client/requests.ts';
import { accepted, plain, type Change, type Dimension, type Row, type World } from './model.ts';

const spelling = (headerCase: Request['headerCase']): Change => (draft) => ({
  ...draft,
  ...(headerCase !== undefined && { headerCase }),
});

export const headerNames: Dimension = {
  name: 'header names',
  rows: accepted({ 'as usual': undefined, 'in lower case': 'lower', 'in upper case': 'upper' } as const, spelling),
};

/** Sends the request on a new connection that has carried only these requests. */
function connection(
  name: string,
  before: (world: World) => readonly Request[],
  limits: Pick<Row, 'most' | 'extra'>,
): Row {
  return { name, expect: 'accepted', change: (draft, world) => ({ ...draft, before: before(world) }), ...limits };
}

/** The dimension of the connection on which an operation is sent. `error` makes a request that gets an error. */
export function connections(error: (world: World) => Request): Dimension {
  return {
    name: 'connection',
    rows: [
      plain('any idle one'),
      connection('a new one', () => [], { most: 8 }),
      connection('one that had an error', (world) => [error(world)], { most: 8, extra: { requests: 1 } }),
    ],
  };
}

const { mustBe: _, ...wrongList } = listPets(invalid('Bearer wrong', 'Bearer wrong'));

/** The same dimension for requests with and without a valid key. */
export const keyedConnections: Dimension = {
  name: 'connection',
  rows: [
    plain('any idle one'),
    connection('one that had the valid key', ({ key }) => [listPets(key, { limit: 1 })], { extra: { requests: 1 } }),
    connection('one that had another key', () => [wrongList], { most: 1, extra: { keyless: 1 } }),
  ],
};
