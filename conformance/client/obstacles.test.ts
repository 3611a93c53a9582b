/** What stands between the kit and the service is named in one line, before anything is judged. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createSecureServer, createServer as createHttp2Server, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { makeCertificate } from '../../harness/certificates.ts';
import type { Owner } from '../../harness/owner.ts';
import type { ReceivedRequest } from '../../harness/proxy.ts';
import { fakeClock, response as responseWith } from '../testing/responses.ts';
import { apiKey, proxy, scripted, smallServer } from '../testing/servers.ts';
import { run, session, verdicts } from '../testing/sessions.ts';
import { NoResponse } from './client.ts';
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

  test('the server redirects each path to one with a slash', async (t) => {
    const server = await scripted(t, ({ url }, response) => {
      const [path, query] = url.split('?');
      response.writeHead(308, { Location: `${path}/?${query}` }).end();
    });
    const results = verdicts(await run(session(server, { only }, fakeClock(Date.now()))));
    assert.equal(results['list.answers'], 'failed');
  });

  test('lists are pages of HTML', async (t) => {
    const server = await proxy(t, await smallServer(t), ({ method, url }, response) => {
      if (method === 'GET' && url.startsWith('/v1/pets')) response.body = Buffer.from(page);
    });
    const results = verdicts(await run(session(server, { only }, fakeClock(Date.now()))));
    assert.equal(results['service.json'], 'failed');
  });

  test('a firewall refuses one request', async (t) => {
    const server = await proxy(t, await smallServer(t), ({ url }, response) => {
      const isRefused = url.includes('limit=100') && server.received.length > 3;
      if (isRefused) Object.assign(response, { status: 403, body: Buffer.from(page) });
    });
    const of = session(server, { only: ['list.limit-accepted'] }, fakeClock(Date.now()));
    assert.equal(verdicts(await run(of))['list.limit-accepted'], 'failed');
    assert.equal(of.lost, undefined);
  });
});

test('a firewall that refuses everything from some request on ends the run, and nothing fails', async (t) => {
  let isRefused = false;
  const server = await proxy(t, await smallServer(t), ({ url }, response) => {
    isRefused ||= url.includes('limit=abc');
    if (isRefused) Object.assign(response, { status: 403, headers: Object.entries(html), body: Buffer.from(page) });
  });
  const of = session(server, { only: ['list.', 'service.status'] }, fakeClock(Date.now()));
  assert.deepEqual((await run(of)).filter(({ verdict }) => verdict === 'failed'), []);
  assert.match(
    of.lost?.message ?? '',
    / returns 403 with .* to every request, since GET \/pets\?limit=abc: a firewall or proxy in front /,
  );
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
