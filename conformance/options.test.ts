/** Every flag is read, and every mistake is an error of one line that names the flag. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { help, isLoopback, readOptions, secretsIn, UsageError, type Options } from './options.ts';
import { requirements } from './requirements/requirements.ts';

const url = 'http://127.0.0.1:8080/v1';
const key = 'test_abcdef';
const server = ['--base-url', url, '--api-key', key];

function read(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Options {
  const options = readOptions(args, environment);
  if (options === 'help' || 'list' in options) throw new Error('asks for a text');
  return options;
}

test("without options: this project's own server, all requirements, always the same seed", () => {
  assert.deepEqual(read([]), {
    seed: 1,
    only: [],
    strict: false,
    readOnly: false,
    mayWriteElsewhere: false,
    exhaust: false,
    thoroughAuth: false,
    runs: 20,
  });
});

test('every flag', () => {
  const cases: [args: string[], expected: Partial<Options>][] = [
    [server, { baseUrl: url, apiKey: key }],
    [['--base-url', 'HTTPS://Staging.Example/a/v1/', '--api-key', key], { baseUrl: 'https://staging.example/a/v1' }],
    [['--base-url', 'http://[::1]:80/v1', '--api-key', key], { baseUrl: 'http://[::1]/v1' }],
    [['--only', 'list.,get.not-found'], { only: ['list.', 'get.not-found'] }],
    [['--only', 'list.limit,'], { only: ['list.limit'] }],
    [['--exclude', 'list.,create.null'], { exclude: ['list.', 'create.null'] }],
    [['--known', 'k.txt'], { knownFile: 'k.txt' }],
    [['--runs', '200'], { runs: 200 }],
    [['--seed', '-42'], { seed: -42 }],
    [['--seed=-42'], { seed: -42 }],
    [['--only', 'create.name', '--seed', '42', '--path', '3:0:1'], { path: '3:0:1', seed: 42 }],
    [['--category-id', '-9223372036854775808'], { categoryId: -(2n ** 63n) }],
    [['--category-id', '9223372036854775807'], { categoryId: 2n ** 63n - 1n }],
    [['--strict'], { strict: true }],
    [['--min-judged', '55'], { minJudged: 55 }],
    [['--thorough-auth'], { thoroughAuth: true }],
    [['--read-only'], { readOnly: true }],
    [['--write'], { mayWriteElsewhere: true }],
    [['--max-requests', '1'], { maxRequests: 1 }],
    [['--exhaust', '--exhaust-key', 'another', '--plan', 'pro'], { exhaust: true, exhaustKey: 'another', plan: 'pro' }],
    [['--report', 'a b'], { report: 'a b' }],
    [['--compare', 'x.json'], { compare: 'x.json' }],
  ];
  for (const [args, expected] of cases) {
    // parseArgs takes a negative number only in the form --flag=-1.
    const given = args.flatMap((arg, i) =>
      /^-\d/.test(arg) ? [] : /^-\d/.test(args[i + 1] ?? '') ? [`${arg}=${args[i + 1]}`] : [arg],
    );
    const options: Partial<Record<string, unknown>> = { ...read(given) };
    for (const [name, value] of Object.entries(expected))
      assert.deepEqual(options[name], value, `${args.join(' ')}: ${name}`);
  }
});

test('flags take precedence over the environment', () => {
  const environment = { BASE_URL: url, API_KEY: key, EXHAUST_KEY: 'exhaust_key' };
  assert.equal(read([], environment).baseUrl, url);
  assert.equal(read([], environment).apiKey, key);
  assert.equal(read([], environment).exhaustKey, 'exhaust_key');
  const both = read(
    ['--base-url', 'http://other/v1', '--api-key', 'other_key', '--exhaust-key', 'third_key'],
    environment,
  );
  assert.deepEqual([both.baseUrl, both.apiKey, both.exhaustKey], ['http://other/v1', 'other_key', 'third_key']);
  assert.equal(read(['--base-url', url], { API_KEY: key }).apiKey, key);
  assert.equal(read([], { BASE_URL: '', API_KEY: '', EXHAUST_KEY: '' }).baseUrl, undefined);
});

describe('mistakes', () => {
  const cases: [args: string[], message: RegExp][] = [
    [['--base-url', 'http://x/v2', '--api-key', key], /--base-url .*\/v1/],
    [['--base-url', 'http://x', '--api-key', key], /--base-url .*\/v1/],
    [['--base-url', 'http://x/v1/pets', '--api-key', key], /--base-url .*\/v1/],
    [['--base-url', 'x/v1', '--api-key', key], /--base-url .*not a URL/],
    [['--base-url', 'ftp://x/v1', '--api-key', key], /--base-url .*http:\/\/ or https:\/\//],
    [['--base-url', 'http://me:secret@x/v1', '--api-key', key], /--base-url .*user.*--api-key/],
    [['--base-url', 'http://x/v1?a=b', '--api-key', key], /--base-url .*query/],
    [['--base-url', 'http://x/v1#a', '--api-key', key], /--base-url .*fragment/],
    [['--base-url', url], /--base-url needs a key: .*API_KEY/],
    [['--api-key', key], /key without a server: set --base-url/],
    [['--base-url', url, '--api-key', 'short'], /--api-key must be 6 or more/],
    [['--base-url', url, '--api-key', 'with space'], /--api-key .*printable/],
    [['--base-url', url, '--api-key', 'with\nline'], /--api-key .*printable/],
    [['--base-url', url, '--api-key', 'schlüssel'], /--api-key .*ASCII/],
    [['--exhaust-key', 'x'], /--exhaust-key must be/],
    [['--plan', 'enterprise'], /--plan must be free or pro or business, not enterprise/],
    [['--only', 'lists'], /--only lists: no requirement .*--list/],
    [['--only', 'list.,nothing'], /--only nothing/],
    [['--exclude', 'lists'], /--exclude lists: no requirement .*--list/],
    [['--only', 'list.limit', '--exclude', 'list.'], /--exclude leaves no requirement to check/],
    [['--runs', '0'], /--runs must be an integer from 1 to 100000, not 0/],
    [['--runs', '1.5'], /--runs must be an integer/],
    [['--runs', '1e3'], /--runs must be an integer/],
    [['--runs', ''], /--runs must be an integer/],
    [['--seed', 'x'], /--seed must be an integer/],
    [['--seed', '2147483648'], /--seed must be an integer/],
    [['--min-judged', '0'], /--min-judged must be an integer from 1 to \d+, not 0/],
    [['--min-judged', '1000'], /--min-judged must be an integer from 1/],
    [['--min-judged', '2', '--only', 'list.limit'], /--min-judged 2: only 1 of \d+ requirements are selected$/],
    [['--seed', '-1'], /^--seed needs a value; .* hyphen is written as --seed=-1$/],
    [['--list', '--only', 'lists'], /--only lists: no requirement/],
    [['--max-requests', '0'], /--max-requests must be an integer from 1/],
    [['--category-id', '9223372036854775808'], /--category-id must be a 64-bit integer/],
    [['--category-id', 'cat'], /--category-id must be/],
    [['--path', 'x', '--only', 'create.name', '--seed', '1'], /--path x is not a path/],
    [['--path', '9999999:0', '--only', 'create.name', '--seed', '1'], /--path 9999999:0 is not a path/],
    [['--path', '1:0', '--only', 'create.name'], /--path needs one requirement and a seed/],
    [['--path', '1:0', '--seed', '1'], /--path needs/],
    [['--path', '1:0', '--seed', '1', '--only', 'list.'], /--path needs/],
    [['--write', '--read-only'], /--write and --read-only cannot be combined/],
    [['--unknown'], /--unknown/],
    [['--base-url'], /--base-url/],
    [['--strict=yes'], /--strict/],
    [['stray'], /stray/],
    [['--base-url', '--api-key', key], /--base-url/],
  ];
  for (const [args, message] of cases) {
    test(args.join(' '), () => {
      assert.throws(
        () => readOptions(args, {}),
        (error) => {
          assert.ok(error instanceof UsageError);
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /\n/);
          assert.ok(!error.message.includes(key) && !error.message.includes('secret'), error.message);
          return true;
        },
      );
    });
  }
});

test('the message for an invalid key or base URL names its source, and does not contain the key', () => {
  const cases: [value: string, why: RegExp][] = [
    [`${key}\n`, /, but contains a line break$/],
    [`${key}\r\n`, /, but contains a line break$/],
    [`${key}\n${key}`, /, but contains a line break$/],
    [`${key} `, /, but contains a space or a tab$/],
    [`${key}ü`, /, but contains a character that is not printable ASCII$/],
    [`${key}\0`, /, but contains a character that is not printable ASCII$/],
    ['short', /, but has fewer than 6$/],
    [`\ufeff${key}`, /, the key alone, but begins with a byte order mark: /],
    [`Bearer ${key}`, /, but begins with a scheme such as Bearer, /],
    [`Authorization: bearer ${key}`, /, but begins with a scheme /],
    [`API_KEY=${key}`, /, but begins with the name of a variable$/],
    [`"${key}"`, /, but is in quotes$/],
    [`'${key}'\n`, /, but is in quotes$/],
    [`“${key}”`, /, but is in quotes$/],
    ['${API_KEY}', /, but is a placeholder, /],
    ['<your key>', /, but is a placeholder, /],
  ];
  for (const [value, why] of cases) {
    const sources: [args: string[], environment: NodeJS.ProcessEnv, source: string][] = [
      [[], { BASE_URL: url, API_KEY: value }, 'API_KEY'],
      [['--base-url', url, '--api-key', value], { API_KEY: key }, '--api-key'],
      [server, { EXHAUST_KEY: value }, 'EXHAUST_KEY'],
      [[...server, '--exhaust-key', value], {}, '--exhaust-key'],
    ];
    for (const [args, environment, source] of sources) {
      assert.throws(
        () => readOptions(args, environment),
        ({ message }: Error) =>
          message.startsWith(`${source} must be `) && why.test(message) && !message.includes(value.trim()),
      );
    }
  }
  assert.throws(() => readOptions([], { BASE_URL: 'http://x', API_KEY: key }), /^UsageError: BASE_URL must end in/);
});

test('a key without its flag is not repeated', () => {
  assert.throws(() => readOptions([key], {}), /^UsageError: one of the words is neither a flag nor the value of one/);
  const args = ['--api-key', key, '--neighbour-key=quiet_key_1', '--exhaust-key=x'];
  const environment = { API_KEY: 'environment_key', NEIGHBOUR_KEY: 'x', EXHAUST_KEY: 'tired_key_1' };
  assert.deepEqual(secretsIn(args, environment), [key, 'quiet_key_1', 'environment_key', 'tired_key_1']);
});

test('loopback addresses', () => {
  for (const host of [
    'localhost',
    'LOCALHOST:8080',
    'a.localhost',
    '127.0.0.1',
    '127.1',
    '127.255.255.254:1',
    '0x7f.1',
    '2130706433',
    '[::1]',
    '[0:0:0:0:0:0:0:1]:99',
  ])
    assert.ok(isLoopback(`http://${host}/v1`), host);
  for (const host of [
    '127.0.0.1.example.com',
    'localhost.example.com',
    'notlocalhost',
    '128.0.0.1',
    '0.0.0.0',
    '192.168.0.1',
    '10.0.0.1',
    '[::]',
    '[::2]',
    '[::1:1]',
    '[fe80::1]',
    '127-0-0-1.example',
    'example.com',
    '127.0.0.1@example.com',
  ])
    assert.ok(!isLoopback(`http://${host}/v1`), host);
});

test('--help shows every flag, an example for each flag with a value, and the exit codes', () => {
  assert.equal(readOptions(['--help', '--runs', 'x'], {}), 'help');
  assert.equal(readOptions(['-h'], {}), 'help');
  for (const flag of [
    'base-url',
    'api-key',
    'only',
    'exclude',
    'known',
    'list',
    'runs',
    'thorough-auth',
    'seed',
    'path',
    'category-id',
    'strict',
    'min-judged',
    'read-only',
    'write',
    'max-requests',
    'exhaust',
    'exhaust-key',
    'plan',
    'report',
    'compare',
    'help',
  ]) {
    assert.match(help, new RegExp(`^  --${flag}\\b`, 'm'), flag);
  }
  for (const flag of [
    'base-url',
    'only',
    'exclude',
    'known',
    'runs',
    'seed',
    'path',
    'category-id',
    'min-judged',
    'max-requests',
    'plan',
    'report',
    'compare',
  ]) {
    assert.match(help, new RegExp(`^ {26}.*--${flag} [^A-Z\\s]`, 'm'), `${flag} has no example`);
  }
  for (const variable of ['API_KEY', 'EXHAUST_KEY']) {
    assert.match(help, new RegExp(`^ {26}.*\\b${variable}=… .*--base-url `, 'm'), `${variable} has no example`);
  }
  assert.match(help, /0 nothing failed except known deviations, 1 a requirement failed[^]* 2 the server could not be/);
  for (const line of help.split('\n')) assert.ok(line.length <= 140, line);
});

test('examples of --help are valid', () => {
  for (const [, example] of help.matchAll(/^ {26}(--.*)$/gm)) {
    const args = example!.replace('…', 'another_key').split(' ');
    const environment = args.includes('--base-url') ? { API_KEY: key } : {};
    assert.doesNotThrow(() => readOptions(args, environment), example);
  }
});

test('--list shows all requirements, or those of --only, without those of --exclude', () => {
  assert.ok(requirements.length > 50);
  const usual = { runs: 20, seed: 1, thoroughAuth: false, write: true };
  const some = ['--list', '--only', 'orders.,list.limit'];
  assert.deepEqual(readOptions(['--list'], {}), { ...usual, list: requirements.map(({ id }) => id) });
  assert.deepEqual(readOptions(some, {}), { ...usual, list: ['list.limit', 'orders.exists'] });
  assert.deepEqual(readOptions([...some, '--exclude', 'list.'], {}), {
    ...usual,
    list: ['orders.exists'],
  });
});

test('files are relative to the folder where the user stands, which npm keeps in INIT_CWD', () => {
  const args = ['--report', 'r', '--compare', '/c.json', '--known', 'k.txt'];
  const files = (environment: NodeJS.ProcessEnv) => {
    const { report, compare, knownFile } = read(args, environment);
    return [report, compare, knownFile];
  };
  const folder = join('/', 'home', 'me');
  assert.deepEqual(files({ INIT_CWD: folder, npm_lifecycle_event: 'conformance' }), [
    join(folder, 'r'),
    '/c.json',
    join(folder, 'k.txt'),
  ]);
  // Another npm script has started the kit, perhaps in another folder.
  assert.deepEqual(files({ INIT_CWD: folder, npm_lifecycle_event: 'ci' }), ['r', '/c.json', 'k.txt']);
  assert.deepEqual(files({}), ['r', '/c.json', 'k.txt']);
});

test('the proxy of the environment is used only for servers on other machines', () => {
  const environment = { API_KEY: key, HTTPS_PROXY: 'http://proxy.example:3128', HTTP_PROXY: 'socks5://proxy.example' };
  const proxyOf = (baseUrl: string) => read(['--base-url', baseUrl], environment).proxy;
  assert.equal(proxyOf('https://pets.example/v1')?.origin, 'http://proxy.example:3128');
  assert.equal(proxyOf('http://localhost:3000/v1'), undefined);
  assert.throws(() => proxyOf('http://pets.example/v1'), {
    name: 'UsageError',
    message: /^HTTP_PROXY must be the URL of an HTTP proxy/,
  });
});
