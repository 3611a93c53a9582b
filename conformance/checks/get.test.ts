/** Announcements of the removal of getPet, and the gaps of unknown paths and methods. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearer } from '../client/credentials.ts';
import { getPet } from '../client/requests.ts';
import { response } from '../testing/responses.ts';
import { apiKey, proxy, smallServer } from '../testing/servers.ts';
import { run, session } from '../testing/sessions.ts';
import { History } from '../verdicts/history.ts';
import { rules } from '../verdicts/rules/rules.ts';
import { getChecks } from './get.ts';

const only = ['get.removal'];

test('a server without Sunset is not judged, because it need not announce the removal', async (t) => {
  const [result] = await run(session(await smallServer(t), { only }));
  assert.deepEqual([result?.verdict, result?.inapplicable], ['skipped', true]);
});

for (const [name, server, verdict] of [
  ['on the day of the specification', { variant: 'first request' }, 'passed'],
  ['in another year', { mutant: 'sunset-year-early' }, 'failed'],
] as const) {
  test(`Sunset ${name}: ${verdict}`, async (t) => {
    const [result] = await run(session(await smallServer(t, server), { only }));
    assert.equal(result?.verdict, verdict);
  });
}

test('Sunset is any time of the day, in any time zone; other forms than a date are not judged', () => {
  const { judge } = rules.find(({ id }) => id === 'get.removal')!;
  const judged = (...headers: [string, string][]) =>
    judge(response({ headers, request: getPet(bearer(apiKey), 1n) }), new History());
  for (const sunset of [
    'Thu, 05 Dec 2030 00:00:00 GMT',
    'Thu, 05 Dec 2030 23:59:59 GMT',
    'Wed, 04 Dec 2030 10:00:00 GMT',
    'Fri, 06 Dec 2030 11:59:59 GMT',
  ])
    assert.equal(judged(['Sunset', sunset]), true, sunset);
  for (const sunset of ['Wed, 04 Dec 2030 09:59:59 GMT', 'Fri, 06 Dec 2030 12:00:00 GMT'])
    assert.equal(typeof judged(['Sunset', sunset]), 'object', sunset);
  for (const headers of [[], [['Sunset', 'in winter']]] as [string, string][][])
    assert.equal(judged(...headers), undefined);
});

test('the gaps say what responses to unknown paths and methods lack', async (t) => {
  const suite = [['one', getChecks.filter(({ gaps }) => gaps.includes('paths.unknown'))]] as const;
  const seen = async (change?: Parameters<typeof proxy>[2]) => {
    const of = session(await proxy(t, await smallServer(t), change));
    await run(of, suite);
    const observed = of.ledger.observations().filter(({ id }) => /^(paths|methods)\./.test(id));
    return Object.fromEntries(observed.map(({ id, behaviour }) => [id, behaviour]));
  };
  assert.deepEqual(await seen(), {
    'paths.unknown': '404',
    'paths.slash': '404',
    'methods.unknown': '405',
    'methods.options': '405',
    'methods.head': '405',
  });
  const bare = await seen(({ method, url }, response) => {
    response.headers = response.headers.filter(([name]) => name.toLowerCase() !== 'x-ratelimit-reset');
    if (url.endsWith('/no-such-path')) response.body = Buffer.from('<p>Not found</p>');
    if (method === 'PROPFIND') response.headers = [['content-type', 'text/html']];
    if (method === 'OPTIONS') response.headers = [...response.headers, ['X-RateLimit-Reset', 'soon']];
  });
  assert.deepEqual(bare, {
    'paths.unknown': '404, without X-RateLimit-Reset, with a body that is not JSON',
    'methods.unknown':
      '405, without X-RateLimit-Limit and X-RateLimit-Remaining and X-RateLimit-Reset, with a body that is not JSON',
    'paths.slash': '404, without X-RateLimit-Reset',
    'methods.options': '405, with X-RateLimit-Reset "soon"',
    'methods.head': '405, without X-RateLimit-Reset',
  });
});
