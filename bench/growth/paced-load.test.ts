import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { PacedLoad, type PacedRequest } from './paced-load.ts';

async function serve(t: TestContext, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close().closeAllConnections());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const get: PacedRequest = { method: 'GET', path: '/x', headers: {}, status: 200 };

test('requests go on while one waits for its answer, and that one is told', async (t) => {
  const paths: string[] = [];
  const url = await serve(t, (request, response) => {
    paths.push(request.url!);
    setTimeout(() => response.end('ok'), paths.length === 1 ? 150 : 0);
  });
  const load = new PacedLoad(url, 100, (number) => ({ ...get, path: `/${number}` }));
  await load.during(sleep(300));
  load.stop();
  assert.ok(paths.length >= 15 && paths.length <= 31, `${paths.length} requests`);
  assert.deepEqual(paths.slice(0, 3), ['/0', '/1', '/2']);
  const latencies = load.samples.map(({ latency }) => latency);
  assert.ok(Math.max(...latencies) >= 145, `${latencies}`);
  assert.ok(latencies.length >= 10);
});

test('a wrong status, or no answer, ends it', async (t) => {
  const refusing = new PacedLoad(await serve(t, (_, response) => response.writeHead(429).end()), 100, () => get);
  await assert.rejects(refusing.during(sleep(5_000, undefined, { ref: false })), /^Error: GET \/x must be answered with 200, and was with 429$/);
  refusing.stop();
  const broken = new PacedLoad(await serve(t, (request) => request.destroy()), 100, () => get);
  await assert.rejects(broken.during(sleep(5_000, undefined, { ref: false })), /^Error: GET \/x was not answered: /);
  broken.stop();
});
