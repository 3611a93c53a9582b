/** What a client may vary in any request: its headers, the spelling of their names, and the connection. */
import { wrongKey } from '../client/credentials.ts';
import type { Request } from '../client/request.ts';
import { createPet, getPet, listPets, listPetsWithQuery } from '../client/requests.ts';
import { accepted, atMost, named, open, plain, refusable } from './model.ts';
import type { Change, Dimension, Row, World } from './model.ts';

const spelling = (headerCase: Request['headerCase']): Change => (draft) => ({
  ...draft,
  ...(headerCase !== undefined && { headerCase }),
});

export const headerNames: Dimension = {
  name: 'header names',
  rows: accepted({ 'as usual': undefined, 'in lower case': 'lower', 'in upper case': 'upper' } as const, spelling),
};

/** Adds headers that the request does not have. They replace those that every request has. */
export const withHeaders = (headers: Readonly<Record<string, string>>) => <R extends Request>(request: R): R => {
  const has = (name: string) => request.headers.some(([other]) => other.toLowerCase() === name.toLowerCase());
  const added = Object.entries(headers).filter(([name]) => !has(name));
  return {
    ...request,
    headers: [...request.headers, ...added],
    ...(request.shellHeaders !== undefined && { shellHeaders: [...request.shellHeaders, ...added] }),
  };
};

/** Adds headers before the others: a server may stop reading at some of them. */
const withHeadersFirst = (headers: Readonly<Record<string, string>>): Change => (draft) => ({
  ...draft,
  headers: [...Object.entries(headers), ...draft.headers],
});

const without = (name: string): Change => (draft) => ({ ...draft, without: name });

/** Rows for the values of one header. */
const valuesOf = (header: string, ...values: readonly string[]) =>
  accepted(Object.fromEntries(values.map((value) => [`${header}: ${value}`, { [header]: value }])), withHeaders);

/** The types that a client may prefer to JSON, and to which a server may be able to convert a body. */
const otherTypes = [
  ...['text/html', 'text/csv', 'text/plain', 'application/xml', 'application/x-ndjson'],
  ...['application/hal+json', 'application/problem+json', 'application/vnd.api+json'],
];

const acceptRows: readonly Row[] = [
  ...valuesOf(
    'Accept',
    ...['application/json', 'application/*', 'application/json, text/plain, */*', 'application/json;q=0.9, */*;q=0.1'],
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
    `${otherTypes.join(', ')}, application/json;q=0.5`,
  ),
  // It means the same as */* (RFC 9110, section 12.5.1), and the clients of Go and Node send none.
  ...accepted({ 'no Accept': 'Accept' }, without),
];

/** Codings that the kit can decode. `*` alone would permit others. */
const codingRows = valuesOf(
  'Accept-Encoding',
  ...['gzip', 'deflate', 'br', 'gzip, deflate, br', 'gzip;q=1.0, identity;q=0.5, *;q=0', 'identity, *;q=0'],
);

/** Languages whose numbers, dates or upper case differ from those of English. Only a message may be translated. */
const languageRows = valuesOf(
  'Accept-Language',
  ...['de-DE,de;q=0.9,en;q=0.8', 'fr-CH, fr;q=0.9, en;q=0.8, *;q=0.5', 'es', 'ja', 'zh-CN,zh;q=0.9', 'ar-EG', 'tr-TR'],
  ...['fa', 'th', 'ru', '*'],
);

/** The ids that a tracing library sends with several requests. */
export const traceIds = {
  traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  tracestate: 'kit=1',
  'X-Request-Id': '3f2b6c0e-7d11-4d8e-9a55-0c9f3f1f7a10',
  'X-Correlation-Id': '3f2b6c0e-7d11-4d8e-9a55-0c9f3f1f7a10',
  'X-B3-TraceId': '4bf92f3577b34da6a3ce929d0e0e4736',
  'X-B3-SpanId': '00f067aa0ba902b7',
};

/** Names under which servers look for a key in a header or a cookie. */
export const headerKeyNames = [
  ...['X-API-Key', 'X-API-Token', 'X-Auth-Token', 'X-Access-Token', 'API-Key', 'ApiKey', 'Token'],
];
export const cookieNames = [
  ...['api_key', 'apiKey', 'api-key', 'X-API-Key', 'access_token', 'token', 'key', 'auth', 'session'],
];

/** A condition that must be ignored if the request fails before its body is read (RFC 9110, section 13.2.1). */
export const ifNoneMatch = { 'If-None-Match': '*' };

/** Other headers that clients send without expecting another response, grouped by their sender or purpose. */
const otherHeaders: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'Cache-Control and Pragma': { 'Cache-Control': 'no-cache', Pragma: 'no-cache' },
  cookies: { Cookie: 'theme=dark; consent=1' },
  'those of a script in a page': {
    ...{ 'Sec-Fetch-Dest': 'empty', 'Sec-Fetch-Mode': 'cors', 'X-Requested-With': 'XMLHttpRequest', Priority: 'u=1' },
    ...{ DNT: '1', 'Sec-GPC': '1', 'Save-Data': 'on' },
  },
  'trace ids': traceIds,
  'If-Modified-Since alone': { 'If-Modified-Since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
  'conditions that are met': { 'If-None-Match': '"no-such-tag"', 'If-Modified-Since': 'Thu, 01 Jan 1970 00:00:00 GMT' },
  Prefer: { Prefer: 'return=representation' },
  TE: { TE: 'trailers', Connection: 'keep-alive, TE' },
  'those of a hop': { 'Max-Forwards': '0', 'Keep-Alive': 'timeout=5, max=100' },
  'Connection: close': { Connection: 'close' },
};

/** Headers in two lines, which mean the same as one line with a list (RFC 9110, section 5.3). */
const inTwoLines = [
  ...['application/json', '*/*;q=0.1'].map((value) => ['Accept', value] as const),
  ...['identity', 'gzip;q=0'].map((value) => ['Accept-Encoding', value] as const),
  ...['en', 'de;q=0.5'].map((value) => ['Accept-Language', value] as const),
  ...['no-cache', 'no-store'].map((value) => ['Cache-Control', value] as const),
];

/** Headers that must not change the response, whatever the operation. */
const harmlessRows: readonly Row[] = [
  ...[...acceptRows, ...codingRows, ...languageRows],
  ...accepted(otherHeaders, withHeaders),
  ...accepted({ 'lists in two lines': inTwoLines }, (lines) => (draft) => ({
    ...draft,
    headers: [...draft.headers, ...lines],
  })),
];

/** Clients for which a server may have another form of the interface. A firewall may refuse them. */
const clientNames = [
  ...['curl/8.14.1', 'python-requests/2.32.5', 'PostmanRuntime/7.48.0', 'Java/21.0.8', 'node', 'kube-probe/1.34'],
  'Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)',
  'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148',
  'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
];

export const userAgents: Dimension = {
  name: 'User-Agent',
  rows: [
    plain('as usual'),
    ...atMost(2, refusable(['4xx'], [
      ...accepted(named(...clientNames), (value) => withHeaders({ 'User-Agent': value })),
      ...accepted({ none: 'User-Agent' }, without),
    ])),
  ],
};

/** Without JSON in Accept, a server may respond with 406, but not with another media type. */
const exclusiveRows = refusable(
  ['4xx'],
  open(
    'service.accept',
    Object.fromEntries(
      [...otherTypes, 'application/json;q=0'].map((type) => [`Accept: ${type} only`, { Accept: type }]),
    ),
    withHeaders,
  ),
);

/** The headers of a proxy. */
const forwarded = {
  ...{ 'X-Forwarded-For': '2001:db8::7, 203.0.113.7', 'X-Forwarded-Proto': 'https', 'X-Real-IP': '203.0.113.7' },
  ...{ Forwarded: 'for="[2001:db8::7]", for=203.0.113.7;proto=https', Via: '1.1 gateway.example' },
};

/**
 * Credentials for other services. A proxy may take Proxy-Authorization for its own (407), and a server may refuse more
 * than one token (RFC 6750, section 2).
 */
const otherCredentials = {
  ...Object.fromEntries([...headerKeyNames, 'X-Authorization'].map((name) => [name, 'other'])),
  'Proxy-Authorization': 'Bearer other',
  Cookie: [...cookieNames, 'jwt'].map((name) => `${name}=other`).join('; '),
};

/** A long header, and many of them. A server may have smaller limits. */
const large = {
  'a header of 2,000 bytes': { 'X-Context': 'context '.repeat(250) },
  '40 more': Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`X-Part-${i + 1}`, `${i + 1}`])),
};

const ofAnotherPage = { Origin: 'https://shop.example', Referer: 'https://shop.example/animals?page=2' };

/** Values that are empty or invalid. An invalid date must be ignored (RFC 9110, section 13.1.3). */
const invalidValues = {
  ...{ Cookie: 'a=%zz; =; b; "c', 'If-Modified-Since': 'yesterday', 'Accept-Language': '', Referer: 'no url' },
  ...{ 'X-Request-Id': '', 'Cache-Control': '' },
};

/** A server may refuse other origins. A firewall may refuse other addresses. */
const refusableRows: readonly Row[] = atMost(2, [
  ...refusable(
    ['4xx'],
    accepted({ 'those of a proxy': forwarded, 'Origin with Referer': ofAnotherPage }, withHeaders),
  ),
  ...refusable(['4xx'], valuesOf('Accept-Charset', 'utf-8, iso-8859-1;q=0.5')),
  ...refusable([400, 431], accepted(large, withHeadersFirst)),
  ...refusable(['4xx'], accepted({ 'empty or invalid values': invalidValues }, withHeaders)),
  ...refusable([400, 407], accepted({ 'other credentials': otherCredentials }, withHeaders)),
]);

const headerRows = (...rows: readonly Row[]): Dimension => ({
  name: 'request headers',
  rows: [plain('as usual'), ...harmlessRows, ...rows, ...refusableRows, ...exclusiveRows],
});

/** Many clients send it even without a body. */
const typeRows = valuesOf('Content-Type', 'application/json');

/** A range has an effect only if the response would be a 200 (RFC 9110, section 14.2). */
const rangeRows = valuesOf('Range', 'bytes=0-9');

/** The headers of a request without a body. A server may send a part of the body if it is asked for a range. */
export const headersOfGet: Dimension = headerRows(
  ...typeRows,
  ...valuesOf('Content-Length', '0'),
  ...atMost(2, refusable([206, 416], rangeRows)),
);

/**
 * The headers of a request with a body. A server may refuse to send an interim response (417), and must ignore a Range
 * (RFC 9110, section 14.2).
 */
export const headersOfPost: Dimension = headerRows(
  ...valuesOf('Content-Language', 'de'),
  ...rangeRows,
  ...atMost(2, refusable([403, 417], valuesOf('Expect', '100-continue'))),
);

/** The headers of requests with and without a valid key. */
export const keyedHeaders: Dimension = {
  name: 'request headers',
  rows: [plain('as usual'), ...harmlessRows, ...typeRows],
};

/** Sends the request on a new connection that has carried only these requests. */
function connection(
  name: string,
  before: (world: World) => readonly Request[],
  limits: Pick<Row, 'most' | 'extra'>,
): Row {
  return { name, expect: 'accepted', change: (draft, world) => ({ ...draft, before: before(world) }), ...limits };
}

// As another operation, because the server may have removed getPet.
const unknownAnimal = ({ key, unknownId }: World): Request => ({
  ...getPet(key, unknownId),
  operation: 'other',
  open: true,
});
const invalidList = ({ key }: World): Request => listPetsWithQuery(key, 'limit=abc');

/** A connection that has carried one request with the valid key. */
const after = (name: string, request: (world: World) => Request, most: number, creates = 0) =>
  connection(name, (world) => [request(world)], { most, extra: { requests: 1, creates } });

const wrongList = listPets(wrongKey);

/** A connection that has carried a request with an invalid key, and then one with the valid key that gets an error. */
const afterAnotherKey = (error: (world: World) => Request, most: number) =>
  connection('one that had another key and an error', (world) => [wrongList, error(world)], {
    most,
    extra: { requests: 1, keyless: 1 },
  });

/** Sends the request after two others, before there is a response to any of them (RFC 9112, section 9.3.2). */
const pipelined: Row = {
  name: 'one with two others, without waiting for responses',
  expect: 'accepted',
  change: (draft, world) => {
    return { ...draft, beside: [listPets(world.key, { limit: 2 }), unknownAnimal(world)], isPipelined: true };
  },
  ...{ most: 2, extra: { requests: 2 } },
};

/**
 * The dimension of the connection on which an operation is sent. `error` makes a request that gets an error.
 * `thoroughAuth` is whether requests without a valid key may be sent.
 */
export function connections(error: (world: World) => Request, thoroughAuth: boolean): Dimension {
  return {
    name: 'connection',
    rows: [
      plain('any idle one'),
      connection('a new one', () => [], { most: 8 }),
      after('one that had an error', error, 4),
      after('one that had an unknown animal', unknownAnimal, 2),
      after('one that had an invalid list', invalidList, 2),
      ...(thoroughAuth ? [afterAnotherKey(error, 2)] : []),
      pipelined,
    ],
  };
}

/** The same dimension for requests with and without a valid key. */
export const keyedConnections: Dimension = {
  name: 'connection',
  rows: [
    plain('any idle one'),
    after('one that had the valid key', ({ key }) => listPets(key, { limit: 1 }), Infinity),
    after('one that had an unknown animal', unknownAnimal, 12),
    after('one that had an invalid list', invalidList, Infinity),
    after('one that had a create', ({ key, newPet }) => createPet(key, newPet()), 4, 1),
    afterAnotherKey(invalidList, 1),
  ],
};
