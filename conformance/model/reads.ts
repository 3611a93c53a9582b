/** What a client may vary in listPets and getPet: sections 4.1 and 4.3. */
import { int64Max, int64Min, statuses, type PetStatus } from '../client/pet.ts';
import { getPet, listPetsWithQuery } from '../client/requests.ts';
import { connections, headerNames, headersOfGet, ifNoneMatch, userAgents, withHeaders } from './exchange.ts';
import { accepted, atMost, named, open, plain, refusable } from './model.ts';
import type { Change, Dimension, Draft, Row, World } from './model.ts';

/** The ends of the range, the default, and their neighbours. */
const limits = [1, 2, 3, 10, 19, 20, 21, 50, 99, 100];

const withParameter = (parameter: string, meaning: Pick<Draft, 'limit' | 'status' | 'open'>): Change => (draft) =>
  ({ ...draft, ...meaning, parameters: [...draft.parameters, parameter] });
const limitOf = (limit: number) => withParameter(`limit=${limit}`, { limit });
const statusOf = (status: PetStatus) => withParameter(`status=${status}`, { status });
const limitRows = (values: readonly number[]) =>
  accepted(Object.fromEntries(values.map((limit) => [`${limit}`, limit])), limitOf);

/** Every fifth limit, so that no range of refused limits is missed. */
const distributed = (seed: number) => Array.from({ length: 20 }, (_, i) => 1 + (Math.abs(seed) % 5) + 5 * i);

/** A parameter whose effect the specification does not define. */
const other = (parameter: string) => withParameter(parameter, { open: true });

/** Escapes that a firewall may refuse: U+0000, bytes that are not UTF-8, and text that is no escape. */
const doubtfulEscapes = ['%00', '%ff', '%zz'];

/** Values of a parameter that a firewall may refuse. Some parsers read brackets as those of arrays and operators. */
const doubtful = (parameter: string, value: string | number): Row[] => {
  const brackets = `${parameter}%5B%5D=${value}&${parameter}%5B%24ne%5D=${value}`;
  return refusable(
    ['4xx'],
    [
      ...open('service.status', { brackets }, other),
      ...open('service.status', named(...doubtfulEscapes), (text) => other(`${parameter}=${text}`)),
    ],
  );
};

/** Parameters that no operation has. If a server ignores them, the others must have the same effect as without them. */
const unknownParameters = (of: 'list.unknown-parameter' | 'service.status', ...all: readonly string[]): Dimension => ({
  name: 'other parameters',
  rows: [
    plain('none'),
    ...open(of, named(...all), (parameter) => (draft) => ({ ...draft, parameters: [parameter, ...draft.parameters] })),
  ],
});

/** Parameters by which servers choose another format. */
const formats = 'format=xml&callback=f';

const escaped = (text: string) => text.replace(/./g, (one) => `%${one.charCodeAt(0).toString(16)}`);

/** Spellings of a query with the same meaning: escapes of letters and digits change nothing (RFC 3986, section 2.3). */
const queryForms: Readonly<Record<string, (parameters: Draft['parameters']) => Draft['parameters']>> = {
  'limit first': (parameters) => parameters,
  'status first': (parameters) => parameters.toReversed(),
  'values with escapes': (parameters) => parameters.map((one) => one.replace(/(?<=^\w+=)\w+$/, escaped)),
  'names with escapes': (parameters) => parameters.map((one) => one.replace(/^\w+(?==)/, escaped)),
};

/** The dimensions of listPets. */
export function listDimensions(seed: number, thoroughAuth: boolean): readonly Dimension[] {
  return [
    {
      name: 'limit',
      rows: [
        plain('absent'),
        ...limitRows(limits),
        ...atMost(1, limitRows(distributed(seed).filter((limit) => !limits.includes(limit)))),
        ...open('list.limit-0', { '0': 'limit=0' }, other),
        ...open('list.limit-negative', { '-1': 'limit=-1' }, other),
        ...open('list.limit-101', { '101': 'limit=101' }, other),
        ...open('list.limit-not-integer', { ten: 'limit=ten' }, other),
        ...open('list.limit', { '1000': 'limit=1000' }, other),
        ...open(
          'service.status',
          named('abc', '1.5', '', '+5', '1e1', 'Infinity', `${2n ** 64n}`, '1&limit=2'),
          (text) => other(`limit=${text}`),
        ),
        ...doubtful('limit', 500),
      ],
    },
    {
      name: 'status',
      rows: [
        plain('absent'),
        ...accepted(Object.fromEntries(statuses.map((status) => [status, status])), statusOf),
        ...open('list.unknown-status', { asleep: 'status=asleep' }, other),
        ...open(
          'service.status',
          named('', 'SOLD', 'sold,pending', 'sold&status=pending', 'constructor', 'Größe'.repeat(60)),
          (text) => other(`status=${encodeURI(text)}`),
        ),
        ...doubtful('status', 'sold'),
      ],
    },
    unknownParameters('list.unknown-parameter', 'colour=red', formats, ''),
    {
      name: 'query',
      rows: accepted(queryForms, (form) => (draft) => ({ ...draft, parameters: form(draft.parameters) })),
    },
    headersOfGet,
    userAgents,
    headerNames,
    connections(({ key }) => listPetsWithQuery(key, 'status=asleep'), thoroughAuth),
  ];
}

const idOf = (text: string): Change => (draft) => {
  const { petId: _, ...rest } = draft;
  return { ...rest, target: `/pets/${text}`, open: true };
};

type IdOf = (world: World) => bigint;

/**
 * Ids that probably no animal has. A server that computes with 64 bits or with doubles, or that ignores a sign or a
 * digit, may read some of them as the id of an animal.
 */
const unknownIds: Readonly<Record<string, IdOf>> = {
  unknown: ({ unknownId }) => unknownId,
  'the next one': ({ unknownId }) => unknownId + 1n,
  '2^53 - 1': () => 2n ** 53n - 1n,
  zero: () => 0n,
  ...Object.fromEntries(
    [1n, 1_000_000n, 2n ** 32n, 2n ** 63n, 2n ** 64n, 2n ** 65n, -(2n ** 64n)].map((more): [string, IdOf] => [
      `a known one + ${more}`,
      ({ id }) => id + more,
    ]),
  ),
  'a known one with another digit': ({ id }) => id * 10n,
  'a known one, negative': ({ id }) => -id,
};

const otherId = (idOf: IdOf): Change => (draft, world) => {
  const petId = idOf(world);
  // The specification does not say how to respond to numbers that no id can have.
  const isOpen = petId < 0n || petId >= 2n ** 53n;
  return { ...draft, petId, target: `/pets/${petId}`, ...(isOpen && { open: true }) };
};

/** Names under which a server may look for the id, although it is in the path. */
const idNames = ['id', 'petId', 'pet_id', '_id', 'pk', 'pet', 'uuid', 'key'];

/** A known id in the query. A server may refuse the parameters, but must not use them. */
const inTheQuery: Change = (draft, world) => ({
  ...otherId(({ unknownId }) => unknownId)(draft, world),
  parameters: [...idNames.map((name) => `${name}=${world.id}`), formats],
  open: true,
});

/** Spellings of a known id and texts that are no id. Proxies refuse other escapes, such as %00 and %2F. */
const otherIds = ['+#', '%20#', '#e0', '0x#', '%C3%A9', "#'", 'constructor'];

/** The known id with escapes. A server may refuse it, but must not read another one. */
const withEscapes: Change = (draft, { id }) => ({ ...draft, target: `/pets/${escaped(String(id))}`, open: true });

/** The dimensions of getPet. */
export function getDimensions(thoroughAuth: boolean): readonly Dimension[] {
  return [
    {
      name: 'petId',
      rows: [
        plain('known'),
        ...open('get.not-integer', named('cat'), idOf),
        ...open('get.large-id', { '2^53 + 1': () => 2n ** 53n + 1n, '2^63 - 1': () => int64Max }, otherId),
        ...open('get.negative-id', { '-1': () => -1n, '-2^63': () => int64Min }, otherId),
        ...open('get.not-found', unknownIds, otherId),
        ...open('get.not-found', { 'unknown, with a known one in the query': inTheQuery }, (change) => change),
        // A condition and a range are only about an animal that exists.
        ...open('get.not-found', { 'unknown, with a condition and a range': undefined }, () => (draft, world) =>
          otherId(({ unknownId }) => unknownId)(withHeaders({ ...ifNoneMatch, Range: 'bytes=0-9' })(draft), world),
        ),
        ...open(
          'service.status',
          named('0', '1.5', `${int64Max + 1n}`, `${2n ** 64n}`, `${int64Min - 1n}`, '9'.repeat(400)),
          idOf,
        ),
        ...open('service.status', { 'known, with escapes': withEscapes }, (change) => change),
        ...open('service.status', named(...otherIds), (text) => (draft, world) =>
          idOf(text.replace('#', String(world.id)))(draft, world),
        ),
        // A router may refuse a path that it cannot decode, before it looks for an operation.
        ...refusable([400, 404, '4xx'], open('service.status', named('%ff', '%zz'), idOf)),
      ],
    },
    unknownParameters('service.status', formats),
    headersOfGet,
    userAgents,
    headerNames,
    connections(({ key, unknownId }) => getPet(key, unknownId), thoroughAuth),
  ];
}
