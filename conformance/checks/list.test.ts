/** Comparisons of lists, with servers whose lists are out of date for a while. Time passes only while the kit waits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createPet } from '../client/requests.ts';
import { fakeClock } from '../testing/responses.ts';
import { proxy, smallServer } from '../testing/servers.ts';
import { failuresText, run, send, session } from '../testing/sessions.ts';

for (const only of [['list.'], ['list.default-limit'], ['list.status'], ['animals.'], []]) {
  test(`lists that are cached for a second conform: ${only.join() || 'a whole run'}`, async (t) => {
    const clock = fakeClock();
    const server = await smallServer(t, { variant: 'cached', clock });
    const results = await run(session(server, { only }, clock));
    const open = results.filter(({ verdict }) => verdict === 'failed' || verdict === 'inconclusive');
    assert.deepEqual(
      open.map(({ id, reason }) => `${id} ${reason}`),
      [],
      failuresText(results),
    );
  });
}

for (const only of ['list.status', 'animals.agree']) {
  test(`${only}: a status that changes while older lists are cached is no contradiction`, async (t) => {
    const clock = fakeClock();
    const behind = await smallServer(t, { variant: 'cached', clock });
    let changed = false;
    const server = await proxy(t, behind, ({ url }) => {
      // The animal is 20 s old now, and pending.
      if (!changed && url.includes('status=available')) clock.move(100);
      changed ||= url.includes('status=available');
    });
    const earlier = session(behind, {}, clock);
    t.after(() => earlier.client.close());
    await send(earlier.client, createPet(earlier.key, { name: 'Rex', categoryId: 1n, status: 'available' }));
    clock.move(19_950);
    const results = await run(session(server, { only: [only], write: false }, clock));
    assert.deepEqual(
      results.map(({ verdict }) => verdict),
      ['passed'],
      failuresText(results),
    );
    assert.ok(changed);
  });
}

test('a filter is not judged if lists show no status', async (t) => {
  const clock = fakeClock();
  const only = ['list.status', 'list.status-and-limit'];
  const results = await run(session(await smallServer(t, { variant: 'brief', clock }), { only }, clock));
  assert.deepEqual(
    results.map(({ verdict, reason }) => `${verdict}: ${reason}`),
    only.map(() => 'inconclusive: lists show no status, so it is unknown what a filter selects'),
  );
});
