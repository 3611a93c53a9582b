/** A fault fails the requirement that it violates, and not others whose checks only meet it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Owner } from '../../harness/owner.ts';
import { fakeClock } from '../testing/responses.ts';
import { proxy, smallServer, type Server } from '../testing/servers.ts';
import { failuresText, run, session } from '../testing/sessions.ts';

const mutant = (id: string) => (t: Owner) => smallServer(t, { mutant: id });

const notJson = async (t: Owner): Promise<Server> =>
  proxy(t, await smallServer(t), (_, response) => {
    if (response.status === 201) response.body = Buffer.from('<pet/>');
  });

for (const [fault, server, fails, others] of [
  ['a name that a 201 and all later responses show trimmed', mutant('name-trimmed'), 'create.name', ['animals.agree']],
  ['an id that is given twice', mutant('id-by-content'), 'pet.unique-id', ['animals.agree']],
  ['a 201 that is not JSON', notJson, 'service.json', ['pet.id', 'pet.name', 'pet.category']],
] as const) {
  test(fault, async (t) => {
    const results = await run(session(await server(t), { only: [fails, ...others] }));
    const failed = results.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
    assert.deepEqual(failed, [fails], failuresText(results));
  });
}

test('a Retry-After that is longer than necessary fails nothing', async (t) => {
  const clock = fakeClock();
  const server = await smallServer(t, { variant: 'patient', plan: 'free', clock });
  const only = ['limits.retry-after', 'limits.resets'];
  const results = await run(session(server, { only, exhaust: true }, clock));
  const verdictsOf = results.map(({ verdict }) => verdict);
  assert.deepEqual(verdictsOf, ['passed', 'passed'], failuresText(results));
});
