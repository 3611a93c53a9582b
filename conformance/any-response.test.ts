/** A few of the servers of any-response.slow.test.ts, and those that once crashed the kit. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { buildReport } from './report/build.ts';
import { reportHtml } from './report/html.ts';
import { anyServer, survives } from './testing/any-response.ts';
import { fakeClock } from './testing/responses.ts';
import { scripted, smallServer } from './testing/servers.ts';
import { run, session, verdicts } from './testing/sessions.ts';
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

test('a body may be nested to any depth', async (t) => {
  const json = { 'Content-Type': 'application/json' };
  const body = `${'[{"a":'.repeat(50_000)}0${'}]'.repeat(50_000)}`;
  const server = await scripted(t, (_, response) => void response.writeHead(200, json).end(body));
  const tested = session(server, { runs: 1, write: false, only: ['service.json', 'pets.array', 'pet.', 'orders.'] });
  const results = verdicts(await run(tested));
  assert.equal(results['service.json'], 'passed');
  assert.equal(results['pets.array'], 'passed');
  assert.equal(results['pet.id'], 'failed');
  assert.ok(reportHtml(buildReport(tested)).length < 100_000);
});

test('an error in the kit during the first requests is not taken for a fault of the server', async (t) => {
  const tested = session(await smallServer(t));
  t.after(() => tested.client.close());
  tested.history.add = () => {
    throw new TypeError('a bug');
  };
  await assert.rejects(tested.open(), (error) => error instanceof TypeError && !(error instanceof Untestable));
});
