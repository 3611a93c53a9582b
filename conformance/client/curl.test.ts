/** A curl line sends exactly the request that the kit sent, and contains no key. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { temporaryFolder } from '../../harness/owner.ts';
import type { ReceivedRequest } from '../../harness/proxy.ts';
import { apiKey, scripted } from '../testing/servers.ts';
import { session } from '../testing/sessions.ts';
import { sh, withoutCurl } from '../testing/shell.ts';
import { bearer, changedAt, inQuery, invalid, surrounded, nobody } from './credentials.ts';
import { curlLine } from './curl.ts';
import { nameOf, type Request } from './request.ts';
import { createPet, createPetOf, getPet, listOrders, listPets, other } from './requests.ts';
import { Response, summary, transcript } from './response.ts';

/** Sends requests with the kit and with their curl lines, and compares what the server receives. */
async function bothWays(t: TestContext): Promise<(request: Request) => Promise<ReceivedRequest>> {
  const echo = await scripted(t, (_, response) => void response.end());
  const { client } = session(echo);
  t.after(() => client.close());
  const essence = ({ method, url, headers, body }: ReceivedRequest) => ({
    method,
    url,
    authorization: headers.authorization,
    type: headers['content-type'],
    cookie: headers.cookie,
    accept: headers.accept,
    // curl asks for no coding in another way, and has another name.
    coding: headers['accept-encoding'] ?? 'identity',
    isNamed: headers['user-agent'] !== undefined,
    length: headers['content-length'] ?? headers['transfer-encoding'],
    host: headers.host,
    body,
  });
  return async (request) => {
    await client.exchange(request);
    await sh(curlLine(request, echo.baseUrl), { API_KEY: apiKey, EXHAUST_KEY: `exhaust_${apiKey}` });
    const [byKit, byCurl] = echo.received.splice(0) as [ReceivedRequest, ReceivedRequest];
    assert.deepEqual(essence(byCurl), essence(byKit), curlLine(request, echo.baseUrl));
    return byCurl;
  };
}

const key = bearer(apiKey);

test('every operation with every kind of credential', { skip: withoutCurl }, async (t) => {
  const send = await bothWays(t);
  const credentials = [
    key,
    bearer(`exhaust_${apiKey}`, 'exhaust'),
    nobody,
    invalid('', ''),
    invalid('Bearer', 'Bearer'),
    invalid('Bearer ', 'Bearer '),
    changedAt(apiKey, 20),
    surrounded('', apiKey, 'x'),
  ];
  for (const credential of credentials) await send(listPets(credential));
  const { text, shell } = inQuery(apiKey);
  for (const request of [
    listPets(key, { limit: 3, status: 'sold' }),
    getPet(key, -1n),
    listOrders(key),
    createPet(key, { name: `O'Neil "x" $HOME \`ls\` !! \\n %s`, categoryId: 1n, status: 'sold' }),
    { ...listPets(nobody), target: `/pets?key=${text}`, shellTarget: `/pets?key=${shell}` },
    { ...createPetOf(key, '{}'), headers: [] },
    {
      ...createPetOf(nobody, '{}'),
      headers: [['Content-Type', 'application/json'], ['Cookie', `token=${apiKey}`]] as const,
      shellHeaders: [['Content-Type', 'application/json'], ['Cookie', 'token=$API_KEY']] as const,
    },
    {
      ...createPetOf(key, '{}'),
      headers: [
        ['Content-Type', 'text/plain; charset="utf-8"'],
        ['X-Note', "it's"],
      ] as const,
    },
    { ...listPets(key), headers: [['Accept', 'text/csv'], ['Accept-Encoding', 'gzip, *;q=0']] as const },
    { ...listPets(key), without: 'User-Agent' },
    { ...listPets(key), without: 'Accept' },
    { ...createPetOf(key, '{}'), headers: [['Transfer-Encoding', 'chunked']] as const },
  ])
    await send(request);
});

test('bodies that a shell or curl could misinterpret', { skip: withoutCurl }, async (t) => {
  const send = await bothWays(t);
  const texts = [
    '',
    ' ',
    '\n',
    '@',
    '@/etc/passwd',
    '@x\n',
    '-',
    '-n',
    '--help\n',
    '%',
    '%s%d\n',
    '%%\0',
    '\\',
    '\\\\n\n',
    '\\000\0',
    "'",
    "'''\n",
    '"',
    '$API_KEY',
    '$(id)\n',
    '`id`',
    '!!',
    '*',
    '~',
    '#',
    '\0',
    'a\0b',
    '\r\n',
    '\t',
    '\u007f',
    '\ufeff{}',
    '{"name":"\u202e\u2028"}',
    'Ünï 🐈',
    '\n\n\n',
    'trailing\n',
    '{"a":1}',
  ];
  for (const text of texts) assert.equal(String((await send(createPetOf(key, text))).body), text);
  for (const bytes of [
    [0xff],
    [0x22, 0xe9, 0x22],
    [0xf0, 0x9f],
    [0x2d, 0xff],
    Array.from({ length: 256 }, (_, i) => i),
  ])
    await send(createPetOf(key, Uint8Array.from(bytes)));
});

test('any body', { skip: withoutCurl }, async (t) => {
  const send = await bothWays(t);
  const special = fc
    .array(fc.constantFrom(...`@-%\\'"$\`!{}\n\r\0\u007fé🐈 01234567nx`), { maxLength: 20 })
    .map((parts) => Buffer.from(parts.join('')));
  await fc.assert(
    fc.asyncProperty(fc.oneof(special, fc.uint8Array({ maxLength: 40 })), async (body) => {
      await send(createPetOf(key, body));
    }),
    { numRuns: 60 },
  );
});

const moment = { at: 0, turn: 0 };
const answerOf = (request: Request, status: number, body: string, headers: [string, string][] = []) =>
  new Response(request, { status, isReused: false, headers, body: Buffer.from(body) }, moment, moment);

test('a path is sent as it is written', { skip: withoutCurl }, async (t) => {
  const send = await bothWays(t);
  for (const path of ['/pets/', '//pets', '/./pets', '/x/../pets', '/pets/.', '/pets%2f', '/pets;a=b', '/pets\\'])
    assert.equal((await send(other(nobody, 'GET', path))).url, `/v1${path}`);
});

test('descriptions of requests do not contain the key', () => {
  const { text, shell } = inQuery(apiKey);
  const request: Request = { ...listPets(nobody), target: `/pets?key=${text}`, shellTarget: `/pets?key=${shell}` };
  for (const words of [
    nameOf(request),
    summary(answerOf(request, 401, '{}')),
    curlLine(request, 'http://x/v1'),
    curlLine(listPets(key), 'http://x/v1'),
  ])
    assert.ok(!words.includes(apiKey), words);
  assert.equal(
    curlLine(request, 'https://x/$a/v1'),
    `printf 'url = "%s"\\n' "https://x/\\$a/v1/pets?key=$API_KEY" | curl -i -K -`,
  );
});

test('no argument of curl contains the key or a part of it', async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'curl'), '#!/bin/sh\nprintf "<%s>" "$@"\n', { mode: 0o755 });
  const { text, shell } = inQuery(apiKey);
  const headers = { headers: [['X-Api-Key', apiKey]], shellHeaders: [['X-Api-Key', '$API_KEY']] } as const;
  for (const request of [
    listPets(key),
    createPetOf(key, 'a\nb'),
    { ...createPetOf(surrounded('', apiKey, 'x'), 'a\nb'), before: [listPets(key), createPetOf(key, '\0')] },
    { ...listPets(changedAt(apiKey, 20)), target: `/pets?key=${text}`, shellTarget: `/pets?key=${shell}`, ...headers },
  ]) {
    const environment = { API_KEY: apiKey, PATH: `${folder}:${process.env['PATH']}` };
    const printed = await sh(curlLine(request, 'http://x/v1'), environment);
    assert.match(printed, /^<-i>.*<(-H><@-|-K><-|@-)>/);
    assert.ok(!printed.includes(apiKey.slice(0, 8)) && !printed.includes(apiKey.slice(-8)), printed);
  }
});

test('a curl line spells header names as the kit does', { skip: withoutCurl }, async (t) => {
  const send = await bothWays(t);
  for (const headerCase of ['lower', 'upper'] as const) {
    const { rawHeaders } = await send({ ...createPetOf(key, '{}'), headerCase });
    for (const name of ['Authorization', 'Content-Type']) {
      const spelling = headerCase === 'lower' ? name.toLowerCase() : name.toUpperCase();
      assert.ok(rawHeaders.includes(spelling), `${rawHeaders}`);
    }
  }
});

test('a curl line sends what came before on the same connection', { skip: withoutCurl }, async (t) => {
  const ports: (number | undefined)[] = [];
  const echo = await scripted(t, (_, response) => {
    ports.push(response.socket!.remotePort);
    response.writeHead(200, { 'Content-Length': '0' }).end();
  });
  for (const body of ['{"name":"Rex"}', '{\n}']) {
    const request = { ...createPetOf(surrounded('', apiKey, 'x'), body), before: [listPets(key, { limit: 1 })] };
    await sh(curlLine(request, echo.baseUrl), { API_KEY: apiKey });
    const [list, create] = echo.received.splice(0);
    assert.deepEqual([list!.url, create!.body.toString()], ['/v1/pets?limit=1', body]);
    const sent = [list, create].map((one) => one!.headers.authorization);
    assert.deepEqual(sent, [`Bearer ${apiKey}`, `Bearer ${apiKey}x`]);
    const [one, other] = ports.splice(0);
    assert.equal(one, other);
  }
});

test('summary and transcript of a response', () => {
  const list = answerOf(listPets(key, { limit: 2 }), 200, '[{"id":1,"name":"Rex","categoryId":1}]', [['X-A', '1']]);
  assert.equal(summary(list), 'GET /pets?limit=2 → 200, 1 animal');
  assert.equal(transcript(list), 'HTTP 200\nX-A: 1\n\n[{"id":1,"name":"Rex","categoryId":1}]');
  assert.match(
    summary(answerOf(createPetOf(key, 'x'.repeat(500)), 400, '')),
    /^POST \/pets x{80}… \(500 characters\) → 400$/,
  );
});

test('headers are found in any case; an integer is a single value of digits', () => {
  const of = (...values: string[]) =>
    answerOf(
      listPets(key),
      200,
      '',
      values.map((value) => ['x-RATELIMIT-limit', value]),
    ).integer('X-RateLimit-Limit');
  assert.deepEqual([of('60'), of('-1'), of('0060')], [60, -1, 60]);
  for (const values of [[], ['60', '60'], ['60, 60'], ['60.0'], ['1e3'], ['0x1'], [' 60'], ['']])
    assert.equal(of(...values), undefined, `${values}`);
});
