/** Each fault is visible: some hundred ordinary requests get other responses than from a server without the fault. */
import assert from 'node:assert/strict';
import { Agent, request } from 'node:http';
import { test } from 'node:test';
import { startSmallServer } from '../server/small-server.ts';
import type { Change } from '../table/changes.ts';
import { firstFamilies } from './families.ts';
import { faultsOf } from './family.ts';
import { limiterHooks, limiters } from './limiters.ts';

const secret = 'test_Qm7rT2xVb9KdLw4sHc8NpZa3';
const free = 'other_Xg5uJ8eRy1WfMk6tBv0DnSq9';
const start = Date.UTC(2026, 10, 21, 12, 0, 5, 250);

class Differs extends Error {}

/** The responses to a fixed sequence of requests. Rejects with `Differs` at the first that is not as expected. */
async function transcript(
  hooks: Change,
  isOfLimits: boolean,
  expected?: readonly string[],
): Promise<readonly string[]> {
  // Without a step, requests on two connections arrive at the same time.
  let [now, step] = [start, 3];
  const clock = { now: () => now, sleep: () => Promise.resolve() };
  const server = await startSmallServer({
    clock,
    keys: [
      { secret, plan: 'business' },
      { secret: free, plan: 'free' },
    ],
    hooks,
  });
  const agents = [0, 1].map(() => new Agent({ keepAlive: true, maxSockets: 1 }));
  const lines: string[] = [];
  let retryAfter = 0;
  const ask = async (
    method: string,
    path: string,
    given: {
      readonly authorization?: string;
      readonly body?: string;
      readonly on?: 0 | 1;
      readonly chunked?: boolean;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<string> => {
    const { authorization = `Bearer ${secret}`, body, on = 0, chunked = false } = given;
    const headers = {
      ...(authorization !== '' && { authorization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...(body !== undefined && !chunked && { 'content-length': String(Buffer.byteLength(body)) }),
      ...given.headers,
    };
    const line = await new Promise<string>((resolve, reject) => {
      const sent = request(`${server.baseUrl}${path}`, { method, agent: agents[on]!, headers }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => void chunks.push(chunk));
        response.on('end', () => {
          retryAfter = Number(response.headers['retry-after'] ?? 0) || 0;
          const rates = response.rawHeaders.filter((_, i, all) =>
            /^(x-ratelimit|retry|content-type)/i.test(all[i & ~1]!),
          );
          resolve(
            `${method} ${path} ${response.statusCode} ${rates.join()} ${Buffer.concat(chunks).toString('latin1')}`,
          );
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
    now += step;
    if (expected !== undefined && line !== expected[lines.length]) throw new Differs();
    lines.push(line);
    return line;
  };
  const idOf = (line: string): string => /"id":(\d+)/.exec(line)?.[1] ?? '1';
  const operations = (authorization: string, on: 0 | 1 = 0) => [
    () => ask('GET', '/pets', { authorization, on }),
    () => ask('GET', '/pets?limit=1', { authorization, on }),
    () => ask('GET', '/pets?status=sold', { authorization, on }),
    () => ask('GET', '/pets/3', { authorization, on }),
    () => ask('GET', '/pets/999999', { authorization, on }),
    () => ask('POST', '/pets', { authorization, on, body: '{"name":"a","categoryId":1}' }),
    () => ask('POST', '/pets', { authorization, on, body: '{}' }),
    () => ask('GET', '/store/orders', { authorization, on }),
  ];
  const all = async (authorization: string, on: 0 | 1 = 0) => {
    for (const operation of operations(authorization, on)) await operation();
  };

  const askAll = async () => {
    await ask('GET', '/pets');
    await all(`Bearer ${secret}`);
    if (isOfLimits) {
      const authorization = `Bearer ${free}`;
      const lists = async (count: number, pause = 0, on: 0 | 1 = 0) => {
        for (let i = 0; i < count; i += 1) {
          await ask('GET', '/pets?limit=1', { authorization, on });
          now += pause;
        }
      };
      await all(authorization);
      await lists(20);
      await lists(3, 1_100, 1);
      now += 21_000;
      await lists(62);
      await all(authorization, 1);
      await lists(10, 400);
      now += retryAfter * 1_000;
      await lists(5);
      now += 61_000;
      await lists(4, 1_000);
      for (let i = 0; i < 40; i += 1) await lists(1, 0, (i % 2) as 0 | 1);
      await lists(30);
      now += 1_000;
      await lists(2);
      now += 200_000;
      await lists(90);
      await lists(20, 1_500);
    } else {
      for (const status of ['available', 'pending', 'sold']) {
        for (const limit of [1, 2, 3, 5, 7, 9, 10, 15, 20, 21, 50, 100]) {
          await ask('GET', `/pets?limit=${limit}`);
          await ask('GET', `/pets?limit=${limit}&status=${status}`);
          await ask('GET', `/pets?status=${status}&limit=${limit}`);
        }
        await ask('GET', `/pets?status=${status}`);
      }
      for (const query of [
        'status=%73old',
        '%73tatus=sold',
        'limit=%35',
        'limit=5&',
        '&limit=5',
        'limit=5&&status=sold',
        'status=sold&',
        '&status=sold',
      ])
        await ask('GET', `/pets?${query}`);
      const ids = ['1', '2', '3', '4', '5', '6', '7', '8', '9', '10', '11', '12'];
      for (const id of [...ids, '0', '-1', '500', '100000', '3000000000', '9007199254740993', '9223372036854775807'])
        await ask('GET', `/pets/${id}`);
      const created: string[] = [];
      const names = [
        'plain name that is long enough to be cut somewhere by a database '.repeat(5),
        '<b>x</b> & "y"',
        "O'Hara",
        'a\\b',
        '\u{1f436}',
        'caf\u00e9',
        'cafe\u0301',
        '\u0152',
        ' padded ',
        'two  spaces',
        'tab\tline\n',
        'nul\0x',
        'zero\u200bwidth',
        '\u2028',
        'no\u00a0break',
        '\u201cq\u201d',
        'ALL',
        '%41',
        'a+b',
        '&amp;',
        '007',
        '1e3',
        'null',
        '',
        '{{x}}',
        '$HOME',
        '=1',
        '\ufb01',
        'a/b',
        'a,b',
        'bell\u0007',
      ];
      const categories = [
        '1',
        '-1',
        '0',
        '70000',
        '2147483648',
        '4294967296',
        '9007199254740993',
        '9223372036854775807',
        '-9223372036854775808',
        '123456789012345678',
      ];
      let turn = 0;
      for (const name of names) {
        const [category, status] = [categories[turn % 10], ['available', 'pending', 'sold'][turn % 3]];
        const on = (turn % 2) as 0 | 1;
        const body = `{"name":${JSON.stringify(name)},"categoryId":${category},"status":"${status}"}`;
        created.push(idOf(await ask('POST', '/pets', { body, on })));
        await ask('GET', `/pets/${created.at(-1)}`, { on });
        if (turn % 4 === 0) await ask('GET', '/pets?limit=5', { on });
        turn += 1;
      }
      for (const category of categories) {
        created.push(idOf(await ask('POST', '/pets', { body: `{"name":"c","categoryId":${category}}` })));
        await ask('GET', `/pets/${created.at(-1)}`);
      }
      await ask('GET', '/pets?limit=100');
      for (const status of ['available', 'pending', 'sold']) {
        const body = `{"status":"${status}","categoryId":1,"name":"same"}`;
        created.push(idOf(await ask('POST', '/pets', { body })), idOf(await ask('POST', '/pets', { body, on: 1 })));
        await ask('GET', `/pets?status=${status}&limit=100`, { on: 1 });
      }
      for (const body of [
        '\n{"name":"a","categoryId":1}\n',
        '{\n"name" : "a",\n"categoryId" : 1}',
        '{"categoryId":1,"name":"a"}',
        '{"n\\u0061me":"a","categoryId":1}',
      ])
        await ask('POST', '/pets', { body });
      await ask('POST', '/pets', { body: '{"name":"a","categoryId":1}', chunked: true });
      for (const type of ['application/json; charset=utf-8', 'Application/JSON'])
        await ask('POST', '/pets', { body: '{"name":"a","categoryId":1}', headers: { 'content-type': type } });
      const wrong = [
        'null',
        'true',
        'false',
        '[]',
        '{}',
        '5',
        '1.5',
        '"1"',
        '"abc"',
        '""',
        '1e30',
        '9223372036854775808',
        '"Sold"',
        '" sold "',
        '"so"',
        '["sold"]',
        '"reserved"',
      ];
      for (const value of wrong) {
        await ask('POST', '/pets', { body: `{"name":${value},"categoryId":1}` });
        await ask('POST', '/pets', { body: `{"name":"a","categoryId":${value}}` });
        await ask('POST', '/pets', { body: `{"name":"a","categoryId":1,"status":${value}}` });
      }
      for (const body of ['', '[]', '{}', '{"name":"a"}', '{"categoryId":1}', 'null'])
        await ask('POST', '/pets', { body });
      for (const headers of [{ AUTHORIZATION: `Bearer ${secret}` }, { HOST: '127.0.0.1' }, { ACCEPT: '*/*' }])
        await ask('GET', '/pets', { authorization: 'AUTHORIZATION' in headers ? '' : `Bearer ${secret}`, headers });
      await ask('POST', '/pets', {
        body: '{"name":"a","categoryId":1}',
        headers: { 'CONTENT-TYPE': 'application/json' },
      });
      const clientHeaders = {
        accept: 'text/html, application/json;q=0.9, */*;q=0.8',
        origin: 'https://a.example',
        cookie: 'a=b',
        'accept-language': 'de',
        'content-type': 'application/json',
      };
      for (const [name, value] of Object.entries(clientHeaders))
        await ask('GET', '/pets', { headers: { [name]: value } });
      await ask('GET', '/pets', { headers: { accept: 'application/*' } });
      for (const id of created) await ask('GET', `/pets/${id}`, { on: 1 });
      now += 40_000;
      for (const id of created) await ask('GET', `/pets/${id}`);
      await ask('GET', '/pets?limit=100');
      for (let read = 0; read < 15; read += 1) await ask('GET', `/pets/${created[0]}`);
      step = 0;
      for (const category of [5, 6, 7, 8]) {
        const on = (category % 2) as 0 | 1;
        const body = `{"name":"${category}","categoryId":${category}}`;
        await ask('GET', `/pets/${idOf(await ask('POST', '/pets', { body, on }))}`, { on });
        for (const path of [
          '/pets?status=sold',
          '/pets?status=pending',
          '/pets?limit=2',
          '/pets?limit=50',
          '/pets/3',
          '/pets/4',
        ])
          for (const connection of [0, 1] as const) await ask('GET', path, { on: connection });
        await ask('GET', '/pets/3');
        await ask('GET', '/pets/999999', { on: 1 });
        await ask('GET', '/pets', { authorization: 'Bearer x' });
      }
      step = 3;
      const encoded = (form: (code: string) => string) => form(secret.charCodeAt(0).toString(16)) + secret.slice(1);
      const tokens = [
        '',
        'x',
        secret.toLowerCase(),
        encoded((code) => `%${code}`),
        encoded((code) => `%25${code}`),
        Buffer.from(secret).toString('base64'),
        Buffer.from(secret).toString('hex'),
        secret.replaceAll('_', '-'),
        `&#${secret.charCodeAt(0)};${secret.slice(1)}`,
        encoded((code) => `\\u00${code}`),
        `${secret.slice(0, 5)} ${secret.slice(5)}`,
        secret + secret,
        Buffer.from(`\uff54${secret.slice(1)}`).toString('latin1'),
        `${secret.slice(0, 5)}~${secret.slice(5)}`,
        ...['""', "''", '<>', '[]', '{}', '()', '``', '%%', '**'].map(([open, close]) => `${open}${secret}${close}`),
        ...['.', ',', ';', '=', '==', '/', '\\', '&', '#', '%00', '\\n', '%0A', '!', '*', '-', '_'].map(
          (end) => secret + end,
        ),
        ...['Bearer ', 'token=', 'key=', 'key:', 'Token ', 'api_key=', ':', '=', '/', '.'].map(
          (begin) => begin + secret,
        ),
        ...[',', ', ', ';', ' ', '&', '|', ':', '.', '#', '?', '/', '--', '%20'].flatMap((mark) => [
          `${secret}${mark}x`,
          `x${mark}${secret}`,
        ]),
        ...Array.from(secret, (_, i) => secret.slice(0, i + 1)),
        ...Array.from(secret, (_, i) => `${secret.slice(0, i)}~${secret.slice(i + 1)}`),
        ...Array.from(secret, (_, i) => secret.slice(0, i + 1).padEnd(secret.length, '~')),
        ...Array.from(secret, (_, i) => secret.slice(i + 1).padStart(secret.length, '~')),
        secret[0]!.toUpperCase() + secret.slice(1),
        `${secret}x`,
        `x${secret}`,
        `x${secret}x`,
        [...secret].reverse().join(''),
        secret[1]! + secret[0]! + secret.slice(2),
        'test',
        'null',
        'undefined',
        'admin',
        'demo',
        'special-key',
        'secret',
        'changeme',
        'guest',
        'true',
        '0',
        '1',
        '*',
        'token',
        'invalid',
      ].map((token) => `Bearer ${token}`);
      const schemes = [
        'Basic',
        'Token',
        'ApiKey',
        'Digest',
        'JWT',
        'Key',
        'Api-Key',
        'Apikey',
        'OAuth',
        'X',
        'Bearer:',
        'Bear',
        'BearerX',
      ].map((scheme) => `${scheme} ${secret}`);
      const forms = [
        ...tokens,
        ...schemes,
        secret,
        `Bearer${secret}`,
        `Bearer=${secret}`,
        `x Bearer ${secret}`,
        'x',
        'Basic eDp4',
        `Basic ${Buffer.from(`${secret}:x`).toString('base64')}`,
        `Basic ${Buffer.from(`x:${secret}`).toString('base64')}`,
        'Bearer',
      ];
      for (const authorization of forms) {
        await ask('GET', '/pets');
        await ask('GET', '/pets', { authorization });
        await ask('GET', '/pets/3', { authorization });
        await ask('POST', '/pets', { authorization, body: '{"name":"a","categoryId":1}' });
        await ask('GET', '/store/orders', { authorization });
      }
      await ask('GET', '/pets');
      for (const authorization of ['', 'Bearer x', 'Bearer', 'x', 'Basic eDp4', `Bearer ${'x'.repeat(80)}`]) {
        await all(authorization);
        await ask('GET', '/pets');
        await ask('POST', '/pets', { authorization, body: '' });
        await ask('POST', '/pets', { authorization, body: '{"name":"a","categoryId":1,"status":"reserved"}' });
        await ask('GET', '/pets?limit=2', { authorization });
        await all(`Bearer ${secret}`);
      }
      const elsewhere = [
        'X-API-Key',
        'Api-Key',
        'X-Auth-Token',
        'X-Access-Token',
        'X-Authorization',
        'Token',
        'Proxy-Authorization',
      ].map((name) => ({ [name]: name.startsWith('Proxy') ? `Bearer ${secret}` : secret }));
      const cookies = ['token', 'session', 'api_key', 'access_token', 'Authorization'].map((name) => ({
        cookie: `${name}=${secret}`,
      }));
      for (const headers of [...elsewhere, ...cookies]) {
        await ask('GET', '/pets', { authorization: '', headers });
        await ask('GET', '/pets/3', { authorization: '', headers });
        await ask('GET', '/store/orders', { authorization: '', headers });
        await ask('POST', '/pets', { authorization: '', headers, body: '{"name":"a","categoryId":1}' });
      }
      for (const name of ['api_key', 'apikey', 'key', 'access_token', 'token', 'auth']) {
        await ask('GET', `/pets?${name}=${secret}`, { authorization: '' });
        await ask('GET', `/pets/3?${name}=${secret}`, { authorization: '' });
        await ask('GET', `/store/orders?${name}=${secret}`, { authorization: '' });
        await ask('POST', `/pets?${name}=${secret}`, { authorization: '', body: '{"name":"a","categoryId":1}' });
      }
    }
  };
  try {
    await askAll();
    return lines;
  } finally {
    agents.forEach((agent) => agent.destroy());
    await server.close();
  }
}

/** Whether a server responds otherwise than another one. */
async function differs(hooks: Change, isOfLimits: boolean, expected: readonly string[]): Promise<boolean> {
  try {
    await transcript(hooks, isOfLimits, expected);
    return false;
  } catch (error) {
    if (error instanceof Differs) return true;
    throw error;
  }
}

test('each fault of the first families changes a response', async () => {
  const plain = [await transcript({}, false), await transcript({}, true)] as const;
  const limited = new Map<string, readonly string[]>();
  const invisible: string[] = [];
  for (const family of firstFamilies) {
    for (const { id, text, hooks } of faultsOf(family, 1)) {
      const limiter = limiters.find((one) => text.startsWith(`${one.id}: `));
      if (limiter !== undefined) {
        const expected = limited.get(limiter.id) ?? (await transcript(limiterHooks(limiter), true));
        limited.set(limiter.id, expected);
        if (!(await differs(hooks, true, expected))) invisible.push(`${id}: ${text}`);
      } else if (!(await differs(hooks, false, plain[0])) && !(await differs(hooks, true, plain[1]))) {
        invisible.push(`${id}: ${text}`);
      }
    }
  }
  assert.deepEqual(invisible, []);
});
