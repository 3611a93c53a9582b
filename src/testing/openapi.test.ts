import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { readJson } from '../json/read.ts';
import { OpenApiDocument } from './openapi.ts';
import type { OperationResponse } from './openapi.ts';

const source = readFileSync(new URL('../operations/openapi.json', import.meta.url), 'utf8');
const document = new OpenApiDocument(readJson(Buffer.from(source)));

const commonHeaders = {
  'x-request-id': '5f0c9a52-7b1e-4d0e-9c55-0d6c3a1f7e42', 'cache-control': 'no-store', 'x-content-type-options': 'nosniff',
  'x-ratelimit-limit': '60', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1795262460',
};
const deprecated = {
  deprecation: '@1764892800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: '</v1/pets>; rel="successor-version"',
};

/** Returns a response to `operation` (`GET /pets`) with the common headers. A header whose value is '' is left out. */
function response(
  operation: string, status: number, body: string, headers: Record<string, string> = {},
): OperationResponse {
  const [method = '', path = ''] = operation.split(' ');
  const all = { 'content-type': 'application/json', ...commonHeaders, ...headers };
  return { method, path, status, body, headers: new Map(Object.entries(all).filter(([, value]) => value !== '')) };
}

function error(code: string, status: number): string {
  return JSON.stringify({ code, message: 'Something failed.', status });
}

describe('OpenApiDocument.check() accepts', () => {
  const good: Record<string, OperationResponse> = {
    'a page of animals': response(
      'GET /pets', 200, '[{"id":1,"name":"Żubr","categoryId":9223372036854775807,"status":"sold"}]',
    ),
    'a page with a link to the next': response(
      'GET /pets', 200, '[]', { link: '</v1/pets?limit=2&status=sold&after=7>; rel="next"' },
    ),
    'a page under another base path': response(
      'GET /store/orders', 200, '[]', { link: '</a/b/v1/store/orders?limit=2&after=-7>; rel="next"' },
    ),
    'a response to HEAD without a body': response('HEAD /pets', 200, ''),
    'transport headers': response(
      'GET /pets', 200, '[]', { date: 'now', connection: 'close', 'content-length': '2', 'keep-alive': 'timeout=5' },
    ),
    'an animal': response(
      'GET /pets/{petId}', 200, '{"id":1,"name":"","categoryId":-9223372036854775808,"status":"sold"}', deprecated,
    ),
    'a new animal': response(
      'POST /pets', 201, '{"status":"sold","categoryId":1,"name":"\\u0000","id":12}', { location: '/v1/pets/12' },
    ),
    'a 401': response(
      'GET /pets', 401, error('missing_api_key', 401), { 'www-authenticate': 'Bearer realm="petstore"' },
    ),
    'a 410': response('GET /pets/{petId}', 410, error('operation_removed', 410), { ...deprecated, deprecation: '' }),
    'a 400 for a malformed message': response('GET /pets/{petId}', 400, error('malformed_request', 400)),
    'a 429': response('GET /pets', 429, error('rate_limited', 429), { 'retry-after': '1' }),
    'a 429 of a deprecated operation': response(
      'GET /pets/{petId}', 429, error('key_banned', 429), { ...deprecated, 'retry-after': '300' },
    ),
    'a 503': response('GET /pets', 503, error('shutting_down', 503), { 'retry-after': '1' }),
    'a page of orders': response('GET /store/orders', 200,
      '[{"id":1,"petId":2,"quantity":1,"shipDate":"2026-03-02T09:30:00.5+01:00","status":"placed","complete":false}]'),
  };
  for (const [name, one] of Object.entries(good)) {
    test(name, () => assert.deepEqual(document.check(one), []));
  }
});

describe('OpenApiDocument.check() reports', () => {
  const pet = '{"id":1,"name":"Żubr","categoryId":1,"status":"sold"}';
  const order = (members: string): string => `[{"id":1,"petId":2,"status":"placed","complete":false,${members}}]`;
  const bad: Record<string, [OperationResponse, RegExp]> = {
    'an unknown path': [response('GET /dogs', 200, '[]'), /operation is not documented/],
    'an unknown method': [
      response('DELETE /pets', 413, error('payload_too_large', 413)), /operation is not documented/,
    ],
    'an unknown status': [response('GET /pets', 418, '[]'), /status is not documented/],
    'a missing X-Request-Id': [
      response('GET /pets', 200, '[]', { 'x-request-id': '' }), /header X-Request-Id is missing/,
    ],
    'a missing X-RateLimit header': [
      response('GET /pets', 429, error('rate_limited', 429), { 'retry-after': '1', 'x-ratelimit-reset': '' }),
      /header X-RateLimit-Reset is missing/,
    ],
    'a negative X-RateLimit-Remaining': [
      response('GET /pets', 200, '[]', { 'x-ratelimit-remaining': '-1' }), /X-RateLimit-Remaining is below 0/,
    ],
    'a 429 without Retry-After': [
      response('GET /pets', 429, error('rate_limited', 429)), /header Retry-After is missing/,
    ],
    'an undocumented header': [
      response('GET /pets', 200, '[]', { server: 'petstore' }), /header server is not documented/,
    ],
    'a header that is documented only for another status': [
      response('GET /pets', 200, '[]', { 'retry-after': '1' }), /header retry-after is not documented/,
    ],
    'a header that is not its documented constant': [
      response('GET /pets', 200, '[]', { 'cache-control': 'no-cache' }), /Cache-Control is not "no-store"/,
    ],
    'a header that does not match its pattern': [
      response('POST /pets', 201, pet, { location: '/pets/1' }), /Location does not match/,
    ],
    'a header that is not one of its values': [
      response('GET /pets', 401, error('invalid_api_key', 401), { 'www-authenticate': 'Bearer' }),
      /WWW-Authenticate is none of/,
    ],
    'a header below its minimum': [
      response('GET /pets', 503, error('shutting_down', 503), { 'retry-after': '0' }), /Retry-After is below 1/,
    ],
    'a header that is not a number': [
      response('GET /pets', 503, error('shutting_down', 503), { 'retry-after': 'soon' }),
      /Retry-After is not of type integer/,
    ],
    'an undocumented content type': [
      response('GET /pets', 200, '[]', { 'content-type': 'text/html' }), /content type "text\/html"/,
    ],
    'a missing content type': [response('GET /pets', 200, '[]', { 'content-type': '' }), /content type ""/],
    'a missing body': [response('GET /pets', 200, ''), /not JSON/],
    'a body that is not JSON': [response('GET /pets', 200, '[,]'), /not JSON/],
    'a body in a response to HEAD': [response('HEAD /pets', 200, '[]'), /HEAD/],
    'a body of the wrong type': [response('GET /pets', 200, '{}'), /body is not of type array/],
    'a missing member': [response('GET /pets', 200, '[{"id":1,"name":"a","categoryId":1}]'), /body\/0 has no status/],
    'an undocumented member': [
      response('GET /pets', 200, '[{"id":1,"name":"a","categoryId":1,"status":"sold","tag":1}]'), /body\/0 has tag/,
    ],
    'a member that is not one of its values': [
      response('GET /pets', 200, '[{"id":1,"name":"a","categoryId":1,"status":"lost"}]'), /body\/0\/status is none/,
    ],
    'an id below its minimum': [
      response('GET /pets', 200, '[{"id":0,"name":"a","categoryId":1,"status":"sold"}]'), /body\/0\/id is below 1/,
    ],
    'a number larger than int64': [
      response('POST /pets', 201, pet.replace('1,"s', '9223372036854775808,"s')), /body\/categoryId .* int64/,
    ],
    'a fraction in place of an integer': [
      response('POST /pets', 201, pet.replace('1,"s', '1.5,"s')), /body\/categoryId is not of type integer/,
    ],
    'a quantity larger than int32': [
      response('GET /store/orders', 200, order('"quantity":2147483648')), /quantity is not in the format int32/,
    ],
    'a date that does not exist': [
      response('GET /store/orders', 200, order('"quantity":1,"shipDate":"2026-13-02T09:30:00Z"')),
      /shipDate is not in the format/,
    ],
    'a date without a time': [
      response('GET /store/orders', 200, order('"quantity":1,"shipDate":"2026-03-02"')),
      /shipDate is not in the format/,
    ],
    'more animals than a page may have': [
      response('GET /pets', 200, `[${Array(101).fill(pet).join()}]`), /body has more than 100 items/,
    ],
    'an error body with another status than the response': [
      response('GET /pets', 500, error('internal_error', 501)), /body\/status is not 500/,
    ],
    'an error code of another status': [
      response('GET /pets', 500, error('not_ready', 500)), /body\/code is not in an example.*"not_ready"/,
    ],
    'an error with an empty message': [
      response('GET /pets', 500, error('internal_error', 500).replace('Something failed.', '')),
      /message is shorter than 1/,
    ],
  };
  for (const [name, [one, expected]] of Object.entries(bad)) {
    test(name, () => {
      const errors = document.check(one);
      assert.ok(errors.some((error) => expected.test(error)), `found only ${JSON.stringify(errors)}`);
      assert.ok(errors.every((error) => error.startsWith(`${one.method} ${one.path} ${one.status}: `)));
    });
  }

  test('every error of a response', () => {
    const invalid = response('GET /pets', 200, '[{}]', { 'x-request-id': '', server: 'petstore' });
    assert.equal(document.check(invalid).length, 6);
  });
});

describe('OpenApiDocument.checkOther()', () => {
  const allow = { allow: 'GET, HEAD, OPTIONS' };

  test('accepts responses that belong to no operation of the document', () => {
    const good = [
      response('GET /dogs', 404, error('not_found', 404)),
      response('DELETE /pets', 405, error('method_not_allowed', 405), allow),
      response('OPTIONS /pets', 204, '', allow),
      response('GET /healthz', 200, '{"status":"ok"}'),
      response('GET /readyz', 503, error('not_ready', 503), { 'retry-after': '1' }),
    ];
    for (const one of good) assert.deepEqual(document.checkOther(one), []);
  });

  test('reports a missing header, another header, and an error body that is wrong', () => {
    const bad: [OperationResponse, RegExp][] = [
      [response('DELETE /pets', 405, error('method_not_allowed', 405)), /header Allow is missing/],
      [response('GET /healthz', 200, '{}', { 'x-request-id': '' }), /header X-Request-Id is missing/],
      [response('GET /healthz', 200, '{}', { server: 'x' }), /header server is not documented/],
      [response('GET /dogs', 404, error('not_found', 400)), /status is not 404/],
      [response('GET /dogs', 404, error('no_such_code', 404)), /body\/code is none of/],
      [response('GET /dogs', 404, ''), /not JSON/],
    ];
    for (const [one, expected] of bad) assert.match(document.checkOther(one).join(), expected);
  });
});

describe('OpenApiDocument', () => {
  /** Returns a document with one response, which has this schema. */
  function withSchema(schema: string): OpenApiDocument {
    const content = `{"application/json":{"schema":${schema},"examples":{"one":{"value":5}}}}`;
    const paths = `{"/":{"get":{"responses":{"200":{"content":${content}}}}}}`;
    const text = `{"paths":${paths},"components":{"schemas":{"Five":{"const":5}}}}`;
    return new OpenApiDocument(readJson(Buffer.from(text)));
  }
  const five = {
    method: 'GET', path: '/', status: 200, headers: new Map([['content-type', 'application/json; charset=utf-8']]),
    body: '5',
  };

  test('throws an error for an unknown keyword, type or format, an invalid bound and a dangling reference', () => {
    assert.throws(() => withSchema('{"multipleOf":5}').check(five), /keyword multipleOf/);
    assert.throws(() => withSchema('{"type":"number"}').check(five), /type number/);
    assert.throws(() => withSchema('{"format":"byte"}').check(five), /format byte/);
    assert.throws(() => withSchema('{"minimum":"4"}').check(five), /"4" is not an integer/);
    assert.throws(() => withSchema('{"$ref":"#/components/schemas/Six"}').check(five), /Six refers to nothing/);
    assert.throws(() => new OpenApiDocument(JSON.parse(source)), /readJson/);
  });

  test('checkExamples() reports examples that violate their schema, and unused components', () => {
    assert.deepEqual(withSchema('{"$ref":"#/components/schemas/Five","maximum":5}').checkExamples(), []);
    const errors = withSchema('{"type":"integer","maximum":4,"default":7,"examples":[3,"4"]}').checkExamples();
    assert.equal(errors.length, 4);
    assert.match(errors[0]!, /examples\/one is above 4: 5$/);
    assert.match(errors[1]!, /default is above 4: 7$/);
    assert.match(errors[2]!, /examples\/1 is not of type integer: "4"$/);
    assert.equal(errors[3], '#/components/schemas/Five: nothing refers to it');
  });
});

describe('openapi.json', () => {
  interface Operation {
    readonly operationId: string;
    readonly tags: readonly string[];
    readonly deprecated?: boolean;
    readonly security?: readonly unknown[];
    readonly responses: Readonly<Record<string, unknown>>;
  }
  const plain = JSON.parse(source) as {
    readonly openapi: string;
    readonly info: { readonly version: string };
    readonly servers: readonly unknown[];
    readonly tags: readonly { readonly name: string }[];
    readonly security: readonly Readonly<Record<string, unknown>>[];
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
    readonly components: {
      readonly securitySchemes: Readonly<Record<string, { readonly type: string; readonly scheme: string }>>;
    };
  };
  const operations = new Map(
    Object.entries(plain.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]): [string, Operation] => [`${method.toUpperCase()} ${path}`, operation]),
    ),
  );

  test('has only valid examples, and no unused component', () => {
    assert.deepEqual(document.checkExamples(), []);
  });

  test('is OpenAPI 3.1, describes version 1.0.0, and has the base path /v1', () => {
    assert.match(plain.openapi, /^3\.1\./);
    assert.equal(plain.info.version, '1.0.0');
    assert.equal(source.split('"servers": [{"url": "/v1"}]').length, 2, 'the server inserts its base path here');
    assert.deepEqual(plain.tags.map((tag) => tag.name), ['Pets', 'Store']);
  });

  test('has exactly these operations, with their ids, tags and statuses', () => {
    const general = '400 408 413 417 431 500 503 505';
    const expected: Record<string, [string, string, string]> = {
      'GET /pets': ['listPets', 'Pets', `200 401 429 ${general}`],
      'POST /pets': ['createPet', 'Pets', `201 401 415 429 ${general}`],
      'GET /pets/{petId}': ['getPet', 'Pets', `200 401 404 410 429 ${general}`],
      'GET /store/orders': ['listOrders', 'Store', `200 401 429 ${general}`],
    };
    assert.deepEqual([...operations.keys()], Object.keys(expected));
    for (const [name, [id, tag, statuses]] of Object.entries(expected)) {
      const operation = operations.get(name)!;
      assert.equal(operation.operationId, id);
      assert.deepEqual(operation.tags, [tag]);
      assert.equal(operation.security, undefined, `${name}: security`);
      assert.deepEqual(Object.keys(operation.responses), statuses.split(' ').sort(), `${name}: statuses`);
    }
  });

  test('gives every response the three X-RateLimit headers', () => {
    const responses = [...source.matchAll(/"headers": \{\s*"X-Request-Id": \{"\$ref[^]*?\n +\}/g)];
    assert.ok(responses.length > 20, String(responses.length));
    for (const [text] of responses) {
      for (const name of ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']) {
        assert.ok(text.includes(`"${name}": {"$ref": "#/components/headers/${name}"}`), text);
      }
    }
  });

  test('marks only getPet as deprecated', () => {
    const deprecatedOperations = [...operations.values()].filter((operation) => operation.deprecated);
    assert.deepEqual(deprecatedOperations.map(({ operationId }) => operationId), ['getPet']);
  });

  test('declares the key as a bearer token', () => {
    const [name = ''] = Object.keys(plain.security[0] ?? {});
    const { type, scheme } = plain.components.securitySchemes[name] ?? {};
    assert.deepEqual({ type, scheme }, { type: 'http', scheme: 'bearer' });
  });

  test('has the bounds of int64 with every digit', () => {
    assert.match(source, /"minimum": -9223372036854775808,\s+"maximum": 9223372036854775807\b/);
  });
});
