import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { OperatorError } from '../domain/operator-error.ts';
import { temporaryFolder } from '../../harness/owner.ts';
import { Program } from '../../harness/program.ts';
import { cliPath, serverPath } from '../../harness/server.ts';
import { options } from '../cli/commands.ts';
import { readConfig } from '../serve/config.ts';
import { parseDuration, parseFlags, parseTime, placeOf } from './flags.ts';
import { anyCharacter } from '../testing/strings.ts';

process.env['TZ'] = 'Pacific/Auckland'; // must have no influence
const now = Date.UTC(2026, 10, 21, 12);
const refusal = (error: unknown): boolean => {
  assert.ok(error instanceof OperatorError);
  assert.equal(error.exitCode, 2);
  assert.match(error.message, /^--flag must be a .*, not ".*"$/);
  return true;
};

test('parseDuration accepts seconds, minutes, hours and days', () => {
  assert.equal(parseDuration('--flag', '0s'), 0);
  assert.equal(parseDuration('--flag', '90s'), 90_000);
  assert.equal(parseDuration('--flag', '30m'), 1_800_000);
  assert.equal(parseDuration('--flag', '24h'), 86_400_000);
  assert.equal(parseDuration('--flag', '007d'), 604_800_000);
  assert.equal(parseDuration('--flag', '36500d'), 3_153_600_000_000);
});

test('parseDuration refuses any other text, and more than 100 years', () => {
  for (const text of [
    '', 's', '1', '1 s', ' 1s', '1s\n', '-1s', '+1s', '1.5h', '1e3s', '1S', '1w', '1ms', '1h30m', '٣s', '36501d',
    '9999999999s', '0x1s',
  ]) {
    assert.throws(() => parseDuration('--flag', text), refusal, text);
  }
});

test('parseTime accepts a date (its start in UTC), a time with a zone, and a duration from now', () => {
  assert.equal(parseTime('--flag', '2027-01-31', now), Date.UTC(2027, 0, 31));
  assert.equal(parseTime('--flag', '2028-02-29', now), Date.UTC(2028, 1, 29));
  assert.equal(parseTime('--flag', '2027-01-31T12:00:00Z', now), Date.UTC(2027, 0, 31, 12));
  assert.equal(parseTime('--flag', '2027-01-31T12:00:00.25Z', now), Date.UTC(2027, 0, 31, 12, 0, 0, 250));
  assert.equal(parseTime('--flag', '2027-01-31T00:30:00+01:00', now), Date.UTC(2027, 0, 30, 23, 30));
  assert.equal(parseTime('--flag', '2027-01-31T23:30-01:00', now), Date.UTC(2027, 1, 1, 0, 30));
  assert.equal(parseTime('--flag', '90d', now), now + 90 * 86_400_000);
  assert.equal(parseTime('--flag', '9999-12-31', now), Date.UTC(9999, 11, 31));
});

test('parseTime refuses any other text, dates that do not exist, and times without a zone', () => {
  const bad = [
    '', 'tomorrow', '2027', '2027-01', '27-01-31', '2027-1-31', '2027-02-30', '2027-02-30T00:00:00Z', '2027-02-29',
    '2027-13-01', '2027-00-10', '2027-01-32', '0008-20-00', '0012-31-99', '2027-01-00', '2027-01-31T12:00:00',
    '2027-01-31 12:00:00Z', '2027-01-31T25:00:00Z', '2027-01-31T12:60:00Z', '2027-01-31T12:00:00+25:00',
    '2027-01-31T12:00:00+99:99', '+002027-01-31', '2027-01-31Z', '2027-01-31\n', '1800000000', '-1d',
  ];
  for (const text of bad) assert.throws(() => parseTime('--flag', text, now), refusal, text);
  assert.throws(() => parseTime('--flag', '999999999d', now), refusal);
  assert.throws(() => parseTime('--flag', '12345678901s', now), refusal);
});

test('parseTime returns whole milliseconds or throws an error of one line', () => {
  const typed = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.stringMatching(/^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d)?(Z|[+-]\d\d:\d\d))?$/),
    fc.stringMatching(/^\d{1,12}[smhdw]$/),
  );
  fc.assert(fc.property(typed, (text) => {
    try {
      assert.ok(Number.isInteger(parseTime('--flag', text, now)));
    } catch (error) {
      assert.ok(error instanceof OperatorError, String(error));
      assert.equal(error.message.includes('\n'), false);
    }
  }), { numRuns: 300 });
});

test('parseTime reads the output of toISOString', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0001-01-01'), max: new Date('9999-12-31T23:59:59.999Z'), noInvalidDate: true }),
      (date) => {
        assert.equal(parseTime('--flag', date.toISOString(), now), date.getTime());
      },
    ),
  );
});

/** Values that look like `good`, and mean something else. */
const disguises = (good: string): string[] => [
  `${good}\r`, `${good}\n`, `${good}\0`, `\t${good}`, `${good} `, ` ${good}`, `${good}\u00a0`, `\ufeff${good}`,
  `${good}\u0085`, `${good}\u001b[m`, `${good}\u007f`, `${good}\u2028`, `${good}\u202e`, `${good}\ufffd`,
  `${good}\ud800`, `\udc00${good}`, `${good}\u200b`, `\u2060${good}`, `${good[0]}\u0001${good.slice(1)}`,
];
const rule = 'a text in UTF-8 without control characters, and without white space or invisible characters at its ends';

function refusedAs(name: string, value: string): (error: unknown) => boolean {
  return (error) => {
    assert.ok(error instanceof OperatorError, String(error));
    const shown = /database/i.test(name) ? '' : `, not ${JSON.stringify(value)}`; // it can contain a password
    assert.deepEqual([error.exitCode, error.message], [2, `${name} must be ${rule}${shown}`]);
    return true;
  };
}

test('no variable that the server reads may have a control character or white space at its ends', () => {
  const read: string[] = [];
  readConfig([], new Proxy({}, { get: (_, name) => void read.push(String(name)) }));
  assert.deepEqual([...new Set(read)].sort(), [
    'ACCESS_LOG', 'BASE_PATH', 'CORS_ORIGIN', 'DATABASE_URL', 'DATA_DIR', 'DOCS', 'HOST', 'LOG_FORMAT',
    'MAX_CONNECTIONS', 'METRICS', 'PORT', 'TLS_CERT', 'TLS_KEY', 'TRUST_PROXY',
  ]);
  for (const name of read) {
    for (const value of disguises('1on')) {
      assert.throws(() => readConfig([], { [name]: value }), refusedAs(name, value));
    }
  }
  const flags = ['--access-log', '--no-docs', '--data=a', '--base-path=/v1', '--host=::1', '--log-format=text',
    '--cors-origin=http://a', '--max-connections=1', '--metrics=::1:1', '--port=0', '--tls-cert=a', '--tls-key=b', '--trust-proxy=1'];
  for (const name of read) {
    assert.throws(() => readConfig(flags, { [name]: 'on\r' }), refusedAs(name, 'on\r'), 'a flag overrides it');
  }
});

test('the same holds for all flags of both programs, and for the arguments of petstore', () => {
  for (const value of disguises('store')) {
    for (const [name, { type }] of Object.entries(options)) {
      if (type !== 'string') continue;
      const args = [`--${name}=${value}`];
      assert.throws(() => parseFlags({ args, options, allowPositionals: true }), refusedAs(`--${name}`, value));
    }
    for (const flag of [
      'host', 'port', 'data', 'database', 'tls-cert', 'tls-key', 'base-path', 'max-connections', 'trust-proxy',
      'log-format', 'metrics',
    ]) assert.throws(() => readConfig([`--${flag}=${value}`], {}), refusedAs(`--${flag}`, value));
    for (const args of [['export', value], [value], ['keys', 'revoke', value], ['import', 'a', value]]) {
      assert.throws(() => parseFlags({ args, options, allowPositionals: true }), refusedAs('an argument', value));
    }
  }
});

test('a variable with the end of a line of Windows is one line, and no folder is created', async (t) => {
  const place = temporaryFolder(t);
  const value = `${join(place, 'store')}\r`;
  const create = [cliPath, 'keys', 'create', '--name', 'a', '--plan', 'free'];
  for (const command of [[serverPath], create, [cliPath, 'status']]) {
    const env = { DATA_DIR: value, PORT: '0', LOG_FORMAT: 'text' };
    const { code, stdout, stderr } = await new Program(t, [process.execPath, ...command], env).ended;
    const line = `petstore: DATA_DIR must be ${rule}, not ${JSON.stringify(value)}\n`;
    assert.deepEqual([code, stdout, stderr], [2, '', line]);
  }
  const shell = `exec "$0" "$@" "$(printf 'st\\303re')"`; // not UTF-8
  const command = ['sh', '-c', shell, process.execPath, cliPath, 'export', '--data'];
  const { code, stderr } = await new Program(t, command).ended;
  assert.deepEqual([code, stderr], [2, `petstore: --data must be ${rule}, not "st\ufffdre"\n`]);
  assert.deepEqual(readdirSync(place), []);
});

test('a flag takes precedence over both variables, and DATABASE_URL over DATA_DIR', () => {
  const both = { DATABASE_URL: 'postgres://h/variable', DATA_DIR: '/variable' };
  assert.deepEqual(placeOf({}, both), { name: 'DATABASE_URL', url: 'postgres://h/variable' });
  assert.deepEqual(placeOf({ data: '/flag' }, both), { folder: '/flag' });
  assert.deepEqual(placeOf({ database: 'x' }, both), { name: '--database', url: 'x' });
  assert.deepEqual(placeOf({}, { ...both, DATABASE_URL: '' }), { folder: '/variable' });
  assert.throws(() => placeOf({ data: 'a', database: 'b' }, {}), { exitCode: 2 });
  const inData = { exitCode: 2, message: '--data must be a path; --database names a database' };
  assert.throws(() => placeOf({ data: 'postgres://u:secret@h/d' }, {}), inData);
});
