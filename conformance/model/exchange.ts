/** What a client may vary in any request: the spelling of header names, and the connection. */
import { invalid } from '../client/credentials.ts';
import type { Request } from '../client/request.ts';
import { listPets } from '../client/requests.ts';
import { accepted, type Change, type Dimension, type Row, type World } from './model.ts';

const spelling = (headerCase: Request['headerCase']): Change => (draft) => ({
  ...draft,
  ...(headerCase !== undefined && { headerCase }),
});

export const headerNames: Dimension = {
  name: 'header names',
  rows: accepted({ 'as usual': undefined, 'in lower case': 'lower', 'in upper case': 'upper' } as const, spelling),
};

/** Sends the request on a new connection that has carried only these requests. */
const connection = (before: (world: World) => readonly Request[]): Change => (draft, world) => ({
  ...draft,
  before: before(world),
});

/** The dimension of the connection on which an operation is sent. `error` makes a request that gets an error. */
export function connections(error: (world: World) => Request): Dimension {
  const limited = (rows: readonly Row[], requests: number) =>
    rows.map((row) => ({ ...row, most: 8, extra: { requests } }));
  return {
    name: 'connection',
    rows: [
      ...accepted({ 'any idle one': undefined }, () => (draft) => draft),
      ...limited(accepted({ 'a new one': () => [] }, connection), 0),
      ...limited(accepted({ 'one that had an error': (world: World) => [error(world)] }, connection), 1),
      {
        ...{ name: 'pipelined', expect: 'accepted', change: (draft) => draft },
        unusable: "Node's client does not pipeline requests",
      },
    ],
  };
}

/** The same dimension for requests with and without a valid key. */
export const keyedConnections: Dimension = {
  name: 'connection',
  rows: [
    ...accepted({ 'any idle one': undefined }, () => (draft: Parameters<Change>[0]) => draft),
    ...accepted(
      { 'one that had the valid key': (world: World) => [listPets(world.key, { limit: 1 })] },
      connection,
    ).map((row) => ({ ...row, extra: { requests: 1 } })),
    ...accepted({ 'one that had another key': undefined }, () =>
      connection(() => [withoutRequired(listPets(invalid('Bearer wrong', 'Bearer wrong')))]),
    ).map((row) => ({ ...row, most: 1, extra: { keyless: 1 } })),
  ],
};

/** The request without the status that it requires of a valid key. */
function withoutRequired({ mustBe: _, ...request }: Request): Request {
  return request;
}
