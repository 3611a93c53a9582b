/** The address of the metrics, with clients that send nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import test from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { MetricsServer } from './metrics-server.ts';

test('connections that send nothing are closed in less time than a scrape may take', async (t) => {
  const server = await MetricsServer.open('127.0.0.1', 0, () => 'petstore_ready 1\n');
  t.after(() => server.close());
  const { port } = new URL(server.address);
  const scrapeTimeout = delay(10_000, 'too late', { ref: false }); // Prometheus's default
  const idle = Array.from({ length: 50 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}).resume());
  t.after(() => idle.forEach((socket) => socket.destroy()));
  const closed = idle.map((socket) => once(socket, 'close'));
  await Promise.all(idle.map((socket) => once(socket, 'connect')));
  await once(connect(Number(port), '127.0.0.1').resume(), 'close'); // it is one too many
  assert.notEqual(await Promise.race([Promise.all(closed), scrapeTimeout]), 'too late');
  const scrape = await fetch(server.address);
  assert.equal(await scrape.text(), 'petstore_ready 1\n');
  assert.equal(scrape.headers.get('x-content-type-options'), 'nosniff');
});
