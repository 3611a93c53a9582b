/** The proxy that the environment names, and requests through it. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { createServer as createSilentServer, type AddressInfo, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { makeCertificate } from '../../harness/certificates.ts';
import { forwardProxy } from '../../harness/forward-proxy.ts';
import type { Owner } from '../../harness/owner.ts';
import { apiKey, scripted, smallServer } from '../testing/servers.ts';
import { run, send, session } from '../testing/sessions.ts';
import { Client } from './client.ts';
import { systemClock } from './clock.ts';
import { bearer } from './credentials.ts';
import { exchangeHttp } from './http.ts';
import { isOfNetwork } from './network-errors.ts';
import { agentFor, proxyFor } from './proxy.ts';
import { listPets } from './requests.ts';

test('the proxy of a variable in upper or lower case, and what a report must not contain', () => {
  const proxyOf = (url: string, environment: NodeJS.ProcessEnv) => proxyFor(url, environment)?.origin;
  const both = { HTTPS_PROXY: 'http://s.example:1', HTTP_PROXY: 'http://h.example:2/' };
  assert.equal(proxyOf('https://pets.example/v1', both), 'http://s.example:1');
  assert.equal(proxyOf('http://pets.example/v1', both), 'http://h.example:2');
  assert.equal(proxyOf('http://pets.example/v1', { HTTPS_PROXY: 'http://s.example:1' }), undefined);
  assert.equal(proxyOf('http://pets.example/v1', { HTTP_PROXY: '' }), undefined);
  const lower = { ...both, https_proxy: 'proxy.example:3128' };
  assert.equal(proxyOf('https://pets.example/v1', lower), 'http://proxy.example:3128');
  const encoded = Buffer.from('us@er:p:w').toString('base64');
  assert.deepEqual(proxyFor('https://pets.example/v1', { https_proxy: 'https://us%40er:p%3Aw@proxy.example' }), {
    origin: 'https://proxy.example',
    variable: 'https_proxy',
    authorization: `Basic ${encoded}`,
    secrets: [encoded, 'us@er:p:w'],
  });
  const proxy = proxyFor('http://pets.example/v1', { HTTP_PROXY: 'http://user:Secret%21@proxy.example' })!;
  const { redact } = session({ baseUrl: 'http://pets.example/v1', apiKey }, { proxy });
  assert.doesNotMatch(redact(`${proxy.authorization} user:Secret! Secret!`), /Secret|dXNlc/);
});

test('NO_PROXY: hosts, domains, ports, and everything', () => {
  const cases: readonly (readonly [string, boolean])[] = [
    ['pets.example', true],
    ['other.example, PETS.example', true],
    ['example', true],
    ['.example', true],
    ['*.example', true],
    ['.pets.example', true],
    ['pets.example:8443', true],
    ['example:8443', true],
    ['*', true],
    ['pets.example:443', false],
    ['ets.example', false],
    ['www.pets.example', false],
    ['', false],
    [',', false],
  ];
  for (const [value, isDirect] of cases) {
    for (const name of ['NO_PROXY', 'no_proxy']) {
      const proxy = proxyFor('https://pets.example:8443/v1', { HTTPS_PROXY: 'http://s.example', [name]: value });
      assert.equal(proxy === undefined, isDirect, value);
    }
  }
  const environment = { HTTPS_PROXY: 'http://s.example', NO_PROXY: 'pets.example:443' };
  assert.equal(proxyFor('https://pets.example/v1', environment), undefined);
  for (const NO_PROXY of ['fd00::2', '[fd00::2]'])
    assert.equal(proxyFor('http://[fd00::2]:1/v1', { HTTP_PROXY: 'http://s.example', NO_PROXY }), undefined);
});

test('an invalid proxy is named by its variable, without its value', () => {
  for (const value of ['socks5://user:secret@proxy.example', 'http://user:secret@:', 'http://us%FF:secret@p.example'])
    assert.throws(() => proxyFor('https://pets.example/v1', { HTTPS_PROXY: value }), {
      message: 'HTTPS_PROXY must be the URL of an HTTP proxy, such as http://user:password@proxy.example:3128',
    });
});

test('a user or password that must be escaped has a message of its own', () => {
  for (const text of ['us%ZZ:secret', 'user:sec%ret', 'user:1/secret', 'user:secret#1', 'user:secret?', 'user:%'])
    for (const scheme of ['http://', ''])
      assert.throws(() => proxyFor('https://pets.example/v1', { HTTPS_PROXY: `${scheme}${text}@proxy.example:3128` }), {
        message: 'HTTPS_PROXY has a /, ?, # or % in its user or password: write it as %2F, %3F, %23 or %25',
      });
});

test('NO_PROXY: addresses, and subnets in CIDR notation', () => {
  const cases: readonly (readonly [host: string, value: string, isDirect: boolean])[] = [
    ['10.1.2.3', '10.0.0.0/8', true],
    ['10.1.2.3', 'pets.example, 10.1.2.0/24', true],
    ['10.1.2.3', '10.1.3.0/24', false],
    ['10.1.2.3', '0.0.0.0/0', true],
    ['10.1.2.3', '10.0.0.0/33', false],
    ['10.1.2.3', '10.0.0.0/', false],
    ['10.1.2.3', '10.0.0.0/x', false],
    ['10.1.2.3', 'fd00::/8', false],
    ['[fd00::2]', 'fd00::/8', true],
    ['[fd00::2]', 'FD00:0:0::2', true],
    ['[fd00::2]', 'fe80::/10', false],
    ['pets.example', '10.0.0.0/8', false],
    ['10.example', '10.0.0.0/8', false],
  ];
  for (const [host, NO_PROXY, isDirect] of cases) {
    const proxy = proxyFor(`http://${host}/v1`, { HTTP_PROXY: 'http://s.example', NO_PROXY });
    assert.equal(proxy === undefined, isDirect, `${host} ${NO_PROXY}`);
  }
});

test('an http: server is tested through a proxy, and only the proxy receives its password', async (t) => {
  const { baseUrl } = await smallServer(t);
  const forward = await forwardProxy(t, Number(new URL(baseUrl).port), 'user:pass');
  const proxy = proxyFor('http://pets.example/v1', { HTTP_PROXY: forward.origin.replace('//', '//user:pass@') })!;
  const target = { baseUrl: 'http://pets.example/v1', apiKey };
  const [result] = await run(session(target, { proxy, only: ['list.answers'] }));
  assert.equal(result?.verdict, 'passed');
  assert.equal(forward.requests[0], 'GET http://pets.example/v1/pets?limit=100');
  const open = await scripted(t, (_, response) => void response.end('[]'));
  const client = new Client({ baseUrl: open.baseUrl, clock: systemClock });
  t.after(() => client.close());
  await send(client, listPets(bearer(apiKey)));
  assert.equal(open.received[0]?.headers['proxy-authorization'], undefined);
});

describe('an https: server', () => {
  /** A TLS server, whose certificate no authority has issued. */
  const tlsServer = async (t: Owner) => {
    const certificate = makeCertificate();
    const authorizations: (string | undefined)[] = [];
    const server = createServer(certificate, ({ headers }, response) => {
      authorizations.push(headers['proxy-authorization']);
      response.end('[]');
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    t.after(() => {
      server.close();
      server.closeAllConnections();
    });
    return { port: (server.address() as AddressInfo).port, certificate, authorizations };
  };
  const url = 'https://localhost:8443/v1/pets';

  test('is reached through a tunnel, on one connection', async (t) => {
    const { port, certificate, authorizations } = await tlsServer(t);
    const { origin, requests } = await forwardProxy(t, port, 'user:pass');
    const proxy = proxyFor(url, { HTTPS_PROXY: origin.replace('//', '//user:pass@') });
    const agent = agentFor(url, proxy, { keepAlive: true, ca: certificate.cert });
    t.after(() => agent.destroy());
    for (let i = 0; i < 2; i++) {
      const request = { url, method: 'GET', headers: [], body: undefined, agent, proxy, timeoutMs: 10_000 };
      assert.equal((await exchangeHttp(request)).status, 200);
    }
    assert.deepEqual(requests, ['CONNECT localhost:8443']);
    assert.deepEqual(authorizations, [undefined, undefined]);
  });

  test('with an untrusted certificate is not tested: the message names NODE_EXTRA_CA_CERTS', async (t) => {
    const { origin } = await forwardProxy(t, (await tlsServer(t)).port);
    const proxy = proxyFor(url, { HTTPS_PROXY: origin })!;
    await assert.rejects(run(session({ baseUrl: 'https://localhost:8443/v1', apiKey }, { proxy })), {
      name: 'Untestable',
      message: new RegExp(
        `^no response from https://localhost:8443/v1 through the proxy ${origin} \\(HTTPS_PROXY\\): ` +
          'self-signed certificate.* \\(DEPTH_ZERO_SELF_SIGNED_CERT\\); set NODE_EXTRA_CA_CERTS to a file',
      ),
    });
  });

  test('is not tested if the proxy cannot reach it, demands a password, or is not reachable', async (t) => {
    const { origin } = await forwardProxy(t, 1);
    const closed = await forwardProxy(t, 1, 'user:pass');
    for (const [at, message] of [
      [origin, /: the proxy refuses to connect to localhost:8443: 502 Bad Gateway; if no proxy is needed, add /],
      [closed.origin, /: 407 Proxy Authentication Required; set HTTPS_PROXY to http:\/\/user:password@…/],
      ['http://127.0.0.1:1', /through the proxy http:\/\/127\.0\.0\.1:1 \(HTTPS_PROXY\): .*ECONNREFUSED /],
    ] as const) {
      const proxy = proxyFor(url, { HTTPS_PROXY: at })!;
      await assert.rejects(run(session({ baseUrl: 'https://localhost:8443/v1', apiKey }, { proxy })), { message });
    }
  });

  test('closing the agent also closes a tunnel that is not open, and one whose handshake hangs', async (t) => {
    for (const respond of [() => {}, (socket: Socket) => void socket.write('HTTP/1.1 200 OK\r\n\r\n')]) {
      const server = createSilentServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => {
          respond(socket);
          setImmediate(() => agent.destroy());
        });
        t.after(() => socket.destroy());
      });
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      t.after(() => server.close());
      const proxy = proxyFor(url, { HTTPS_PROXY: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
      const agent = agentFor(url, proxy, { keepAlive: true });
      const closed = new Promise((resolve) => server.once('connection', (socket) => socket.once('close', resolve)));
      const request = { url, method: 'GET', headers: [], body: undefined, agent, proxy, timeoutMs: 60_000 };
      await assert.rejects(exchangeHttp(request), isOfNetwork);
      await closed;
    }
  });

  test('behind a proxy that does not respond: the message says that there is no connection', async (t) => {
    const silent = createSilentServer((socket) => void t.after(() => socket.destroy())).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    t.after(() => silent.close());
    const { port } = silent.address() as AddressInfo;
    const proxy = proxyFor(url, { HTTPS_PROXY: `http://127.0.0.1:${port}` })!;
    const baseUrl = 'https://localhost:8443/v1';
    const client = new Client({ baseUrl, proxy, clock: systemClock, timeoutMs: 1 });
    t.after(() => client.close());
    const late = { name: 'NoResponse', message: /^no complete response .*, and no connection$/ };
    await assert.rejects(send(client, listPets(bearer(apiKey))), late);
  });
});
