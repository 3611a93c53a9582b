import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReceivedRequest } from '../../harness/proxy.ts';
import type { Duration } from '../measure/load.ts';
import { measureTarget, measureTargets, withClients } from './check.ts';
import type { Session } from './session.ts';
import { checkService } from './testing/service.ts';
import { errorReply, right, serve, type Reply } from './testing/target.ts';
import { create, get, list, listByStatus, refused, unauthorized, workloads, type Workload } from './workloads.ts';

/** Sends every request of a workload once. */
const sendAll = (session: Session, workload: Workload) =>
  withClients([session], workload, ([client]) => client!.send(workload.exchanges.length));

describe('a response to a workload', () => {
  it('that is right passes', async (t) => {
    const session = await serve(t, right());
    for (const workload of workloads) {
      await sendAll(session, workload);
      await checkService(session, workload);
    }
  });

  /** A change to some response, the workload whose check finds it, and the message. */
  const changes: readonly (readonly [string, Workload, (reply: Reply, request: ReceivedRequest) => Reply, RegExp])[] = [
    ['a wrong status', list, (reply) => ({ ...reply, status: 500 }), /must return 200 and .* received: 500/],
    [
      'an animal too few',
      listByStatus,
      (reply, { url }) => (url.includes('after=700') ? { ...reply, body: (reply.body as unknown[]).slice(1) } : reply),
      /GET \/v1\/pets\?\S*after=700\S* must return 200 and the right body; received: 200: \[/,
    ],
    [
      'another animal',
      get,
      (reply) => (reply.status === 200 ? { ...reply, body: { ...(reply.body as object), name: 'X' } } : reply),
      /GET \/v1\/pets\/\d+ must return 200 .* received: .*"X"/,
    ],
    [
      'an animal that does not exist',
      get,
      (reply) => (reply.status === 404 ? { status: 200, body: {} } : reply),
      /must return 404 and .* received: 200/,
    ],
    [
      'no id',
      create,
      (reply) => (reply.status === 201 ? { ...reply, body: { ...(reply.body as object), id: undefined } } : reply),
      /must return 201 .* received: 201: \{"status"/,
    ],
    [
      'the id of another animal',
      create,
      (reply) => (reply.status === 201 ? { ...reply, body: { ...(reply.body as object), id: 7 } } : reply),
      /must return 201 .* received: 201: .*"id":7/,
    ],
    [
      'a created animal that is gone',
      create,
      (reply, { method }) => (method === 'GET' ? errorReply(404) : reply),
      /GET \/v1\/pets\/1001 must return 200 .* received: 404/,
    ],
    [
      'any key',
      unauthorized,
      (reply, { headers }) => (headers.authorization === undefined ? reply : { status: 200, body: [] }),
      /must return 401 .* received: 200/,
    ],
    ['no Error', unauthorized, (reply) => ({ ...reply, body: { error: 'no' } }), /received: 401: \{"error":"no"\}/],
    ['another status in the Error', refused, (reply) => ({ ...errorReply(400), status: reply.status }), /"status":400/],
  ];
  for (const [title, workload, change, message] of changes) {
    it(`${title} is found`, async (t) => {
      const respond = right();
      const session = await serve(t, (request, body) => change(respond(request, body), request));
      await assert.rejects(sendAll(session, workload), message);
    });
  }
});

describe('a target that goes wrong while it is measured', () => {
  const duration: Duration = { seconds: 0.01, warmUp: { requests: 100, seconds: 1e6 } };
  /** A correct target whose response number `wrong` is empty. */
  const serveUntil = async (t: Parameters<typeof serve>[0], wrong: number): Promise<Session> => {
    const respond = right();
    let count = 0;
    return serve(t, (request, body) => {
      const reply = respond(request, body);
      return ++count === wrong ? { ...reply, body: [] } : reply;
    });
  };

  it('has no figures, by a load or by bursts', async (t) => {
    await assert.rejects(measureTarget(await serveUntil(t, 120), get, duration), /must return .*; received: .*\[\]$/);
    const sessions = [await serveUntil(t, Infinity), await serveUntil(t, 120)];
    const bursts = { requests: 50, warmUp: 1, counted: 2 };
    await assert.rejects(measureTargets(sessions, get, bursts), /must return .*; received: .*\[\]$/);
  });

  it('has no figures if a create is not stored', async (t) => {
    const respond = right();
    const session = await serve(t, (request, body) =>
      request.method === 'GET' && Number(request.url.split('/').at(-1)) > 1_100
        ? errorReply(404)
        : respond(request, body));
    await assert.rejects(measureTarget(session, create, duration), /GET \/v1\/pets\/11\d\d must return 200 .*404/);
  });
});
