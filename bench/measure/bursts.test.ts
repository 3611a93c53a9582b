import assert from 'node:assert/strict';
import { it } from 'node:test';
import { measureBursts } from './bursts.ts';
import type { LoadClient } from './client.ts';
import type { ServerProcess } from './server-process.ts';

/** A server whose CPU time grows with each burst by the next of `costs`, a quarter of it for the system. */
function serverOf(costs: readonly number[], onBurst = (_requests: number): void => {}) {
  let [bursts, user, system] = [0, 0, 0];
  const send = async (requests: number) => {
    const cost = costs[bursts++ % costs.length]!;
    user += (cost * 3) / 4;
    system += cost / 4;
    onBurst(requests);
    return { requests, seconds: 1, latencies: [] };
  };
  const usage = async () => ({ user, system, resident: 0 });
  const during = <T>(task: Promise<T>) => task;
  return { process: { usage, during } as unknown as ServerProcess, client: { send } as unknown as LoadClient };
}

it('bursts alternate between the servers, and none follows itself', async () => {
  let order = '';
  const servers = ['a', 'b', 'c'].map((name) => serverOf([1], (requests) => (order += `${name}${requests} `)));
  await measureBursts(servers, { requests: 4, warmUp: 1, counted: 2 });
  assert.equal(order, 'a4 b4 c4 a4 c4 b4 a4 b4 c4 ');
});

it('the 10th percentile of bursts is compared, without those before the server is warm', async () => {
  const counted = Array.from({ length: 11 }, (_, i) => (11 - i) * 40);
  const [sample] = await measureBursts([serverOf([1, ...counted])], { requests: 10, warmUp: 1, counted: 11 });
  assert.equal(sample!.cpu, 8);
});
