/** A few of the servers of any-response.slow.test.ts, and those that once crashed the kit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { buildReport } from './report/build.ts';
import { anyServer, survives } from './testing/any-response.ts';
import { fakeClock } from './testing/responses.ts';
import { scripted, smallServer } from './testing/servers.ts';
import { run, session } from './testing/sessions.ts';
import { Untestable } from './session/session.ts';

test('no server crashes or hangs the kit', async () => {
  await fc.assert(fc.asyncProperty(anyServer, async (server) => void (await survives(server))), { numRuns: 10 });
});

test('a server that sends null to everything violates requirements', async (t) => {
  const clock = fakeClock();
  const json = { 'Content-Type': 'application/json' };
  const server = await scripted(t, (_, response) => void response.writeHead(200, json).end('null'));
  const tested = session(server, { runs: 1, only: ['list.', 'pets.', 'pet.', 'get.', 'create.empty'] }, clock);
  const failed = (await run(tested)).filter(({ verdict }) => verdict === 'failed').map(({ id }) => id);
  assert.ok(failed.includes('pets.array'), `${failed}`);
  assert.equal(buildReport(tested).aborted, undefined);
});

test('an error in the kit during the first requests is not taken for a fault of the server', async (t) => {
  const tested = session(await smallServer(t));
  t.after(() => tested.client.close());
  tested.history.add = () => {
    throw new TypeError('a bug');
  };
  await assert.rejects(tested.open(), (error) => error instanceof TypeError && !(error instanceof Untestable));
});
