/** No verdict depends on the order of checks, or on other checks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownServer, smallServer } from '../testing/servers.ts';
import { run, session, failuresText, verdicts } from '../testing/sessions.ts';
import { groups } from './suite.ts';

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
