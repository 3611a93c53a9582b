/** What a check may do, and which errors it must not hide. */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { createPet, getPet, listPets } from '../client/requests.ts';
import { fakeClock } from '../testing/responses.ts';
import { proxy, smallServer, type Server } from '../testing/servers.ts';
import { session } from '../testing/sessions.ts';
import { Inconclusive, Violated } from '../verdicts/outcome.ts';
import { CheckContext } from './context.ts';
import type { Cost } from './cost.ts';
import { Untestable } from './session.ts';

/** The context of a check of `list.answers`, or of one that only observes gaps. */
function contextOf(t: TestContext, server: Server, cost: Cost = {}, isOfGap = false) {
  const of = session(server, {}, fakeClock());
  t.after(() => of.client.close());
  return { of, check: new CheckContext(of, isOfGap ? { cost } : { requirement: 'list.answers', cost }) };
}

describe('a request without a response', () => {
  test('violates the requirement of the check', async (t) => {
    const server = await proxy(t, await smallServer(t), ({ method }) => (method === 'POST' ? 'cut' : undefined));
    const { of, check } = contextOf(t, server);
    await assert.rejects(check.send(createPet(check.key, check.fixtures.newPet())), Violated);
    assert.match(of.ledger.result('list.answers').failures[0]!.received, /^none: /);
  });

  test('is inconclusive if the check only observes gaps', async (t) => {
    const server = await proxy(t, await smallServer(t), ({ method }) => (method === 'POST' ? 'cut' : undefined));
    const { check } = contextOf(t, server, {}, true);
    await assert.rejects(check.send(createPet(check.key, check.fixtures.newPet())), Inconclusive);
  });

  test('is not a violation if the server is gone', async (t) => {
    const { of, check } = contextOf(t, await proxy(t, await smallServer(t), () => 'cut'));
    await assert.rejects(check.sendTogether([listPets(check.key), listPets(check.key)]), Untestable);
    assert.deepEqual([of.ledger.result('list.answers').failed, of.lost?.name], [0, 'Untestable']);
  });
});

test('a response that violates the requirement of another check does not end this one', async (t) => {
  const { of, check } = contextOf(t, await smallServer(t, { mutant: 'pet-name-missing-get' }));
  assert.equal((await check.send(getPet(check.key, 1n))).status, 200);
  assert.equal(of.ledger.result('pet.name').verdict, 'failed');
});

test('an error that is not a violation ends generated cases at once, and is not a counterexample', async (t) => {
  const { of, check } = contextOf(t, await smallServer(t), { perCase: { requests: 1 } });
  let cases = 0;
  const body = async () => {
    if (++cases === 3) throw new TypeError('in the kit');
  };
  await assert.rejects(check.forAll(fc.nat(), String, body), /^TypeError: in the kit$/);
  assert.deepEqual([cases, of.ledger.result('list.answers').failed], [3, 0]);
});
