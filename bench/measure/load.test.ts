import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { LoadClient } from './client.ts';
import { quantile, warmUp } from './load.ts';

it('a server is warmed up by a number of requests', async () => {
  const sent: number[] = [];
  const send = async (requests: number) => (sent.push(requests), { requests, seconds: requests / 400, latencies: [] });
  const client = { send } as unknown as LoadClient;
  const perSecond = await warmUp(client, { seconds: 1, warmUp: { requests: 600, seconds: 1e6 } });
  assert.deepEqual([perSecond, sent], [400, [100, 200, 200, 100]]);
});

it('quantiles are interpolated between the two nearest values', () => {
  assert.deepEqual(
    [0, 0.25, 0.99, 1].map((share) => quantile([10, 20, 30, 40, 50], share)),
    [10, 20, 49.6, 50],
  );
  assert.equal(quantile([4, 1, 2, 3], 0.5), 2.5);
  assert.ok(Number.isNaN(quantile([], 0.5)));
});
