/** Requests of every kind, each of which every variant must answer as the specification has it. */

export const secrets = { business: 'bk_Q7rT2mXv9LdK4nWs8ZbC3hYf', free: 'fk_u5JgE8tRw1PzN6cVq3XaM9Hk' } as const;

/** A request, or how many ms the clock moves. */
export type Probe =
  readonly [method: string, path: string, authorization?: string | undefined, body?: string | undefined] | number;

const secret = secrets.business;
const free = `Bearer ${secrets.free}`;
const half = secret.length >> 1;

const operations: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/pets'],
  ['POST', '/pets'],
  ['GET', '/pets/1'],
  ['GET', '/store/orders'],
];
const oneBody = '{"name":"Rex","categoryId":1}';

const wrongKeys: readonly string[] = [
  '',
  'Bearer',
  secret,
  `Basic ${secret}`,
  `Basic ${Buffer.from(`${secret}:`).toString('base64')}`,
  ...[secret.slice(0, -1), `${secret}x`, `x${secret}`, secret.toUpperCase()].map((key) => `Bearer ${key}`),
  ...[`x${secret.slice(1)}`, `${secret.slice(0, -1)}x`].map((key) => `Bearer ${key}`),
  ...[half, secret.length - 3].map((at) => `Bearer ${secret.slice(0, at)}!${secret.slice(at + 1)}`),
  `Bearer ${secret.slice(0, -2)}${secret.slice(-1)}${secret.slice(-2, -1)}`,
];

const invalidBodies: readonly string[] = [
  '',
  '[]',
  `[${oneBody}]`,
  'null',
  JSON.stringify(oneBody),
  '{}',
  '{"name":"a"}',
  '{"categoryId":1}',
  '{"name":"a","status":"sold"}',
  '{"name":null,"categoryId":1}',
  '{"name":"a","categoryId":null}',
  '{"name":"a","categoryId":1,"status":null}',
  ...['7', 'true', '["a"]', '{}'].map((name) => `{"name":${name},"categoryId":1}`),
  ...['"5"', 'true', '[]', '""', '1.5', '-2.5', '3.00000000000000000001', '15e-1'].map(
    (category) => `{"name":"a","categoryId":${category}}`,
  ),
  ...['9223372036854775808', '-9223372036854775809', '99999999999999999999', '1e19'].map(
    (category) => `{"name":"a","categoryId":${category}}`,
  ),
  ...[
    '1',
    '["sold"]',
    'false',
    '{}',
    '"SOLD"',
    '" sold "',
    '"sol"',
    '"solds"',
    '"adopted"',
    '""',
    '"adopted by somebody else"',
  ].map((status) => `{"name":"a","categoryId":1,"status":${status}}`),
  '{"name":"a","categoryId":1,}',
  '{"name":"a",/* */"categoryId":1}',
  "{'name':'a','categoryId':1}",
  '{name:"a",categoryId:1}',
  `${oneBody}garbage`,
  `${oneBody}${oneBody}`,
  '{"name":"a","categoryId":1',
  '{"name":"a","categoryId":01}',
  '{"name":"a","categoryId":NaN}',
  '{"name":"a","categoryId":+1}',
  '{"name":"a\nb","categoryId":1}',
  'name=a&categoryId=1',
];

const names: readonly string[] = [
  ' a ',
  'a  b',
  'a\tb',
  'a\r\nb',
  'a\x7fb',
  'a\0b',
  'e\u0301',
  '\u00e9',
  '\uff21\uff22',
  'Ab',
  'ab',
  '&<>',
  '<b>a</b>',
  '&amp;',
  'a%20b',
  'a+b',
  'a\\nb',
  'a\\b',
  'a"b',
  '\u2018a\u2019',
  "a'b",
  'a'.repeat(300),
  'a'.repeat(32),
  'a\u2028b',
  'a\u200db',
  'a\u00adb',
  'a\ufeffb',
  'a\u200eb',
  'a\u00a0b',
  'a\ufe0fb',
  '\u{1f436}',
  '\u{20000}',
  '\ue000',
  '\uffff',
  '\ud800',
  '007',
  '1e3',
  'null',
  'constructor',
  '${a}',
  'a;b',
  'twin',
  'twin',
];

const categories: readonly string[] = [
  '0',
  '-1',
  '16777217',
  '2147483648',
  '9007199254740993',
  '-9007199254740993',
  '1234567890123456789',
  '9223372036854775807',
  '-9223372036854775808',
];

const created = (name: string, category: string, status?: string): string =>
  `{"name":${JSON.stringify(name)},"categoryId":${category}${status === undefined ? '' : `,"status":"${status}"`}}`;
const seeds = 130;

/** One after the other; the ids are those of a server with 130 animals. */
export const probes: readonly Probe[] = [
  ...operations.map(([method, path]): Probe => [method, path, undefined, method === 'POST' ? oneBody : undefined]),
  ...['1', '5', '20', '35', '60', '100'].flatMap((limit): Probe[] => [
    ['GET', `/pets?limit=${limit}`],
    ...['available', 'pending', 'sold'].flatMap((status): Probe[] => [
      ['GET', `/pets?limit=${limit}&status=${status}`],
      ['GET', `/pets?status=${status}`],
    ]),
  ]),
  ...['0', '4', '3', '10', '15', '999999', '4294967297', '99999999999'].map((id): Probe => ['GET', `/pets/${id}`]),
  ...wrongKeys.flatMap((key) =>
    operations.map(([method, path]): Probe => [method, path, key, method === 'POST' ? oneBody : undefined]),
  ),
  ['GET', '/pets/999999', ''],
  ['GET', `/pets?api_key=${secret}`, ''],
  ['GET', `/store/orders?access_token=${secret}`, ''],
  ...invalidBodies.map((body): Probe => ['POST', '/pets', undefined, body]),
  ...['available', 'pending', 'sold', 'available'].map((status): Probe => [
    'POST',
    '/pets',
    undefined,
    created('Rex', '1', status),
  ]),
  60_000,
  ...names.flatMap((name, at): Probe[] => [
    ['POST', '/pets', undefined, created(name, String(((at >> 1) % 5) + 1))],
    ['GET', `/pets/${seeds + 6 + at}`],
  ]),
  ...categories.map((category): Probe => ['POST', '/pets', undefined, created('c', category)]),
  ...Array.from({ length: names.length + categories.length + 6 }, (_, at): Probe => ['GET', `/pets/${seeds + at}`]),
  ...Array.from({ length: 3 }, (): Probe => ['GET', `/pets/${seeds + 6}`]),
  ...['', '&status=available'].map((filter): Probe => ['GET', `/pets?limit=100${filter}`]),
  60_000,
  // Down to 429 with the key of the smaller plan, and back.
  ...Array.from({ length: 58 }, (_, at): Probe => ['GET', at % 2 === 0 ? '/pets?limit=1' : '/pets/1', free]),
  ...Array.from({ length: 5 }, (): Probe => ['GET', '/pets?limit=1', free]),
  ...operations.map(([method, path]): Probe => [method, path, free, method === 'POST' ? oneBody : undefined]),
  ['GET', '/pets?status=sold', free],
  55_000,
  ['GET', '/pets?limit=1', free],
  20_000,
  ['GET', '/pets?limit=1', free],
];
