/** The profile `reference`: this project's server keeps every decision, and a server that breaks one is found out by its check. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { startOwnServer, type OwnServer } from './own-server.ts';
import { readReport } from './report/compare.ts';
import { requirements, type RequirementId } from './requirements/requirements.ts';
import { estimateOf } from './suite.ts';
import { damaged, type Damage, type Passing } from './testing/damage.ts';
import { temporaryFolder } from './testing/servers.ts';
import { run, session, told } from './testing/sessions.ts';

const decided = requirements.filter(({ profile }) => profile === 'reference');

/** Requests of one minute from one address without a valid key, of which 60 would be too many. */
const maxKeyless = 55;

test("this project's server keeps every decision", { timeout: 60_000 }, async (t) => {
  const folder = temporaryFolder(t);
  const program = fileURLToPath(new URL('run.ts', import.meta.url));
  const silent = fileURLToPath(new URL('report/silent.ts', import.meta.url));
  const args = [
    '--import',
    'tsx',
    `--test-reporter=${silent}`,
    program,
    '--profile',
    'reference',
    '--seed',
    '1',
    '--report',
    folder,
  ];
  const environment = { ...process.env };
  for (const name of ['NODE_TEST_CONTEXT', 'BASE_URL', 'API_KEY', 'EXHAUST_KEY']) delete environment[name];
  const output = await new Promise<string>((resolve) => {
    execFile(
      process.execPath,
      args,
      { env: environment, cwd: fileURLToPath(new URL('..', import.meta.url)) },
      (_, stdout, stderr) => resolve(stdout + stderr),
    );
  });
  const file = join(folder, 'report.json');
  const report = readReport(readFileSync(file, 'utf8'), file);
  for (const { id, untested } of decided) {
    const result = report.requirements.find((r) => r.id === id);
    const wanted = untested === undefined && id !== 'decided.limits.refusal' ? 'passed' : 'skipped';
    assert.equal(result?.verdict, wanted, `${id}: ${result?.reason}\n${output}`);
    if (wanted === 'passed') assert.ok(result!.judged > 0, id);
  }
  assert.equal(report.requirements.length, requirements.length);
});

const code = (passing: Passing, status: number, found: string) => {
  passing.status = status;
  passing.body = JSON.stringify({ code: found, message: 'damaged', status });
};
const drop = (passing: Passing, name: string) => {
  passing.headers = passing.headers.filter(([n]) => n.toLowerCase() !== name.toLowerCase());
};
const change = (passing: Passing, name: string, by: (value: string) => string) => {
  passing.headers = passing.headers.map(([n, value]) => [n, n.toLowerCase() === name.toLowerCase() ? by(value) : value]);
};
const has = ({ headers }: Passing, name: string) => headers.some(([n]) => n.toLowerCase() === name.toLowerCase());
const codeIs = ({ body }: Passing, found: string) => body.includes(`"code":"${found}"`);

/** A response that is damaged where something holds. */
const where = (holds: (passing: Passing) => boolean, response: (passing: Passing) => void): Damage => ({
  response: (passing) => {
    if (holds(passing)) response(passing);
  },
});
/** A request in whose target a text is another. */
const asked = (pattern: RegExp, by: string): Damage => ({
  request: (text) => text.replace(/^\S+ \S+/, (line) => line.replace(pattern, by)),
});
/** Where one kind of request counts, another shows less and less remaining. */
function counting(counts: (passing: Passing) => boolean, shows: (passing: Passing) => boolean): Damage {
  let count = 0;
  return {
    response: (passing) => {
      if (counts(passing)) count++;
      if (shows(passing)) change(passing, 'x-ratelimit-remaining', (v) => `${Number(v) - count}`);
    },
  };
}
const is = (status: number) => (passing: Passing) => passing.status === status;
const always = () => true;

/** What each breaks. */
const damages: readonly (readonly [what: string, requirement: RequirementId, damage: Damage])[] = [
  [
    '401 after 404',
    'decided.order.key-first',
    where(
      (p) => p.status === 401 && p.target.includes('no-such'),
      (p) => code(p, 404, 'not_found'),
    ),
  ],
  [
    '415 before 417',
    'decided.order.sequence',
    where(
      (p) => p.status === 417 && /text\/plain/.test(p.request),
      (p) => code(p, 415, 'unsupported_media_type'),
    ),
  ],
  ['400 in place of 413', 'decided.order.length-at-once', where(is(413), (p) => code(p, 400, 'invalid_body'))],
  ['no Connection: close', 'decided.order.early-close', where(is(415), (p) => drop(p, 'connection'))],
  ['Connection: close in spite of a small body', 'decided.order.early-close', where(is(415), (p) => change(p, 'connection', () => 'close'))],
  ['no 100 Continue', 'decided.order.continue', { dropsInterim: true }],
  [
    'a key for /healthz',
    'decided.order.public',
    where(
      (p) => p.target === '/healthz' && !/authorization/i.test(p.request),
      (p) => code(p, 401, 'missing_api_key'),
    ),
  ],
  [
    '405 for OPTIONS of /readyz',
    'decided.order.public-methods',
    where(
      (p) => p.target === '/readyz' && p.method === 'OPTIONS',
      (p) => (p.status = 405),
    ),
  ],
  ['another base path', 'decided.order.outside', asked(/ \/V1\//, ' /v1/')],
  [
    'OPTIONS * is 405',
    'decided.order.asterisk',
    where(
      (p) => p.target === '*',
      (p) => (p.status = 405),
    ),
  ],
  [
    'CONNECT allows GET',
    'decided.order.connect',
    where(
      (p) => p.method === 'CONNECT',
      (p) => change(p, 'allow', () => 'GET'),
    ),
  ],
  [
    'HTTP/1.0 is refused',
    'decided.order.http-1.0',
    where(
      (p) => /HTTP\/1\.0/.test(p.request),
      (p) => code(p, 505, 'http_version_not_supported'),
    ),
  ],
  [
    'Upgrade is 426',
    'decided.order.upgrade',
    where(
      (p) => /upgrade/i.test(p.request),
      (p) => (p.status = 426),
    ),
  ],

  [
    'no X-Request-Id outside',
    'decided.answers.request-id',
    where(
      (p) => p.target === '/no-such-path',
      (p) => drop(p, 'x-request-id'),
    ),
  ],
  [
    "the client's X-Request-Id",
    'decided.answers.unique-id',
    where(
      (p) => /conformance-1/.test(p.request),
      (p) => change(p, 'x-request-id', () => 'conformance-1'),
    ),
  ],
  [
    'one X-Request-Id a status',
    'decided.answers.unique-id',
    where(always, (p) => change(p, 'x-request-id', () => `${p.status}`)),
  ],
  ['204 may be stored', 'decided.answers.no-store', where(is(204), (p) => drop(p, 'cache-control'))],
  [
    'CORS for OPTIONS',
    'decided.answers.no-cors',
    where(
      (p) => /origin:/i.test(p.request),
      (p) => p.headers.push(['Access-Control-Allow-Origin', '*']),
    ),
  ],
  ['no Reset on 405', 'decided.answers.limit-headers', where(is(405), (p) => drop(p, 'x-ratelimit-reset'))],
  [
    'a status that is a string',
    'decided.answers.error-body',
    where(is(405), (p) => (p.body = p.body.replace('"status":405', '"status":"405"'))),
  ],
  [
    'another code',
    'decided.answers.error-codes',
    where(is(404), (p) => (p.body = p.body.replace('"not_found"', '"no_such_path"'))),
  ],
  [
    'HEAD is empty',
    'decided.answers.head',
    where(
      (p) => p.method === 'HEAD',
      (p) => change(p, 'content-length', () => '0'),
    ),
  ],
  [
    'Allow without OPTIONS',
    'decided.answers.options',
    where(
      (p) => p.method === 'OPTIONS',
      (p) => change(p, 'allow', (v) => v.replace(', OPTIONS', '')),
    ),
  ],

  [
    'no Host is fine',
    'decided.errors.broken-message',
    { request: (text) => (/^host:/im.test(text) ? text : text.replace('\r\n', '\r\nHost: a\r\n')) },
  ],
  ['no column', 'decided.errors.malformed-json', where(always, (p) => (p.body = p.body.replace(/, column \d+/, '')))],
  [
    'a byte order mark is invalid_body',
    'decided.errors.not-utf-8',
    where(
      (p) => /\r\n\r\n\xef\xbb\xbf/.test(p.request),
      (p) => code(p, 400, 'invalid_body'),
    ),
  ],
  [
    'duplicate names inside are fine',
    'decided.errors.name-twice',
    { request: (text) => text.replace('"z":1,"z":1', '"z":1,"w":1') },
  ],
  [
    'only the first field is named',
    'decided.errors.invalid-body',
    where(
      (p) => codeIs(p, 'invalid_body'),
      (p) => (p.body = p.body.replace(/;[^"]*/, '')),
    ),
  ],
  ['limit=101 is 100', 'decided.errors.limit', asked(/limit=101/, 'limit=100')],
  ['status is read in any case', 'decided.errors.status', asked(/status=Sold/, 'status=sold')],
  ['after=01 is 1', 'decided.errors.after', asked(/after=01/, 'after=1')],
  ['the first of two counts', 'decided.errors.given-twice', asked(/status=sold&status=sold/, 'status=sold')],
  ['a broken escape is text', 'decided.errors.broken-escape', asked(/x=%zz/, 'x=zz')],
  [
    'an error in the challenge',
    'decided.errors.missing-key',
    where(is(401), (p) => change(p, 'www-authenticate', (v) => `${v}, error="invalid_request"`)),
  ],
  [
    'no error in the challenge',
    'decided.errors.invalid-key',
    where(is(401), (p) => change(p, 'www-authenticate', (v) => v.replace(/,.*/, ''))),
  ],
  [
    'bearer is no scheme',
    'decided.errors.scheme-case',
    where(
      (p) => /authorization: bearer/.test(p.request.replace('Authorization', 'authorization')),
      (p) => code(p, 401, 'missing_api_key'),
    ),
  ],
  [
    'the last Authorization counts',
    'decided.errors.two-keys',
    { request: (text) => text.replace(/^Authorization: Basic.*\r\n/im, '') },
  ],
  [
    'not_found for animals',
    'decided.errors.pet-not-found',
    where(
      (p) => codeIs(p, 'pet_not_found'),
      (p) => code(p, 404, 'not_found'),
    ),
  ],
  ['ids of any form', 'decided.errors.pet-not-found', asked(/\/pets\/0(\d+)/, '/pets/$1')],
  ['Allow without HEAD', 'decided.errors.method', where(is(405), (p) => change(p, 'allow', (v) => v.replace('HEAD, ', '')))],
  [
    '64 KiB are too large',
    'decided.errors.too-large',
    where(
      (p) => /content-length: 65536/i.test(p.request),
      (p) => code(p, 413, 'payload_too_large'),
    ),
  ],
  ['415 is 400', 'decided.errors.media-type', where(is(415), (p) => code(p, 400, 'unsupported_media_type'))],
  [
    'UTF-8 in small letters only',
    'decided.errors.type-forms',
    where(
      (p) => /charset=UTF-8/.test(p.request),
      (p) => code(p, 415, 'unsupported_media_type'),
    ),
  ],
  ['gzip is ignored', 'decided.errors.encoding', { request: (text) => text.replace(/^Content-Encoding.*\r\n/im, '') }],
  ['417 is 400', 'decided.errors.expectation', where(is(417), (p) => code(p, 400, 'malformed_request'))],
  [
    'a long target is 414',
    'decided.errors.head-too-large',
    where(
      (p) => p.status === 431 && p.target.length > 1_000,
      (p) => code(p, 414, 'uri_too_long'),
    ),
  ],
  [
    'HTTP/2 is malformed',
    'decided.errors.http-version',
    where(
      (p) => p.method === 'PRI',
      (p) => code(p, 400, 'malformed_request'),
    ),
  ],

  ['decoded twice', 'decided.urls.decoded-once', asked(/%25/, '%')],
  ['%2F is a slash', 'decided.urls.encoded-slash', asked(/%2f/i, '/')],
  ['a trailing slash is nothing', 'decided.urls.trailing-slash', asked(/\/$/, '')],
  ['dots are resolved', 'decided.urls.not-collapsed', asked(/\/store\/\.\./, '')],
  [
    'a broken escape in the path is 400',
    'decided.urls.broken-escape',
    where(
      (p) => /%zz/.test(p.target),
      (p) => code(p, 400, 'malformed_request'),
    ),
  ],
  [
    'another authority is not found',
    'decided.urls.absolute-form',
    where(
      (p) => p.target.startsWith('http:'),
      (p) => code(p, 404, 'not_found'),
    ),
  ],
  [
    'unknown parameters are refused',
    'decided.urls.parameters',
    where(
      (p) => /colour/.test(p.target),
      (p) => code(p, 400, 'invalid_parameter'),
    ),
  ],
  [
    'GET has no body',
    'decided.urls.body-ignored',
    where(
      (p) => p.method === 'GET' && /content-length/i.test(p.request),
      (p) => code(p, 400, 'invalid_body'),
    ),
  ],

  [
    '2^53 is as 2^53 + 1',
    'decided.pets.int64',
    where(is(201), (p) => (p.body = p.body.replace('9007199254740993', '9007199254740992'))),
  ],
  ['1e2 is 1', 'decided.pets.integer-forms', { request: (text) => text.replace('1e2}', '1  }') }],
  [
    '1e19 is malformed',
    'decided.pets.not-integers',
    where(
      (p) => /1e19/.test(p.request),
      (p) => code(p, 400, 'malformed_json'),
    ),
  ],
  ['pending by default', 'decided.pets.default-status', where(is(201), (p) => (p.body = p.body.replace('available', 'pending')))],
  [
    'no empty name',
    'decided.pets.any-name',
    where(
      (p) => /"name":""/.test(p.request),
      (p) => code(p, 400, 'invalid_body'),
    ),
  ],
  [
    'unknown fields come back',
    'decided.pets.unknown-fields',
    where(
      (p) => p.status === 201 && /"tags"/.test(p.request),
      (p) => (p.body = p.body.replace('}', ',"tags":[]}')),
    ),
  ],
  [
    'ids fall',
    'decided.pets.ids',
    where(is(201), (p) => (p.body = p.body.replace(/"id":(\d+)/, (_, id: string) => `"id":${1_000_000 - Number(id)}`))),
  ],
  [
    'Location is a URL',
    'decided.pets.location',
    where(
      (p) => has(p, 'location'),
      (p) => change(p, 'location', (v) => `http://localhost${v}`),
    ),
  ],
  [
    'pending is sold later',
    'decided.pets.status-stays',
    where(
      (p) => p.method === 'GET',
      (p) => (p.body = p.body.replaceAll('"pending"', '"sold"')),
    ),
  ],
  [
    'the list is descending',
    'decided.pets.ascending',
    where(
      (p) => /^\/v1\/pets\?/.test(p.target),
      (p) => (p.body = JSON.stringify((JSON.parse(p.body) as unknown[]).reverse())),
    ),
  ],
  ['after is ignored', 'decided.pets.after', asked(/after=/, 'behind=')],
  [
    'after is at least',
    'decided.pets.after',
    { request: (text) => text.replace(/after=(\d{1,9})\b/, (_, id: string) => `after=${Number(id) - 1}`) },
  ],
  [
    'a Link without the filter',
    'decided.pets.link',
    where(always, (p) => change(p, 'link', (v) => v.replace(/&status=\w+/, ''))),
  ],
  [
    'a Link at the end',
    'decided.pets.link',
    where(
      (p) => /after=/.test(p.target) && !has(p, 'link'),
      (p) => p.headers.push(['Link', '</v1/pets?limit=1&after=999>; rel="next"']),
    ),
  ],
  [
    'no Link to a last page of one',
    'decided.pets.walk',
    where(
      (p) => has(p, 'link') && /after=/.test(p.target),
      (p) => drop(p, 'link'),
    ),
  ],
  [
    'the next page skips one',
    'decided.pets.walk',
    where(always, (p) => change(p, 'link', (v) => v.replace(/after=(\d+)/, (_, id: string) => `after=${Number(id) + 1}`))),
  ],

  ['a quantity of 0', 'decided.orders.schema', where(always, (p) => (p.body = p.body.replace(/"quantity":\d+/, '"quantity":0')))],
  [
    'orders are descending',
    'decided.orders.ascending',
    where(
      (p) => p.target.includes('orders'),
      (p) => (p.body = JSON.stringify((JSON.parse(p.body) as unknown[]).reverse())),
    ),
  ],
  ['orders have no limit', 'decided.orders.limit', asked(/orders\?limit=\d+/, 'orders?')],
  ['orders have no filter', 'decided.orders.status', asked(/(orders\?.*)status=/, '$1state=')],
  ["orders know animals' statuses", 'decided.orders.parameters', asked(/status=available/, 'status=placed')],
  ['orders have no next page', 'decided.orders.walk', where(always, (p) => drop(p, 'link'))],

  ['404 is not deprecated', 'decided.deprecation.headers', where(is(404), (p) => drop(p, 'deprecation'))],
  [
    'all is deprecated',
    'decided.deprecation.elsewhere',
    where(
      (p) => /^\/v1\/pets\?/.test(p.target),
      (p) => p.headers.push(['Deprecation', '@1764892800']),
    ),
  ],
  [
    'removed too early',
    'decided.deprecation.removal',
    where(
      (p) => /\/pets\/\d+$/.test(p.target),
      (p) => code(p, 410, 'operation_removed'),
    ),
  ],

  [
    'windows end anywhere',
    'decided.limits.aligned',
    where(always, (p) => change(p, 'x-ratelimit-reset', (v) => `${Number(v) - 1}`)),
  ],
  [
    '404 does not count',
    'decided.limits.counts-once',
    where(is(404), (p) => change(p, 'x-ratelimit-remaining', (v) => `${Number(v) + 1}`)),
  ],
  [
    '405 counts twice',
    'decided.limits.counts-once',
    where(is(405), (p) => change(p, 'x-ratelimit-remaining', (v) => `${Number(v) - 1}`)),
  ],
  [
    '/readyz counts',
    'decided.limits.public',
    counting(
      (p) => p.target === '/readyz',
      (p) => !p.target.startsWith('/v1/'),
    ),
  ],
  [
    '/openapi.json counts against the key',
    'decided.limits.public',
    counting(
      (p) => p.target === '/openapi.json',
      (p) => p.target.startsWith('/v1/'),
    ),
  ],
  [
    'no address, no numbers',
    'decided.limits.no-key',
    where(
      (p) => p.target === '/healthz',
      (p) => change(p, 'x-ratelimit-limit', () => '0'),
    ),
  ],
];

describe('a server that breaks one decision', { timeout: 60_000 }, () => {
  let server: OwnServer;
  before(async () => {
    server = await startOwnServer();
  });
  after(() => server.stop());

  test('is right where nothing is damaged', async (t) => {
    const { baseUrl, apiKey } = await damaged(t, server, {});
    const through = session({ baseUrl, apiKey }, { profile: 'reference', only: ['decided.'] });
    const results = await run(through);
    const open = results.filter(({ verdict }) => verdict === 'failed' || verdict === 'inconclusive');
    assert.deepEqual(
      open.map(({ id, reason }) => `${id} ${reason}`),
      [],
      told(results),
    );
    const { sent } = through.client;
    const plan = estimateOf(through);
    assert.ok(
      sent.withKey <= plan.withKey + 1 && sent.withoutKey <= plan.withoutKey,
      `${sent.withKey} of ${plan.withKey}, ${sent.withoutKey} of ${plan.withoutKey}`,
    );
    const whole = estimateOf(session({ baseUrl, apiKey }, { profile: 'reference' }));
    assert.ok(whole.withoutKey <= maxKeyless, `${whole.withoutKey} without a key`);
  });

  for (const [what, requirement, damage] of damages) {
    test(`${what}: ${requirement}`, async (t) => {
      const broken = await damaged(t, server, damage);
      const results = await run(session(broken, { profile: 'reference', only: [requirement] }));
      const { verdict, reason } = results.find(({ id }) => id === requirement)!;
      assert.equal(verdict, 'failed', reason);
    });
  }

  test('is tried for each decision, but for those that no damage on the way can break', () => {
    const broken = new Set(damages.map(([, requirement]) => requirement));
    const unbroken = decided.filter(({ id, untested }) => untested === undefined && !broken.has(id)).map(({ id }) => id);
    assert.deepEqual(unbroken, ['decided.errors.deep-nesting', 'decided.errors.not-found', 'decided.limits.refusal']);
  });
});
