import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ReceivedRequest } from '../../harness/proxy.ts';
import type { Duration } from '../measure/load.ts';
import { check, checkKept, createOne, measureTarget } from './check.ts';
import { newAnimal, sendOne } from './session.ts';
import { checkService } from './testing/service.ts';
import { errorReply, right, serve, type Reply, type Responder } from './testing/target.ts';
import { create, get, list, refused, unauthorized, workloads, type Workload } from './workloads.ts';

describe('before a target is measured', () => {
  it('correct responses pass', async (t) => {
    const session = await serve(t, right());
    for (const workload of workloads) await checkService(session, workload, await check(session, workload));
  });

  /** A change to some response, the workload whose check finds it, and the message. */
  const changes: readonly (readonly [string, Workload, (reply: Reply, request: ReceivedRequest) => Reply, RegExp])[] = [
    ['a wrong status', list, (reply) => ({ ...reply, status: 500 }), /must return 200, not 500/],
    [
      'nineteen animals',
      list,
      (reply) => ({ ...reply, body: (reply.body as unknown[]).slice(1) }),
      /GET \/pets\?limit=20 must return \[/,
    ],
    [
      'another animal',
      get,
      (reply) => ({ ...reply, body: { ...(reply.body as object), name: 'Rex' } }),
      /must return .*Animal 500.*, not .*Rex/,
    ],
    ['no id', create, (reply) => (reply.status === 201 ? { ...reply, body: newAnimal } : reply), /must have an id/],
    [
      'a created animal that is gone',
      create,
      (reply, { method }) => (method === 'GET' ? errorReply(404) : reply),
      /GET \/pets\/1001 .* not 404/,
    ],
    [
      'no validation',
      create,
      (reply) => (reply.status === 400 ? { ...reply, status: 201 } : reply),
      /without a category must return 400/,
    ],
    [
      'any key',
      unauthorized,
      (reply, { headers }) => (headers.authorization === undefined ? reply : { ...reply, status: 200 }),
      /wrong key must return 401/,
    ],
    ['no Error', unauthorized, (reply) => ({ ...reply, body: { error: 'no' } }), /must have an Error/],
    ['no Retry-After', refused, (reply) => ({ status: reply.status, body: reply.body }), /Retry-After/],
    ['no limit', list, (reply) => ({ ...reply, headers: { 'X-RateLimit-Limit': 'none' } }), /x-ratelimit-limit/],
  ];
  for (const [title, workload, change, message] of changes) {
    it(`${title} is found`, async (t) => {
      const respond = right();
      const session = await serve(t, (request, body) => change(respond(request, body), request));
      const checkAll = async () => checkService(session, workload, await check(session, workload));
      await assert.rejects(checkAll(), message);
    });
  }

  it('a create that returned 201 and was not stored is found', async (t) => {
    const session = await serve(t, right());
    const before = await createOne(session, create);
    for (let i = 0; i < 30; i++) await sendOne(session, create);
    await checkKept(session, create, before, 30);
    await assert.rejects(
      checkKept(session, create, before, 32),
      /^Error: 32 creates returned 201, but 31 animals were added$/,
    );
    const respond = right();
    const forgetful = await serve(t, (request, body) =>
      request.url === '/v1/pets/1016' ? errorReply(404) : respond(request, body),
    );
    const first = await createOne(forgetful, create);
    for (let i = 0; i < 30; i++) await sendOne(forgetful, create);
    await assert.rejects(checkKept(forgetful, create, first, 30), /GET \/pets\/1016 of a created animal .* not 404/);
  });
});

describe('a target that goes wrong while it is measured', () => {
  const duration: Duration = { seconds: 0.01, warmUp: { requests: 100, seconds: 1e6 } };
  /** Measures a correct target whose responses from number `from` up to number `to` are changed. */
  const measure = async (
    t: Parameters<typeof serve>[0],
    workload: Workload,
    change: (reply: Reply) => Reply,
    from: number,
    to = Infinity,
  ) => {
    const respond = right();
    let count = 0;
    const changing: Responder = (request, body) => {
      const reply = respond(request, body);
      return ++count >= from && count <= to ? change(reply) : reply;
    };
    return measureTarget(await serve(t, changing), workload, duration);
  };
  const emptied = (reply: Reply): Reply => ({ ...reply, body: [] });

  it('has no figures if a body differs', async (t) => {
    await assert.rejects(measure(t, list, emptied, 20, 20), /must return 200; received: .*1 with another body/);
  });

  it('has no figures if a create is not stored', async (t) => {
    const respond = right();
    let creates = 0;
    const session = await serve(t, (request, body) =>
      // This response belongs to another create.
      request.method === 'POST' && ++creates === 160
        ? { status: 201, body: { id: 1_007, name: 'Rex' } }
        : respond(request, body),
    );
    await assert.rejects(
      measureTarget(session, create, duration),
      /^Error: \d+ creates returned 201, but \d+ animals were added$/,
    );
  });

  it('has no figures if its responses are wrong after the load', async (t) => {
    const wrongAtEnd = right();
    let session: Awaited<ReturnType<typeof serve>>;
    let loads = 0;
    session = await serve(t, (request, body) =>
      (loads === 2 ? emptied : (reply: Reply) => reply)(wrongAtEnd(request, body)),
    );
    const usage = async () => (loads++, { user: 0, system: 0, resident: 0 });
    session = {
      ...session,
      process: Object.assign(Object.create(null) as typeof session.process, session.process, { usage }),
    };
    await assert.rejects(measureTarget(session, get, duration), /^Error: GET \/pets\/500 must return .*, not \[\]$/);
  });
});
