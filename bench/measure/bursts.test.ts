import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { scriptedServer } from '../../harness/proxy.ts';
import { measureBursts } from './bursts.ts';
import type { LoadOptions } from './load.ts';
import type { ServerProcess } from './server-process.ts';

/** A server that notes its requests, and whose CPU time grows in each burst by the next of `costs`. */
async function serve(t: TestContext, name: string, seen: string[], costs: readonly number[], status = 200) {
  const { baseUrl } = await scriptedServer(t, ({ url }, response) => {
    seen.push(`${name} ${url}`);
    response.writeHead(status, { 'Content-Length': '2' }).end('{}');
  });
  let [reads, user, system] = [0, 0, 0];
  const usage = async () => {
    if (reads++ % 2 === 1) {
      const cost = costs[((reads - 2) / 2) % costs.length]!;
      user += 3 * cost;
      system += cost;
    }
    return { user, system, resident: 0 };
  };
  const requests = ['/v1/a', '/v1/b', '/v1/c'].map((path) => ({ path }));
  const load: LoadOptions = { url: baseUrl, connections: 2, requests, status: 200, expectedBody: '{}' };
  const during = <T>(task: Promise<T>) => task;
  return { process: { usage, during } as unknown as ServerProcess, load };
}

describe('bursts', () => {
  it('alternate between the servers, and none follows itself', async (t) => {
    const seen: string[] = [];
    const servers = [await serve(t, '1', seen, [1]), await serve(t, '2', seen, [1]), await serve(t, '3', seen, [1])];
    await measureBursts(servers, { requests: 4, warmUp: 1, counted: 2 });
    assert.equal(seen.map((request) => request[0]).join(''), '111122223333111133332222111122223333');
    const ofFirst = seen.filter((request) => request.startsWith('1')).map((request) => request.at(-1));
    assert.equal(ofFirst.toSorted().join(''), 'aaaabbbbcccc', 'the next burst continues where the last one ended');
  });

  it('are compared by the 10th percentile, without those before the server is warm', async (t) => {
    const costs = Array.from({ length: 11 }, (_, i) => (11 - i) * 10);
    const server = await serve(t, '1', [], [1, ...costs]);
    const [sample] = await measureBursts([server], { requests: 10, warmUp: 1, counted: 11 });
    assert.deepEqual(sample, { cpu: 8, userCpu: 6, systemCpu: 2 });
  });

  it('reject if a response is wrong', async (t) => {
    const server = await serve(t, '1', [], [1], 500);
    const measured = measureBursts([server], { requests: 4, warmUp: 0, counted: 1 });
    await assert.rejects(measured, /^WrongResponses: http:\S+ returned 500: \{\}$/);
  });
});
