/** The built server with TLS: its certificate, its signals, and clients that do not speak TLS. */
import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { connect as connectTcp } from 'node:net';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { temporaryFolder } from '../harness/owner.ts';
import { Program } from '../harness/program.ts';
import { runServer, serverPath, startServer, type RunningServer } from '../harness/server.ts';
import { certificateFlags, makeCertificate } from '../harness/certificates.ts';
import { runDemoCommands } from './testing/demo.ts';
import { newKey } from './testing/command.ts';
import { send } from './testing/service.ts';
import { withinMinute } from './testing/timers.ts';

const first = makeCertificate({ name: 'first' });
const second = makeCertificate({ name: 'second' });
const rsa = makeCertificate({ name: 'rsa', algorithm: 'rsa' });
const health = 'GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n';

interface TlsServer extends RunningServer {
  /** The folder with cert.pem and key.pem. */
  readonly place: string;
  /** The data folder. */
  readonly folder: string;
}

async function start(t: TestContext, pair = first, flags: readonly string[] = []): Promise<TlsServer> {
  const [place, folder] = [temporaryFolder(t), temporaryFolder(t)];
  const server = await startServer(t, folder, [...certificateFlags(place, pair), ...flags]);
  return Object.assign(server, { place, folder });
}

/** Connects and completes the handshake. The connection is closed at the end of the test. */
async function open(t: TestContext, { address }: RunningServer, options: ConnectionOptions = {}): Promise<TLSSocket> {
  const { hostname, port } = new URL(address);
  const ca = [first.cert, second.cert, rsa.cert];
  const socket = connect({ host: hostname, port: Number(port), servername: 'localhost', ca, ...options });
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  socket.on('error', () => {}); // the server may be killed before the connection is closed
  return socket;
}

/** Sends a message, and returns the response, whose body is in the same packet. */
async function ask(socket: TLSSocket, message = health): Promise<string> {
  socket.write(message);
  const [response] = (await once(socket, 'data')) as [Buffer];
  return response.toString();
}

const certificateOf = (socket: TLSSocket): string => socket.getPeerX509Certificate()!.toString();

/** Sends SIGHUP, and waits for the line of the log that matches. */
async function reload(server: RunningServer, line: RegExp): Promise<void> {
  server.child.kill('SIGHUP');
  await server.printed(line, 'stderr');
}

test('serves HTTPS from TLS 1.2 on, with EC and RSA keys, and prints the address', async (t) => {
  for (const pair of [first, rsa]) {
    // The flag of Node permits older versions by default.
    const place = temporaryFolder(t);
    const command = [process.execPath, '--tls-min-v1.0', serverPath];
    const server = await startServer(t, temporaryFolder(t), certificateFlags(place, pair), command);
    assert.match(server.address, /^https:\/\/127\.0\.0\.1:\d+$/);
    for (const version of ['TLSv1.2', 'TLSv1.3'] as const) {
      const socket = await open(t, server, { minVersion: version, maxVersion: version });
      assert.deepEqual([socket.getProtocol(), certificateOf(socket)], [version, pair.cert]);
      assert.match(await ask(socket), /^HTTP\/1\.1 200 OK\r\n/);
    }
    const old = open(t, server, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' });
    await assert.rejects(old, { code: 'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION' });
    const { stderr } = await server.stop();
    assert.doesNotMatch(stderr, /unencrypted/);
  }
});

test('sends the whole chain', async (t) => {
  const root = makeCertificate({ name: 'root' });
  const intermediate = makeCertificate({ name: 'intermediate', issuer: root, isAuthority: true });
  const leaf = makeCertificate({ issuer: intermediate });
  const server = await start(t, { ...leaf, cert: leaf.cert + intermediate.cert });
  const socket = await open(t, server, { ca: root.cert });
  assert.ok(socket.authorized);
  assert.equal(socket.getPeerCertificate(true).issuerCertificate.subject.CN, 'intermediate');
});

/** The month is 13. */
const noTime = makeCertificate({ expiresAt: '20301301000000Z' });

test('refuses to start without a valid pair of files, in one line', async (t) => {
  const folder = temporaryFolder(t);
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const cert = file('cert.pem', first.cert);
  const key = file('key.pem', first.key);
  const garbage = file('garbage.pem', 'garbage\n');
  const weak = makeCertificate({ algorithm: 'rsa', bits: 512 });
  const encrypted = createPrivateKey(first.key).export(
    { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'secret' }).toString();
  mkdirSync(join(folder, 'folder'));
  truncateSync(file('huge', ''), 2 ** 40);
  const fifo = await new Program(t, ['mkfifo', join(folder, 'fifo')]).ended;
  assert.equal(fifo.code, 0);
  const cases: [cert: string, key: string, message: RegExp][] = [
    [join(folder, 'none.pem'), key, /cannot read \S+none\.pem: ENOENT: /],
    [cert, join(folder, 'none.pem'), /cannot read \S+none\.pem: ENOENT: /],
    [join(folder, 'folder'), key, /cannot read \S+folder: it is not a regular file; it must contain the certificate /],
    [join(folder, 'huge'), key, /cannot read \S+huge: it has more than 1048576 bytes; it must contain the cert/],
    [cert, join(folder, 'fifo'), /cannot read \S+fifo: it is not a regular file; it must contain the private key /],
    [garbage, key, /garbage\.pem is invalid \(.+\): it must contain the certificate of the server, /],
    [cert, garbage, /garbage\.pem is invalid \(.+\): it must contain the private key /],
    [file('empty.pem', ''), key, /empty\.pem is invalid /],
    [file('broken-chain.pem', first.cert + second.cert.replace('M', '!')), key, /broken-chain\.pem is invalid /],
    [cert, file('encrypted.pem', encrypted), /encrypted\.pem is invalid \(.+\): .+ without a passphrase$/],
    [cert, file('second.pem', second.key), /the key in \S+second\.pem is not that of the first certificate in \S+cert/],
    [file('order.pem', second.cert + first.cert), key, /the key in \S+key\.pem is not that of the first certificate/],
    [file('weak.pem', weak.cert), file('weak-key.pem', weak.key), /weak\.pem is invalid \(.*too small\)/],
    [file('time.pem', noTime.cert), file('time-key.pem', noTime.key), /time\.pem is invalid: its expiry time cannot /],
  ];
  await Promise.all(cases.map(async ([certPath, keyPath, message]) => {
    const { code, stdout, stderr } = await runServer(
      t, join(folder, 'data'), ['--tls-cert', certPath, '--tls-key', keyPath]).ended;
    assert.deepEqual([code, stdout], [1, ''], stderr);
    assert.match(stderr, /^petstore: [^\n]+\n$/);
    assert.match(stderr.trimEnd(), message);
  }));
  const half = await runServer(t, folder, ['--tls-cert', cert]).ended;
  assert.deepEqual(half, {
    code: 2, stdout: '', stderr: 'petstore: TLS_KEY is missing: TLS needs both --tls-cert and --tls-key; see --help\n',
  });
});

test('serves an expired certificate, and warns', async (t) => {
  const expired = makeCertificate({ expiresAt: Date.UTC(2021, 0) });
  const server = await start(t, expired);
  assert.match(server.stderr, /^petstore: the certificate in \S+cert\.pem expired at 2021-01-01T00:00:00\.000Z: renew /m);
});

test('SIGHUP changes the certificate for new connections, and keeps open ones', async (t) => {
  const server = await start(t);
  const key = await newKey(server.folder);
  const [idle, busy] = [await open(t, server), await open(t, server)];
  const body = '{"name":"Rex","categoryId":1}';
  const lines = ['Host: x', `Authorization: Bearer ${key}`, 'Content-Type: application/json', 'Expect: 100-continue'];
  const head = ['POST /v1/pets HTTP/1.1', ...lines, `Content-Length: ${body.length}`, '\r\n'].join('\r\n');
  assert.match(await ask(busy, head), /^HTTP\/1\.1 100 Continue/);
  certificateFlags(server.place, second);
  await reload(server, /read \S+cert\.pem again: the certificate expires at 2200-01-01T00:00:00\.000Z\n/);
  const renewed = await open(t, server);
  assert.deepEqual([certificateOf(idle), certificateOf(renewed)], [first.cert, second.cert]);
  for (const socket of [idle, renewed]) assert.match(await ask(socket), /^HTTP\/1\.1 200 /);
  assert.match(await ask(busy, body), /^HTTP\/1\.1 201 /);
  assert.equal((await server.stop()).code, 0);
});

test('an invalid pair changes nothing, and one line says why; the next SIGHUP tries again', async (t) => {
  const server = await start(t);
  const key = join(server.place, 'key.pem');
  await server.printed(/no valid API key.+\n/, 'stderr'); // the last line of the start
  for (const [change, line] of [
    [() => writeFileSync(key, second.key), /the key in \S+ is not that .+; the old certificate stays in use\n/],
    [() => writeFileSync(key, ''), /key\.pem is invalid .+; the old certificate stays in use\n/],
    [() => rmSync(key), /cannot read \S+key\.pem: ENOENT.+; the old certificate stays in use\n/],
    [() => certificateFlags(server.place, noTime), /its expiry time cannot be read.+; the old certificate stays in use\n/],
  ] as const) {
    change();
    const before = server.stderr.length;
    await reload(server, line);
    assert.match(server.stderr.slice(before), /^petstore: [^\n]+\n$/);
    assert.equal(certificateOf(await open(t, server)), first.cert);
  }
  certificateFlags(server.place, rsa);
  server.child.kill('SIGHUP');
  await reload(server, /read \S+ again/);
  assert.equal(certificateOf(await open(t, server)), rsa.cert);
  assert.equal((await server.stop()).code, 0);
});

test('two signals in a row read the files again, the last one after the last change', async (t) => {
  const server = await start(t);
  for (let round = 0; round < 10; round++) {
    const pair = round % 2 === 0 ? second : first;
    certificateFlags(server.place, round % 2 === 0 ? rsa : second);
    server.child.kill('SIGHUP');
    certificateFlags(server.place, pair);
    server.child.kill('SIGHUP');
    while (certificateOf(await open(t, server)) !== pair.cert);
  }
});

test('a session can be resumed, but not one of the previous certificate', async (t) => {
  const server = await start(t);
  for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
    certificateFlags(server.place, first);
    await reload(server, /read \S+ again/);
    while (certificateOf(await open(t, server)) !== first.cert);
    const socket = await open(t, server, { maxVersion });
    let session = socket.getSession();
    socket.on('session', (ticket) => (session = ticket));
    await ask(socket);
    const resumed = await open(t, server, { maxVersion, session });
    assert.equal(resumed.isSessionReused(), true, maxVersion);
    certificateFlags(server.place, second);
    server.child.kill('SIGHUP');
    while (certificateOf(await open(t, server)) !== second.cert);
    const after = await open(t, server, { maxVersion, session });
    assert.deepEqual([after.isSessionReused(), certificateOf(after)], [false, second.cert], maxVersion);
  }
});

test('without TLS, SIGHUP stops the server', async (t) => {
  const server = await startServer(t, temporaryFolder(t));
  const { code, stderr } = await server.stop('SIGHUP');
  assert.equal(code, 0);
  assert.doesNotMatch(stderr, /certificate/);
});

test('plain HTTP on an address that is not loopback causes one warning', async (t) => {
  const warnings = async (...flags: string[]): Promise<number> => {
    const { stderr } = await (await startServer(t, temporaryFolder(t), flags)).stop();
    return stderr.split('unencrypted').length - 1;
  };
  assert.equal(await warnings('--host', '0.0.0.0'), 1);
  assert.equal(await warnings('--host', 'localhost'), 0);
  assert.equal(await warnings('--host', '127.0.0.2'), 0);
  const wildcard = await warnings('--host', '::').catch(() => null); // there may be no IPv6
  if (wildcard !== null) assert.deepEqual([wildcard, await warnings('--host', '::ffff:127.0.0.1')], [1, 0]);
  assert.equal(await warnings('--host', '0.0.0.0', ...certificateFlags(temporaryFolder(t), first)), 0);
});

/** Sends bytes over TCP, and returns what arrives until the server closes the connection. */
async function sendBytes(t: TestContext, { address }: RunningServer, bytes: string | Buffer): Promise<Buffer> {
  const { hostname, port } = new URL(address);
  const socket = connectTcp(Number(port), hostname);
  t.after(() => socket.destroy());
  const received: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => received.push(chunk)).on('error', () => {});
  socket.write(bytes);
  await new Promise((resolve) => socket.once('close', resolve));
  return Buffer.concat(received);
}

test('clients that do not speak TLS, or speak it to a plain port, are disconnected and counted', async (t) => {
  const server = await start(t, first, ['--metrics', '127.0.0.1:0']);
  const [, metrics] = await server.printed(/metrics at (http:\S+)\n/, 'stderr');
  const metric = async (name: string): Promise<number> =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(await (await fetch(metrics!)).text())?.[1]);
  await server.printed(/no valid API key.+\n/, 'stderr'); // the last line of the start
  const before = server.stderr;
  for (const bytes of [Buffer.alloc(100_000, 'x'), Buffer.from([0x16, 3, 1, 0, 5, 1, 0, 0, 0, 0])]) {
    const received = await sendBytes(t, server, bytes);
    assert.ok(received.length === 0 || (received[0] === 21 && received.length === 7), 'nothing, or an alert of TLS');
  }
  assert.equal(await metric('petstore_tls_handshake_failures_total'), 2);
  const distrusting = await open(t, server, { ca: [] }).catch((error: NodeJS.ErrnoException) => error.code);
  assert.equal(distrusting, 'DEPTH_ZERO_SELF_SIGNED_CERT');
  // Bytes that are not TLS after the handshake.
  const { hostname, port } = new URL(server.address);
  const tcp = connectTcp(Number(port), hostname);
  const socket = await open(t, server, { socket: tcp });
  await ask(socket);
  tcp.on('error', () => {}); // the server may reset the connection
  tcp.write('junk junk junk');
  await new Promise((resolve) => tcp.once('close', resolve));
  assert.match(await ask(await open(t, server)), /^HTTP\/1\.1 200/);
  assert.equal(await metric('petstore_tls_certificate_expiration_timestamp_seconds'), Date.UTC(2200, 0) / 1000);
  assert.equal(server.stderr, before, 'nothing is logged');
  assert.equal((await server.stop()).code, 0);

  const plain = await startServer(t, temporaryFolder(t));
  const hello = connect({ host: '127.0.0.1', port: Number(new URL(plain.address).port) });
  const [error] = (await once(hello, 'error')) as [NodeJS.ErrnoException];
  assert.match(String(error.code), /^(ERR_SSL_|EPROTO)/);
  assert.equal((await send(plain.address, 'GET', '/healthz')).status, 200);
});

test('a client that speaks HTTP without TLS is told to use https', async (t) => {
  const { server, received } = await withinMinute(async () => {
    const server = await start(t, first, ['--metrics', '127.0.0.1:0', '--cors-origin', 'https://shop.example']);
    const received: string[] = [];
    for (const method of ['GET', 'HEAD', 'POST', 'PUT'])
      received.push(String(await sendBytes(t, server, `${method} /v1/pets HTTP/1.1\r\nHost: x\r\n\r\n`)));
    return { server, received };
  });
  const [, metrics] = await server.printed(/metrics at (http:\S+)\n/, 'stderr');
  for (const [index, text] of received.entries()) {
    const [head, body] = text.split('\r\n\r\n');
    assert.match(head!, /^HTTP\/1\.1 400 Bad Request\r\n/);
    for (const line of [
      'Connection: close', `Content-Length: ${body!.length}`, `X-RateLimit-Remaining: ${59 - index}`,
      'Access-Control-Allow-Origin: https://shop.example',
    ]) assert.ok(head!.split('\r\n').includes(line), line);
    const message = 'This port speaks HTTPS: the URL must begin with https://.';
    assert.deepEqual(JSON.parse(body!), { code: 'malformed_request', message, status: 400 });
  }
  assert.equal((await send(server.address.replace('https', 'http'), 'GET', '/')).status, 400);
  const text = await (await fetch(metrics!)).text();
  assert.match(text, /^petstore_tls_handshake_failures_total 5$/m);
  assert.match(await ask(await open(t, server)), /^HTTP\/1\.1 200/);
});

test('--demo shows commands that work', async (t) => {
  const server = await start(t, first, ['--demo']);
  await server.printed(/openapi\.json\n/);
  await runDemoCommands(t, server.stdout);
});
