/** Whole runs against the small server, on a clock on which waiting takes no time. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fakeClock, start } from '../testing/responses.ts';
import { apiKey, proxy, smallServer } from '../testing/servers.ts';
import { run, session, failuresText } from '../testing/sessions.ts';
import { estimateOf, runChecks } from './suite.ts';

describe('a whole default run', () => {
  for (const plan of ['free', 'business'] as const) {
    for (const at of plan === 'free' ? [start, start + 54_600] : [start]) {
      const second = (at / 1000) % 60;
      test(`with a ${plan} key that no other client uses gets no 429, ${second} s into a minute`, async (t) => {
        const clock = fakeClock(at);
        const tested = session(await smallServer(t, { clock, plan }), {}, clock);
        const results = await run(tested);
        assert.deepEqual(
          results
            .filter(({ verdict }) => verdict === 'failed' || verdict === 'inconclusive')
            .map(({ id, reason }) => `${id} ${reason}`),
          [],
          failuresText(results),
        );
        assert.equal(tested.client.sent.unwanted429, 0);
        assert.ok(plan !== 'free' || clock.waits.length >= 5);
      });
    }
  }

  test('that uses up the day of its key skips the rest, with the reason', async (t) => {
    const clock = fakeClock();
    const tested = session(await smallServer(t, { clock, plan: 'free' }), { runs: 100 }, clock);
    const results = await run(tested);
    const skipped = results.filter(
      ({ verdict, reason }) =>
        verdict === 'skipped' &&
        /no requests left in this window; the next request would have to wait \d+ minutes/.test(reason ?? ''),
    );
    assert.ok(skipped.length > 5, `${skipped.length}`);
    assert.deepEqual(
      results.filter(({ verdict }) => verdict === 'failed'),
      [],
      failuresText(results),
    );
    assert.equal(tested.client.sent.unwanted429, 0);
    assert.equal(tested.client.sent.withKey, 1_000);
  });

  test('continues with the key if requests without a key have used up their day', async (t) => {
    const clock = fakeClock();
    const behind = await smallServer(t, { clock });
    let keyless = 5;
    const server = await proxy(t, behind, ({ headers }, response) => {
      if (headers.authorization === `Bearer ${apiKey}`) return;
      const limits = {
        'x-ratelimit-limit': '5',
        'x-ratelimit-remaining': String(Math.max(0, --keyless)),
        'x-ratelimit-reset': String(Math.floor(start / 1000) + 50_000),
      };
      response.headers = [
        ...response.headers.filter(([name]) => !name.startsWith('x-ratelimit')),
        ...Object.entries(limits),
      ];
    });
    const results = await run(session(server, {}, clock));
    const verdictOf = (id: string) => results.find((result) => result.id === id)!.verdict;
    assert.equal(verdictOf('auth.near-miss'), 'skipped');
    assert.equal(verdictOf('create.name'), 'passed');
    assert.equal(verdictOf('list.limit'), 'passed');
  });
});

describe('--max-requests', () => {
  for (const mutant of [undefined, 'name-lower']) {
    for (const maxRequests of mutant === undefined ? [1, 40, 61, 200] : [2, 30, 90]) {
      const when = mutant === undefined ? 'for a conforming server' : 'also while a case is shrunk';
      test(`${maxRequests} is never exceeded, ${when}`, async (t) => {
        const server = await proxy(t, await smallServer(t, mutant === undefined ? {} : { mutant }));
        const only = mutant === undefined ? [] : ['create.name'];
        const tested = session(server, { maxRequests, only });
        const results = await run(tested);
        assert.ok(server.received.length <= maxRequests, `${server.received.length}`);
        assert.equal(server.received.length, tested.client.sent.withKey + tested.client.sent.withoutKey);
        if (mutant === undefined)
          assert.ok(
            results.some(
              ({ verdict, reason }) =>
                verdict === 'skipped' && new RegExp(`--max-requests ${maxRequests}\\b`).test(reason ?? ''),
            ),
          );
      });
    }
  }
});

describe('the announced time is within a factor of two', () => {
  const exhaust = { exhaust: true } as const;
  for (const [name, plan, options, firstMs, otherMs] of [
    ['a Free key', 'free', {}, 0, 0],
    ['a Pro key', 'pro', {}, 0, 0],
    ['--exhaust', 'business', exhaust, 0, 0],
    ['--exhaust with a Free key', 'free', exhaust, 0, 0],
    ['a first response that is slow', 'business', {}, 2_500, 40],
    ['a first response that is a little slower', 'business', {}, 40, 2],
    ['a first response that is faster', 'business', {}, 5, 40],
  ] as const) {
    test(name, async (t) => {
      const clock = fakeClock();
      let responses = 0;
      const slow = await proxy(t, await smallServer(t, { clock, plan }), () => {
        clock.move(responses++ === 0 ? firstMs : otherMs);
      });
      const tested = session(slow, options, clock);
      await tested.open();
      const { seconds } = estimateOf(tested);
      const startedAt = clock.now();
      await runChecks(tested);
      tested.client.close();
      const taken = (clock.now() - startedAt) / 1000;
      assert.ok(taken > 1 && seconds <= 2 * taken && taken <= 2 * seconds, `${seconds} s announced, ${taken} s taken`);
    });
  }
});
