/** The limits as clients see them: the service on a real port, with a clock that the test sets. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { limitsOf } from './limits/plans.ts';
import type { HttpResponse } from './testing/http-response.ts';
import { send } from './testing/service.ts';
import {
  auth, burst, countStatus, free, freePerMinute, header, limits, minute, noon, openShop, second, type Shop,
} from './testing/shop.ts';
import { get, post, testOnce as test } from './testing/wire.ts';

test('every response has the three headers, with the limits of the key or else of the address', async (t) => {
  const shop = await openShop(t, { listener: { headTimeoutMs: 300, requestTimeoutMs: 400 } });
  const { secret, pets } = shop;
  await pets.create({ name: 'a', categoryId: 1n, status: 'sold' });
  const [perMinute, reset] = [limitsOf({ name: 'business' }).perMinute, noon / second + 60];
  let keyed = perMinute;
  let counted = freePerMinute;
  /** Sends a message and checks whether its response shows the key or the address, and whether it was counted. */
  const exchange = async (
    message: string,
    status: number,
    by: 'key' | 'address counted' | 'address',
    method = 'GET',
    client = shop.connect(),
  ) => {
    if (by === 'key') keyed -= 1;
    if (by === 'address counted') counted -= 1;
    if (message !== '') await client.send(message);
    const response = await client.response(method);
    assert.equal(response.status, status, message);
    assert.deepEqual(
      limits(response),
      [by === 'key' ? perMinute : freePerMinute, by === 'key' ? keyed : counted, reset],
      message,
    );
    client.socket.destroy();
  };
  const as = (method: string, path: string, ...lines: string[]): string => get(path, ...lines).replace('GET', method);
  const json = 'Content-Type: application/json';
  const body = '{"name":"a","categoryId":1}';
  const length = `Content-Length: ${body.length}`;

  await exchange(get('/v1/pets', auth(secret)), 200, 'key');
  await exchange(as('HEAD', '/v1/pets', auth(secret)), 200, 'key', 'HEAD');
  await exchange(post('/v1/pets', auth(secret), json, length) + body, 201, 'key');
  await exchange(as('OPTIONS', '/v1/pets', auth(secret)), 204, 'key', 'OPTIONS');
  await exchange(get('/v1/pets?x=%zz', auth(secret)), 400, 'key');
  await exchange(post('/v1/pets', auth(secret), json, 'Content-Length: 1') + '{', 400, 'key');
  await exchange(get('/v1/pets', auth(secret), 'Transfer-Encoding: chunked') + 'zz\r\n', 400, 'key');
  await exchange(get('/v1/pets/9', auth(secret)), 404, 'key');
  await exchange(get('/v1/nowhere', auth(secret)), 404, 'key');
  await exchange(as('DELETE', '/v1/pets', auth(secret)), 405, 'key');
  await exchange(post('/v1/pets', auth(secret), json, 'Content-Length: 5') + '{', 408, 'key');
  await exchange(post('/v1/pets', auth(secret), json, 'Content-Length: 65537'), 413, 'key');
  await exchange(post('/v1/pets', auth(secret), length) + body, 415, 'key');
  await exchange(get('/v1/pets', auth(secret), 'Expect: rain'), 417, 'key');
  t.mock.method(pets, 'create', () => Promise.reject(new Error('bug')), { times: 1 });
  await exchange(post('/v1/pets', auth(secret), json, length) + body, 500, 'key');
  await exchange(get('/v1/pets', auth(secret)).replace('HTTP/1.1', 'HTTP/1.0'), 200, 'key');

  await exchange(get('/v1/pets'), 401, 'address counted');
  await exchange(as('HEAD', '/v1/pets'), 401, 'address counted', 'HEAD');
  await exchange(get('/v1/pets', auth('x'), 'Expect: rain'), 401, 'address counted');
  await exchange('GET /v1/pets HTTP/1.1\r\n\r\n', 400, 'address counted');
  await exchange(`GET /v1/pets HTTP/1.1\r\n${auth(secret)}\r\n\r\n`, 400, 'address counted');
  await exchange('GARBAGE\r\n\r\n', 400, 'address counted');
  await exchange('GET /v1/pets HTTP/1.1\r\nHost: x\r\n', 408, 'address counted');
  await exchange(get('/v1/pets', `X: ${'x'.repeat(20_000)}`), 431, 'address counted');
  await exchange(get('/v1/pets', auth(secret)).replace('HTTP/1.1', 'HTTP/1.2'), 505, 'address counted');
  await exchange('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505, 'address counted');
  for (const path of ['/healthz', '/readyz', '/openapi.json']) {
    await exchange(get(path), 200, 'address');
    await exchange(get(path, auth(secret)), 200, 'address');
    await exchange(as('HEAD', path), 200, 'address', 'HEAD');
  }
  await exchange(as('DELETE', '/healthz'), 405, 'address');
  await exchange(get('/nowhere', auth(secret)), 404, 'address');
  await exchange('OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n', 204, 'address', 'OPTIONS');
  await exchange('CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 405, 'address');
  shop.service.stop();
  await exchange(get('/v1/pets', auth(secret)), 503, 'key');
  await exchange(get('/readyz'), 503, 'address');
});

test('the three headers are also in a 410, a 429, and when there are too many connections', async (t) => {
  const late = await openShop(t, { now: Date.parse('2030-12-05T00:00:00Z') });
  const gone = await late.get(late.secret, '/v1/pets/1');
  assert.deepEqual([gone.status, ...limits(gone)], [410, 1000, 999, late.now / second + 60]);
  const shop = await openShop(t, { listener: { maxServed: 1 } });
  const key = await shop.key(free);
  const client = shop.connect();
  for (let left = freePerMinute - 1; left >= 0; left -= 1) {
    await client.send(get('/v1/pets', auth(key)));
    assert.deepEqual(limits(await client.response()), [freePerMinute, left, noon / second + 60]);
  }
  await client.send(get('/v1/pets', auth(key)));
  const refused = await client.response();
  assert.deepEqual(
    [refused.status, ...limits(refused), header(refused, 'retry-after')],
    [429, freePerMinute, 0, noon / second + 60, 60],
  );
  const crowded = await shop.connect().response();
  assert.deepEqual([crowded.status, ...limits(crowded)], [503, freePerMinute, freePerMinute, noon / second + 60]);
});

test('of hundreds of concurrent requests exactly the limit is admitted, each with its own Remaining', async (t) => {
  const shop = await openShop(t);
  for (const name of ['free', 'pro'] as const) {
    const { perMinute } = limitsOf({ name });
    const secret = await shop.key({ name });
    const responses = await burst(shop, secret, perMinute + 240);
    const admitted = responses.filter(({ status }) => status === 200);
    assert.deepEqual([admitted.length, countStatus(responses, 429)], [perMinute, 240]);
    assert.deepEqual(
      admitted.map((response) => limits(response)[1]).sort((a, b) => a! - b!),
      Array.from({ length: perMinute }, (_, i) => i),
    );
    for (const response of responses) {
      assert.deepEqual([limits(response)[0], limits(response)[2]], [perMinute, noon / second + 60]);
    }
  }
});

/** Runs workers with a connection each until a window that ends at `until` refuses them. Returns all responses. */
async function work(
  shop: Shop,
  secret: string,
  workers: number,
  until: number,
  onResponse: (count: number) => void,
): Promise<HttpResponse[]> {
  const responses: HttpResponse[] = [];
  const agent = new Agent({ keepAlive: true, maxSockets: workers });
  const { hostname, port } = new URL(shop.address);
  const once = (): Promise<HttpResponse> =>
    new Promise((resolve, reject) => {
      request(
        { hostname, port, agent, path: '/v1/pets', headers: { authorization: `Bearer ${secret}` } },
        (response) => {
          response.resume().on('end', () =>
            resolve({
              status: response.statusCode!,
              body: '',
              headers: new Map(Object.entries(response.headers).map(([name, value]) => [name, String(value)])),
            }),
          );
        },
      )
        .on('error', reject)
        .end();
    });
  await Promise.all(
    Array.from({ length: workers }, async () => {
      for (;;) {
        const response = await once();
        responses.push(response);
        onResponse(responses.length);
        if (response.status === 429 && limits(response)[2]! * second >= until) return;
      }
    }),
  );
  agent.destroy();
  return responses;
}

/** Returns the values of Remaining, ascending, of the admitted requests with this Reset. */
const remaining = (responses: readonly HttpResponse[], reset: number): number[] =>
  responses
    .filter((response) => response.status === 200 && limits(response)[2] === reset / second)
    .map((response) => limits(response)[1]!)
    .sort((a, b) => a - b);
const countdown = (length: number): number[] => Array.from({ length }, (_, i) => i);

test('across the boundary of a minute, exactly the limit is admitted in each, with 40 connections', async (t) => {
  const shop = await openShop(t, { now: noon + 59_999 });
  const responses = await work(shop, await shop.key(free), 40, noon + 2 * minute, (count) => {
    if (count === 45 || count > 200) shop.now = noon + minute; // the first time while the first minute still has room
  });
  const first = remaining(responses, noon + minute);
  assert.ok(first.length >= 45 && first.length <= freePerMinute, `${first.length}`);
  assert.deepEqual(first, countdown(freePerMinute).slice(-first.length));
  assert.deepEqual(remaining(responses, noon + 2 * minute), countdown(freePerMinute));
  const again = await openShop(t, { now: noon + 59_999 });
  const exhausted = await work(again, await again.key(free), 40, noon + 2 * minute, (count) => {
    if (count === 130) again.now = noon + minute;
  });
  for (const end of [noon + minute, noon + 2 * minute]) {
    assert.deepEqual(remaining(exhausted, end), countdown(freePerMinute));
  }
});

test('across the boundary of a day, exactly the limit is admitted in each, with 40 connections', async (t) => {
  const midnight = Date.parse('2026-11-22T00:00:00Z');
  const day = 24 * 60 * minute;
  const shop = await openShop(t, { now: midnight - 1 });
  const secret = await shop.key({ name: 'enterprise', perMinute: 500, perDay: 90 });
  const responses = await work(shop, secret, 40, midnight + day, (count) => {
    if (count === 200) shop.now = midnight;
  });
  assert.deepEqual(remaining(responses, midnight), countdown(90));
  assert.deepEqual(remaining(responses, midnight + day), countdown(90));
  assert.equal(countStatus(responses, 200), 180);
});

test('when the day is exhausted, the headers of a 429 name midnight', async (t) => {
  const shop = await openShop(t, { now: Date.parse('2026-11-21T23:58:30Z') });
  const secret = await shop.key({ name: 'enterprise', perMinute: 40, perDay: 70 });
  assert.equal(countStatus(await burst(shop, secret, 60), 200), 40);
  shop.now += minute;
  const responses = await burst(shop, secret, 60);
  assert.equal(countStatus(responses, 200), 30);
  const refused = responses.find(({ status }) => status === 429)!;
  assert.deepEqual(
    [...limits(refused), header(refused, 'retry-after')],
    [70, 0, Date.parse('2026-11-22T00:00:00Z') / second, 30],
  );
  assert.match(
    refused.body,
    /"code":"rate_limited","message":"The key's 70 requests a day are used up; try again in 30 s\."/,
  );
});

test('Retry-After and Reset of a 429 agree: a request is admitted then, and not a second earlier', async (t) => {
  for (const offset of [0, 1, 999, 30_500, 59_000, 59_999]) {
    const shop = await openShop(t, { now: noon + offset });
    const secret = await shop.key(free);
    await burst(shop, secret, freePerMinute);
    const refused = await shop.get(secret, '/v1/pets/1');
    const wait = header(refused, 'retry-after');
    assert.equal(refused.status, 429);
    assert.equal(limits(refused)[2], Math.floor(shop.now / second) + wait, 'Reset is now plus Retry-After');
    assert.equal(refused.headers.get('deprecation'), '@1764892800');
    shop.now += (wait - 1) * second;
    assert.equal((await shop.get(secret)).status, 429);
    shop.now += second;
    assert.equal((await shop.get(secret)).status, 200);
  }
});

test('while the server stops, requests are still counted and limited first', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key({ name: 'enterprise', perMinute: 2, perDay: 9 });
  shop.service.stop();
  assert.deepEqual(
    [(await shop.get(secret)).status, (await shop.get(secret)).status, (await shop.get(secret)).status],
    [503, 503, 429],
  );
});

test('a broken message after valid requests has a response of its own, with the limits of the address', async (t) => {
  const shop = await openShop(t);
  const client = shop.connect();
  await client.send(get('/v1/pets', auth(shop.secret)), get('/v1/pets', auth(shop.secret)), 'BROKEN\r\n\r\n');
  assert.deepEqual(limits(await client.response()), [1000, 999, noon / second + 60]);
  assert.deepEqual(limits(await client.response()), [1000, 998, noon / second + 60]);
  const broken = await client.response();
  assert.deepEqual([broken.status, ...limits(broken)], [400, freePerMinute, freePerMinute - 1, noon / second + 60]);
  await client.ended();
});

test('without a valid key, 60 requests per minute and address receive 401, the others 429', async (t) => {
  const shop = await openShop(t);
  const responses = await burst(shop, null, 100);
  assert.deepEqual([countStatus(responses, 401), countStatus(responses, 429)], [freePerMinute, 40]);
  assert.deepEqual(
    responses
      .filter(({ status }) => status === 401)
      .map((response) => limits(response)[1])
      .sort((a, b) => a! - b!),
    countdown(freePerMinute),
  );
  const refused = await shop.get('x');
  assert.deepEqual(
    [refused.status, header(refused, 'retry-after'), refused.headers.has('www-authenticate')],
    [429, 60, false],
  );
  assert.match(refused.body, /"code":"rate_limited"/);
  assert.equal((await shop.get(shop.secret)).status, 200);
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/nowhere']) {
    const response = await send(shop.address, 'GET', path);
    assert.deepEqual(
      [response.status, ...limits(response)],
      [path === '/nowhere' ? 404 : 200, freePerMinute, 0, noon / second + 60],
      path,
    );
  }
  const client = shop.connect();
  await client.send('BROKEN\r\n\r\n');
  const broken = await client.response();
  assert.deepEqual(
    [broken.status, ...limits(broken)],
    [400, freePerMinute, 0, noon / second + 60],
    'a broken head keeps its status',
  );
  shop.now += 10 * minute;
  assert.equal((await shop.get(null)).status, 401, 'there are no bans of addresses');
});

test('with trusted proxies, each client has its own limit; without, X-Forwarded-For is ignored', async (t) => {
  const from = (shop: Shop, address: string): Promise<HttpResponse> =>
    send(shop.address, 'GET', '/v1/pets', { headers: { 'x-forwarded-for': address } });
  const direct = await openShop(t);
  for (let i = 0; i < freePerMinute; i += 1) assert.equal((await from(direct, `203.0.113.${i}`)).status, 401);
  assert.equal((await from(direct, '203.0.113.99')).status, 429);
  const behind = await openShop(t, { trustedProxies: 1 });
  const left = async (address: string): Promise<number> => limits(await from(behind, address))[1]!;
  for (let i = 1; i <= freePerMinute; i += 1) assert.equal(await left(`203.0.113.${i}`), freePerMinute - 1);
  assert.equal(await left('198.51.100.1, 203.0.113.1'), freePerMinute - 2);
  assert.equal(await left('2001:db8::1'), freePerMinute - 1);
  assert.equal(await left('2001:db8::2'), freePerMinute - 2);
  assert.equal(await left('2001:db8:0:1::1'), freePerMinute - 1);
  // Messages without a Host are malformed, but their sender is known, also for requests that are not counted.
  for (const [head, lost] of [
    ['GET /v1/pets', 3],
    ['GET /healthz', 4],
    ['CONNECT x:443', 4],
    ['OPTIONS *', 5],
  ] as const) {
    const client = behind.connect();
    await client.send(
      `${head} HTTP/1.1\r\nX-Forwarded-For: 2001:db8::3\r\n${head.startsWith('CONNECT') ? 'Host: x\r\n' : ''}\r\n`,
    );
    assert.equal(limits(await client.response())[1], freePerMinute - lost, head);
  }
  assert.equal(
    limits(await send(behind.address, 'GET', '/healthz', { headers: { 'x-forwarded-for': '2001:db8::4' } }))[1],
    freePerMinute - 5,
  );
  assert.equal(limits(await send(behind.address, 'GET', '/healthz'))[1], freePerMinute);
});

test('all secrets of a key share the same limits', async (t) => {
  const shop = await openShop(t);
  const old = await shop.key(free);
  assert.equal(limits(await shop.get(old))[1], freePerMinute - 1);
  const { secret } = await shop.keys.rotate('k2', minute, shop.now);
  assert.equal(limits(await shop.get(secret))[1], freePerMinute - 2);
  assert.equal(limits(await shop.get(old))[1], freePerMinute - 3);
  const responses = [...(await burst(shop, old, 40)), ...(await burst(shop, secret, 40))];
  assert.equal(countStatus(responses, 200), freePerMinute - 3);
});

test('a change of plan applies from the next request on, to the current window', async (t) => {
  const shop = await openShop(t);
  const secret = await shop.key(free);
  await burst(shop, secret, 61);
  await shop.keys.setPlan('k2', { name: 'pro' }, shop.now);
  const more = await shop.get(secret);
  assert.deepEqual([more.status, ...limits(more)], [200, 300, 239, noon / second + 60]);
  await shop.keys.setPlan('k2', { name: 'enterprise', perMinute: 1_000, perDay: 61 }, shop.now);
  const used = await shop.get(secret);
  assert.deepEqual([used.status, ...limits(used)], [429, 61, 0, Date.parse('2026-11-22T00:00:00Z') / second]);
  await shop.keys.setPlan('k2', free, shop.now);
  assert.deepEqual(limits(await shop.get(secret)), [freePerMinute, 0, noon / second + 60]);
});

test('the server behaves as the tables of docs/server.md state: the plans, and one minute of a Free key', async (t) => {
  const page = readFileSync(new URL('../docs/server.md', import.meta.url), 'utf8');
  const cells = (row: string): string[] => row.split('|').slice(1, -1).map((cell) => cell.trim());
  const rows = (head: string): string[][] => {
    assert.equal(page.split(head).length, 2, `${head} is there once`);
    const [table] = page.slice(page.indexOf(head)).split('\n\n');
    return table!.split('\n').slice(2).map(cells);
  };
  const plans = rows('| plan | requests a minute');
  assert.deepEqual(plans.map(([name]) => name), ['Free', 'Pro', 'Business', 'Enterprise']);
  for (const [name, perMinute, perDay] of plans.slice(0, 3)) {
    const plan = { name: name!.toLowerCase() as 'free' };
    assert.deepEqual(limitsOf(plan), {
      perMinute: Number(perMinute!.replace(',', '')),
      perDay: Number(perDay!.replace(',', '')),
    });
  }
  const shop = await openShop(t);
  const secret = await shop.key(free);
  const minuteRows = rows('| time | your request');
  assert.equal(minuteRows.length, 7);
  for (const [time, what, ...expected] of minuteRows) {
    if (what === 'the 60th') await burst(shop, secret, 56);
    shop.now = Date.parse(`2026-11-21T${time}Z`);
    const response = await shop.get(secret, what!.includes('does not exist') ? '/v1/pets/9' : '/v1/pets');
    assert.deepEqual(
      [String(response.status), ...limits(response).map(String), response.headers.get('retry-after') ?? ''],
      expected,
      what,
    );
  }
});
