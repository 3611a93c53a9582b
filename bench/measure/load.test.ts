import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import type { Owner } from '../../harness/owner.ts';
import { scriptedServer } from '../../harness/proxy.ts';
import { load, quantile, warmUp, WrongResponses } from './load.ts';

type Respond = (response: ServerResponse, nth: number) => void;

const respondWith =
  (status: number): Respond =>
  (response) =>
    void response.writeHead(status).end('{}');

/** A server with these responses, and all requests that it received. */
async function serve(t: Owner, respond: Respond) {
  const server = await scriptedServer(t, (_, response) => respond(response, server.received.length));
  return { url: server.baseUrl, seen: server.received };
}

describe('a load', () => {
  it('sends the given number of requests, and waits for their responses', async (t) => {
    const { url, seen } = await serve(t, respondWith(201));
    const { requests, seconds, latencies } = await load(
      { url, method: 'POST', body: '{}', connections: 64, status: 201 },
      500,
    );
    assert.deepEqual([requests, seen.length], [500, 500]);
    const counted = 500 - 64; // without the first one on each connection
    assert.equal(latencies.length, counted - Math.floor(counted / 10));
    assert.ok(seconds > 0);
  });

  it('sends at least one request on each connection', async (t) => {
    const { url, seen } = await serve(t, respondWith(200));
    await load({ url, connections: 4, status: 200 }, 1);
    assert.equal(seen.length, 4);
  });

  it('sends different requests in turn', async (t) => {
    const { url, seen } = await serve(t, respondWith(200));
    const requests = Array.from({ length: 10 }, (_, i) => ({ path: `/v1/${i}`, headers: { 'X-Number': String(i) } }));
    await load({ url, headers: { 'X-Every': 'one' }, requests, connections: 4, status: 200 }, 80);
    assert.ok(seen.every(({ headers }) => headers['x-every'] === 'one'));
    assert.equal(new Set(seen.map(({ headers, url: path }) => `${path} ${headers['x-number']}`)).size, 10);
  });

  it('rejects if one status is wrong', async (t) => {
    const { url } = await serve(
      t,
      (response, nth) => void response.writeHead(nth === 20 ? 429 : 200).end(nth === 20 ? 'no' : '{}'),
    );
    const wrong = (error: Error) =>
      error instanceof WrongResponses &&
      /must return 200; received: \d+ × 200, 1 × 429(, \d+ missing)?$/.test(error.message);
    await assert.rejects(load({ url, connections: 16, status: 200, expectedBody: '{}' }, 100), wrong);
  });

  it('rejects if one body is wrong and the expected one is given', async (t) => {
    const { url } = await serve(t, (response, nth) => void response.end(nth === 20 ? '[]' : '{}'));
    const options = { url, connections: 32, status: 200 };
    await assert.rejects(
      load({ ...options, expectedBody: '{}' }, 100),
      /received: \d+ × 200, (\d+ missing, )?1 with another body$/,
    );
    await load(options, 100);
  });

  it('rejects if the server closes a connection before the end', async (t) => {
    const closings: readonly Respond[] = [
      (response) => void response.socket!.destroy(),
      (response) => void response.socket!.end(),
      (response) => void response.writeHead(200, { Connection: 'close' }).end('{}'),
    ];
    for (const close of closings) {
      const { url } = await serve(t, (response, nth) => (nth % 10 === 0 ? close : respondWith(200))(response, nth));
      await assert.rejects(load({ url, connections: 16, status: 200 }, 300), /^WrongResponses: .* × 200, \d+ missing$/);
    }
  });

  it('ends if every connection is closed without a response', async (t) => {
    const { url } = await serve(t, (response) => void response.socket!.end());
    await assert.rejects(load({ url, connections: 8, status: 200 }, 8), /received: 8 missing$/);
  });

  it('warms a server up by a number of requests', async (t) => {
    const { url, seen } = await serve(t, respondWith(200));
    const perSecond = await warmUp(
      { url, connections: 4, status: 200 },
      { seconds: 1, warmUp: { requests: 300, seconds: 1e6 } },
    );
    assert.ok(seen.length >= 300 && seen.length < 304 && perSecond > 0, `${seen.length}`);
  });
});

it('quantiles are interpolated between the two nearest values', () => {
  assert.deepEqual(
    [0, 0.25, 0.99, 1].map((share) => quantile([10, 20, 30, 40, 50], share)),
    [10, 20, 49.6, 50],
  );
  assert.equal(quantile([4, 1, 2, 3], 0.5), 2.5);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});
