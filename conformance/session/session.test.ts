/** One run: when it begins, when requests end, and why it cannot continue. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test, type TestContext } from 'node:test';
import { estimateOf, runChecks } from '../checks/suite.ts';
import { NoResponse } from '../client/client.ts';
import { createPet, getPet, listPets } from '../client/requests.ts';
import { fakeClock } from '../testing/responses.ts';
import { apiKey, proxy, scripted, smallServer, type Server } from '../testing/servers.ts';
import { session } from '../testing/sessions.ts';
import { Untestable, type Session, type SessionOptions } from './session.ts';

/** A session whose connections close with the test. */
function sessionOf(t: TestContext, server: Server, options: Partial<SessionOptions> = {}): Session {
  const made = session(server, options, fakeClock());
  t.after(() => made.client.close());
  return made;
}

test('requests that come before another are sent on the same new connection, which then closes', async (t) => {
  const ports: (number | undefined)[] = [];
  const server = await scripted(t, (_, response) => {
    ports.push(response.socket!.remotePort);
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('[]');
  });
  const of = sessionOf(t, server);
  const list = listPets(of.key);
  await of.send(list);
  await of.send({ ...list, before: [list, list] });
  await of.send({ ...list, before: [] });
  await of.send(list);
  const [shared, ...others] = ports;
  const [first, second, third, fresh, last] = others;
  assert.ok(first === second && second === third && last === shared, `${ports}`);
  assert.equal(new Set([shared, third, fresh]).size, 3, `${ports}`);
  assert.equal(of.client.sent.withKey, 6);
});

describe('requests that are sent together', () => {
  const respond = (response: ServerResponse) => void response.writeHead(404, { 'Content-Type': 'text/plain' }).end();

  test('after one connection breaks, sending ends only when all other responses have been judged', async (t) => {
    const open: ServerResponse[] = [];
    const server = await scripted(t, (_, response) => {
      if (open.push(response) < 4) return;
      open[1]!.on('close', () => setImmediate(() => setImmediate(() => [0, 2, 3].forEach((i) => respond(open[i]!)))));
      open[1]!.destroy();
    });
    const of = sessionOf(t, server);
    const requests = Array.from({ length: 4 }, () => getPet(of.key, 7n));
    await assert.rejects(of.sendTogether(requests), NoResponse);
    assert.equal(of.ledger.result('limits.limit-header').judged, 3);
  });

  test('pipelined on one connection, those without a response are sent again on others', async (t) => {
    const ports: (number | undefined)[] = [];
    const server = await scripted(t, ({ url }, response) => {
      ports.push(response.req.socket.remotePort);
      const isSecond = url.endsWith('/2');
      const headers = { 'Content-Type': 'application/json', ...(isSecond && { Connection: 'close' }) };
      response.writeHead(200, headers).end(`{"id":${url.at(-1)},"name":"Rex","categoryId":1}`);
    });
    const of = sessionOf(t, server);
    const judged = await of.sendTogether([1n, 2n, 3n].map((id) => getPet(of.key, id)), true);
    assert.deepEqual(judged.map(({ response }) => response.pets[0]?.id), [1n, 2n, 3n]);
    assert.ok(ports[0] === ports[1] && ports.at(-1) !== ports[0], `${ports}`);
    assert.equal(of.client.sent.withKey, 4);
    assert.equal(of.ledger.result('get.answers').judged, 3);
  });

  test('pipelined, a response that no proxy sends is judged, and the page of a proxy is not', async (t) => {
    for (const [status, served] of [[400, 1], [413, 2], [502, 2]] as const) {
      let count = 0;
      const server = await scripted(t, ({ url }, response) => {
        if (++count === 1) return void response.writeHead(status, { 'Content-Type': 'text/html' }).end('<h1>Refused</h1>');
        const headers = { 'Content-Type': 'application/json' };
        response.writeHead(200, headers).end(`{"id":${url.at(-1)},"name":"Rex","categoryId":1}`);
      });
      const of = sessionOf(t, server);
      const all = await of.sendTogether([1n, 2n].map((id) => getPet(of.key, id)), true);
      assert.equal(all.filter(({ response }) => response.pets.length === 1).length, served, `${status}`);
    }
  });

  test('an error of the kit is not hidden by a broken connection before it', async (t) => {
    const server = await scripted(t, ({ url }, response) => {
      if (url.endsWith('/1')) response.destroy();
      else setImmediate(respond, response);
    });
    const of = sessionOf(t, server);
    of.history.add = () => {
      throw new RangeError('in the kit');
    };
    await assert.rejects(of.sendTogether([getPet(of.key, 1n), getPet(of.key, 2n)]), RangeError);
  });

  test('none is read as JSON while others are in flight: this may take long, and they have a time limit', async (t) => {
    let ended = 0;
    const server = await scripted(t, ({ url }, response) => {
      const end = (turns: number): unknown =>
        turns > 0 ? setImmediate(end, turns - 1) : response.on('finish', () => ended++).end('[]');
      end(url.endsWith('/1') ? 0 : 500);
    });
    const of = sessionOf(t, server);
    const atJudgement: number[] = [];
    of.history.add = () => void atJudgement.push(ended);
    await of.sendTogether([getPet(of.key, 1n), getPet(of.key, 2n)]);
    assert.deepEqual(atJudgement, [2, 2]);
  });

  test('the responses are in the order of the requests', async (t) => {
    const of = sessionOf(t, await smallServer(t));
    const judged = await of.sendTogether([3, 1, 2].map((limit) => listPets(of.key, { limit })));
    assert.deepEqual(judged.map(({ response }) => response.pets.length), [3, 1, 2]);
  });
});

describe('a request', () => {
  test('that gets a server error is sent once more, and both responses are judged', async (t) => {
    const server = await proxy(t, await smallServer(t), (_, response) => void (response.status = 500));
    const of = sessionOf(t, server);
    const { response, violations } = await of.send(getPet(of.key, 1n));
    assert.deepEqual([response.status, server.received.length], [500, 2]);
    assert.ok(violations.some(({ id }) => id === 'service.status'));
  });

  test('that gets 429 is sent again after Retry-After, and every response is judged', async (t) => {
    let refusals = 1;
    const server = await proxy(t, await smallServer(t), (_, response) => {
      if (refusals-- <= 0) return;
      response.status = 429;
      response.headers.push(['retry-after', 'soon']);
    });
    const of = sessionOf(t, server);
    const { response, violations } = await of.send(listPets(of.key));
    assert.deepEqual([response.status, violations.map(({ id }) => id)], [200, ['limits.retry-after']]);
  });

  test('that breaks its connection: the server is gone only if a list gets no response either', async (t) => {
    let isGone = false;
    const server = await proxy(t, await smallServer(t), ({ method }) =>
      isGone || method === 'POST' ? 'cut' : undefined);
    const of = sessionOf(t, server);
    const error = await of.send(createPet(of.key, of.fixtures.newPet())).catch((thrown: unknown) => thrown);
    assert.ok(error instanceof NoResponse);
    await of.assertAlive(error);
    assert.equal(of.lost, undefined);
    isGone = true;
    await assert.rejects(of.assertAlive(error), Untestable);
    assert.match(of.lost!.message, /no longer responds: .*, in POST \/pets$/);
  });
});

describe('a run begins', () => {
  for (const [status, message] of [
    [401, /rejects the key of API_KEY \(401\); /],
    [404, /\/pets returns 404; is this the base URL\?$/],
    [503, /returns 503 to every request: the service is down, /],
  ] as const) {
    test(`not with ${status}`, async (t) => {
      const server = await scripted(t, (_, response) => void response.writeHead(status).end());
      await assert.rejects(sessionOf(t, server).open(), { name: 'Untestable', message });
    });
  }

  test('without a request that creates, if animals may not be created', async (t) => {
    const server = await proxy(t, await smallServer(t, { animals: 0 }));
    const of = sessionOf(t, server, { write: false, readOnly: true });
    await of.open();
    assert.ok(server.received.every(({ method }) => method === 'GET'));
    assert.equal(of.mayWrite, false);
  });

  test('with one animal in an empty store; if its category is refused, no animal can be created', async (t) => {
    for (const [status, mayWrite] of [[201, true], [422, false]] as const) {
      const server = await proxy(t, await smallServer(t, { animals: 0 }), ({ method }, response) => {
        if (method === 'POST') response.status = status;
      });
      const of = sessionOf(t, server);
      await of.open();
      assert.deepEqual([of.mayWrite, of.client.sent.created], [mayWrite, mayWrite ? 1 : 0]);
      const reason = 'no valid category is known: a create with category 1 gets 422; set --category-id';
      if (!mayWrite) assert.equal(of.noCategory, reason);
    }
  });
});

test('no more requests without a valid key are sent than announced, even if each of them breaks', async (t) => {
  for (const thoroughAuth of [false, true]) {
    for (const fault of thoroughAuth ? (['cut'] as const) : (['cut', 503, 500, 429] as const)) {
      const valid = `Bearer ${apiKey}`;
      const server = await proxy(t, await smallServer(t), ({ headers }, response) => {
        if (headers.authorization === valid) return undefined;
        if (fault === 'cut') return fault;
        response.status = fault;
        return undefined;
      });
      const of = sessionOf(t, server, { thoroughAuth, only: ['auth.'] });
      await of.open();
      const { withoutKey } = estimateOf(of);
      await runChecks(of);
      const without = server.received.filter(({ headers }) => headers.authorization !== valid).length;
      assert.ok(without <= withoutKey && without > 5, `${fault}: ${without} of ${withoutKey}`);
      assert.equal(of.client.sent.withoutKey, without);
    }
  }
});

test('the results are those of the requirements that were selected', async (t) => {
  const of = sessionOf(t, await smallServer(t), { only: ['list.limit', 'get.not-found'] });
  await of.open();
  assert.deepEqual(of.results().map(({ id }) => id).sort(), ['get.not-found', 'list.limit']);
});
