/** A fixture that several checks need is made once. If it cannot be made, they are inconclusive. */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { statuses } from '../client/pet.ts';
import { fakeClock } from '../testing/responses.ts';
import { proxy, smallServer, type Server } from '../testing/servers.ts';
import { session } from '../testing/sessions.ts';
import { Inconclusive } from '../verdicts/outcome.ts';
import { Fixtures } from './fixtures.ts';
import type { SessionOptions } from './session.ts';

function sessionOf(t: TestContext, server: Server, options: Partial<SessionOptions> = {}) {
  const clock = fakeClock();
  const of = session(server, options, clock);
  t.after(() => of.client.close());
  return { of, clock, fixtures: of.fixtures };
}

test('a fixture is made once, also if two need it at the same time, and again only after an error', async (t) => {
  const { fixtures } = sessionOf(t, await smallServer(t));
  let made = 0;
  const make = async () => {
    if (++made === 1) throw new Error('not yet');
    return made;
  };
  await assert.rejects(fixtures.once('one', make), /not yet/);
  assert.deepEqual(await Promise.all([fixtures.once('one', make), fixtures.once('one', make)]), [2, 2]);
  assert.equal(await fixtures.once('one', make), 2);
});

test('an animal that cannot be created makes a check inconclusive', async (t) => {
  const refusing = await proxy(t, await smallServer(t, { animals: 0 }), ({ method }, response) => {
    if (method === 'POST') response.status = 409;
  });
  await assert.rejects(sessionOf(t, refusing).fixtures.animal(), (error: Error) =>
    error instanceof Inconclusive && /^no animal could be created: 409 for /.test(error.message));
  const readOnly = sessionOf(t, await smallServer(t, { animals: 0 }), { write: false, readOnly: true });
  await assert.rejects(readOnly.fixtures.animal(), Inconclusive);
  assert.equal(readOnly.of.client.sent.withKey, 0);
});

test('many animals: more than the largest limit, and many of each status', async (t) => {
  const { of, fixtures } = sessionOf(t, await smallServer(t));
  await fixtures.needMany();
  assert.ok(of.history.count() > 100);
  for (const status of statuses) assert.ok(of.history.count(status) >= 34, status);
  // The newest page, on which no animal is available.
  const newest = Fixtures.missing(of.history);
  assert.ok(newest.length === 20 && !newest.includes('available'), `${newest}`);
  const { created } = of.client.sent;
  await fixtures.needMany();
  assert.equal(of.client.sent.created, created);
});

test('a new animal may be missing from a replica for some seconds, and no longer', async (t) => {
  for (const [lag, status] of [[4_000, 200], [60_000, 404]] as const) {
    let until = Infinity;
    const server = await proxy(t, await smallServer(t), ({ method, url }, response) => {
      if (method === 'GET' && /\/pets\/\d+$/.test(url) && clock.now() < until) response.status = 404;
    });
    const { of, fixtures, clock } = sessionOf(t, server);
    const pet = await fixtures.created();
    const begun = clock.now();
    until = begun + lag;
    assert.equal((await of.getCreated(pet.id)).response.status, status);
    assert.ok(clock.now() - begun <= 5_500, `${clock.now() - begun} ms`);
  }
});

test('a new animal that was missing before a stop of the process is looked for again after it', async (t) => {
  let stops = 1;
  const server = await proxy(t, await smallServer(t), ({ method, url }, response) => {
    if (method !== 'GET' || !/\/pets\/\d+$/.test(url) || stops-- <= 0) return;
    response.status = 404;
    clock.move(60_000);
  });
  const { of, fixtures, clock } = sessionOf(t, server);
  const pet = await fixtures.created();
  assert.equal((await of.getCreated(pet.id)).response.status, 200);
});

test('an unknown id is above every known one, and one that every JSON parser can read', async (t) => {
  const { of, fixtures } = sessionOf(t, await smallServer(t));
  await fixtures.animal();
  assert.ok(fixtures.unknownId() > of.history.ids().at(-1)! && fixtures.unknownId() < 2n ** 53n);
});
