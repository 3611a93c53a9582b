/** Comparisons of lists, with servers whose lists are out of date for a while. Time passes only while the kit waits. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createPet } from '../client/requests.ts';
import { fakeClock } from '../testing/responses.ts';
import { proxy, smallServer } from '../testing/servers.ts';
import { failuresText, run, send, session, verdicts } from '../testing/sessions.ts';

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

describe('if lists show no status', () => {
  const only = ['list.status', 'list.status-and-limit'];

  test('a filter is judged by the statuses that were sent', async (t) => {
    const clock = fakeClock();
    const results = await run(session(await smallServer(t, { variant: 'brief', clock }), { only }, clock));
    assert.deepEqual(verdicts(results), { 'list.status': 'passed', 'list.status-and-limit': 'passed' });
  });

  test('an animal that two filters select is a violation', async (t) => {
    const clock = fakeClock();
    const behind = await smallServer(t, { variant: 'brief', clock });
    const server = await proxy(t, behind, ({ url }, response) => {
      if (url.includes('status=sold')) response.body = Buffer.from('[{"id":7,"name":"Kira 7","categoryId":2}]');
      if (url.includes('status=pending')) response.body = Buffer.from('[{"id":7,"name":"Kira 7","categoryId":2}]');
    });
    const results = await run(session(server, { only, write: false }, clock));
    assert.deepEqual(verdicts(results), { 'list.status': 'failed', 'list.status-and-limit': 'failed' });
  });

  test('and no other response does, no filter is judged', async (t) => {
    const clock = fakeClock();
    const server = await smallServer(t, { variant: 'brief', clock });
    const results = await run(session(server, { only, write: false }, clock));
    const reason = 'no response shows a status, so it is unknown what a filter selects';
    assert.deepEqual(
      results.map(({ verdict, reason }) => `${verdict}: ${reason}`),
      only.map(() => `inconclusive: ${reason}`),
    );
  });
});

test('a filter that selects nothing is tried in a store that is not empty', async (t) => {
  const clock = fakeClock();
  const server = await smallServer(t, { animals: 0, clock });
  for (const [write, statuses] of [[false, []], [true, ['pending', 'sold']]] as const) {
    const seen: string[] = [];
    const counting = await proxy(t, server, ({ url }, response) => {
      const status = /status=(\w+)$/.exec(url)?.[1];
      if (status !== undefined && response.body.toString() === '[]') seen.push(status);
    });
    const of = session(counting, { write }, clock);
    await of.open();
    of.client.close();
    assert.deepEqual(seen, ['available', 'pending', 'sold', ...statuses]);
  }
});
