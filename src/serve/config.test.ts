import assert from 'node:assert/strict';
import { relative, resolve } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { readConfig, requestedLogFormat, serverHelp, type Config } from './config.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { dataFolder } from '../program/flags.ts';
import { calledAs } from '../program/program.ts';
import { temporaryFolder } from '../../harness/owner.ts';
import { Program } from '../../harness/program.ts';
import { cliPath, serverPath } from '../../harness/server.ts';

const defaults: Config = {
  host: '127.0.0.1',
  port: 8080,
  tls: null,
  place: { folder: resolve('data/store') },
  basePath: '/v1',
  maxConnections: null,
  trustedProxies: 0,
  logFormat: null,
  accessLog: false,
  origins: [],
  docs: true,
  metrics: null,
  demo: false,
};

function read(args: readonly string[], environment: NodeJS.ProcessEnv = {}): Config {
  const config = readConfig(args, environment);
  assert.ok(typeof config === 'object');
  return config;
}

/** Expects an error with exit code 2 and one line that matches `message`. */
function refused(args: readonly string[], environment: NodeJS.ProcessEnv, message?: RegExp): void {
  assert.throws(() => readConfig(args, environment), (error) => {
    assert.ok(error instanceof OperatorError, String(error));
    assert.equal(error.exitCode, 2);
    assert.match(error.message, /^[^\n\r]+$/);
    const isText = !error.message.includes(' must be a text in UTF-8 '); // flags.test.ts tests that rule
    if (isText) assert.match(error.message, message ?? /./);
    return true;
  }, JSON.stringify([args, environment]));
}

test('by default only this machine can reach the server', () => {
  assert.deepEqual(read([]), defaults);
  assert.ok(Object.isFrozen(read([])));
});

test('flags take precedence over variables, variables over defaults; an empty variable counts as unset', () => {
  const environment = {
    HOST: '::1',
    PORT: '81',
    DATA_DIR: '/env',
    BASE_PATH: '/env/v1',
    MAX_CONNECTIONS: '7',
    TRUST_PROXY: '2',
    LOG_FORMAT: 'json',
    ACCESS_LOG: 'on',
    CORS_ORIGIN: 'https://a.example,http://localhost:5173',
    DOCS: 'off',
    METRICS: '[::1]:9',
    TLS_CERT: 'env.crt',
    TLS_KEY: '/env.key',
  };
  assert.deepEqual(read([], environment), {
    host: '::1',
    port: 81,
    tls: { cert: resolve('env.crt'), key: '/env.key' },
    place: { folder: '/env' },
    basePath: '/env/v1',
    maxConnections: 7,
    trustedProxies: 2,
    ...{ logFormat: 'json', accessLog: true, docs: false, metrics: { host: '::1', port: 9 } },
    origins: ['https://a.example', 'http://localhost:5173'],
    demo: false,
  });
  const flags = [
    '--host', '0.0.0.0', '--port=0', '--data', '/flag', '--base-path', '/flag/v1', '--max-connections', '9',
    '--trust-proxy', '1', '--log-format', 'text', '--metrics', 'localhost:0', '--demo',
    '--tls-cert', 'flag.crt', '--cors-origin', 'https://[::1]:8443', '--cors-origin=https://b.example',
  ];
  assert.deepEqual(read(flags, environment), {
    host: '0.0.0.0',
    port: 0,
    tls: { cert: resolve('flag.crt'), key: '/env.key' },
    place: { folder: '/flag' },
    basePath: '/flag/v1',
    maxConnections: 9,
    trustedProxies: 1,
    ...{ logFormat: 'text', accessLog: true, docs: false, metrics: { host: 'localhost', port: 0 } },
    origins: ['https://[::1]:8443', 'https://b.example'],
    demo: true,
  });
  const unset = { LOG_FORMAT: '', ACCESS_LOG: '', DOCS: '', METRICS: '', TLS_CERT: '', TLS_KEY: '', CORS_ORIGIN: '' };
  assert.deepEqual(
    read([], { HOST: '', PORT: '', DATA_DIR: '', BASE_PATH: '', MAX_CONNECTIONS: '', TRUST_PROXY: '', ...unset }),
    defaults,
  );
  assert.equal(read(['--port', '1'], { PORT: 'bad' }).port, 1);
  assert.equal(read(['--port', '1', '--port', '2']).port, 2);
  assert.equal(read([], { DEMO: '1' }).demo, false);
});

test('numbers must be whole and within their bounds', () => {
  for (const port of [0, 1, 65_535]) assert.equal(read(['--port', String(port)]).port, port);
  for (const count of [1, 1_000_000]) assert.equal(read(['--max-connections', String(count)]).maxConnections, count);
  for (const bad of [
    '', ' ', '65536', '-0', '1.0', '1e3', '0x50', '80 ', '٨٠', '99999999', 'http', '80\n', '+80', 'Infinity',
  ]) {
    refused([`--port=${bad}`], {}, /^--port must be a whole number from 0 to 65535, not "/);
    if (bad !== '') refused([], { PORT: bad }, /^PORT must be a whole number from 0 to 65535, not "/);
  }
  for (const count of [0, 100]) assert.equal(read(['--trust-proxy', String(count)]).trustedProxies, count);
  for (const bad of ['', '-1', '101', 'true', '10.0.0.0/8']) {
    refused([`--trust-proxy=${bad}`], {}, /^--trust-proxy must be a whole number from 0 to 100, not "/);
  }
  for (const bad of ['0', '1000001', 'many']) {
    refused([`--max-connections=${bad}`], {}, /^--max-connections must be a whole number from 1 to 1000000, not "/);
    refused([], { MAX_CONNECTIONS: bad }, /^MAX_CONNECTIONS must be/);
  }
});

test('a host is an IP address, with or without brackets, or a name', () => {
  for (const host of ['0.0.0.0', '::', 'fe80::1%eth0', 'localhost', 'a', 'pets.example.com', 'x-1.local']) {
    assert.equal(read([`--host=${host}`]).host, host);
  }
  assert.equal(read(['--host', '[::1]']).host, '::1');
  for (const bad of [
    '',
    ' ',
    'a b',
    '-a',
    'a-',
    'a_b',
    'http://a',
    'a:80', '127.0.0.1:80', '[::1', '[]', 'a/b', 'a\nb', '*',
  ]) {
    refused([`--host=${bad}`], {}, /^--host must be an IP address or a host name, not "/);
    if (bad !== '') refused([], { HOST: bad }, /^HOST must be/);
  }
});

test('a host can be a Unix socket, whose path becomes absolute; then there is no port and no TLS', () => {
  assert.equal(read(['--host', 'unix:/run/a b.sock']).host, 'unix:/run/a b.sock');
  assert.equal(read([], { HOST: 'unix:x/../y' }).host, `unix:${resolve('y')}`);
  assert.equal(read(['--host', 'unix:/x'], { PORT: '80' }).port, 80); // not used
  const longest = process.platform === 'linux' ? 107 : 103;
  const path = (bytes: number): string => `unix:/${'é'.repeat((bytes - 1) / 2)}`;
  assert.equal(read(['--host', path(longest)]).host, path(longest));
  for (const bad of ['unix:', path(longest + 2)]) {
    const rule = /^--host must be unix: and a path, which has at most 10[37] bytes when it is absolute, not "/;
    refused(['--host', bad], {}, rule);
  }
  refused(['--port', '0'], { HOST: 'unix:/x' }, /^--port cannot be used with a Unix socket; see --help$/);
  refused(['--host', 'unix:/x', '--tls-cert', 'a', '--tls-key', 'b'], {}, /^TLS cannot be used with a Unix socket/);
});

test('TLS needs both a certificate and a key', () => {
  refused(['--tls-cert', 'a'], {}, /^TLS_KEY is missing: TLS needs both --tls-cert and --tls-key; see --help$/);
  refused(['--tls-key', 'a'], { TLS_CERT: '' }, /^TLS_CERT is missing/);
  refused([], { TLS_CERT: 'a' }, /^TLS_KEY is missing/);
  refused(['--tls-cert', ''], { TLS_KEY: 'a', TLS_CERT: 'a' }, /^--tls-cert is missing/);
  refused(['--tls-cert=', '--tls-key='], {}, /^--tls-cert is missing/); // a mistake in a script does not turn TLS off
});

test('the data folder becomes an absolute path, and must not be empty', () => {
  assert.deepEqual(read(['--data', 'x/../y']).place, { folder: resolve('y') });
  assert.deepEqual(read([], { DATA_DIR: 'z' }).place, { folder: resolve('z') });
  refused(['--data', ''], {}, /^--data must be a path, not ""$/);
  refused(['--data='], { DATA_DIR: '/there' }, /^--data must be a path/);
  assert.equal(dataFolder(undefined, {}), resolve('data/store'));
});

test('the base path ends in /v1 and needs no percent-encoding', () => {
  for (const path of ['/v1', '/shop/v1', '/a/b/v1', '/v1/v1', '/a.b_c~d-e/v1', '/.../v1', '/..a/v1']) {
    assert.equal(read(['--base-path', path]).basePath, path);
  }
  const bad = [
    '',
    '/',
    'v1',
    '/v2',
    '/v1/',
    '/shop/v1/',
    '//v1',
    '/shop//v1',
    '/shopv1',
    '/a b/v1',
    '/%61/v1',
    '/ä/v1',
    '/../v1',
    '/./v1',
    '/a/../v1',
    '/a?b/v1',
    '/v1#',
    '/v1\n',
    'http://a/v1',
  ];
  for (const path of bad) {
    refused(
      [`--base-path=${path}`],
      {},
      new RegExp(
        '^--base-path must be a path that starts with /, ends in /v1 and consists of letters, digits '
          + 'and \\. _ ~ -, not "',
      ),
    );
    if (path !== '') refused([], { BASE_PATH: path }, /^BASE_PATH must be/);
  }
});

test('an origin is written as browsers send it; the message shows how', () => {
  for (const origin of [
    'https://shop.example', 'http://shop.example:8080', 'https://shop.example:80', 'https://xn--ubr-22a.example',
    'http://127.0.0.1', 'http://[::1]:3000', 'https://shop.example.', 'https://a_b.example',
  ]) {
    assert.deepEqual(read(['--cors-origin', origin]).origins, [origin]);
    assert.deepEqual(read([], { CORS_ORIGIN: origin }).origins, [origin]);
  }
  assert.deepEqual(read(['--cors-origin', 'http://a'], { CORS_ORIGIN: 'http://b' }).origins, ['http://a']);
  const rule = ' must be one origin as browsers send it: http or https, a host in lower case, and a port unless it is '
    + 'the default, like ';
  for (const [bad, like] of [
    ['https://shop.example/', 'https://shop.example'],
    ['https://shop.example/app?x#y', 'https://shop.example'],
    ['HTTPS://Shop.Example', 'https://shop.example'],
    ['https://shop.example:443', 'https://shop.example'],
    ['http://shop.example:80', 'http://shop.example'],
    ['https://żubr.example', 'https://xn--ubr-22a.example'],
    ['https://a.example https://b.example', 'https://shop.example'],
    ['*', 'https://shop.example'],
    ['null', 'https://shop.example'],
    ['https://*', 'https://shop.example'],
    ['https://*.shop.example', 'https://shop.example'],
    ['shop.example', 'https://shop.example'],
    ['//shop.example', 'https://shop.example'],
    ['https://', 'https://shop.example'],
    ['file:///index.html', 'https://shop.example'],
    ['ftp://shop.example', 'https://shop.example'],
    ['https://user@shop.example', 'https://shop.example'],
    ['https://shop.example:65536', 'https://shop.example'],
  ] as const) {
    const message = (name: string): RegExp => new RegExp(`^${name}${rule}${like.replaceAll('.', '\\.')}, not "`);
    refused(['--cors-origin', bad], {}, message('--cors-origin'));
    refused(['--cors-origin', 'https://shop.example', '--cors-origin', bad], {}, message('--cors-origin'));
    refused([], { CORS_ORIGIN: `https://shop.example,${bad}` }, message('CORS_ORIGIN'));
  }
  refused(['--cors-origin', 'https://a.example,https://b.example'], {}, /^--cors-origin must be one origin/);
  refused(['--cors-origin='], { CORS_ORIGIN: 'https://shop.example' }, /^--cors-origin must be one origin/);
  refused([], { CORS_ORIGIN: 'https://a.example, https://b.example' }, /^CORS_ORIGIN must be one origin/);
  refused(['--cors-origin', 'https://a.example', '--cors-origin', 'https://b.example\r'], {});
});

test('--help and --version take precedence over everything but an unknown flag', () => {
  for (const flag of ['--help', '-h']) assert.equal(readConfig([flag], {}), 'help');
  assert.equal(readConfig(['--version'], {}), 'version');
  assert.equal(readConfig(['--port', 'x', '--help', '--version'], { HOST: '!' }), 'help');
  refused(['--help', '--what'], {}, /--what/);
});

test('the help names every flag and variable', () => {
  for (const name of [
    '--host', '--port', '--data', '--base-path', '--max-connections', '--demo', '--help', '--version', 'HOST', 'PORT',
    'DATA_DIR', 'BASE_PATH', 'MAX_CONNECTIONS', '--tls-cert', '--tls-key', 'TLS_CERT', 'TLS_KEY', 'unix:PATH',
    '--no-docs', 'DOCS', '--cors-origin', 'CORS_ORIGIN',
  ]) {
    assert.match(serverHelp(), new RegExp(`(^|\\s)${name}\\b`, 'm'));
  }
});

test('an unknown flag or argument is one line', () => {
  refused(['--what'], {}, /^Unknown option '--what'; see --help$/);
  refused(['-p', '80'], {}, /^Unknown option '-p'; see --help/);
  refused(['serve'], {}, /^Unexpected argument 'serve'; see --help/);
  refused(['--', 'serve'], {}, /^Unexpected argument 'serve'/);
  refused(['--port'], {}, /^Option '--port <value>' argument missing; see --help/);
  refused(['--port', '--demo'], {}, /^Option '--port' argument is ambiguous; see --help/);
  refused(['--port', '-1'], {}, /^Option '--port' argument is ambiguous; see --help/);
  refused(['--demo=yes'], {}, /^Option '--demo' does not take an argument; see --help/);
  refused(['--Port', '80'], {}, /--Port/);
});

test('any command line results in a configuration or one line', () => {
  const word = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.constantFrom('--port', '--data', '--host', '--demo', '--base-path', '--', '-', '80', '/v1', '--port='),
  );
  fc.assert(fc.property(fc.array(word, { maxLength: 4 }), (args) => {
    try {
      readConfig(args, {});
    } catch (error) {
      assert.ok(error instanceof OperatorError, String(error));
      assert.equal(error.exitCode, 2);
    }
  }), { numRuns: 1_000 });
});

test('the format of the log, the access log, the reference page and the address of the metrics', () => {
  assert.equal(read([], { LOG_FORMAT: 'json' }).logFormat, 'json');
  assert.equal(read(['--log-format', 'text'], { LOG_FORMAT: 'json' }).logFormat, 'text');
  refused(['--log-format', 'xml'], {}, /^--log-format must be text or json, not "xml"$/);
  refused(['--log-format', ''], {}, /--log-format/);
  refused([], { LOG_FORMAT: 'xml' }, /^LOG_FORMAT must be/);
  // Errors in other flags are reported in the format, too.
  assert.equal(requestedLogFormat(['--what', '--log-format=text', '--port'], { LOG_FORMAT: 'json' }), 'text');
  assert.equal(requestedLogFormat(['--log-format'], { LOG_FORMAT: 'json' }), 'json');
  assert.equal(requestedLogFormat([], { LOG_FORMAT: 'xml' }), null);

  assert.equal(read(['--access-log']).accessLog, true);
  assert.equal(read([], { ACCESS_LOG: 'on' }).accessLog, true);
  assert.equal(read(['--demo']).accessLog, true);
  assert.equal(read(['--demo'], { ACCESS_LOG: 'off' }).accessLog, false);
  assert.equal(read(['--access-log'], { ACCESS_LOG: 'off' }).accessLog, true);
  refused([], { ACCESS_LOG: '1' }, /^ACCESS_LOG must be on or off, not "1"$/);

  assert.equal(read(['--no-docs'], { DOCS: 'on' }).docs, false);
  assert.equal(read([], { DOCS: 'off' }).docs, false);
  assert.equal(read([], { DOCS: 'on' }).docs, true);
  refused([], { DOCS: '0' }, /^DOCS must be on or off, not "0"$/);
  refused(['--docs'], {}, /--docs/);

  for (const [value, host, port] of [
    ['127.0.0.1:9100', '127.0.0.1', 9100], ['[::1]:0', '::1', 0], ['metrics.shop:65535', 'metrics.shop', 65535],
  ] as const) {
    assert.deepEqual(read(['--metrics', value], { METRICS: 'other:1' }).metrics, { host, port });
    assert.deepEqual(read([], { METRICS: value }).metrics, { host, port });
  }
  for (const value of ['', '9100', ':9100', 'localhost', 'localhost:', 'a b:1', '::1:9100', 'localhost:65536', '[]:1']) {
    refused(['--metrics', value], {}, /^(the port of )?--metrics must be /);
  }
});

test('the built server prints requested texts to stdout and errors in one line to stderr', async (t) => {
  const folder = temporaryFolder(t);
  const run = (...args: string[]) =>
    new Program(t, [process.execPath, serverPath, ...args], { DATA_DIR: `${folder}/never` }).ended;
  const [help, version, ...bad] = await Promise.all([
    run('--help'),
    run('--version'),
    run('--port', '-1'),
    run('--what\nelse'),
    run('--host', 'a\nb'),
    run('--base-path', '/shop'),
    run('--log-format', 'xml'),
  ]);
  const json = await run('--log-format', 'json', '--port', 'x');
  assert.deepEqual(Object.keys(JSON.parse(json.stderr) as object), ['time', 'level', 'message']);
  const stdout = serverHelp().replaceAll(calledAs(), `node ${relative('', cliPath)}`);
  assert.deepEqual(help, { code: 0, stdout, stderr: '' });
  assert.equal(version.code, 0);
  assert.match(version.stdout, /^\d+\.\d+\.\d+\n$/);
  for (const { code, stdout, stderr } of bad) {
    assert.deepEqual([code, stdout], [2, '']);
    assert.match(stderr, /^petstore: [^\n]+\n$/); // text, although stderr is no terminal
  }
});
