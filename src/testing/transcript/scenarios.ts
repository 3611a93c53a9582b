/**
 * The scenarios that the transcript records: conversations over raw TCP, each on its own connection. A scenario ends
 * when the server closes the connection, so the record contains everything that the server sends.
 */
import { goodbye, type Exchange, type TranscriptClient } from './client.ts';
import type { ServerOptions, TranscriptServer } from './server.ts';

export interface Scenario {
  readonly name: string;
  /** Runs the scenario on `client`, which is connected. Returns the records of further connections. */
  readonly run: (client: TranscriptClient, context: Context) => Promise<void | Exchange[]>;
}

export interface Context {
  readonly server: TranscriptServer;
  /** The `Authorization` lines of two keys of this scenario alone: one with large limits, one with the free plan. */
  readonly auth: string;
  readonly freeAuth: string;
}

/** Scenarios that share a server. */
export interface Group {
  readonly name: string;
  readonly server: Omit<ServerOptions, 'keys'>;
  /** Whether the server starts without animals. */
  readonly empty?: true;
  /** Whether the scenarios run at the same time. They take long, and none depends on another. */
  readonly parallel?: true;
  readonly scenarios: readonly Scenario[];
}

const now = '2026-11-21T12:00:30.500Z';
const jsonType = 'Content-Type: application/json';
const pet = '{"name":"Tom","categoryId":9007199254740993,"status":"pending"}';
const length = (body: string | number): string => `Content-Length: ${typeof body === 'string' ? body.length : body}`;

/** Returns a message: the lines, then an empty line. */
const message = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`;
const request = (method: string, target: string, ...lines: string[]): string =>
  message(`${method} ${target} HTTP/1.1`, 'Host: x', ...lines);
const get = (target: string, ...lines: string[]): string => request('GET', target, ...lines);
const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`;
/** Returns a scenario that sends the messages and `goodbye` in one write. */
const sends = (name: string, ...parts: (string | ((context: Context) => string))[]): Scenario => ({
  name,
  run: (client, context) =>
    client.send(...parts.map((part) => (typeof part === 'string' ? part : part(context))), goodbye),
});

/** Returns a request with the key that has large limits. */
const keyed = (method: string, target: string, ...lines: string[]) =>
  ({ auth }: Context): string => request(method, target, auth, ...lines);
/** Returns a create with that key and this body. */
const create = (body: string, ...lines: string[]) =>
  ({ auth }: Context): string => request('POST', '/v1/pets', auth, jsonType, length(body), ...lines) + body;
/** The head of a create with that key and a chunked body. */
const chunkedCreate = keyed('POST', '/v1/pets', jsonType, 'Transfer-Encoding: chunked');

const methods = ['GET', 'HEAD', 'OPTIONS', 'POST', 'PUT', 'PATCH', 'DELETE', 'TRACE', 'PROPFIND'];
const paths = [
  '/v1/pets', '/v1/pets/1', '/v1/pets/nobody', '/v1/store/orders', '/v1/nowhere', '/v1', '/healthz', '/readyz',
  '/nowhere', '/',
];

const operations: Scenario[] = [
  ...methods.flatMap(
    (method) => paths.map((path) => sends(`${method} ${path} with a key`, keyed(method, path, 'Content-Length: 0'))),
  ),
  ...methods.flatMap(
    (method) => ['/v1/pets', '/v1/nowhere', '/healthz'].map(
      (path) => sends(`${method} ${path} without a key`, request(method, path)),
    ),
  ),
  ...methods.map((method) => sends(`${method} /openapi.json`, request(method, '/openapi.json'))),
  // The page is left out, because its policy contains a hash of it.
  ...methods.slice(2).map((method) => sends(`${method} /docs`, request(method, '/docs'))),
  ...[
    '?limit=1', '?limit=2&status=sold', '?limit=100', '?after=2&limit=1', '?after=1000', '?after=-9223372036854775808',
    '?status=pending&limit=3', '?x=1', '?',
    '?limit=0', '?limit=101', '?limit=05', '?limit=', '?limit=1&limit=2', '?limit=abc', '?status=asleep', '?status=',
    '?after=x', '?after=9223372036854775808',
    '?limit=%31', '?limit=%zz', '?x=%zz',
  ].map((query) => sends(`list pets ${query}`, keyed('GET', `/v1/pets${query}`))),
  ...['?limit=1', '?status=placed', '?status=sold', '?after=2'].map(
    (query) => sends(`list orders ${query}`, keyed('GET', `/v1/store/orders${query}`)),
  ),
  ...[
    '/v1/pets/', '/v1//pets', '/v1/pets/01', '/v1/pets/%31', '/%76%31/pets/2', '/v1/pets/%zz', '/v1/pets%2F1',
    '/v1/pets/1%2F1', '/v1/pets/9223372036854775807',
    '/v1/pets/9223372036854775808', '/v10/pets', '//v1/pets', 'http://elsewhere/v1/pets/1', 'http://elsewhere',
    'HTTPS://a@b:1/v1/pets/2?x',
  ].map((target) => sends(`GET ${target}`, keyed('GET', target))),
  sends('create', create(pet), keyed('GET', '/v1/pets/64')),
  ...[
    '', '{', '{}', '[]', 'null', '"x"', '1', '{"name":1,"categoryId":"x","status":"y"}',
    '{"name":"a","categoryId":1.5}', '{"name":"a","categoryId":9223372036854775808}',
    '{"name":null,"categoryId":null,"status":null}', '{"name":"a","name":"b","categoryId":1}', '\xef\xbb\xbf{}',
    '{"name":"\xff","categoryId":1}', '{"name":"a","categoryId":01}',
    '{"name":"a","categoryId":1}x', '{"a":{"b":[{"c":1,"c":2}]}}', '{"name":"\n"}',
  ].map((body) => sends(`create with the body ${JSON.stringify(body)}`, create(body))),
  sends('a bug', create('{"name":"provoke a bug","categoryId":1}')),
  sends('create without a content type', (context) => request('POST', '/v1/pets', context.auth, length(pet)) + pet),
  ...[
    'text/plain', 'application/json; charset=latin1', 'application/json; charset="UTF-8"; x=y', 'APPLICATION/JSON',
    'application/json,',
  ].map((type) => {
    const head = keyed('POST', '/v1/pets', `Content-Type: ${type}`, 'Content-Length: 2');
    return sends(`create with the content type ${type}`, head, '{}');
  }),
  ...['identity', 'gzip'].map(
    (coding) => sends(`create with the content encoding ${coding}`, create('{}', `Content-Encoding: ${coding}`)),
  ),
];

const authentication: Scenario[] = [
  ...['', 'Bearer', 'Bearer ', 'Basic abc', 'Bearer x', 'Bearer petstore_0123456789', 'x'].map((value) =>
    sends(`Authorization: ${value}`, get('/v1/pets', `Authorization: ${value}`))),
  sends('the scheme in lower case', ({ auth }) => get('/v1/pets?limit=1', auth.replace('Bearer', 'bearer'))),
  sends(
    'the scheme in upper case, followed by several spaces',
    ({ auth }) => get('/v1/pets?limit=1', auth.replace('Bearer', 'BEARER  ')),
  ),
  sends('two Authorization headers', ({ auth }) => get('/v1/pets', auth, auth)),
  sends('a key with an extra character', ({ auth }) => get('/v1/pets', `${auth}x`)),
  sends('the key in the query', ({ auth }) => get(`/v1/pets?access_token=${auth.split(' ')[2]}`)),
  sends('HEAD without a key', request('HEAD', '/v1/pets')),
  sends('a public path with a key', ({ auth }) => get('/healthz', auth)),
  sends('a public path with a wrong key', get('/healthz', 'Authorization: Bearer x')),
];

const limits: Scenario[] = [
  sends(
    'the 61st request of a free key',
    ({ freeAuth }) => request('OPTIONS', '/v1/pets', freeAuth).repeat(60),
    ({ freeAuth }) => get('/v1/pets', freeAuth) + get('/v1/pets/1', freeAuth),
  ),
  sends(
    'the 61st request without a key',
    request('OPTIONS', '/v1/pets').repeat(60) + get('/v1/pets') + get('/healthz') + 'FOO\r\n\r\n',
  ),
  sends('a key is not limited by its address', request('OPTIONS', '/v1/pets').repeat(61), keyed('GET', '/v1/pets/1')),
];

/** Unusual heads. The server refuses most of them. */
const heads: Scenario[] = [
  ...([
    ['no Host', message('GET / HTTP/1.1')],
    ['two Hosts', message('GET / HTTP/1.1', 'Host: x', 'Host: x')],
    ['two Hosts in HTTP/1.0', message('GET / HTTP/1.0', 'Host: x', 'Host: x')],
    ...['a b', 'a/b', 'http://a', 'user@a', 'a:b', 'a:80:80', '[::1', '::1', '[::g]', '%zz', '%4', 'a?b', '\xe4'].map(
      (host) => [`Host: ${host}`, message('GET / HTTP/1.1', `Host: ${host}`)],
    ),
    ...[
      '', 'a', 'localhost:8080', 'a:', ':80', "a_b~c.d-e!$&'()*+,;=", '%C3%A4', '[::1]', '[::FFFF:1.2.3.4]:80',
      '[v1.a:b]',
    ].map((host) => [`Host: ${host}`, message('GET / HTTP/1.1', `Host: ${host}`)]),
    ['an unknown method', request('FOO', '/')],
    ['a method in lower case', request('get', '/')],
    ['a method with a bad character', request('G(T', '/')],
    ['TLS', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['empty lines, then a request', `\r\n\r\n${get('/')}`],
    ['a header without a colon', get('/', 'Nothing')],
    ['a header with a space in its name', get('/', 'A b: c')],
    ['a header with a space before its colon', get('/', 'A : c')],
    ['a header without a name', get('/', ': c')],
    ['a first header that begins with a space', message('GET / HTTP/1.1', ' Host: x')],
    ['a folded header', get('/', 'A: b', ' c')],
    ['NUL in a header', get('/', 'A: \0')],
    ['a bare CR in a header', get('/', 'A: b\rc')],
    ['bare LF', 'GET / HTTP/1.1\nHost: x\n\n'],
    ['Latin-1 in a header', get('/', 'A: \xe4')],
    ['another protocol', message('GET / FTP/1.1', 'Host: x')],
    ['Transfer-Encoding in HTTP/1.0', message('POST / HTTP/1.0', 'Transfer-Encoding: chunked')],
    ...['gzip', 'gzip, chunked', 'chunked, gzip', 'chunked, chunked', 'identity', 'chunked;a=b', 'xchunked'].map(
      (coding) => [`Transfer-Encoding: ${coding}`, request('POST', '/', `Transfer-Encoding: ${coding}`)],
    ),
    ['two Transfer-Encodings', request('POST', '/', 'Transfer-Encoding: chunked', 'Transfer-Encoding: chunked')],
    [
      'a Transfer-Encoding, then a Content-Length',
      request('POST', '/', 'Transfer-Encoding: chunked', 'Content-Length: 3'),
    ],
    [
      'a Content-Length, then a Transfer-Encoding',
      request('POST', '/', 'Content-Length: 3', 'Transfer-Encoding: chunked'),
    ],
    ['two Content-Lengths', request('POST', '/', 'Content-Length: 3', 'Content-Length: 4')],
    ['the same Content-Length twice', request('POST', '/', 'Content-Length: 3', 'Content-Length: 3')],
    ...['3, 3', '-1', '+1', 'a', '3a', '0x3', '1.0', '99999999999999999999999'].map(
      (value) => [`Content-Length: ${value}`, request('POST', '/', `Content-Length: ${value}`)],
    ),
    ['GET *', request('GET', '*')],
    ['OPTIONS *?x', request('OPTIONS', '*?x')],
    ['a target without a slash', get('pets')],
    ['a URL without slashes', get('http:pets')],
    ['a target with a space', get('/a b')],
    ['a target with a fragment', get('/#a')],
    ['a long header', get('/', `A: ${'a'.repeat(17_000)}`)],
    ['a long header name', get('/', `${'a'.repeat(17_000)}: a`)],
    ['a long target', get(`/${'a'.repeat(17_000)}`)],
    ['many headers that exceed the limit together', get('/', ...Array<string>(2_800).fill('abc: def'))],
    ['a head of nearly 16 KiB', get('/', `A: ${'a'.repeat(15_900)}`)],
    ['2,500 headers', get('/', ...Array<string>(2_500).fill('b:'))],
    ['a request line without a version', 'GET /\r\n\r\n'],
    ...['0.9', '1.2', '2.0', '3.0', '9.9'].map(
      (version) => [`HTTP/${version}`, message(`GET / HTTP/${version}`, 'Host: x')],
    ),
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
    ['the preface of HTTP/2 and a frame', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0'],
    ['an unknown Expect', get('/', 'Expect: rain')],
  ] as [string, string][]).map(([name, bytes]) => sends(name, bytes)),
  sends('a malformed head with a valid key', ({ auth }) => message('GET /v1/pets HTTP/1.1', auth)),
  ...[
    'G', 'GET / HT', 'GET / HTTP/1.1\r\n', 'GET / HTTP/1.1\r\nHost: x\r\n', 'GET / HTTP/1.1\r\nHost: x\r\n\r', '',
  ].map((head): Scenario => ({
    name: `FIN after ${JSON.stringify(head)}`,
    async run(client) {
      if (head !== '') await client.send(head);
      client.finish();
    },
  })),
];

const malformedBodies: [what: string, framing: string, body: string, fin?: true][] = [
  ['an invalid chunk size', 'Transfer-Encoding: chunked', 'zz\r\n'],
  ['a negative chunk size', 'Transfer-Encoding: chunked', '-1\r\n'],
  ['an empty chunk size', 'Transfer-Encoding: chunked', '\r\n'],
  ['a chunk longer than its size', 'Transfer-Encoding: chunked', '3\r\nabcd\r\n'],
  ['a chunk size that overflows', 'Transfer-Encoding: chunked', 'fffffffffffffffff\r\n'],
  ['an invalid second chunk', 'Transfer-Encoding: chunked', '3\r\nabc\r\nq\r\n'],
  ['an invalid trailer', 'Transfer-Encoding: chunked', '3\r\nabc\r\n0\r\nA b: c\r\n\r\n'],
  ['chunk extensions that are too long', 'Transfer-Encoding: chunked', `1;a=${'a'.repeat(17_000)}`],
  ['FIN within Content-Length', 'Content-Length: 3', 'ab', true],
  ['FIN before any body', 'Content-Length: 3', '', true],
  ['FIN within a chunk', 'Transfer-Encoding: chunked', '3\r\nab', true],
  ['FIN before the last chunk', 'Transfer-Encoding: chunked', '3\r\nabc\r\n', true],
  ['FIN within the last chunk', 'Transfer-Encoding: chunked', '3\r\nabc\r\n0\r\n', true],
];

const bodies: Scenario[] = [
  ...malformedBodies.flatMap(([what, framing, body, fin]) => [true, false].map((together): Scenario => ({
    name: `${what}, ${together ? 'together with' : 'after'} its head`,
    async run(client, { auth, server }) {
      const head = request('POST', '/v1/pets', auth, jsonType, framing);
      await client.send(together ? head + body : head);
      if (!together) {
        await server.settle();
        if (body !== '') await client.send(body);
      }
      if (fin) client.finish();
    },
  }))),
  sends(
    'a create with a chunked body',
    chunkedCreate, chunk(pet.slice(0, 9)), chunk(pet.slice(9)), '0\r\nA: b\r\n\r\n',
  ),
  sends(
    'chunk extensions',
    keyed('POST', '/v1/pets', jsonType, 'Transfer-Encoding: Chunked'),
    `${pet.length.toString(16)};a=b\r\n${pet}\r\n0;c\r\n\r\n`,
  ),
  sends('a body of 64 KiB', create(`{"name":"${'x'.repeat(65_536 - 26)}","categoryId":1}`)),
  sends(
    'a chunked body of 64 KiB',
    chunkedCreate, chunk(' '.repeat(32_768)), chunk(' '.repeat(32_768)), '0\r\n\r\n',
  ),
  {
    name: 'a Content-Length over 64 KiB',
    run: (client, { auth }) => client.send(request('POST', '/v1/pets', auth, jsonType, 'Content-Length: 131073')),
  },
  {
    name: 'a chunked body over 64 KiB',
    run: (client, context) =>
      client.send(chunkedCreate(context), chunk(' '.repeat(32_768)), chunk(' '.repeat(32_769))),
  },
  ...['GET', 'OPTIONS', 'DELETE'].map(
    (method) => sends(`${method} with a body`, keyed(method, '/v1/pets/1', 'Content-Length: 3'), 'abc'),
  ),
  sends('GET with a chunked body', keyed('GET', '/v1/pets/1', 'Transfer-Encoding: chunked'), chunk('abc'), '0\r\n\r\n'),
  sends('a public path with a body', get('/healthz', 'Content-Length: 3'), 'abc'),
  sends('a public path with a body of 64 KiB', get('/healthz', 'Content-Length: 65536'), 'x'.repeat(65_536)),
  {
    name: 'GET with a body over 64 KiB',
    run: (client, { auth }) => client.send(get('/v1/pets', auth, 'Content-Length: 131073')),
  },
  {
    name: 'GET with a chunked body over 64 KiB',
    run: (client) => client.send(get('/healthz', 'Transfer-Encoding: chunked'), chunk(' '.repeat(65_537))),
  },
  {
    name: 'GET with a malformed body',
    run: (client, { auth }) => client.send(get('/v1/pets', auth, 'Transfer-Encoding: chunked'), 'zz\r\n'),
  },
  // The response is sent before the body has been read.
  ...([
    ['401', () => request('POST', '/v1/pets', jsonType, 'Content-Length: 3')],
    ['404', ({ auth }) => request('POST', '/v1/nowhere', auth, 'Content-Length: 3')],
    ['404 on a public path', () => request('POST', '/nowhere', 'Content-Length: 3')],
    ['405', ({ auth }) => request('DELETE', '/v1/pets', auth, 'Content-Length: 3')],
    ['405 on a public path', () => request('POST', '/healthz', 'Content-Length: 3')],
    ['415', ({ auth }) => request('POST', '/v1/pets', auth, 'Content-Length: 3')],
    ['417', ({ auth }) => request('POST', '/v1/pets', auth, jsonType, 'Content-Length: 3', 'Expect: rain')],
    ['400 for a parameter', ({ auth }) => request('GET', '/v1/pets?limit=x', auth, 'Content-Length: 3')],
    ['401', () => request('POST', '/v1/pets', jsonType, 'Transfer-Encoding: chunked'), 'chunked'],
  ] as [
    status: string, head: (context: Context) => string, coding?: 'chunked',
  ][]).flatMap(([status, head, coding]) => [true, false].map((together): Scenario => ({
    name: `refused with ${status}, the ${coding ? 'chunked ' : ''}body ${together ? 'together with' : 'after'}`
      + ' its head',
    async run(client, context) {
      const body = coding ? `${chunk('abc')}0\r\n\r\n` : 'abc';
      await client.send(together ? head(context) + body : head(context));
      await client.responses(1);
      await client.send(together ? goodbye : body + goodbye);
    },
  }))),
  {
    name: 'refused with 429, the body together with its head',
    async run(client, { freeAuth }) {
      await client.send(
        request('OPTIONS', '/v1/pets', freeAuth).repeat(60),
        request('POST', '/v1/pets', freeAuth, jsonType, length(pet)) + pet,
      );
      await client.responses(61);
      await client.send(goodbye);
    },
  },
  {
    name: 'refused with 401, more than 64 KiB of the body outstanding',
    async run(client) {
      await client.send(request('POST', '/v1/pets', 'Content-Length: 200000'));
      await client.responses(1);
      await client.send('x'.repeat(200_000));
      client.finish();
    },
  },
];

const continues: Scenario[] = [
  ...['Content-Length: 63', 'Transfer-Encoding: chunked'].map((framing): Scenario => ({
    name: `Expect: 100-continue, ${framing}`,
    async run(client, { auth }) {
      await client.send(request('POST', '/v1/pets', auth, jsonType, 'Expect: 100-Continue', framing));
      await client.responses(1);
      await client.send(framing.startsWith('C') ? pet : `${chunk(pet)}0\r\n\r\n`, goodbye);
    },
  })),
  sends('Expect: 100-continue, the body sent at once', create(pet, 'Expect: 100-continue')),
  sends('Expect: 100-continue without a body', keyed('GET', '/v1/pets/1', 'Expect: 100-continue')),
  sends('Expect: 100-continue with an empty body', create('', 'Expect: 100-continue')),
  sends(
    'Expect: 100-continue in HTTP/1.0',
    ({ auth }) => message('POST /v1/pets HTTP/1.0', auth, jsonType, 'Expect: 100-continue', length(pet)) + pet,
  ),
  {
    name: 'Expect: 100-continue, refused with 401',
    run: (client) => client.send(request('POST', '/v1/pets', jsonType, 'Expect: 100-continue', 'Content-Length: 3')),
  },
  {
    name: 'Expect: 100-continue, refused with 413',
    run: (client, { auth }) => client.send(
      request('POST', '/v1/pets', auth, jsonType, 'Expect: 100-continue', 'Content-Length: 65537'),
    ),
  },
  {
    name: 'Expect: 100-continue, refused with 415',
    run: (client, { auth }) => client.send(
      request('POST', '/v1/pets', auth, 'Expect: 100-continue', 'Content-Length: 3'),
    ),
  },
  {
    name: 'Expect: 100-continue, refused with 401, the body sent anyway',
    run: (client) => client.send(
      request('POST', '/v1/pets', jsonType, 'Expect: 100-continue', 'Content-Length: 3'), 'abc', goodbye,
    ),
  },
];

/** Returns a scenario that sends a text in pieces; the server reads each piece before the next is sent. */
const inPieces = (name: string, pieceBytes: number, text: (context: Context) => string): Scenario => ({
  name,
  run: (client, context) => client.sendInPieces(text(context) + goodbye, pieceBytes, () => context.server.settle()),
});

const connections: Scenario[] = [
  sends(
    '120 pipelined requests',
    ...Array.from({ length: 60 }, (_, i) => [keyed('GET', `/v1/pets/${i}`), get('/healthz', 'Content-Length: 2'), 'ab'])
      .flat(),
  ),
  sends(
    'a pipelined request sees the create before it', create('{"name":"a","categoryId":1}'),
    keyed('GET', '/v1/pets?after=63&limit=100'), create('{"name":"b","categoryId":1}'),
    keyed('GET', '/v1/pets?after=63&limit=100'),
  ),
  sends(
    'pipelined responses of every size', keyed('GET', '/v1/pets?limit=1'), keyed('GET', '/v1/pets?limit=100'),
    keyed('HEAD', '/v1/pets?limit=100'), get('/openapi.json'), keyed('GET', '/v1/pets?limit=9'),
    keyed('OPTIONS', '/v1/pets'),
  ),
  inPieces('requests byte by byte', 1, (context) => keyed('GET', '/v1/pets/1')(context) + create(pet)(context)),
  inPieces(
    'requests in pieces of 7 bytes', 7,
    (context) =>
      `${create(pet)(context)}${chunkedCreate(context)}${chunk(pet.slice(0, 20))}${chunk(pet.slice(20))}0\r\n\r\n`,
  ),
  ...([
    ['an unknown method', message('FOO / HTTP/1.1')], ['no Host', message('GET / HTTP/1.1')],
    ['CONNECT', message('CONNECT a:1 HTTP/1.1')],
    ['a long header', get('/', `A: ${'a'.repeat(17_000)}`)], ['HTTP/2.0', message('GET / HTTP/2.0', 'Host: x')],
    ['a malformed body', request('POST', '/v1/pets', jsonType, 'Transfer-Encoding: chunked') + 'zz\r\n'],
  ] as const).flatMap(([what, bytes]) => [false, true].map((fin): Scenario => ({
    name: `an error after valid requests: ${what}${fin ? ', then FIN' : ''}`,
    async run(client, context) {
      await client.send(
        create(pet)(context), keyed('GET', '/v1/pets/1')(context), create(pet)(context), bytes, get('/never'),
      );
      if (fin) client.finish();
    },
  }))),
  {
    name: 'FIN within a head, after valid requests',
    async run(client, context) {
      await client.send(create(pet)(context), keyed('GET', '/v1/pets/1')(context), 'GET / HT');
      client.finish();
    },
  },
  {
    name: 'FIN after pipelined requests',
    async run(client, context) {
      await client.send(create(pet)(context), keyed('GET', '/v1/pets?limit=100')(context), create(pet)(context));
      client.finish();
    },
  },
  {
    name: 'FIN after a response',
    async run(client, context) {
      await client.send(keyed('GET', '/v1/pets/1')(context));
      await client.responses(1);
      await context.server.settle();
      client.finish();
    },
  },
  sends('a request after Connection: close', keyed('GET', '/v1/pets/1', 'Connection: close'), get('/never')),
  sends('Connection: keep-alive, Close', keyed('GET', '/v1/pets/1', 'Connection: keep-alive, Close'), get('/never')),
  sends('a create, then Connection: close', create(pet), keyed('GET', '/v1/pets/1', 'Connection: close'), 'junk'),
  sends('Connection: keep-alive', keyed('GET', '/v1/pets/1', 'Connection: keep-alive')),
  ...['', 'Connection: keep-alive', 'Connection: close', 'Host: x', 'Host: a b'].map((line) =>
    sends(
      `HTTP/1.0, ${line}`,
      ({ auth }) => message('GET /v1/pets/1 HTTP/1.0', auth, ...(line === '' ? [] : [line])),
      message('GET /never HTTP/1.0'),
    )),
  sends('HEAD in HTTP/1.0', message('HEAD /healthz HTTP/1.0')),
  sends('a create in HTTP/1.0', ({ auth }) => message('POST /v1/pets HTTP/1.0', auth, jsonType, length(pet)) + pet),
  ...([
    ['', ''], ['', 'Host: a:1'], ['abc', 'Content-Length: 3'], ['\x16\x03\x01', 'Host: x'],
  ] as const).map(([rest, line]) =>
    sends(`CONNECT, ${line}, ${JSON.stringify(rest)}`, message('CONNECT a:1 HTTP/1.1', line) + rest)),
  sends('CONNECT in HTTP/1.0', message('CONNECT a:1 HTTP/1.0')),
  sends('CONNECT after requests', create(pet), keyed('GET', '/v1/pets/1'), message('CONNECT a:1 HTTP/1.1', 'Host: x')),
  ...[
    ['Upgrade: websocket', 'Connection: Upgrade'], ['Upgrade: h2c'],
  ].map((lines): Scenario => ({
    name: `an upgrade: ${lines.join(', ')}`,
    run: (client, { auth }) => client.send(get('/v1/pets/1', auth, ...lines)),
  })),
  {
    name: 'an upgrade with a body',
    run: (client, context) => client.send(create(pet, 'Upgrade: h2c', 'Connection: upgrade')(context)),
  },
];

const sharedServer: readonly Scenario[] = [
  ...operations, ...authentication, ...limits, ...heads, ...bodies, ...continues, ...connections,
];

export const groups: readonly Group[] = [
  { name: 'the service', server: { now }, scenarios: sharedServer },
  {
    name: 'slow clients',
    server: { now },
    parallel: true,
    scenarios: [
      { name: 'no head', run: async () => {} },
      { name: 'half a head', run: (client) => client.send('GET / HTTP/1.1\r\nHost: ') },
      { name: 'half of a second head', run: (client) => client.send(get('/healthz'), 'GET /') },
    ],
  },
  {
    name: 'after the removal of getPet',
    server: { now: '2030-12-05T00:00:00Z' },
    scenarios: [
      ...['GET', 'HEAD', 'OPTIONS', 'PUT'].map((method) => sends(`${method} /v1/pets/1`, keyed(method, '/v1/pets/1'))),
      sends('create', create(pet)),
    ],
  },
  {
    name: 'banned keys',
    server: { now, banned: true },
    scenarios: ['GET /v1/pets', 'HEAD /v1/pets', 'GET /v1/pets/1', 'POST /v1/pets'].map((line) =>
      sends(line, ({ freeAuth }) => request(line.split(' ')[0]!, line.split(' ')[1]!, freeAuth))),
  },
  {
    name: 'another base path, behind a proxy',
    server: { now, args: ['--base-path', '/shop/v1', '--trust-proxy', '1'] },
    scenarios: [
      ...['/v1/pets', '/shop/v1/pets?limit=1', '/shop/v1/pets/1', '/shop/pets', '/openapi.json', '/healthz'].map(
        (path) => sends(`GET ${path}`, keyed('GET', path)),
      ),
      sends('create', ({ auth }) => request('POST', '/shop/v1/pets', auth, jsonType, length(pet)) + pet),
      sends(
        'addresses',
        ...['203.0.113.1', '203.0.113.1', 'x, 203.0.113.1', '[2001:db8::1]:80', 'unknown'].map(
          (address) => get('/shop/v1/pets', `X-Forwarded-For: ${address}`),
        ),
      ),
    ],
  },
  {
    name: 'a full disk',
    server: { now, maxFileKib: 8 },
    empty: true,
    scenarios: [
      sends('create', create(`{"name":"${'x'.repeat(20_000)}","categoryId":1}`)), sends('GET /readyz', get('/readyz')),
      sends('list', keyed('GET', '/v1/pets')),
    ],
  },
  {
    name: 'too many connections',
    server: { now, args: ['--max-connections', '1'] },
    empty: true,
    scenarios: [
      {
        name: 'the second connection',
        async run(client, { server }) {
          await client.send(get('/healthz'));
          await client.responses(1);
          const second = server.connect(1);
          await second.send(get('/healthz'));
          const exchange = await second.end();
          await client.send(goodbye);
          return [exchange];
        },
      },
    ],
  },
  {
    name: 'shutdown',
    server: { now },
    scenarios: [
      {
        name: 'a head and a body that become complete after SIGTERM',
        async run(client, { server, auth }) {
          const second = server.connect(1);
          await second.send(`GET /v1/pets HTTP/1.1\r\n${auth}\r\n`);
          await client.send(request('POST', '/v1/pets', auth, jsonType, length(pet), 'Expect: 100-continue'));
          await client.responses(1);
          await server.settle();
          server.process.child.kill('SIGTERM');
          while (await server.isAccepting());
          await second.send('Host: x\r\n\r\n');
          await second.responses(1);
          await client.send(pet);
          second.finish();
          return [await second.end()];
        },
      },
    ],
  },
];
