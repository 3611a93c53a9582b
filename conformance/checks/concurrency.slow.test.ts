/** Other clients that write to the server, and use the same key, cause no failures. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeClock } from '../testing/responses.ts';
import { apiKey, ownServer, smallServer, type Server } from '../testing/servers.ts';
import { run, session, failuresText } from '../testing/sessions.ts';

/** Another client that creates and lists animals continuously until it is stopped. */
function otherClient({ baseUrl }: Server, apiKey: string): { end(): Promise<number> } {
  let over = false;
  const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
  const loop = async () => {
    let count = 0;
    for (; !over; count++) {
      const body = JSON.stringify({
        name: `Other ${count}`,
        categoryId: (count % 5) + 1,
        status: ['available', 'pending', 'sold'][count % 3],
      });
      const requests: RequestInit[] = [{ method: 'POST', body }, {}, { method: 'POST', body: '{' }];
      const response = await fetch(`${baseUrl}/pets`, { headers, ...requests[count % requests.length]! });
      await response.arrayBuffer();
    }
    return count;
  };
  const looping = loop();
  return {
    end: () => {
      over = true;
      return looping;
    },
  };
}

test('another client with the same key', async (t) => {
  const server = await ownServer(t);
  const other = otherClient(server, server.apiKey);
  const tested = session(server);
  const results = await run(tested);
  const count = await other.end();
  assert.ok(count > 100, `only ${count} requests of others`);
  assert.deepEqual(
    results.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id),
    [],
    failuresText(results),
  );
  const open = results.filter(({ verdict }) => verdict === 'inconclusive').map(({ id }) => id);
  // Checks that compare counts may be inconclusive while other clients write.
  assert.deepEqual(
    open.filter((id) => id !== 'list.default-limit' && id !== 'limits.remaining-falls'),
    [],
  );
});

for (const plan of ['free', 'business'] as const) {
  for (const seed of plan === 'free' ? [1, 2] : [4]) {
    test(`another client that uses the ${plan} key as often as the kit, seed ${seed}`, async (t) => {
      const clock = fakeClock();
      const server = await smallServer(t, { clock, plan });
      const tested = session(server, { seed }, clock);
      const headers = { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' };
      const plain = tested.client.attempts.bind(tested.client);
      let count = 0;
      tested.client.attempts = async function* (request) {
        const body = JSON.stringify({ name: `Other ${++count}`, categoryId: 2, status: 'sold' });
        await (
          await fetch(`${server.baseUrl}/pets`, { headers, ...(count % 2 === seed % 2 && { method: 'POST', body }) })
        ).arrayBuffer();
        yield* plain(request);
      };
      const results = await run(tested);
      assert.deepEqual(
        results.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id),
        [],
        failuresText(results),
      );
      if (plan === 'free') assert.ok(tested.client.sent.unwanted429 > 0 || clock.waits.length > 10);
      assert.ok(tested.client.sent.unwanted429 < 60, `${tested.client.sent.unwanted429} refusals`);
    });
  }
}
