/** If a server cannot be tested, the kit prints one line. However the kit ends, no process and no folder is left. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer as createHttp2Server } from 'node:http2';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { describe, test } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import type { Ended } from '../harness/program.ts';
import { assertNoKey, kit, nodeTest, processesOn, reportIn, startKit } from './testing/kit.ts';
import { apiKey, proxy, scripted, smallServer } from './testing/servers.ts';

/** Exit code 2, and one line with the reason. */
function assertUntested({ code, stdout, stderr }: Ended, message: RegExp): void {
  assert.match(stderr, /^conformance: [^\n]+\n$/);
  assert.match(stderr, message);
  assert.equal(code, 2, stdout);
}

describe('exit 2 with one line', { concurrency: 2 }, () => {
  test('connection refused', async () =>
    assertUntested(
      await kit({ baseUrl: 'http://127.0.0.1:1/v1', apiKey }),
      /no response from http:\/\/127\.0\.0\.1:1\/v1: .*ECONNREFUSED/,
    ));
  test('unknown host', async () =>
    assertUntested(
      await kit({ baseUrl: 'http://nobody.invalid/v1', apiKey }),
      /no response from http:\/\/nobody\.invalid\/v1: .*(ENOTFOUND|EAI_AGAIN)/,
    ));
  test('not an HTTP server', async (t) => {
    const server = createServer((socket) => void socket.on('error', () => {}).end('220 smtp.example\r\n')).listen(
      0,
      '127.0.0.1',
    );
    t.after(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    assertUntested(
      await kit({ baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, apiKey }),
      /no response from/,
    );
  });
  test('a TLS port', async (t) => {
    // Without a certificate it refuses every handshake, with an alert.
    const server = createTlsServer().listen(0, '127.0.0.1');
    t.after(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    assertUntested(await kit({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey }), /the port speaks TLS/);
  });
  test('plain HTTP where the base URL says https:', async (t) => {
    const { port } = await scripted(t, (_, response) => void response.end());
    assertUntested(
      await kit({ baseUrl: `https://127.0.0.1:${port}/v1`, apiKey }),
      /no response from https:.*: TLS: wrong version number/,
    );
  });
  test('a redirection of every request', async (t) => {
    const { baseUrl } = await scripted(
      t,
      ({ url }, response) => void response.writeHead(308, { Location: `https://pets.example${url}` }).end(),
    );
    assertUntested(
      await kit({ baseUrl, apiKey }),
      /returns 308 with Location: https:\/\/pets\.example\/v1\/pets\?limit=100 to every request/,
    );
  });
  test('a login page on the same host', async (t) => {
    const server = await scripted(t, (_, response) => void response.writeHead(302, { Location: '/login' }).end());
    assertUntested(await kit(server), /returns 302 with Location: \/login to every request: .*login page/);
    assert.equal(server.received.length, 2);
  });
  test('a server that speaks only HTTP/2', async (t) => {
    const server = createHttp2Server().listen(0, '127.0.0.1');
    t.after(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as AddressInfo;
    assertUntested(await kit({ baseUrl: `http://127.0.0.1:${port}/v1`, apiKey }), /speaks only HTTP\/2/);
  });
  test('a proxy that does not respond, or a URL that is not one of an HTTP proxy', async () => {
    const target = { BASE_URL: 'http://pets.example/v1', API_KEY: apiKey };
    assertUntested(
      await startKit([], { ...target, HTTP_PROXY: 'http://user:secret@127.0.0.1:1' }).ended,
      /no response from .* through the proxy http:\/\/127\.0\.0\.1:1 \(HTTP_PROXY\): .*ECONNREFUSED/,
    );
    const wrong = { ...target, HTTP_PROXY: 'socks5://proxy.example' };
    assertUntested(await startKit([], wrong).ended, /: HTTP_PROXY must be the URL of an HTTP proxy/);
  });
  test('503 to every request', async (t) => {
    const { baseUrl, received } = await scripted(
      t,
      (_, response) => void response.writeHead(503, { 'Retry-After': '0' }).end('<h1>Down</h1>'),
    );
    assertUntested(await kit({ baseUrl, apiKey }), /returns 503 to every request/);
    assert.ok(received.length <= 5, `${received.length}`);
  });
  test('the key is rejected', async (t) =>
    assertUntested(
      await kit({ ...(await smallServer(t)), apiKey: 'not_the_key' }),
      /rejects the key of API_KEY \(401\)/,
    ));
  test('the key of --exhaust-key is rejected', async (t) =>
    assertUntested(
      await kit(await smallServer(t), '--exhaust', '--exhaust-key', 'not_the_key'),
      /rejects the key of --exhaust-key \(401\)/,
    ));
  test('wrong base URL', async (t) => {
    const { baseUrl } = await smallServer(t);
    assertUntested(
      await kit({ baseUrl: baseUrl.replace('/v1', '/api/v1'), apiKey }),
      /(returns 404; is this the base URL|rejects the key)/,
    );
    const target = await scripted(
      t,
      (_, response) => void response.writeHead(404, { 'Content-Type': 'text/html' }).end('<h1>Not found</h1>'),
    );
    assertUntested(await kit(target), /\/pets returns 404 with Content-Type: text\/html; is this the base URL\?/);
  });
  test('an invalid option', async () =>
    assertUntested(await kit(undefined, '--runs', 'many'), /--runs must be an integer/));
  test('reports that cannot be written are noticed before anything is sent', async (t) => {
    const folder = temporaryFolder(t);
    writeFileSync(join(folder, 'file'), '');
    const server = await scripted(t, (_, response) => void response.end());
    assertUntested(await kit(server, '--report', join(folder, 'file', 'reports')), /--report .*ENOTDIR/);
    assertUntested(await kit(server, '--report', join(folder, 'file')), /--report .*ENOTDIR: .*file'/);
    assertUntested(await kit(server, '--report', '/proc/petstore/reports'), /--report \/proc\/petstore/);
    mkdirSync(join(folder, 'reports', 'report.json'), { recursive: true });
    assert.equal(server.received.length, 0);
    assertUntested(
      await kit(await smallServer(t), '--only', 'list.answers', '--report', join(folder, 'reports')),
      /--report .*EISDIR/,
    );
  });
  test('an invalid earlier report', async (t) => {
    const folder = temporaryFolder(t);
    const server = await scripted(t, (_, response) => void response.end());
    for (const [name, text] of [
      ['empty.json', ''],
      ['other.json', '{"format":1}'],
    ] as const) {
      writeFileSync(join(folder, name), text);
      assertUntested(await kit(server, '--compare', join(folder, name)), /--compare /);
    }
    assertUntested(await kit(server, '--compare', join(folder, 'missing.json')), /--compare .*ENOENT/);
    assert.equal(server.received.length, 0);
  });
  test('a server that stops during a run; the results until then are reported', async (t) => {
    const folder = temporaryFolder(t);
    const behind = await smallServer(t);
    const server = await proxy(t, behind, () => {
      if (server.received.length > 120) server.stop();
    });
    const ended = await kit(server, '--report', folder);
    assertUntested(ended, /no longer responds: .*, in (GET|POST) \/pets/);
    assert.match(ended.stdout, /NOT TESTED TO THE END/);
    const report = reportIn(folder);
    assert.match(report.aborted ?? '', /no longer responds/);
    assert.equal(report.conforms, false);
    assert.equal(report.totals.failed, 0);
    assert.ok(report.totals.passed > 5 && report.totals.skipped > 20);
    assertNoKey([ended.stdout, ended.stderr, JSON.stringify(report)]);
  });
  test('a server that stops while the key is in a query', async (t) => {
    const behind = await smallServer(t);
    const server = await proxy(t, behind, ({ url }) => {
      if (url.includes('access_token')) server.stop();
    });
    const ended = await kit(server, '--only', 'auth.query');
    assertUntested(ended, /no longer responds: .*access_token=\$API_KEY/);
    assertNoKey([ended.stdout, ended.stderr]);
  });
  test("with node's own test runner, such a run fails", async (t) => {
    const server = await proxy(t, await smallServer(t), () => {
      if (server.received.length > 5) server.stop();
    });
    const ended = await nodeTest(server, '--only auth.');
    assert.equal(ended.code, 1, ended.stdout);
    assert.match(ended.stdout, /no longer responds/);
    assertNoKey([ended.stdout, ended.stderr]);
  });
});

describe('a signal', { skip: existsSync('/proc/self/cmdline') ? false : 'it needs /proc to see processes' }, () => {
  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    test(`${signal} leaves no server and no folder behind, even if npm sends it twice`, async (t) => {
      const folder = temporaryFolder(t);
      const again = encodeURIComponent(`process.on("exit", () => process.kill(process.pid, "${signal}"))`);
      const environment = { TMPDIR: folder, NODE_OPTIONS: `--import=data:text/javascript,${again}` };
      const running = startKit(['--only', 'create.name', '--runs', '50000'], environment);
      await running.printed(/Add an animal/);
      assert.equal(processesOn(folder).length, 1);
      running.child.kill(signal);
      assert.equal((await running.ended).code, code);
      assert.deepEqual(
        readdirSync(folder).filter((name) => name.startsWith('petstore-')),
        [],
      );
      while (processesOn(folder).length > 0) await new Promise(setImmediate); // killed, and about to go
    });
  }
});

describe('whatever the server sends, the exit code is 0, 1 or 2, and not an error in the kit', { concurrency: 2 }, () => {
  const head = 'HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n';
  const answers: readonly (readonly [name: string, code: number, text: string])[] = [
    ['null', 1, `${head}Content-Length: 4\r\n\r\nnull`],
    ['null after 401', 2, 'HTTP/1.1 401 No\r\nConnection: close\r\nContent-Length: 4\r\n\r\nnull'],
    ['a body that is cut off', 2, `${head}Content-Length: 100\r\n\r\n[{"id":1`],
    ['another protocol', 2, 'HTTP/1.1 101 Switching\r\nConnection: Upgrade\r\nUpgrade: any\r\n\r\n'],
    ['a body without end', 2, `${head}\r\n${'[{"id":1},'.repeat(2_000_000)}`],
    ['a head without end', 2, `${head}${'X-Any: any\r\n'.repeat(10_000)}`],
    ['no HTTP', 2, '\x15\x03\x01\0\x02\x02\n'],
  ];
  for (const [name, code, text] of answers) {
    test(name, async (t) => {
      const server = await scripted(t, (_, response) => void response.socket?.on('error', () => {}).end(text));
      const ended = await kit(server, '--runs', '2', '--report', temporaryFolder(t));
      assert.equal(ended.code, code, ended.stdout + ended.stderr);
      assert.doesNotMatch(ended.stdout + ended.stderr, /error in the kit/);
    });
  }
});
