import assert from 'node:assert/strict';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { UsageError } from '../../conformance/options.ts';
import { help, readOptions, type Options } from './options.ts';
import { scenarios } from './scenarios.ts';

const key = 'test_Kb7rT2xVq9KdLw4sHc8NpZa3';
const given = ['--base-url', 'http://localhost:8080/v1', '--api-key', key];

const options = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): Options => {
  const read = readOptions(args, environment);
  assert.notEqual(read, 'help');
  return read as Options;
};

test('no options: our own server, keys of the plan business, all scenarios', () => {
  assert.deepEqual(options([]), {
    plan: 'business',
    ...{ operation: 'listPets', connections: 10, duration: 10, rate: 100, untilBan: false, remote: false },
    thresholds: {},
    names: scenarios.map(({ name }) => name),
  });
});

test('all options', () => {
  const flags = [
    ...given,
    '--neighbour-key',
    'other_Yw5mQ1jG',
    '--plan',
    'pro',
    '--operation',
    'getPet',
    '--connections',
    '3',
    '--duration',
    '4',
    '--rate',
    '5',
    '--until-ban',
    ...['--report', 'x', '--compare', 'y'],
    ...['--max-p50-ratio', '3', '--max-p99-ratio', '0.0001', '--max-p99-ms', '400'],
  ];
  assert.deepEqual(options([...flags, 'ban', 'neighbour', 'latency']), {
    ...{ baseUrl: 'http://localhost:8080/v1', apiKey: key, keySource: '--api-key', neighbourKey: 'other_Yw5mQ1jG' },
    plan: 'pro',
    ...{ operation: 'getPet', connections: 3, duration: 4, rate: 5, untilBan: true, remote: false },
    ...{ report: 'x', compare: 'y' },
    thresholds: { 'max-p50-ratio': 3, 'max-p99-ratio': 0.0001, 'max-p99-ms': 400 },
    names: ['latency', 'neighbour', 'ban'],
  });
});

test("the environment, which flags override", () => {
  const environment = { BASE_URL: 'http://127.0.0.1:1/v1/', API_KEY: key, NEIGHBOUR_KEY: 'other_Yw5mQ1jG' };
  const read = options(['--api-key', 'another_key'], environment);
  assert.deepEqual(
    [read.baseUrl, read.apiKey, read.neighbourKey],
    ['http://127.0.0.1:1/v1', 'another_key', 'other_Yw5mQ1jG'],
  );
  assert.equal(options(given).plan, undefined);
  assert.equal(options([...given, '--neighbour-key', 'other_Yw5mQ1jG', 'neighbour']).names[0], 'neighbour');
  assert.equal(
    options(['--base-url', 'https://staging.example/v1', '--api-key', key, '--remote']).baseUrl,
    'https://staging.example/v1',
  );
});

test('another machine: only with --remote, and with lower ceilings', () => {
  const elsewhere = ['--base-url', 'https://staging.example/v1', '--api-key', key, '--remote'];
  const most = ['--connections', '20', '--rate', '200', '--duration', '60'];
  assert.deepEqual(options([...elsewhere, ...most]).remote, true);
  for (const [flag, ceiling] of [['--connections', 20], ['--rate', 200], ['--duration', 60]] as const) {
    const more = [flag, String(ceiling + 1)];
    const message = new RegExp(`${flag} must be an integer from 1 to ${ceiling}, not`);
    assert.throws(() => options([...elsewhere, ...more]), message);
    assert.equal(options([...given, ...more]).remote, false);
  }
});

test('a mistake: one line that names the flag and the rule', () => {
  const wrong: readonly (readonly [args: readonly string[], line: RegExp])[] = [
    [['--base-url', 'http://localhost/v1'], /^--base-url needs a key: .*API_KEY/],
    [['--api-key', key], /^a key without a server: set --base-url URL/],
    [['--neighbour-key', key], /^--neighbour-key is for --base-url/],
    [[...given, '--neighbour-key', key], /^--neighbour-key must be another key/],
    [['--base-url', 'http://localhost', '--api-key', key], /^--base-url must end in \/v1/],
    [['--base-url', 'ftp://localhost/v1', '--api-key', key], /^--base-url must start with http/],
    [
      ['--base-url', 'https://staging.example/v1', '--api-key', key],
      /^staging\.example is not this machine: --remote /,
    ],
    [['--base-url', 'http://localhost/v1', '--api-key', 'a b c d e f'], /^--api-key must be 6 or more printable/],
    [['--plan', 'enterprise'], /^--plan must be free or pro or business, not enterprise$/],
    [['--connections', '0'], /^--connections must be an integer from 1 to 1000, not 0$/],
    [['--duration', '1.5'], /^--duration must be an integer/],
    [['--rate', '-1'], /^--rate needs a value; a value that begins with a hyphen is written as --rate=-1$/],
    [['--rate', '1e3'], /^--rate must be an integer from 1 to 100000, not 1e3$/],
    [['--operation', 'list'], /^--operation must be listPets or getPet or listOrders or createPet, not list$/],
    [['--max-p99-ratio', '0'], /^--max-p99-ratio must be a number above 0, such as 2\.5, not 0$/],
    [['--max-p99-ms', '1e3'], /^--max-p99-ms must be a number above 0/],
    [['latency', '--max-p50-ratio', '2'], /^--max-p50-ratio needs the scenario strangers, or neighbour with a/],
    [[...given, 'neighbour', '--max-p99-ms', '2'], /^--max-p99-ms needs the scenario strangers, or neighbour with a/],
    [['latency', 'bann'], /^bann is no scenario: there are latency, neighbour, /],
    [[''], /^one of the words is no scenario: there are latency, /],
    [['--until'], /^Unknown option '--until'; --help shows all options$/],
    [['--report'], /^Option '--report <value>' argument missing; --help/],
  ];
  for (const [args, line] of wrong) {
    assert.throws(
      () => readOptions(args, {}),
      (error) => {
        assert.ok(error instanceof UsageError, `${args.join(' ')}: ${String(error)}`);
        assert.match(error.message, line);
        assert.doesNotMatch(error.message, /\n/);
        return true;
      },
    );
  }
});

test('the message for an invalid key names its source, and does not contain the key', () => {
  const environment = { BASE_URL: 'http://localhost/v1', API_KEY: key, NEIGHBOUR_KEY: 'quiet_key_1' };
  for (const source of ['API_KEY', 'NEIGHBOUR_KEY']) {
    assert.throws(
      () => readOptions([], { ...environment, [source]: `${key}\n` }),
      ({ message }: Error) => message.startsWith(`${source} must be 6 or more`) && !message.includes(key),
    );
  }
});

test('files are relative to the folder where the user stands, which npm keeps in INIT_CWD', () => {
  const environment = { INIT_CWD: '/home/me', npm_lifecycle_event: 'bench:limits' };
  const read = readOptions(['--report', 'r', '--compare', '/c.json'], environment) as Options;
  assert.deepEqual([read.report, read.compare], ['/home/me/r', '/c.json'].map((path) => resolve(path)));
});

test('a key without its flag is not repeated', () => {
  assert.throws(
    () => readOptions([key], {}),
    (error) => error instanceof UsageError && !error.message.includes(key.slice(0, 9)),
  );
});

test('the help describes every flag and scenario', () => {
  assert.equal(readOptions(['--help'], {}), 'help');
  for (const flag of [
    'base-url',
    'api-key',
    'neighbour-key',
    'plan',
    'remote',
    'operation',
    'connections',
    'duration',
    'rate',
    'until-ban',
    'report',
    'compare',
    'max-p50-ratio',
    'max-p99-ratio',
    'max-p99-ms',
  ])
    assert.ok(help.includes(`--${flag} `), flag);
  for (const { name, text } of scenarios) assert.ok(help.includes(`  ${name}`) && help.includes(text), name);
  assert.ok(
    help.split('\n').every((line) => line.length <= 140),
    'no long lines',
  );
});
