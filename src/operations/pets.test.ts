import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import test from 'node:test';
import * as fc from 'fast-check';
import { codeOf, type HttpResponse } from '../testing/http-response.ts';
import { openService, type TestService } from '../testing/service.ts';
import { anyCharacter } from '../testing/strings.ts';

const post = (service: TestService, body: string | Buffer): Promise<HttpResponse> =>
  service.call('POST', '/v1/pets', { body });
const ids = ({ body }: HttpResponse): number[] => (JSON.parse(body) as { id: number }[]).map(({ id }) => id);

/** Creates animals whose statuses are available, pending and sold in turn. */
async function fill(service: TestService, count: number): Promise<void> {
  const statuses = ['available', 'pending', 'sold'] as const;
  for (let i = 0; i < count; i++) {
    await service.pets.create({ name: `n${i + 1}`, categoryId: 1n, status: statuses[i % 3]! });
  }
}

test('create returns 201 with Location and the animal, its fields in the order of the specification', async (t) => {
  const service = await openService(t);
  const response = await post(service, '{"status":"sold","categoryId":7,"name":"Rex","id":99,"extra":{"a":[1]}}');
  assert.equal(response.status, 201);
  assert.equal(response.body, '{"id":1,"name":"Rex","categoryId":7,"status":"sold"}');
  assert.equal(response.headers.get('location'), '/v1/pets/1');
  assert.equal((await service.call('GET', '/v1/pets/1')).body, response.body);
  const second = await post(service, '{"name":"","categoryId":-1}');
  assert.equal(second.body, '{"id":2,"name":"","categoryId":-1,"status":"available"}');
});

test('returns the first page with every new animal while it grows, and unchanged once it is full', async (t) => {
  const service = await openService(t);
  const page = async (query: string): Promise<[number[], string | undefined]> => {
    const response = await service.call('GET', `/v1/pets${query}`);
    return [ids(response), response.headers.get('link')];
  };
  for (let count = 1; count <= 12; count += 1) {
    await fill(service, 1);
    const all = Array.from({ length: count }, (_, i) => i + 1);
    const linkIf = (condition: boolean, query: string): string | undefined =>
      condition ? `</v1/pets?${query}>; rel="next"` : undefined;
    for (let again = 0; again < 2; again += 1) {
      assert.deepEqual(await page('?limit=4'), [all.slice(0, 4), linkIf(count > 4, 'limit=4&after=4')]);
      assert.deepEqual(await page('?limit=4&after=4'), [all.slice(4, 8), linkIf(count > 8, 'limit=4&after=8')]);
      const available = [all.slice(0, 2), linkIf(count > 2, 'limit=2&status=available&after=2')];
      assert.deepEqual(await page('?limit=2&status=available'), available);
      assert.deepEqual(await page('?limit=2&status=sold'), [[], undefined]);
    }
  }
  // Also for many different queries, and with parameters that are ignored.
  for (let i = 0; i < 250; i += 1) assert.deepEqual((await page(`?limit=4&x=${i}`))[0], [1, 2, 3, 4]);
  for (const name of ['limit', 'status', 'after']) {
    assert.equal((await service.call('GET', `/v1/pets?limit=4&${name}=`)).status, 400);
  }
});

test('keeps every digit of an int64 in requests, on disk and in responses', async (t) => {
  const service = await openService(t);
  const values = {
    '9223372036854775807': '9223372036854775807',
    '-9223372036854775808': '-9223372036854775808',
    '9007199254740993': '9007199254740993',
    '1.0': '1',
    '10e-1': '1',
    '1e2': '100',
    '-0': '0',
    '0e999999999': '0',
    '922337203685477580700e-2': '9223372036854775807',
    [`1${'0'.repeat(30_000)}e-30000`]: '1',
    [`0.${'0'.repeat(60_000)}`]: '0',
  };
  let id = 0;
  for (const [sent, stored] of Object.entries(values)) {
    const response = await post(service, `{"name":"x","categoryId":${sent}}`);
    const pet = `{"id":${++id},"name":"x","categoryId":${stored},"status":"available"}`;
    assert.equal(response.body, pet, sent.slice(0, 40));
    assert.equal((await service.call('GET', `/v1/pets/${id}`)).body, pet);
    const journal = readdirSync(service.folder).find((name) => name.endsWith('.journal'));
    assert.ok(readFileSync(`${service.folder}/${journal}`, 'utf8').includes(pet));
  }
  for (const bad of [
    '9223372036854775808', '-9223372036854775809', '1.5', '1e19', '1e-1', `${'1'.repeat(60_000)}`,
    `1e${'9'.repeat(60_000)}`, '"1"', 'null', 'true', '[1]', '{}',
  ]) {
    const response = await post(service, `{"name":"x","categoryId":${bad}}`);
    assert.deepEqual([response.status, codeOf(response)], [400, 'invalid_body'], bad.slice(0, 40));
  }
});

test('handles numbers of 60,000 digits, 30,000 nested arrays and __proto__ like any other body', async (t) => {
  const service = await openService(t);
  const big = '7'.repeat(60_000);
  for (const ignored of [
    `"x":${big}`, `"x":-${big}.5e${'9'.repeat(100)}`, `"x":${'['.repeat(30_000)}${']'.repeat(30_000)}`,
    '"__proto__":{"name":1}', '"__proto__":null,"constructor":[]', `"x":${'{"a":'.repeat(9_000)}0${'}'.repeat(9_000)}`,
  ]) {
    const response = await post(service, `{"name":"x","categoryId":1,${ignored}}`);
    assert.equal(response.status, 201, response.body);
  }
  for (const broken of [
    '['.repeat(30_000), `{"name":${'['.repeat(30_000)}`, `{"x":${'{"a":'.repeat(9_000)}`,
    `{"name":"x","categoryId":1,"a":{"b":1,"\\u0062":2}}`, '{"__proto__":1,"__proto__":2}',
  ]) {
    const response = await post(service, broken);
    assert.deepEqual([response.status, codeOf(response)], [400, 'malformed_json'], response.body);
    assert.match(response.body, /line 1, column \d+/);
  }
  const shapes = ['[]', '"x"', '1', 'null', 'true', big, `${'['.repeat(30_000)}${']'.repeat(30_000)}`];
  for (const shape of shapes) assert.equal(codeOf(await post(service, shape)), 'invalid_body');
});

test('malformed_json names the error, its line and its column', async (t) => {
  const service = await openService(t);
  const cases: [string | Buffer, RegExp][] = [
    ['', /line 1, column 1/], ['{"name":"x",\n  "categoryId":01}', /line 2, column 17/],
    ["{'name':1}", /line 1, column 2/],
    [Buffer.from('\ufeff{}'), /byte order mark/i],
    [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), /UTF-8.*line 1, column 3/], ['{"a":1,"a":1}', /"a\\?".*twice/],
    ['{} {}', /line 1, column 4/], ['{"name":"a\nb"}', /line 1, column 11/], ['NaN', /line 1, column 1/],
  ];
  for (const [body, pattern] of cases) {
    const response = await post(service, body);
    assert.deepEqual([response.status, codeOf(response)], [400, 'malformed_json'], String(body));
    assert.match(response.body, pattern);
  }
});

test('invalid_body names every invalid field', async (t) => {
  const service = await openService(t);
  const cases: [string, string[]][] = [
    ['{}', ['name', 'categoryId']], ['{"name":null,"categoryId":null,"status":null}', ['name', 'categoryId', 'status']],
    ['{"name":1,"categoryId":1,"status":"Sold"}', ['name', 'status']],
    ['{"name":"a","categoryId":1,"status":""}', ['status']],
    ['{"name":["a"],"categoryId":1}', ['name']], ['{"Name":"a","categoryId":1}', ['name']],
  ];
  for (const [body, fields] of cases) {
    const response = await post(service, body);
    assert.deepEqual([response.status, codeOf(response)], [400, 'invalid_body'], body);
    const { message } = JSON.parse(response.body) as { message: string };
    for (const field of ['name', 'categoryId', 'status']) {
      const isNamed = new RegExp(`\\b${field} (must|is)`).test(message);
      assert.equal(isNamed, fields.includes(field), `${body}: ${message}`);
    }
  }
  assert.equal(service.pets.table.count, 0);
});

test('returns any name as it was sent, from create and from get', async (t) => {
  const service = await openService(t);
  // Every UTF-16 string, lone surrogates and U+0000 included.
  const name = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)) });
  const anyString = fc.string({ unit: anyCharacter });
  const special = fc.constantFrom('', '\u0000', '\ud800', '\udc00\ud800', '\u2028', '\\"/');
  const escapeAt = (text: string, i: number): string => `\\u${text.charCodeAt(i).toString(16).padStart(4, '0')}`;
  const escapeAll = (text: string): string => [...Array(text.length).keys()].map((i) => escapeAt(text, i)).join('');
  await fc.assert(
    fc.asyncProperty(fc.oneof(name, anyString, special), fc.boolean(), async (sent, escaped) => {
      const text = escaped ? `"${escapeAll(sent)}"` : JSON.stringify(sent);
      const response = await post(service, `{"name":${text},"categoryId":1}`);
      assert.equal(response.status, 201, response.body);
      const { id } = JSON.parse(response.body) as { id: number };
      for (const { body } of [response, await service.call('GET', `/v1/pets/${id}`)]) {
        assert.equal((JSON.parse(body) as { name: string }).name, sent);
      }
    }),
    { numRuns: 60 },
  );
});

test('list has a default limit of 20, limit, status and after, and a Link that leads through all pages', async (t) => {
  const service = await openService(t);
  assert.deepEqual((await service.call('GET', '/v1/pets')).body, '[]');
  await fill(service, 45);
  const first = await service.call('GET', '/v1/pets');
  assert.deepEqual(ids(first), Array.from({ length: 20 }, (_, i) => i + 1));
  assert.equal(first.headers.get('link'), '</v1/pets?limit=20&after=20>; rel="next"');
  for (const [path, step] of [
    ['/v1/pets?limit=7', 1], ['/v1/pets?limit=4&status=pending', 3], ['/v1/pets?status=sold&limit=100', 3],
  ] as const) {
    const seen: number[] = [];
    for (let next: string | undefined = path; next !== undefined; ) {
      const page: HttpResponse = await service.call('GET', next);
      seen.push(...ids(page));
      next = /^<([^>]+)>; rel="next"$/.exec(page.headers.get('link') ?? '')?.[1];
    }
    const start = path.includes('pending') ? 2 : path.includes('sold') ? 3 : 1;
    assert.deepEqual(seen, Array.from({ length: step === 1 ? 45 : 15 }, (_, i) => start + i * step), path);
  }
  const linkOf = async (query: string): Promise<string | undefined> =>
    (await service.call('GET', `/v1/pets?${query}`)).headers.get('link');
  assert.equal(await linkOf('limit=45'), undefined);
  assert.equal(await linkOf('limit=44'), '</v1/pets?limit=44&after=44>; rel="next"');
  assert.equal(await linkOf('limit=14&status=sold'), '</v1/pets?limit=14&status=sold&after=42>; rel="next"');
  assert.deepEqual(ids(await service.call('GET', '/v1/pets?after=9223372036854775807')), []);
  assert.deepEqual(ids(await service.call('GET', '/v1/pets?after=-9223372036854775808&limit=1')), [1]);
  assert.deepEqual(ids(await service.call('GET', '/v1/pets?after=-0&limit=1&%6Cimit2=x&sta%74us=sold')), [3]);
});

test('responds with 400 to parameters outside their constraints, and ignores unknown parameters', async (t) => {
  const service = await openService(t);
  await fill(service, 3);
  for (const query of [
    'limit=0', 'limit=101', 'limit=-1', 'limit=', 'limit', 'limit=05', 'limit=%2B5', 'limit=+5', 'limit=5.0',
    'limit=1e1', 'limit=%205', 'limit=5&limit=5', 'limit=９', 'limit=99999999999999999999',
    'status=', 'status=Sold', 'status=unknown', 'status=sold&status=sold', 'status=sold%20', 'after=x', 'after=',
    'after=9223372036854775808', 'after=01', 'after=1&after=1', 'x=%', '%zz=1', 'x=%ff', 'limit=%',
  ]) {
    for (const path of ['/v1/pets', '/v1/store/orders']) {
      const response = await service.call('GET', encodeURI(`${path}?${query}`).replaceAll('%25', '%'));
      assert.deepEqual([response.status, codeOf(response)], [400, 'invalid_parameter'], query);
    }
  }
  for (const query of ['', 'x=1&x=2', 'Limit=0', 'offset=abc', '&&', 'limit=1&', 'limit=100', '=']) {
    assert.equal((await service.call('GET', `/v1/pets?${query}`)).status, 200, query);
  }
});

test('get announces its deprecation until its removal, and returns 410 from then on', async (t) => {
  const service = await openService(t);
  await fill(service, 1);
  const removal = Date.parse('2030-12-05T00:00:00Z');
  const headersOf = ({ headers }: HttpResponse): unknown[] =>
    ['deprecation', 'sunset', 'link'].map((name) => headers.get(name));
  const none = [undefined, undefined, undefined];
  const sunset = 'Thu, 05 Dec 2030 00:00:00 GMT';
  const link = '</v1/pets>; rel="successor-version"';

  service.now = removal - 1;
  for (const method of ['GET', 'HEAD']) {
    const [found, missing] = [await service.call(method, '/v1/pets/1'), await service.call(method, '/v1/pets/2')];
    assert.deepEqual([found.status, missing.status], [200, 404]);
    for (const response of [found, missing]) assert.deepEqual(headersOf(response), ['@1764892800', sunset, link]);
  }
  assert.deepEqual(headersOf(await service.call('GET', '/v1/pets/1', { key: null })), none);
  assert.deepEqual(headersOf(await service.call('GET', '/v1/pets')), none);
  assert.equal((await post(service, '{"name":"a","categoryId":1}')).headers.get('location'), '/v1/pets/2');

  service.now = removal;
  for (const id of ['1', '7', 'x']) {
    const gone = await service.call('GET', `/v1/pets/${id}`);
    assert.deepEqual([gone.status, codeOf(gone)], [410, 'operation_removed']);
    assert.deepEqual(headersOf(gone), [undefined, sunset, link]);
  }
  assert.equal((await service.call('HEAD', '/v1/pets/1')).status, 410);
  assert.equal((await post(service, '{"name":"a","categoryId":1}')).headers.has('location'), false);
});
