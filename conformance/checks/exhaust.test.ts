/** A conforming server refuses at most five requests in a window, and each operation is refused. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startSmallServer } from '../mutants/server/small-server.ts';
import { variants } from '../mutants/variants.ts';
import { fakeClock } from '../testing/responses.ts';
import { run, session, failuresText, verdicts } from '../testing/sessions.ts';

const apiKey = 'test_Kb7rT2xVq9KdLw4sHc8NpZa3';

const chosen = [
  ...['lax', 'sliding', 'first request', 'rounded', 'truncated', 'bucket'],
  ...['smaller share', 'shares of attempts'],
];

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
      const options = { write, readOnly: !write, exhaust: true, plan: 'free' } as const;
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
      }
    });
  }
}

/** The number of the first wait that does not serve to determine the server's clock. */
const firstLong = 6;

test("the server's clock is set during a wait: nothing fails, and no wait becomes longer", async (t) => {
  for (const set of [20_000, -20_000, -600_000]) {
    for (let nth = firstLong; ; nth++) {
      const clock = fakeClock();
      const time = (now: number) => (clock.waits.length < nth ? now : now + set);
      const keys = [{ secret: apiKey, plan: 'free' as const }];
      const server = await startSmallServer({ clock, keys, hooks: { time } });
      t.after(() => server.close());
      const options = { exhaust: true, plan: 'free', only: ['limits.recovers', 'limits.resets'] } as const;
      const tested = session({ baseUrl: server.baseUrl, apiKey }, options, clock);
      const results = await run(tested);
      const where = `${set} ms during wait ${nth} of ${clock.waits.length}`;
      assert.deepEqual(results.filter(({ verdict }) => verdict === 'failed'), [], `${where}: ${failuresText(results)}`);
      assert.ok(Math.max(...clock.waits) <= 121_000, `${where}: ${Math.max(...clock.waits)}`);
      if (clock.waits.length < nth) break;
    }
  }
});
