/** Our own decisions, "Error codes": each kind of fault has its status and its code. */
import { check, type Check } from '../../session/check.ts';
import { changedAt, nobody } from '../../client/credentials.ts';
import { JsonObject } from '../../client/json.ts';
import type { Request } from '../../client/request.ts';
import type { Response } from '../../client/response.ts';
import { createPetOf, listPets, listPetsAnyhow, other } from '../../client/requests.ts';
import type { RequirementId } from '../../requirements/requirements.ts';
import type { CheckContext } from '../../session/context.ts';
import { int64Max } from '../../client/pet.ts';
import { answered, inShort, json, maxBodyBytes, outside, postWith, raw, refused, requireAllow, withHeaders } from './common.ts';

/** What no server reads as one head. */
const farTooLong = '0'.repeat(64 * 1024);

/** The preface of HTTP/2 (RFC 9113, section 3.4). */
const http2Preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

export const errorChecks: readonly Check[] = [
  check('decided.errors.broken-message', { keyless: 3 }, async (t) => {
    const host = new URL(t.client.baseUrl).host;
    const message = { credential: nobody, method: 'GET', target: '/pets', close: false };
    const cases = [
      [raw(t, { ...message, hosts: [] }), 'there is no Host'],
      [raw(t, { ...message, hosts: [host, host] }), 'there are two Hosts'],
      [raw(t, { ...message, method: 'NO-SUCH-METHOD' }), 'nobody knows the method'],
    ] as const;
    await t.each(cases, async ([request, because]) => {
      const response = await refused(t, request, 400, 'malformed_request', because);
      requireClosed(t, response);
    });
  }),
  check('decided.errors.malformed-json', { requests: 3, writes: true }, async (t) => {
    const cases = [
      ['{"name":"a" "categoryId":1}', 1, 13],
      ['{"name":"a",\n  nope}', 2, 3],
      ['{"name":"a"}\n{}', 2, 1],
    ] as const;
    await t.each(cases, async ([body, line, column]) => {
      const response = await refused(t, createPetOf(t.key, body), 400, 'malformed_json', 'the body is not one JSON text');
      const message = messageOf(response);
      const kept = new RegExp(`line ${line}\\b.*column ${column}\\b`, 'i').test(message);
      t.require(kept, response, `a message that names line ${line}, column ${column}`, message);
    });
  }),
  check('decided.errors.not-utf-8', { requests: 3, writes: true }, async (t) => {
    const bytes = (prefix: string, name: string) =>
      Buffer.from(`${prefix}{"name":"${name}","categoryId":${t.fixtures.category}}`, 'latin1');
    const cases = [
      [bytes('\xef\xbb\xbf', 'a'), 'there is a byte order mark'],
      [bytes('', '\xff'), 'a byte FF is no UTF-8'],
      [bytes('', '\xed\xa0\x80'), 'a surrogate has no form in UTF-8'],
    ] as const;
    await t.each(cases, async ([body, because]) => {
      await refused(t, createPetOf(t.key, body), 400, 'malformed_json', because);
    });
  }),
  check('decided.errors.name-twice', { requests: 4, writes: true }, async (t) => {
    const c = t.fixtures.category;
    const bodies = [
      `{"name":"a","categoryId":${c},"name":"a"}`,
      `{"name":"a","categoryId":${c},"n\\u0061me":"b"}`,
      `{"name":"a","categoryId":${c},"x":{"y":[{"z":1,"z":1}]}}`,
      '[{"a":1,"a":1}]',
    ];
    await t.each(bodies, async (body) => {
      await refused(t, createPetOf(t.key, body), 400, 'malformed_json', 'a name is given twice in one object');
    });
  }),
  check('decided.errors.deep-nesting', { requests: 1, creates: 1, writes: true }, async (t) => {
    const depth = 30_000;
    const pet = { name: 'Deep', categoryId: t.fixtures.category };
    const body = `{"name":"Deep","categoryId":${pet.categoryId},"x":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    await answered(t, { ...createPetOf(t.key, body), sent: pet }, 201, 'an unknown field may hold what it likes');
  }),
  check('decided.errors.invalid-body', { requests: 6, writes: true }, async (t) => {
    const cases = [
      ['[]', []],
      ['{}', ['name', 'categoryId']],
      ['{"name":null,"categoryId":null,"status":null}', ['name', 'categoryId', 'status']],
      [`{"name":1,"categoryId":${t.fixtures.category},"status":"Sold"}`, ['name', 'status']],
      ['{"name":"a","categoryId":"1","status":""}', ['categoryId', 'status']],
      ['{"name":["a"],"categoryId":1.5}', ['name', 'categoryId']],
    ] as const;
    await t.each(cases, async ([body, fields]) => {
      const response = await refused(t, createPetOf(t.key, body), 400, 'invalid_body', 'the body is JSON, but no NewPet');
      const unnamed = fields.filter((field) => !new RegExp(`\\b${field}\\b`).test(messageOf(response)));
      t.require(unnamed.length === 0, response, `a message that names ${fields.join(' and ')}`, messageOf(response));
    });
  }),

  invalidParameters('decided.errors.limit', [
    'limit=0',
    'limit=101',
    'limit=-1',
    'limit=',
    'limit=05',
    'limit=%2B5',
    'limit=5.0',
  ]),
  invalidParameters('decided.errors.status', ['status=', 'status=Sold', 'status=asleep', 'status=sold%20']),
  invalidParameters('decided.errors.after', ['after=', 'after=01', 'after=1.0', `after=${int64Max + 1n}`]),
  invalidParameters('decided.errors.given-twice', [
    'limit=5&limit=5',
    'status=sold&status=sold',
    'after=1&after=2',
    'limit=5&li%6dit=6',
  ]),
  invalidParameters('decided.errors.broken-escape', ['x=%zz', '%=1', 'limit=5%']),

  check('decided.errors.missing-key', { keyless: 1 }, async (t) => {
    const response = await refused(t, other(nobody, 'OPTIONS', '/pets'), 401, 'missing_api_key', 'there is no Authorization');
    requireChallenge(t, response, /^Bearer realm="petstore"$/i, 'Bearer realm="petstore"');
  }),
  check('decided.errors.invalid-key', { keyless: 1 }, async (t) => {
    const response = await refused(
      t,
      listPetsAnyhow(changedAt(t.secret, t.secret.length - 2), 'limit=1'),
      401,
      'invalid_api_key',
      'the key is wrong',
    );
    requireChallenge(
      t,
      response,
      /^Bearer realm="petstore", *error="invalid_token"/i,
      'Bearer realm="petstore", error="invalid_token"',
    );
  }),
  check('decided.errors.scheme-case', { requests: 2 }, async (t) => {
    await t.each(['bearer', 'BEARER'], async (scheme) => {
      const credential = { ...t.key, header: `${scheme} ${t.secret}`, shell: `${scheme} $API_KEY` };
      await answered(t, { ...listPets(credential, { limit: 1 }), operation: 'other' }, 200, 'the scheme has no case');
    });
  }),
  check('decided.errors.two-keys', { keyless: 1 }, async (t) => {
    const { header = '', shell } = t.key;
    const twice = {
      ...listPetsAnyhow({ header, shell, key: 'none' }, 'limit=1'),
      headers: [['Authorization', 'Basic Og==']] as const,
    };
    await refused(t, twice, 401, 'invalid_api_key', 'there are two Authorization headers');
  }),

  check('decided.errors.not-found', { requests: 3 }, async (t) => {
    await t.each(['/', '/store', '/Pets'], async (path) => {
      await refused(t, other(t.key, 'GET', path), 404, 'not_found', 'there is no such path');
    });
  }),
  check('decided.errors.pet-not-found', { requests: 8 }, async (t) => {
    await t.fixtures.needGet();
    const { id } = await t.fixtures.animal();
    const ids = [t.fixtures.unknownId(), 0, 'cat', `0${id}`, `+${id}`, `${id}.0`, `%20${id}`, int64Max + 1n + BigInt(id)];
    await t.each(ids, async (petId) => {
      const request: Request = {
        operation: 'getPet',
        method: 'GET',
        target: `/pets/${petId}`,
        credential: t.key,
        headers: [],
        open: true,
      };
      await refused(t, request, 404, 'pet_not_found', 'there is no such animal');
    });
  }),
  check('decided.errors.method', { requests: 6, writes: true }, async (t) => {
    // Were there such an operation, it would find nothing to change.
    const nothing = t.fixtures.unknownId();
    const [list, one] = [
      ['GET', 'HEAD', 'POST', 'OPTIONS'],
      ['GET', 'HEAD', 'OPTIONS'],
    ];
    const cases = [
      ...(['PUT', 'PROPFIND'] as const).map((method) => [method, '/pets', list] as const),
      ...(['POST', 'PATCH', 'DELETE'] as const).map((method) => [method, `/pets/${nothing}`, one] as const),
      ['POST', '/store/orders', one] as const,
    ];
    await t.each(cases, async ([method, path, methods]) => {
      requireAllow(
        t,
        await refused(t, other(t.key, method, path), 405, 'method_not_allowed', 'the path does not have the method'),
        methods,
      );
    });
  }),

  check('decided.errors.too-large', { requests: 2, creates: 1, writes: true }, async (t) => {
    const pet = { name: 'Large', categoryId: t.fixtures.category };
    const body = `{"name":"Large","categoryId":${pet.categoryId}}`.padEnd(maxBodyBytes);
    await answered(t, { ...createPetOf(t.key, body), sent: pet }, 201, 'a body may have 64 KiB');
    const chunk = `${(maxBodyBytes + 1).toString(16)}\r\n${body} \r\n0\r\n\r\n`;
    await refused(
      t,
      raw(t, {
        credential: t.key,
        method: 'POST',
        target: '/pets',
        headers: [json, ['Transfer-Encoding', 'chunked']],
        body: chunk,
      }),
      413,
      'payload_too_large',
      'the chunks of the body have a byte more than 64 KiB',
    );
  }),
  check('decided.errors.media-type', { requests: 7, writes: true }, async (t) => {
    const types = [
      undefined,
      'text/plain',
      'application/jsonx',
      'application/x-www-form-urlencoded',
      'application/json; charset=iso-8859-1',
      'application/json; charset="utf-16"',
      'application/json, text/plain',
    ];
    await t.each(types, async (type) => {
      await refused(
        t,
        postWith(t, type === undefined ? [] : [['Content-Type', type]], '{}'),
        415,
        'unsupported_media_type',
        'the body is not said to be JSON in UTF-8',
      );
    });
  }),
  check('decided.errors.type-forms', { requests: 6, writes: true }, async (t) => {
    const types = [
      'Application/JSON',
      'application/json;charset=utf-8',
      'application/json; charset=UTF-8',
      'application/json; Charset="utf-8"',
      'application/json ; charset="\\u\\t\\f-8"',
      'application/json; version=1; q="a;b=\\"c"',
    ];
    await t.each(types, async (type) => {
      await refused(
        t,
        postWith(t, [['Content-Type', type]], '{}'),
        400,
        'invalid_body',
        'the type is JSON in UTF-8, and {} no NewPet',
      );
    });
  }),
  check('decided.errors.encoding', { requests: 3, writes: true }, async (t) => {
    for (const coding of ['gzip', 'br, identity']) {
      await refused(
        t,
        postWith(t, [json, ['Content-Encoding', coding]], '{}'),
        415,
        'unsupported_media_type',
        'the body is encoded',
      );
    }
    await refused(
      t,
      postWith(t, [json, ['Content-Encoding', 'Identity']], '{}'),
      400,
      'invalid_body',
      'identity is no encoding, and {} no NewPet',
    );
  }),
  check('decided.errors.expectation', { requests: 3 }, async (t) => {
    const list = listPets(t.key, { limit: 1 });
    await refused(
      t,
      withHeaders({ ...list, operation: 'other' }, ['Expect', '200-ok']),
      417,
      'expectation_failed',
      'nobody knows that expectation',
    );
    await refused(
      t,
      withHeaders({ ...list, operation: 'other' }, ['Expect', '100-continue, 200-ok']),
      417,
      'expectation_failed',
      'nobody knows one of the expectations',
    );
    await answered(t, withHeaders(list, ['Expect', '100-Continue']), 200, '100-continue is known, in any case');
  }),
  check('decided.errors.head-too-large', { keyless: 2 }, async (t) => {
    const message = { credential: nobody, method: 'GET', target: '/pets', close: false };
    const cases = [
      [raw(t, { ...message, target: `/pets?x=${farTooLong}` }), 'the target has 64 KiB'],
      [raw(t, { ...message, headers: [['X-Filler', farTooLong]] }), 'a header has 64 KiB'],
    ] as const;
    await t.each(cases, async ([request, because]) => {
      // A report has no use for 64 KiB of zeros.
      await refused(t, { ...request, target: '/pets' }, 431, 'headers_too_large', because);
    });
  }),
  check('decided.errors.http-version', { keyless: 2 }, async (t) => {
    const preface: Request = { ...outside(nobody, 'PRI', '*'), raw: http2Preface };
    const later = raw(t, { credential: nobody, method: 'GET', target: '/pets', version: 'HTTP/2.0', close: false });
    await t.each([preface, later], async (request) => {
      requireClosed(t, await refused(t, request, 505, 'http_version_not_supported', 'the version is neither HTTP/1.1 nor 1.0'));
    });
  }),
];

/** A check that each of these queries is refused. */
function invalidParameters(id: RequirementId, queries: readonly string[]): Check {
  return check(id, { requests: queries.length }, async (t) => {
    await t.each(queries, async (query) => {
      await refused(t, listPetsAnyhow(t.key, query), 400, 'invalid_parameter', `the query is ${query}`);
    });
  });
}

function requireClosed(t: CheckContext, response: Response): void {
  t.require(response.wire?.closed === true, response, 'the connection closed', 'it stayed open');
}

function requireChallenge(t: CheckContext, response: Response, pattern: RegExp, required: string): void {
  const challenges = response.all('www-authenticate');
  t.require(
    challenges.length === 1 && pattern.test(challenges[0]!),
    response,
    `WWW-Authenticate: ${required}`,
    challenges.join(' and ') || 'none',
  );
}

/** The message of an Error body, or what stands in its place. */
function messageOf(response: Response): string {
  const message = response.json instanceof JsonObject ? response.json.get('message') : undefined;
  return typeof message === 'string' ? message : inShort(response);
}
