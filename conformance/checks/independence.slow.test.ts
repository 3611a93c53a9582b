/** No verdict depends on the order of checks, or on other checks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requirements } from '../requirements/requirements.ts';
import { fakeClock } from '../testing/responses.ts';
import { ownServer, smallServer } from '../testing/servers.ts';
import { run, session, failuresText, verdicts } from '../testing/sessions.ts';
import { estimateOf, groups, runChecks } from './suite.ts';

const reversed = groups.map(([title, ofGroup]) => [title, ofGroup.toReversed()] as const).toReversed();

test('the order of checks changes no verdict', async (t) => {
  const forward = await run(session(await ownServer(t)));
  assert.deepEqual(verdicts(await run(session(await ownServer(t)), reversed)), verdicts(forward));
});

for (const mutant of ['name-lower', 'remaining-missing-400']) {
  test(`${mutant}: the order of checks changes no verdict`, async (t) => {
    const forward = await run(session(await smallServer(t, { mutant })));
    const backward = await run(session(await smallServer(t, { mutant })), reversed);
    assert.deepEqual(verdicts(backward), verdicts(forward));
    assert.ok(forward.some(({ verdict }) => verdict === 'failed'));
  });
}

test('each requirement alone has the same verdict as in the whole run', async (t) => {
  const server = await ownServer(t);
  const whole = await run(session(server));
  for (const { id, verdict } of whole) {
    // Requests without a key are limited by address.
    const alone = await run(session(id.startsWith('auth.') ? await ownServer(t) : server, { only: [id] }));
    assert.equal(alone.find((result) => result.id === id)!.verdict, verdict, `${id} ${failuresText(alone)}`);
  }
});

test('each requirement alone sends no more than it announces', async (t) => {
  for (const { id } of requirements) {
    const clock = fakeClock();
    const options = { only: [id], exhaust: true, plan: 'free' } as const;
    const of = session(await smallServer(t, { clock, plan: 'free' }), options, clock);
    t.after(() => of.client.close());
    await of.open();
    const [plan, before] = [estimateOf(of), { ...of.client.sent }];
    await runChecks(of);
    const { withKey, withoutKey, created } = of.client.sent;
    assert.ok(withKey - before.withKey <= plan.withKey, `${id}: ${withKey - before.withKey} of ${plan.withKey}`);
    assert.ok(withoutKey - before.withoutKey <= plan.withoutKey, `${id}: ${withoutKey} of ${plan.withoutKey}`);
    assert.ok(created - before.created <= plan.creates, `${id}: ${created} of ${plan.creates}`);
    assert.equal(of.lost, undefined);
  }
});
