/** What stands between the kit and the service is named in one line, before anything is judged. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createSecureServer, createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, test, type TestContext } from 'node:test';
import { makeCertificate } from '../../harness/certificates.ts';
import type { Owner } from '../../harness/owner.ts';
import type { ReceivedRequest } from '../../harness/proxy.ts';
import { fakeClock, response as responseWith } from '../testing/responses.ts';
import { apiKey, proxy, scripted, smallServer } from '../testing/servers.ts';
import { run, session, verdicts } from '../testing/sessions.ts';
import { NoResponse } from './client.ts';
import type { Clock } from './clock.ts';
import { bearer } from './credentials.ts';
import { NotConnected, TooSlow } from './http.ts';
import { noResponseText, refusalText } from './obstacles.ts';
import { listPets } from './requests.ts';

/** The message with which opening a session fails, or `none`. */
async function obstacle(target: { readonly baseUrl: string }): Promise<string> {
  const opening = session({ baseUrl: target.baseUrl, apiKey });
  try {
    await opening.open();
    return 'none';
  } catch (error) {
    assert.equal((error as Error).name, 'Untestable', (error as Error).stack);
    return (error as Error).message;
  } finally {
    opening.client.close();
  }
}

const page = '<!doctype html><title>Log in</title>';
const html = { 'Content-Type': 'text/html' };
let flows = 0;

/** The server responds like this to every request. */
const everywhere: readonly (readonly [
  name: string,
  respond: (response: ServerResponse, request: ReceivedRequest) => void,
  message: RegExp,
])[] = [
  [
    'a firewall',
    (response) => response.writeHead(403, { ...html, Server: 'cloudflare' }).end(page),
    / returns 403 with Content-Type: text\/html, Server: cloudflare: a firewall .*, or the key of API_KEY has no/,
  ],
  [
    'a gateway that refuses with JSON',
    (response) => response.writeHead(403, { 'Content-Type': 'application/json' }).end('{"message":"Forbidden"}'),
    / returns 403 with Content-Type: application\/json: .*the key of API_KEY has no access$/,
  ],
  [
    'a login page on the same host',
    (response, { url }) => response.writeHead(302, { Location: `/login?next=${encodeURIComponent(url)}` }).end(page),
    / returns 302 with Location: \/login\?next=.* to every request: .* or is there a login page in front of it\?$/,
  ],
  [
    'a login page whose path has a number of its own',
    (response) => response.writeHead(303, { Location: `/auth/flow/${flows++}` }).end(page),
    / returns 303 with Location: \/auth\/flow\/\d+ to every request: /,
  ],
  [
    'a login page with a session in its path',
    (response) => response.writeHead(302, { Location: `/login;jsessionid=${flows++}` }).end(page),
    / returns 302 with Location: \/login;jsessionid=\d+ to every request: /,
  ],
  [
    'a challenge that redirects to the same path',
    (response, { url }) => response.writeHead(307, { Location: url, 'Set-Cookie': 'bot=no' }).end(),
    / returns 307 with Location: .* to every request: /,
  ],
  [
    'a network that demands a login, with a page',
    (response) => response.writeHead(200, html).end(page),
    / returns 200 with Content-Type: text\/html to every request: a page responds instead of the service, /,
  ],
  [
    'a network that demands a login, with 511',
    (response) => response.writeHead(511, html).end(page),
    / returns 511 .*: the network demands a login; open any page in a browser on this machine$/,
  ],
  [
    'a proxy that demands a password',
    (response) => response.writeHead(407, { 'Proxy-Authenticate': 'Basic realm="net"' }).end(),
    / returns 407 with .* to every request: a proxy demands a password: set HTTP_PROXY to /,
  ],
  [
    'a proxy that does not reach the service',
    (response) => response.writeHead(504, { ...html, Via: '1.1 edge\x9b2J' }).end(page),
    / returns 504 with .*, Via: 1\.1 edge\?2J to every request: the service is down, or a proxy in front of it cannot /,
  ],
  [
    'a login page on a path of its own for each page',
    (response, { url }) => response.writeHead(302, { Location: `/sso${url}` }).end(),
    / returns 302 with Location: \/sso\/v1\/pets\?limit=100 to every request: .* or is there a login page /,
  ],
  [
    'a framework that redirects each path to one with a slash',
    (response, { url }) => response.writeHead(308, { Location: url.replace('?', '/?') }).end(),
    / returns 308 with Location: \/v1\/pets\/\?limit=100 to every request: is the base URL wrong, or /,
  ],
  [
    'a firewall that refuses the media type',
    (response) => response.writeHead(406, { ...html, Server: 'Mod_Security' }).end(page),
    / returns 406 with .*, Server: Mod_Security to every request: a firewall or proxy in front of the service refuses /,
  ],
  [
    'a text',
    (response) => response.writeHead(200, { 'Content-Type': 'text/plain' }).end('OK'),
    / returns 200 with Content-Type: text\/plain to every request: a page responds instead of the service, /,
  ],
  [
    'a proxy that does not know the service',
    (response) => response.writeHead(404, { ...html, Server: 'nginx' }).end(page),
    /\/pets returns 404 with Content-Type: text\/html, Server: nginx; is this the base URL\?$/,
  ],
  [
    'a password for the staging environment',
    (response) => response.writeHead(401, { ...html, 'WWW-Authenticate': 'Basic realm="staging"' }).end(page),
    / rejects the key of API_KEY \(401 with .*WWW-Authenticate: Basic.*\); a proxy in front of it may /,
  ],
];

describe('a run does not begin, and the message names the cause', () => {
  for (const [name, respond, message] of everywhere) {
    test(name, async (t) => {
      const server = await scripted(t, (request, response) => respond(response, request));
      const text = await obstacle(server);
      assert.match(text, message);
      assert.ok(text.startsWith(server.baseUrl) && !text.includes('\n'), text);
      assert.ok(server.received.length <= 2, `${server.received.length} requests`);
    });
  }

  test('a server that speaks only HTTP/2, with TLS and without', async (t) => {
    const certificate = makeCertificate();
    for (const [scheme, server] of [
      ['https', createSecureServer(certificate)],
      ['http', createHttp2Server()],
    ] as const) {
      assert.match(
        await obstacle({ baseUrl: `${scheme}://127.0.0.1:${await portOf(t, server)}/v1` }),
        /^https?:\/\/127\.0\.0\.1:\d+\/v1 speaks only HTTP\/2, but this program speaks HTTP\/1\.1: enable HTTP\/1\.1, /,
      );
    }
  });

  test('a server that speaks only HTTP/2 and says so with 403; not one that speaks both', async (t) => {
    const refused = responseWith({ status: 403, headers: [['Content-Type', 'text/plain']], body: 'Missing ALPN' });
    for (const [allowHTTP1, message] of [
      [false, / speaks only HTTP\/2/],
      [true, / returns 403 with .*: a firewall or proxy/],
    ] as const) {
      const server = createSecureServer({ ...makeCertificate(), allowHTTP1 });
      const target = { baseUrl: `https://127.0.0.1:${await portOf(t, server)}/v1` };
      assert.match((await refusalText(refused, target, 'API_KEY')) ?? '', message);
    }
  });

  test('a TLS port that returns 400 with JSON; not a plain one that returns the same', async (t) => {
    const body = '{"code":"malformed_request","message":"This port speaks HTTPS.","status":400}';
    const refused = responseWith({ status: 400, headers: [['Content-Type', 'application/json']], body });
    const port = await portOf(t, createSecureServer(makeCertificate()));
    const target = { baseUrl: `http://127.0.0.1:${port}/v1` };
    const text = (await refusalText(refused, target, 'API_KEY')) ?? '';
    assert.match(text, / the port speaks TLS; is the base URL https:\?$/);
    const plain = await scripted(t, (_, response) => void response.writeHead(400).end(body));
    assert.equal(await refusalText(refused, plain, 'API_KEY'), undefined);
  });

  test('a host name that does not resolve: the message suggests a proxy', async () => {
    for (const scheme of ['http', 'https'])
      assert.match(
        await obstacle({ baseUrl: `${scheme}://nobody.invalid/v1` }),
        new RegExp(`(ENOTFOUND|EAI_AGAIN).*; if it is reachable only .*, set ${scheme.toUpperCase()}_PROXY$`),
      );
  });

  test('an address that does not respond: the message suggests a proxy', async () => {
    const request = listPets(bearer(apiKey));
    const target = { baseUrl: 'https://127.0.0.1:1/v1' };
    assert.match(
      await noResponseText(new NoResponse(request, new NotConnected('late')), target),
      /: late; if it is reachable only through a proxy, set HTTPS_PROXY$/,
    );
    assert.match(await noResponseText(new NoResponse(request, new TooSlow('late')), target), /: late$/);
  });

  test('a host name with several addresses: the message has the error of each', () => {
    const refused = ['::1:1', '127.0.0.1:1'].map((address) => new Error(`connect ECONNREFUSED ${address}`));
    const all = Object.assign(new AggregateError(refused), { code: 'ECONNREFUSED' });
    const { message } = new NoResponse(listPets(bearer(apiKey)), all);
    assert.equal(message, 'connect ECONNREFUSED ::1:1, connect ECONNREFUSED 127.0.0.1:1');
  });

  test('https: to a port without TLS', async (t) => {
    const { port } = await scripted(t, (_, response) => void response.end());
    const text = await obstacle({ baseUrl: `https://127.0.0.1:${port}/v1` });
    assert.match(text, /; the port does not speak TLS: is the base URL http:\?$/);
  });
});

describe('a run continues although', () => {
  const only = ['list.answers', 'service.json'];

  test('lists are pages of HTML', async (t) => {
    const server = await proxy(t, await smallServer(t), ({ method, url }, response) => {
      if (method === 'GET' && url.startsWith('/v1/pets')) response.body = Buffer.from(page);
    });
    const results = verdicts(await run(session(server, { only }, fakeClock(Date.now()))));
    assert.equal(results['service.json'], 'failed');
  });

  test('a firewall refuses a few requests', async (t) => {
    const server = await proxy(t, await smallServer(t), ({ url }, response) => {
      const isRefused = /limit=[1-9]\d/.test(url) && server.received.length > 3;
      if (isRefused) Object.assign(response, { status: 403, body: Buffer.from(page) });
    });
    const of = session(server, { only: ['list.limit-accepted'] }, fakeClock(Date.now()));
    assert.equal(verdicts(await run(of))['list.limit-accepted'], 'failed');
    assert.equal(of.lost, undefined);
  });
});

describe('what responds instead of the service from some request on ends the run, and nothing fails', () => {
  const text = { 'Content-Type': 'text/plain' };
  const cases: readonly (readonly [status: number, headers: Record<string, string>, advice: RegExp])[] = [
    [403, html, /a firewall or proxy in front of the service refuses the request/],
    [406, html, /a firewall or proxy in front of the service refuses the request/],
    [401, html, /a proxy in front of the service may demand a password, or the key is no longer valid/],
    [404, html, /is the base URL wrong, or does a proxy in front of it have no route to the service\?/],
    [429, html, /a firewall or proxy in front of the service limits requests, or the key has none left/],
    [200, html, /a page responds instead of the service, /],
    [200, text, /a page responds instead of the service, /],
    [302, { Location: '/sso' }, /is the base URL wrong, or is there a login page in front of it\?/],
    [502, html, /the service is down, or a proxy in front of it cannot reach it/],
  ];
  for (const [status, headers, advice] of cases) {
    for (const from of [5, 30]) {
      test(`${status} with ${Object.values(headers).join()}, from request ${from} on`, async (t) => {
        const server = await proxy(t, await smallServer(t), ({ url }, response) => {
          if (server.received.length < from) return;
          const given = Object.entries(headers).map(([name, value]): [string, string] => [name, value]);
          if (status === 302) given[0]![1] += url;
          Object.assign(response, { status, headers: given, body: Buffer.from(status === 302 ? '' : page) });
        });
        const of = session(server, { only: ['auth.', 'list.', 'get.', 'limits.'] }, fakeClock(Date.now()));
        const results = await run(of);
        assert.deepEqual(results.filter(({ verdict }) => verdict === 'failed').map(({ id }) => id), []);
        const { message = '' } = of.lost ?? {};
        assert.match(message, new RegExp(` returns ${status} with .* to every request, since (GET|POST) /`));
        assert.match(message, advice);
      });
    }
  }
});

describe('a service whose errors look like those of a firewall is judged to the end', () => {
  /** Replaces error responses: those of many frameworks are HTML, or empty, and have no rate limit headers. */
  const bare = async (
    t: TestContext,
    clock: Clock,
    of: (status: number) => boolean,
    body: string,
    type: string | undefined,
  ) =>
    proxy(t, await smallServer(t, { plan: 'free', clock }), (_, response) => {
      if (!of(response.status)) return;
      const others = response.headers.filter(([name]) => !/^(x-ratelimit|content-type)/i.test(name));
      const headers = [...others, ...(type === undefined ? [] : [['Content-Type', type]])];
      Object.assign(response, { headers, body: Buffer.from(body) });
    });
  const cases: readonly (readonly [string, (status: number) => boolean, string, string | undefined, string])[] = [
    ['every error is HTML', (status) => status >= 400, page, 'text/html', 'error.object'],
    ['every error is empty', (status) => status >= 400, '', undefined, 'error.object'],
    ['only 404 is HTML', (status) => status === 404, page, 'text/html', 'error.object'],
    ['every response is XML', () => true, '<any/>', 'application/xml', 'service.json'],
  ];
  for (const [name, which, body, type, failing] of cases) {
    test(name, async (t) => {
      const clock = fakeClock(Date.now());
      const server = await bare(t, clock, which, body, type);
      const only = name === 'every error is HTML' ? [] : ['auth.', 'get.', 'error.', 'service.json'];
      const of = session(server, { only }, clock);
      const results = verdicts(await run(of));
      assert.equal(of.lost?.message, undefined);
      assert.equal(of.halted, undefined);
      assert.equal(results[failing], 'failed');
    });
  }

  test('the valid key is rejected from some request on', async (t) => {
    const clock = fakeClock(Date.now());
    const server = await bare(t, clock, (status) => status >= 400, page, 'text/html');
    let requests = 0;
    const poisoned = await proxy(t, server, (_, response) => {
      if (++requests <= 60) return;
      Object.assign(response, { status: 401, headers: Object.entries(html), body: Buffer.from(page) });
    });
    const of = session(poisoned, { only: ['auth.', 'list.'] }, clock);
    assert.equal(verdicts(await run(of))['auth.valid'], 'failed');
    assert.equal(of.lost, undefined);
  });

  test('a list fails with the same page that an unknown path gets', async (t) => {
    const server = await proxy(t, await smallServer(t), ({ url }, response) => {
      if (!/orders|status=sold/.test(url) && response.status !== 404) return;
      Object.assign(response, { status: 404, headers: Object.entries(html), body: Buffer.from(page) });
    });
    const of = session(server, { only: ['list.', 'get.', 'orders.'] }, fakeClock(Date.now()));
    assert.equal(verdicts(await run(of))['list.status'], 'failed');
    assert.equal(of.lost, undefined);
  });
});

/** The port of a server, which the test closes with its connections. */
async function portOf(owner: Owner, server: Http2Server): Promise<number> {
  server.on('session', (opened) => owner.after(() => opened.destroy()));
  server.on('connection', (socket) => owner.after(() => socket.destroy()));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  owner.after(() => server.close());
  return (server.address() as AddressInfo).port;
}
