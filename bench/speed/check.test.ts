import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReceivedRequest } from '../../harness/proxy.ts';
import type { Duration } from '../measure/load.ts';
import { burstsOf, measureServers, withClients } from './check.ts';
import type { RunningTarget } from './running-target.ts';
import { checkService } from './testing/service.ts';
import { errorResponse, right, serve, type TargetResponse } from './testing/target.ts';
import { create, get, list, listByStatus, refused, unauthorized, workloads, type Workload } from './workloads.ts';

/** Sends every request of a workload once. */
const sendAll = (target: RunningTarget, workload: Workload) =>
  withClients([{ target, workload }], ([client]) => client!.send(workload.exchanges.length));

describe('a response to a workload', () => {
  it('that is right passes', async (t) => {
    const target = await serve(t, right());
    for (const workload of workloads) {
      await sendAll(target, workload);
      await checkService(target, workload);
    }
  });

  /** A change to some response, the workload whose check finds it, and the message. */
  type Change = (sent: TargetResponse, request: ReceivedRequest) => TargetResponse;
  const changes: readonly (readonly [string, Workload, Change, RegExp])[] = [
    ['a wrong status', list, (sent) => ({ ...sent, status: 500 }), /must return 200 and .* received: 500/],
    [
      'an animal too few',
      listByStatus,
      (sent, { url }) => (url.includes('after=700') ? { ...sent, body: (sent.body as unknown[]).slice(1) } : sent),
      /GET \/v1\/pets\?\S*after=700\S* must return 200 and the right body; received: 200: \[/,
    ],
    [
      'another animal',
      get,
      (sent) => (sent.status === 200 ? { ...sent, body: { ...(sent.body as object), name: 'X' } } : sent),
      /GET \/v1\/pets\/\d+ must return 200 .* received: .*"X"/,
    ],
    [
      'an animal that does not exist',
      get,
      (sent) => (sent.status === 404 ? { status: 200, body: {} } : sent),
      /must return 404 and .* received: 200/,
    ],
    [
      'no id',
      create,
      (sent) => (sent.status === 201 ? { ...sent, body: { ...(sent.body as object), id: undefined } } : sent),
      /must return 201 .* received: 201: \{"status"/,
    ],
    [
      'the id of another animal',
      create,
      (sent) => (sent.status === 201 ? { ...sent, body: { ...(sent.body as object), id: 7 } } : sent),
      /must return 201 .* received: 201: .*"id":7/,
    ],
    [
      'a created animal that is gone',
      create,
      (sent, { method }) => (method === 'GET' ? errorResponse(404) : sent),
      /GET \/v1\/pets\/1001 must return 200 .* received: 404/,
    ],
    [
      'any key',
      unauthorized,
      (sent, { headers }) => (headers.authorization === undefined ? sent : { status: 200, body: [] }),
      /must return 401 .* received: 200/,
    ],
    ['no Error', unauthorized, (sent) => ({ ...sent, body: { error: 'no' } }), /received: 401: \{"error":"no"\}/],
    [
      'another status in the Error',
      refused,
      (sent) => ({ ...errorResponse(400), status: sent.status }),
      /"status":400/,
    ],
  ];
  for (const [title, workload, change, message] of changes) {
    it(`${title} is found`, async (t) => {
      const respond = right();
      const target = await serve(t, (request, body) => change(respond(request, body), request));
      await assert.rejects(sendAll(target, workload), message);
    });
  }
});

describe('a target that goes wrong while it is measured', () => {
  const duration: Duration = { seconds: 0.01, warmUp: { requests: 100, seconds: 1e6 } };
  /** A correct target whose response number `wrong` is empty. */
  const serveUntil = async (t: Parameters<typeof serve>[0], wrong: number): Promise<RunningTarget> => {
    const respond = right();
    let count = 0;
    return serve(t, (request, body) => {
      const sent = respond(request, body);
      return ++count === wrong ? { ...sent, body: [] } : sent;
    });
  };

  it('has no figures, by a load or by bursts', async (t) => {
    const message = /must return .*; received: .*\[\]$/;
    await assert.rejects(measureServers([await serveUntil(t, 120)], get, duration), message);
    const targets = [await serveUntil(t, Infinity), await serveUntil(t, 120)];
    const group = targets.map((target) => ({ name: 'target', workload: get, start: async () => target }));
    const bursts = { requests: 50, warmUp: 1, counted: 2 };
    await assert.rejects(burstsOf(group, bursts).measure(), message);
  });

  it('has no figures if a create is not stored', async (t) => {
    const respond = right();
    const target = await serve(t, (request, body) =>
      request.method === 'GET' && Number(request.url.split('/').at(-1)) > 1_100
        ? errorResponse(404)
        : respond(request, body));
    await assert.rejects(measureServers([target], create, duration), /GET \/v1\/pets\/11\d\d must return 200 .*404/);
  });
});
