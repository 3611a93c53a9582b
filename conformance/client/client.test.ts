/** The client against servers that make it wait, on a clock on which waiting takes no time. */
import assert from 'node:assert/strict';
import { Agent, type ServerResponse } from 'node:http';
import { describe, test, type TestContext } from 'node:test';
import type { ReceivedRequest } from '../../harness/proxy.ts';
import { fakeClock, start } from '../testing/responses.ts';
import { response } from '../testing/responses.ts';
import { apiKey, scripted, smallServer } from '../testing/servers.ts';
import { send, session } from '../testing/sessions.ts';
import { NoResponse, NoRequestsLeft, Client } from './client.ts';
import { Stops } from './clock.ts';
import { bearer, nobody } from './credentials.ts';
import { createPet, listPets } from './requests.ts';
import { retryAfterMs } from './limit-readings.ts';

const list = listPets(bearer(apiKey), { limit: 1 });

/** A client of a scripted server, on a clock of its own. */
async function clientOf(
  t: TestContext,
  script: (request: ReceivedRequest, response: ServerResponse, clock: ReturnType<typeof fakeClock>) => void,
  maxRequests?: number,
) {
  const clock = fakeClock();
  const server = await scripted(t, (request, response) => {
    response.setHeader('Date', new Date(clock.now()).toUTCString());
    script(request, response, clock);
  });
  const client = new Client({
    baseUrl: server.baseUrl,
    clock,
    ...(maxRequests !== undefined && { maxRequests }),
  });
  t.after(() => client.close());
  return { ...server, client, clock };
}

/** Responds with 429 and this Retry-After several times, then with 200. */
const refusing = (retryAfter: string | undefined | ((now: number) => string), times: number) => {
  let left = times;
  return (_: ReceivedRequest, response: ServerResponse, clock: ReturnType<typeof fakeClock>) => {
    if (left-- <= 0) return void response.end('[]');
    const value = typeof retryAfter === 'function' ? retryAfter(clock.now()) : retryAfter;
    response.writeHead(429, value === undefined ? {} : { 'Retry-After': value }).end();
  };
};

describe('429', () => {
  test('waits for the seconds of Retry-After, then sends the request again', async (t) => {
    const { client, clock, received } = await clientOf(t, refusing('7', 1));
    assert.equal((await send(client, list)).status, 200);
    assert.deepEqual(clock.waits, [7_000]);
    assert.equal(received.length, 2);
    const { withKey, unwanted429, secondsWaited } = client.sent;
    assert.deepEqual({ withKey, unwanted429, secondsWaited }, { withKey: 2, unwanted429: 1, secondsWaited: 7 });
  });

  test("waits until the date of Retry-After, by the server's clock", async (t) => {
    for (const ahead of [0, 3_600_000, -3_600_000]) {
      const { client, clock } = await clientOf(t, (request, response, clock) => {
        response.setHeader('Date', new Date(clock.now() + ahead).toUTCString());
        refusing((now) => new Date(now + ahead + 20_000).toUTCString(), clock.waits.length === 0 ? 1 : 0)(
          request,
          response,
          clock,
        );
      });
      await send(client, list);
      assert.equal(clock.waits.length, 1);
      // A date has whole seconds.
      assert.ok(clock.waits[0]! >= 19_000 && clock.waits[0]! <= 20_000, `${clock.waits[0]}`);
    }
  });

  test('without Retry-After, backs off for 1, 2, 4 … s, at most a minute, plus a random part', async (t) => {
    const { client, clock } = await clientOf(t, refusing(undefined, 9));
    await send(client, list);
    assert.equal(clock.waits.length, 9);
    clock.waits.forEach((ms, i) => {
      const least = Math.min(60_000, 1_000 * 2 ** i);
      assert.ok(ms >= least && ms <= least * 1.25, `${i + 1}: ${ms}`);
    });
    assert.ok(
      clock.waits.some((ms, i) => ms !== Math.min(60_000, 1_000 * 2 ** i)),
      'no jitter',
    );
  });

  for (const value of ['0', 'soon', '-5', '1.5', '', 'Thu, 01 Jan 1970 00:00:00 GMT']) {
    test(`with Retry-After: ${value}, backs off too`, async (t) => {
      const { client, clock } = await clientOf(t, refusing(value, 3));
      await send(client, list);
      assert.equal(clock.waits.length, 3);
      clock.waits.forEach((ms, i) => assert.ok(ms >= 1_000 * 2 ** i, `${ms}`));
    });
  }

  for (const value of ['1', '0', '60', undefined]) {
    test(`repeated without end, with Retry-After: ${value}, ends the request after 15 minutes`, async (t) => {
      const { client, clock, received } = await clientOf(t, refusing(value, Infinity));
      await assert.rejects(send(client, list), NoRequestsLeft);
      const waited = clock.now() - start;
      assert.ok(waited <= 900_000 && waited > 700_000, `${waited}`);
      assert.ok(received.length < 30, `${received.length} requests`);
    });
  }

  for (const value of ['901', '59000', '9'.repeat(400), 'Fri, 31 Dec 9999 23:59:59 GMT']) {
    test(`with Retry-After: ${value.slice(0, 40)}, tries once after a minute, and then ends`, async (t) => {
      const admitted = await clientOf(t, refusing(value, 1));
      assert.equal((await send(admitted.client, list)).status, 200);
      assert.deepEqual(admitted.clock.waits, [62_000]);
      const { client, clock, received } = await clientOf(t, refusing(value, Infinity));
      await assert.rejects(send(client, list), /429 to 2 requests in a row, and the waits would exceed 15 minutes/);
      await assert.rejects(send(client, list), NoRequestsLeft);
      assert.deepEqual(clock.waits, [62_000]);
      assert.equal(received.length, 2);
    });
  }

  test('with a Retry-After that the minute does not explain, but a second refusal confirms, waits', async (t) => {
    const { client, clock } = await clientOf(t, refusing('300', 2));
    assert.equal((await send(client, list)).status, 200);
    assert.deepEqual(clock.waits, [62_000, 300_000]);
  });

  test('without a valid key and without end, is waited for once', async (t) => {
    const { client, clock } = await clientOf(t, refusing('60', Infinity));
    await assert.rejects(send(client, listPets(nobody)), NoRequestsLeft);
    const waits = clock.waits.length;
    await assert.rejects(send(client, listPets(nobody)), (error) => error instanceof NoRequestsLeft && !error.forAll);
    assert.equal(clock.waits.length, waits);
    await assert.rejects(send(client, list), NoRequestsLeft);
    assert.ok(clock.waits.length > waits, 'the valid key is another one');
  });

  test('is a response like any other for requests that are sent together', async (t) => {
    const { client, clock } = await clientOf(t, refusing('9', 2));
    const responses = await Promise.all([list, list, list].map((request) => client.exchange(request)));
    assert.deepEqual(responses.map(({ status }) => status).sort(), [200, 429, 429]);
    assert.deepEqual(clock.waits, []);
  });

  test('Retry-After in milliseconds', () => {
    const says = (...values: string[]) =>
      retryAfterMs(response({ status: 429, headers: values.map((value) => ['Retry-After', value] as const) }), start);
    assert.equal(says(), undefined);
    assert.equal(says('120'), 120_000);
    assert.equal(says(new Date(start + 30_000).toUTCString()), 30_000 - (start % 1000));
    assert.equal(says(new Date(start - 30_000).toUTCString()), 0);
    assert.equal(says('soon'), undefined);
  });
});

/** Responds with 503 to these requests, by their number, and with 200 to all others. */
const unavailable = (which: (nth: number) => boolean, retryAfter?: string) => {
  let nth = 0;
  return (_: ReceivedRequest, response: ServerResponse) =>
    void response
      .writeHead(which(++nth) ? 503 : 200, retryAfter === undefined ? {} : { 'Retry-After': retryAfter })
      .end('[]');
};

describe('503', () => {
  const statuses = async (client: Client, count: number) => {
    const yielded: number[] = [];
    for (let i = 0; i < count; i++)
      for await (const response of client.attempts(list)) yielded.push(response.status);
    return yielded;
  };

  test('is not shown if the repeated request is served, after Retry-After', async (t) => {
    const { client, clock, received } = await clientOf(t, unavailable((nth) => nth % 3 === 1, '7'));
    assert.deepEqual(await statuses(client, 4), [200, 200, 200, 200]);
    assert.deepEqual(clock.waits, [7_000, 7_000]);
    assert.equal(received.length, 6);
    assert.equal(client.sent.recovered503, 2);
  });

  test('without Retry-After, backs off', async (t) => {
    const { client, clock } = await clientOf(t, unavailable((nth) => nth <= 3));
    assert.deepEqual(await statuses(client, 1), [200]);
    assert.equal(client.sent.recovered503, 3);
    assert.deepEqual(
      clock.waits.map((ms) => Math.floor(Math.log2(ms / 1_000))),
      [0, 1, 2],
    );
  });

  test('is shown once if all repeated requests get it; after five such requests, none is repeated', async (t) => {
    const { client, received } = await clientOf(t, unavailable(() => true, '1'));
    assert.deepEqual(await statuses(client, 7), Array(7).fill(503));
    assert.equal(received.length, 5 * 4 + 2);
    assert.equal(client.sent.recovered503, 0);
  });

  for (const [retryAfter, ms] of [
    ['10', 10_000],
    ['11', 10_000],
    ['3600', 10_000],
  ] as const) {
    test(`with Retry-After: ${retryAfter}, is repeated after ${ms / 1_000} s, up to three times`, async (t) => {
      const { client, clock } = await clientOf(t, unavailable((nth) => nth <= 3, retryAfter));
      assert.deepEqual(await statuses(client, 1), [200]);
      assert.deepEqual(clock.waits, [ms, ms, ms]);
    });
  }

  test('is repeated for concurrent requests, too, after 2 s at the latest, but not by exchange', async (t) => {
    const { client, clock } = await clientOf(t, unavailable((nth) => nth === 2 || nth === 5, '7'));
    const responses = await Promise.all([list, list, list].map((request) => client.available(request)));
    assert.deepEqual(responses.map(({ status }) => status), [200, 200, 200]);
    assert.deepEqual(clock.waits, [2_000]);
    assert.equal((await client.exchange(list)).status, 503);
  });
});

describe('rate limit headers', () => {
  for (const ahead of [0, 3_600_000, -3_600_000, 400]) {
    test(`a key at its limit waits for the server's minute, with a clock ${ahead} ms ahead`, async (t) => {
      const clock = fakeClock();
      const server = await smallServer(t, { clock: { ...clock, now: () => clock.now() + ahead }, plan: 'free' });
      const { client } = session(server, {}, clock);
      t.after(() => client.close());
      for (let i = 0; i < 150; i++) {
        assert.equal((await send(client, list)).status, 200);
        clock.move(7);
      }
      assert.equal(client.sent.unwanted429, 0);
      assert.equal(clock.waits.length, 2);
      // Shortly after the end of the minute by the server's clock.
      assert.ok((clock.now() + ahead) % 60_000 < 30 * 7 + 1_100);
    });
  }

  test('a day without remaining requests ends the requests of the key', async (t) => {
    const { client } = await clientOf(t, (_, response, clock) => {
      const reset = Math.floor(clock.now() / 1000) + 40_000;
      response
        .writeHead(200, {
          'X-RateLimit-Limit': '1000',
          'X-RateLimit-Remaining': `${Math.max(0, 1 - client.sent.withKey + 1)}`,
          'X-RateLimit-Reset': `${reset}`,
        })
        .end('[]');
    });
    await send(client, list);
    await send(client, list);
    await assert.rejects(
      send(client, list),
      (error) =>
        error instanceof NoRequestsLeft &&
        error.forAll &&
        /no requests left in this window; the next request would have to wait 667 minutes/.test(error.message),
    );
    assert.equal(client.sent.withKey, 2);
  });
});

describe('slow responses', () => {
  test('end the run after 20', async (t) => {
    const { client, clock, received } = await clientOf(t, (_, response, clock) => {
      clock.move(29_000);
      response.end('[]');
    });
    for (let i = 0; i < 20; i++) assert.equal((await send(client, list)).status, 200);
    await assert.rejects(send(client, list), /the server is too slow: 20 responses took more than 10 s/);
    assert.equal(received.length, 20);
    assert.deepEqual(clock.waits, []);
  });

  test('that never end have a limit', async (t) => {
    const server = await scripted(t, () => {});
    const clock = fakeClock();
    const client = new Client({ baseUrl: server.baseUrl, clock, timeoutMs: 1 });
    t.after(() => client.close());
    for (let i = 0; i < 20; i++) await assert.rejects(send(client, list), /no complete response within 0.001 s/);
    await assert.rejects(send(client, list), NoRequestsLeft);
  });
});

describe('a stop of the process', () => {
  /** A client that stops as often as the script calls `stop`. */
  async function stoppable(
    t: TestContext,
    timeoutMs: number,
    script: (nth: number, response: ServerResponse, stop: () => void) => void,
  ) {
    let now = 0;
    const clock = fakeClock();
    const server = await scripted(t, (_, response) =>
      script(server.received.length, response, () => {
        now += 60_000;
        clock.move(60_000);
      }));
    const stops = new Stops(() => now);
    const options = { baseUrl: server.baseUrl, clock, timeoutMs, stops };
    const client = new Client(options);
    t.after(() => client.close());
    return { client, received: server.received };
  }

  test('makes no response slow', async (t) => {
    const { client, received } = await stoppable(t, 60_000, (_, response, stop) => {
      stop();
      response.end('[]');
    });
    for (let i = 0; i < 25; i++) assert.equal((await send(client, list)).status, 200);
    assert.equal(received.length, 25);
  });

  test('during a request that gets no response, or whose connection breaks: it is sent again', async (t) => {
    for (const [timeoutMs, end] of [
      [60_000, (response: ServerResponse) => void response.socket!.resetAndDestroy()],
      [20, () => {}],
    ] as const) {
      const { client, received } = await stoppable(t, timeoutMs, (nth, response, stop) => {
        stop();
        if (nth > 2) response.end('[]');
        else end(response);
      });
      assert.equal((await send(client, list)).status, 200);
      // On a busy machine, the third one may take longer than 20 ms, too.
      assert.ok(timeoutMs === 20 ? received.length >= 3 : received.length === 3, `${received.length}`);
      assert.equal(client.sent.withKey, received.length);
    }
  });
});

test('only errors of the server and of the network are those of the server', async (t) => {
  const failing = (error: Error) => {
    const mocked = t.mock.method(Agent.prototype, 'createConnection', () => {
      throw error;
    });
    const clock = fakeClock();
    const client = new Client({ baseUrl: 'http://127.0.0.1:1/v1', clock });
    return send(client, list).finally(() => mocked.mock.restore());
  };
  const withCode = (code: string) => Object.assign(new Error(code), { code });
  for (const code of ['ECONNREFUSED', 'HPE_INVALID_CONSTANT', 'EAI_AGAIN', 'ERR_SSL_WRONG_VERSION_NUMBER'])
    await assert.rejects(failing(withCode(code)), NoResponse);
  for (const code of ['DEPTH_ZERO_SELF_SIGNED_CERT', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'ERR_TLS_CERT_ALTNAME_INVALID'])
    await assert.rejects(failing(withCode(code)), NoResponse);
  for (const error of [withCode('EMFILE'), withCode('ERR_INVALID_ARG_VALUE'), new RangeError('bug'), new Error('any')])
    await assert.rejects(failing(error), (thrown) => thrown === error);
});

describe('--max-requests', () => {
  test('applies to requests that are sent together', async (t) => {
    const { client, received } = await clientOf(t, (_, response) => void response.end('[]'), 3);
    await assert.rejects(
      Promise.all([list, list, list, list, list].map((request) => client.exchange(request))),
      NoRequestsLeft,
    );
    await assert.rejects(send(client, list), /--max-requests 3 is reached/);
    assert.ok(received.length <= 3);
  });

  test('sends either all pipelined requests or none', async (t) => {
    const { client, received } = await clientOf(t, (_, response) => void response.end('[]'), 2);
    const ends = await Promise.allSettled(client.pipelined([list, list, list]));
    assert.ok(ends.every((end) => end.status === 'rejected' && end.reason instanceof NoRequestsLeft));
    assert.deepEqual([client.sent.withKey, received.length], [0, 0]);
  });
});

describe('connections', () => {
  /** A server that cuts some connections, by the number of the request in all and on its connection. */
  async function cutting(t: TestContext, cuts: (nth: number, onConnection: number) => boolean) {
    const onConnections = new Map<unknown, number>();
    const { client, received } = await clientOf(t, (_, response) => {
      const onConnection = (onConnections.get(response.socket) ?? 0) + 1;
      onConnections.set(response.socket, onConnection);
      if (cuts(received.length, onConnection)) response.socket!.resetAndDestroy();
      else response.end('[]');
    });
    return { client, count: () => received.length };
  }

  test('a request on an idle connection that the server has closed is sent again', async (t) => {
    const { client, count } = await cutting(t, (_, onConnection) => onConnection > 1);
    for (let i = 0; i < 4; i++) assert.equal((await send(client, list)).status, 200);
    assert.equal(count(), 7);
    // Each attempt that the server may have received counts.
    assert.equal(client.sent.withKey, 7);
  });

  test('if the server closes idle connections, each request without a valid key is sent once', async (t) => {
    const { client } = await cutting(t, (_, onConnection) => onConnection > 1);
    client.maxKeyless = 3;
    for (const request of [list, list, ...Array<typeof list>(3).fill(listPets(nobody))])
      assert.equal((await send(client, request)).status, 200);
    assert.equal(client.sent.withoutKey, 3);
  });

  test('a request on an idle connection that may not be sent again has no response', async (t) => {
    const { client, count } = await cutting(t, (nth) => nth === 2);
    client.maxKeyless = 1;
    await send(client, list);
    await assert.rejects(send(client, listPets(nobody)), NoResponse);
    await assert.rejects(send(client, listPets(nobody)), /at most 1 requests without a valid key/);
    assert.equal(count(), 2);
  });

  test('a request is sent again on a new connection, because all idle ones may have been cut', async (t) => {
    const { client } = await cutting(t, (_, onConnection) => onConnection > 1);
    await Promise.all(Array.from({ length: 5 }, () => send(client, list)));
    assert.equal((await send(client, list)).status, 200);
  });

  test('a request whose connection is cut twice has no response', async (t) => {
    const { client, count } = await cutting(t, (nth) => nth > 1);
    await send(client, list);
    await assert.rejects(
      send(client, list),
      (error) => error instanceof NoResponse && /ECONNRESET|socket hang up/.test(error.message),
    );
    assert.equal(count(), 3);
  });

  test('a request on a new connection that is cut is not sent again, because it may be the cause', async (t) => {
    const { client, count } = await cutting(t, () => true);
    await assert.rejects(send(client, createPet(bearer(apiKey), { name: 'x', categoryId: 1n })), NoResponse);
    assert.equal(count(), 1);
  });

  test('a response with headers of more than 16 KiB is received', async (t) => {
    const { client } = await clientOf(t, (_, response) => {
      for (let i = 0; i < 300; i++) response.setHeader(`X-${i}`, 'x'.repeat(2_000));
      response.end('[]');
    });
    const received = await send(client, list);
    assert.equal(received.status, 200);
    assert.ok(received.headers.length >= 300);
    // A run keeps thousands of copies.
    assert.ok(JSON.stringify(received.light().headers).length < 150_000);
  });

  test('connection refused', async () => {
    const clock = fakeClock();
    const client = new Client({ baseUrl: 'http://127.0.0.1:1/v1', clock });
    await assert.rejects(
      send(client, list),
      (error) => error instanceof NoResponse && /ECONNREFUSED/.test(error.message) && !/\n/.test(error.message),
    );
  });
});
