import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { Owner } from '../../harness/owner.ts';
import { scriptedServer } from '../../harness/proxy.ts';
import { LoadClient, type LoadRequest } from './client.ts';

type Respond = (response: ServerResponse, nth: number) => void;

const respondWith =
  (status: number): Respond =>
  (response) =>
    void response.writeHead(status, { 'Content-Length': '2' }).end('{}');

/** A server with these responses, all requests that it received, and a client of it. */
async function serve(t: Owner, respond: Respond, connections: number, requests: readonly LoadRequest[] = [get]) {
  const server = await scriptedServer(t, (_, response) => respond(response, server.received.length));
  const client = new LoadClient(server.baseUrl, requests, connections);
  t.after(() => client.close());
  return { client, seen: server.received };
}

const get: LoadRequest = {
  ...{ method: 'GET', path: '/v1/a', headers: { 'X-Every': 'one' }, status: 200 },
  isRight: (body) => isDeepStrictEqual(body, {}),
};

describe('a client', () => {
  it('sends the given number of requests, and waits for their responses', async (t) => {
    const body = '{"name":"小花"}';
    const { client, seen } = await serve(t, respondWith(201), 64, [{ ...get, method: 'POST', body, status: 201 }]);
    const { requests, seconds, latencies } = await client.send(500);
    assert.deepEqual([requests, latencies.length, seen.length], [500, 500, 500]);
    assert.ok(seconds > 0 && latencies.every((latency) => latency > 0));
    assert.deepEqual([seen[0]!.method, seen[0]!.body.toString()], ['POST', body]);
  });

  it('sends at least one request on each connection', async (t) => {
    const { client, seen } = await serve(t, respondWith(200), 4);
    assert.equal((await client.send(1)).requests, 4);
    assert.equal(seen.length, 4);
  });

  it('sends different requests in turn, and goes on with the next one', async (t) => {
    const requests = Array.from({ length: 10 }, (_, i) => ({ ...get, path: `/v1/${i}` }));
    const { client, seen } = await serve(t, respondWith(200), 1, requests);
    await client.send(4);
    await client.send(8);
    assert.equal(seen.map(({ url }) => url.at(-1)).join(''), '012345678901');
    assert.ok(seen.every(({ headers }) => headers['x-every'] === 'one'));
  });

  it('rejects if one response is wrong', async (t) => {
    const wrong: readonly (readonly [Respond, RegExp])[] = [
      [respondWith(429), /received: 429: \{\}$/],
      [(response) => void response.end('[]'), /received: 200: \[\]$/],
      [(response) => void response.end('no'), /received: 200: no$/],
      [(response) => void response.writeHead(200).end('{}'), /received: a response without Content-Length$/],
      [(response) => void response.socket!.destroy(), /received: no response, but ""$/],
      [(response) => void response.socket!.end(), /received: no response, but ""$/],
    ];
    for (const [respond, message] of wrong) {
      const right = respondWith(200);
      const { client } = await serve(t, (response, nth) => (nth === 20 ? respond : right)(response, nth), 16);
      await assert.rejects(client.send(100), (error: Error) =>
        error.message.startsWith('GET /v1/a must return 200 and the right body;') &&
        message.test(error.message));
    }
  });

  it('rejects if the server closes a connection before the last request', async (t) => {
    const close: Respond = (response) =>
      void response.writeHead(200, { Connection: 'close', 'Content-Length': '2' }).end('{}');
    const { client } = await serve(t, close, 2);
    await assert.rejects(client.send(100), /received: no response, but ""$/);
  });
});
