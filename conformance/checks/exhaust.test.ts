/** A conforming server refuses at most five requests in a window, and each operation is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSmallServer } from '../mutants/server/small-server.ts';
import { variants } from '../mutants/variants.ts';
import { fakeClock } from '../testing/responses.ts';
import { run, session, failuresText, verdicts } from '../testing/sessions.ts';

const apiKey = 'test_Kb7rT2xVq9KdLw4sHc8NpZa3';

const chosen = ['lax', 'sliding', 'first request', 'rounded', 'truncated', 'bucket'];

for (const variant of [undefined, ...variants.filter(({ id }) => chosen.includes(id))]) {
  for (const write of [true, false]) {
    test(`${variant?.id ?? 'a conforming server'}, ${write ? 'with creates' : 'read-only'}`, async (t) => {
      const clock = fakeClock();
      const refusals = new Map<number, number>();
      const refused = new Set<string>();
      const server = await startSmallServer({
        clock,
        keys: [{ secret: apiKey, plan: 'free' }],
        hooks: {
          ...variant?.hooks,
          response: (response, exchange) => {
            const minute = Math.floor(clock.now() / 60_000);
            if (response.status === 429) {
              refusals.set(minute, (refusals.get(minute) ?? 0) + 1);
              refused.add(exchange.operation);
            }
            return variant?.hooks.response?.(response, exchange) ?? response;
          },
        },
      });
      t.after(() => server.close());
      const options = { write, readOnly: !write, exhaust: true, plan: 'free', only: ['limits.'] } as const;
      const tested = session({ baseUrl: server.baseUrl, apiKey }, options, clock);
      const results = await run(tested);
      assert.deepEqual(
        results.filter(({ verdict }) => verdict === 'failed'),
        [],
        failuresText(results),
      );
      assert.ok(Math.max(...refusals.values()) <= 5, `${[...refusals.values()]} refusals`);
      if (variant === undefined) {
        assert.equal(verdicts(results)['limits.all-operations'], 'passed');
        assert.deepEqual([...refused].sort(), write ? ['create', 'get', 'list', 'orders'] : ['get', 'list', 'orders']);
        assert.equal(
          [...refusals.values()].reduce((sum, count) => sum + count),
          write ? 4 : 3,
        );
      }
    });
  }
}
