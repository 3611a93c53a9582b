/** The access log and the metrics of requests, through the service and over real sockets. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { once } from 'node:events';
import test from 'node:test';
import * as fc from 'fast-check';
import { openService, send, type TestService } from '../testing/service.ts';
import { Exposition } from './exposition.ts';
import { Metrics } from './metrics.ts';

/** Reads a text in the format of Prometheus: the values by name and labels. */
function samplesOf(text: string): Map<string, number> {
  const samples = text.trimEnd().split('\n').filter((line) => !line.startsWith('#')).map((line) => {
    const [, name, value] = /^([a-z_]+(?:\{[^}]*\})?) (\S+)$/.exec(line)!;
    return [name!, Number(value)] as const;
  });
  const byName = new Map(samples);
  assert.equal(byName.size, samples.length, 'no sample is there twice');
  return byName;
}

function metricsOf({ metrics }: { readonly metrics: Metrics }): Map<string, number> {
  const exposition = new Exposition();
  metrics.writeTo(exposition);
  return samplesOf(exposition.text);
}

/** The sum of the samples whose names match. */
function sum(samples: Map<string, number>, name: RegExp): number {
  return [...samples].reduce((total, [key, value]) => (name.test(key) ? total + value : total), 0);
}

/** Sends bytes on a new connection. Returns the status of each response, when the server has closed its side. */
async function sendRaw({ address }: TestService, bytes: string): Promise<number[]> {
  const socket = connect(Number(new URL(address).port), '127.0.0.1').setEncoding('latin1');
  let text = '';
  socket.on('data', (piece: string) => (text += piece));
  socket.write(bytes, 'latin1');
  await once(socket, 'end');
  socket.destroy();
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}

test('each response is one line of the access log', async (t) => {
  const service = await openService(t, { trustedProxies: 1 });
  const { call, accesses } = service;
  const headers = { 'X-Forwarded-For': '203.0.113.7' };
  const responses = [
    await call('GET', '/v1/pets?limit=2', { headers }),
    await call('POST', '/v1/pets', { body: '{"name":"a","categoryId":1}' }),
    await call('HEAD', '/healthz', { key: null }),
    await call('GET', '/v1/nowhere%0A%22', { key: 'petstore_wrong' }),
    await call('OPTIONS', '/v1/pets'),
  ];
  assert.deepEqual(accesses.map(({ id }) => id), responses.map((response) => response.headers.get('x-request-id')));
  assert.deepEqual(accesses.map(({ bytes }) => bytes), responses.map(({ body }) => Buffer.byteLength(body)));
  assert.deepEqual(
    accesses.map(({ key, method, path, status, address }) => [key, method, path, status, address]),
    [
      ['k1', 'GET', '/v1/pets', 200, '203.0.113.7'],
      ['k1', 'POST', '/v1/pets', 201, '127.0.0.1'],
      [null, 'HEAD', '/healthz', 200, '127.0.0.1'],
      [null, 'GET', '/v1/nowhere\n"', 401, '127.0.0.1'],
      ['k1', 'OPTIONS', '/v1/pets', 204, '127.0.0.1'],
    ],
  );
  assert.ok(accesses.every(({ ms }) => ms >= 0 && ms < 60_000));
});

test('responses without a request are in the access log and counted apart from requests', async (t) => {
  const service = await openService(t, { listener: { headTimeoutMs: 100 } });
  const head = 'GET /v1/pets HTTP/1.1\r\n';
  const messages: [string, number][] = [
    ['GARBAGE\r\n\r\n', 400],
    [`GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['GET / HTTP/1.1\r\nHost: a\r\n', 408],
    ['CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n', 405],
    [`${head}\r\n`, 400], // a request without Host
  ];
  for (const [message, status] of messages) assert.deepEqual(await sendRaw(service, message), [status]);
  assert.deepEqual(service.accesses.map(({ status }) => status), messages.map(([, status]) => status));
  assert.deepEqual(service.accesses.map(({ path }) => path), [null, null, null, null, '/v1/pets']);
  const samples = metricsOf(service);
  const others = [...samples].filter(([name]) => name.startsWith('petstore_http_other_responses_total'));
  assert.deepEqual(others.sort(), [400, 405, 408, 431].map((status) => {
    return [`petstore_http_other_responses_total{status="${status}"}`, 1];
  }));
  assert.equal(samples.get('petstore_http_requests_total{operation="other",status="400"}'), 1);
});

test('a refused connection is in the access log and counted', async (t) => {
  const service = await openService(t, { listener: { maxServed: 1 } });
  const busy = connect(Number(new URL(service.address).port), '127.0.0.1');
  await once(busy, 'connect');
  assert.deepEqual(await sendRaw(service, ''), [503]);
  assert.deepEqual(service.accesses.map(({ status, method, path }) => [status, method, path]), [[503, null, null]]);
  assert.equal(metricsOf(service).get('petstore_http_other_responses_total{status="503"}'), 1);
  assert.deepEqual(service.listener.counts, { accepted: 2, refused: 1, dropped: 0, failedHandshakes: 0 });
  assert.match(service.logged.join(), /^request \S+ was refused with 503 too_many_connections$/);
  busy.destroy();
});

test('the numbers add up for any requests', async (t) => {
  const service = await openService(t);
  const { address, accesses, secret } = service;
  const request = fc.record({
    method: fc.constantFrom('GET', 'GET', 'GET', 'HEAD', 'POST', 'OPTIONS', 'DELETE'),
    path: fc.constantFrom(
      '/v1/pets', '/v1/pets?limit=0', '/v1/pets/1', '/v1/pets/x', '/v1/store/orders', '/v1/x', '/healthz', '/readyz',
      '/openapi.json', '/', '/v1/pets/petstore_x',
    ),
    key: fc.constantFrom(secret, secret, null, 'wrong'),
  });
  const sent: { status: number }[] = [];
  for (let i = 0; i < 50; i++) sent.push(await send(address, 'GET', '/v1/pets'));
  await fc.assert(
    fc.asyncProperty(fc.array(request, { maxLength: 20 }), async (requests) => {
      const responses = requests.map(({ method, path, key }) => {
        const body = method === 'POST' ? { body: '{"name":"a","categoryId":1}' } : {};
        return send(address, method, path, { key, ...body });
      });
      sent.push(...(await Promise.all(responses)));
      const samples = metricsOf(service);
      const requestsTotal = /^petstore_http_requests_total\{/;
      assert.equal(accesses.length, sent.length);
      assert.equal(sum(samples, requestsTotal), sent.length);
      for (const status of new Set(sent.map((response) => response.status))) {
        const ofStatus = new RegExp(`^petstore_http_requests_total\\{.*status="${status}"\\}`);
        assert.equal(sum(samples, ofStatus), sent.filter((response) => response.status === status).length);
      }
      for (const operation of [...service.service.operations, 'other']) {
        const count = sum(samples, new RegExp(`^petstore_http_requests_total\\{operation="${operation}"`));
        const duration = 'petstore_http_request_duration_seconds';
        assert.equal(samples.get(`${duration}_count{operation="${operation}"}`), count);
        assert.equal(samples.get(`${duration}_bucket{operation="${operation}",le="+Inf"}`), count);
        const buckets = [...samples].filter(([name]) => name.startsWith(`${duration}_bucket{operation="${operation}"`));
        assert.deepEqual(buckets, buckets.toSorted(([, one], [, other]) => one - other), 'buckets are cumulative');
        assert.equal(buckets.length, 15);
      }
      const codes = (status: number): number => sent.filter((response) => response.status === status).length;
      assert.equal(sum(samples, /^petstore_rate_limit_refusals_total/), codes(429));
      const refused = samples.get('petstore_rate_limit_refusals_total{limit="address"}')!;
      assert.equal(sum(samples, /^petstore_unauthenticated_requests_total/), codes(401) + refused);
      assert.equal(sum(samples, /^petstore_http_other_responses_total/), 0);
    }),
    { numRuns: 25 },
  );
  assert.ok(sent.some(({ status }) => status === 429), 'the limit of the address was reached');
});

test('refusals are counted by window, and bans are counted and logged', async (t) => {
  const service = await openService(t);
  const minute = 60_000;
  const plan = { name: 'enterprise', perMinute: 2, perDay: 3 } as const;
  const { secret } = await service.keys.create('small', plan, null, service.now);
  const sendSmall = (): Promise<{ status: number }> => send(service.address, 'GET', '/v1/pets', { key: secret });
  const refusals = (): (number | undefined)[] => {
    const samples = metricsOf(service);
    return ['minute', 'day', 'ban'].map((limit) => samples.get(`petstore_rate_limit_refusals_total{limit="${limit}"}`));
  };
  for (let i = 0; i < 4; i++) await sendSmall();
  assert.deepEqual(refusals(), [2, 0, 0]);
  service.now += minute;
  for (let i = 0; i < 3; i++) await sendSmall();
  assert.deepEqual(refusals(), [2, 2, 0]);
  service.now += 10_000; // the grace time is over
  for (let i = 0; i < 70; i++) await sendSmall();
  assert.deepEqual(refusals(), [2, 61, 11]);
  assert.equal(service.service.bans, 1);
  assert.equal(service.usage.limiter.bannedKeys(service.now), 1);
  assert.deepEqual(service.logged, [
    'key k2 (small) is banned until 2026-11-21T12:06:10.000Z, because it was used too often after a 429',
  ]);
  service.now += 10 * minute;
  assert.equal(service.usage.limiter.bannedKeys(service.now), 0);
});

test('a 5xx is logged, also without an access log', async (t) => {
  const service = await openService(t, { starting: true });
  const response = await service.call('GET', '/v1/pets');
  assert.equal(response.status, 503);
  assert.deepEqual(service.logged, [
    `request ${response.headers.get('x-request-id')} was refused with 503 not_ready`,
  ]);
  for (let i = 0; i < 30; i++) await service.call('GET', '/v1/pets');
  assert.equal(service.logged.length, 10);
  service.service.end();
  assert.equal(service.logged[10], '21 more responses with not_ready within a minute');
});

test('durations are counted in the buckets up to their bounds', () => {
  const metrics = new Metrics([]);
  for (const seconds of [0, 0.0005, 0.00051, 1, 1.5, 10, 10.1, 99]) {
    metrics.noteReply({ status: 200, headers: [], body: null }, seconds);
  }
  const samples = metricsOf({ metrics });
  const upTo = (le: string): number | undefined =>
    samples.get(`petstore_http_request_duration_seconds_bucket{operation="other",le="${le}"}`);
  assert.deepEqual(['0.0005', '0.001', '1', '2.5', '10', '+Inf'].map(upTo), [2, 3, 4, 5, 6, 8]);
  assert.equal(samples.get('petstore_http_request_duration_seconds_sum{operation="other"}'), 121.60101);
});
