/** The files of deploy/, with systemd's and nginx's own programs. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import type { ClientRequest } from 'node:http';
import { request, type RequestOptions } from 'node:https';
import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { temporaryFolder, type Owner } from './owner.ts';
import { freePort } from './ports.ts';
import { NotStarted, Program } from './program.ts';
import { distFolder, makeKey, startServer, type RunningServer } from './server.ts';

const deployed = (name: string) => readFileSync(fileURLToPath(new URL(`../deploy/${name}`, import.meta.url)), 'utf8');
/** The unit with the paths of this machine. */
const unit = deployed('petstore.service')
  .replaceAll('/usr/bin/node', process.execPath)
  .replaceAll('/opt/petstore/dist', distFolder.replace(/\/$/, ''));

/** Skips a test, and returns true, if a program is not installed. */
async function isMissing(t: TestContext, name: string): Promise<boolean> {
  const { code } = await new Program(t, ['sh', '-c', `command -v ${name}`]).ended;
  if (code !== 0) t.skip(`${name} is not installed`);
  return code !== 0;
}

/** Starts the server with the command and the variables of the unit, and with others. */
function serve(owner: Owner, folder: string, more: NodeJS.ProcessEnv = {}): Promise<RunningServer> {
  const words = (name: string) => new RegExp(`^${name}=(.+)$`, 'm').exec(unit)![1]!.split(' ');
  const env = words('Environment').map((variable) => variable.split('=') as [string, string]);
  return startServer(owner, folder, [], words('ExecStart'), { ...Object.fromEntries(env), ...more });
}

test('systemd accepts the unit, and finds it hardened', async (t) => {
  if (await isMissing(t, 'systemd-analyze')) return;
  const file = join(temporaryFolder(t), 'petstore.service');
  writeFileSync(file, unit);
  const verify = await new Program(t, ['systemd-analyze', 'verify', file]).ended;
  assert.deepEqual(verify, { code: 0, stdout: '', stderr: '' });
  const security = ['systemd-analyze', 'security', '--offline=true', '--threshold=20', file];
  const { code, stdout, stderr } = await new Program(t, security).ended;
  assert.equal(code, 0, stdout + stderr);
});

interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

/** nginx with deploy/nginx.conf in front of a server. */
class Nginx {
  readonly #port: number;
  readonly #certificate: string;

  private constructor(port: number, certificate: string) {
    this.#port = port;
    this.#certificate = certificate;
  }

  /** Starts nginx on a free port, and waits until it listens. */
  static async start(t: TestContext, upstream: string): Promise<Nginx> {
    const folder = temporaryFolder(t);
    const [certificate, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const openssl = 'openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=shop.example';
    const names = ['-addext', 'subjectAltName=DNS:shop.example', '-out', certificate, '-keyout', key];
    const made = await new Program(t, [...openssl.split(' '), ...names]).ended;
    assert.equal(made.code, 0, made.stderr);
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => {
      return `${name}_temp_path ${folder}/${name};`;
    });
    for (let attempt = 1; ; attempt++) {
      const port = await freePort();
      const site = deployed('nginx.conf')
        .replace('127.0.0.1:8080', upstream.startsWith('unix:') ? upstream : new URL(upstream).host)
        .replace('listen 443 ssl;', `listen 127.0.0.1:${port} ssl;`)
        .replace('    listen [::]:443 ssl;\n', '')
        .replace('/etc/letsencrypt/live/shop.example/fullchain.pem', certificate)
        .replace('/etc/letsencrypt/live/shop.example/privkey.pem', key);
      assert.doesNotMatch(site, /letsencrypt|\]:443|listen 443/);
      writeFileSync(join(folder, 'nginx.conf'), `
        daemon off;
        master_process off; # so that SIGKILL leaves no worker behind
        pid ${folder}/pid;
        error_log stderr notice;
        events {}
        http {
          access_log off;
          ${temporary.join(' ')}
          ${site}
        }`);
      const nginx = new Program(t, ['nginx', '-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr']);
      try {
        await nginx.printed(/using the "\w+" event method\n/, 'stderr');
        return new Nginx(port, readFileSync(certificate, 'utf8'));
      } catch (error) {
        const taken = error instanceof NotStarted && nginx.stderr.includes('Address already in use');
        if (!taken || attempt === 5) throw error;
      }
    }
  }

  /** Begins a request on a connection of its own. */
  begin(path: string, options: RequestOptions): ClientRequest {
    return request({
      host: '127.0.0.1', port: this.#port, path, agent: false, ca: this.#certificate, servername: 'shop.example',
      ...options, headers: { Host: 'shop.example', ...options.headers },
    });
  }

  /** Sends a request on a connection of its own. */
  async send(path: string, options: RequestOptions & { readonly body?: string } = {}): Promise<Response> {
    const { body, ...others } = options;
    const sent = this.begin(path, others);
    sent.end(body);
    const [response] = await once(sent, 'response');
    return { status: response.statusCode, headers: response.headers, body: await text(response) };
  }
}

const authorized = (key: string) => ({ Authorization: `Bearer ${key}` });
const codeOf = ({ body }: Response) => (JSON.parse(body) as { readonly code: string }).code;

test('through nginx, requests and refusals are those of the server', async (t) => {
  if (await isMissing(t, 'nginx') || await isMissing(t, 'openssl')) return;
  const folder = temporaryFolder(t);
  const server = await serve(t, folder);
  const key = await makeKey(t, folder);
  const nginx = await Nginx.start(t, server.address);
  const headers = authorized(key);

  const json = { method: 'POST', headers: { ...headers, 'Content-Type': 'application/json' } };
  const created = await nginx.send('/v1/pets', { ...json, body: '{"name":"Rex","categoryId":9223372036854775807}' });
  assert.equal(created.status, 201);
  const listed = await nginx.send('/v1/pets?limit=1', { headers });
  assert.deepEqual([listed.status, listed.body], [200, `[${created.body}]`]);
  assert.match(created.body, /9223372036854775807/);
  assert.equal((await nginx.send('/readyz')).status, 200);
  const page = await nginx.send('/', { headers: { Accept: 'text/html' } });
  assert.equal(page.body, readFileSync(join(distFolder, 'page.html'), 'utf8'));
  assert.match(String(page.headers['content-security-policy']), /^default-src 'none'; /);

  const none = await nginx.send('/v1/pets');
  assert.deepEqual([none.status, none.headers['www-authenticate'] !== undefined], [401, true]);
  const large = await nginx.send('/v1/pets', { ...json, body: 'x'.repeat(65_537) });
  assert.deepEqual([large.status, codeOf(large)], [413, 'payload_too_large']);
  const head = await nginx.send('/v1/pets', { headers: { ...headers, 'X-Large': 'x'.repeat(15_000) } });
  assert.equal(head.status, 200);
  const refused = await nginx.send('/v1/pets', { ...json, body: 'x'.repeat(1_100_000) });
  assert.deepEqual([refused.status, refused.headers['x-request-id']], [413, undefined]); // of nginx itself

  const free = await makeKey(t, folder, 'free');
  let limited: Response;
  do limited = await nginx.send('/v1/pets', { headers: authorized(free) });
  while (limited.status === 200);
  assert.deepEqual([limited.status, codeOf(limited)], [429, 'rate_limited']);
  const seconds = Number(limited.headers['retry-after']);
  assert.ok(seconds >= 1 && seconds <= 60, String(limited.headers['retry-after']));
  assert.deepEqual([limited.headers['x-ratelimit-limit'], limited.headers['x-ratelimit-remaining']], ['60', '0']);
});

test('through nginx, requests without a key are limited by the address of the client, not by a header', async (t) => {
  if (await isMissing(t, 'nginx') || await isMissing(t, 'openssl')) return;
  const server = await serve(t, temporaryFolder(t));
  const nginx = await Nginx.start(t, server.address);
  let response: Response;
  let count = 0;
  do response = await nginx.send('/v1/pets', { headers: { 'X-Forwarded-For': `192.0.2.${count++}` } });
  while (response.status === 401);
  assert.equal(response.status, 429);
  assert.ok(count > 60 && count <= 200, `${count} requests`);
  assert.equal((await nginx.send('/v1/pets', { localAddress: '127.0.0.2' })).status, 401);
});

test('nginx serves 100 requests of one address at a time', async (t) => {
  if (await isMissing(t, 'nginx') || await isMissing(t, 'openssl')) return;
  const server = await startServer(t, temporaryFolder(t));
  const nginx = await Nginx.start(t, server.address);
  const statuses: unknown[] = [];
  await new Promise<void>((resolve) => {
    for (let i = 0; i < 110; i += 1) {
      // nginx counts a request as soon as it has the head, and waits for the body.
      const begun = nginx.begin('/v1/pets', { method: 'POST', headers: { 'Content-Length': '1' } });
      t.after(() => begun.destroy());
      begun.on('error', () => {}).flushHeaders();
      begun.on('response', ({ statusCode }) => void (statuses.push(statusCode) === 10 && resolve()));
    }
  });
  assert.deepEqual(statuses, Array(10).fill(503));
});

test('through nginx, the server can listen on a Unix socket', async (t) => {
  if (await isMissing(t, 'nginx') || await isMissing(t, 'openssl')) return;
  const folder = temporaryFolder(t);
  const server = await serve(t, folder, { HOST: `unix:${join(temporaryFolder(t), 'http.sock')}` });
  assert.match(server.address, /^unix:\//);
  const nginx = await Nginx.start(t, server.address);
  const headers = authorized(await makeKey(t, folder));
  assert.equal((await nginx.send('/v1/pets', { headers })).status, 200);
  for (const localAddress of ['127.0.0.2', '127.0.0.2', '127.0.0.3']) await nginx.send('/v1/pets', { localAddress });
  const { status, headers: limits } = await nginx.send('/v1/pets', { localAddress: '127.0.0.2' });
  assert.deepEqual([status, limits['x-ratelimit-remaining']], [401, '57']); // each client has a limit of its own
});

test('nginx keeps its connections to the server', async (t) => {
  if (await isMissing(t, 'nginx') || await isMissing(t, 'openssl')) return;
  const { address } = await serve(t, temporaryFolder(t));
  let connections = 0;
  const counter = createServer((socket) => {
    connections++;
    const { hostname, port } = new URL(address);
    socket.pipe(connect(Number(port), hostname).on('error', () => {})).pipe(socket.on('error', () => {}));
  }).listen(0, '127.0.0.1');
  t.after(() => counter.close());
  await once(counter, 'listening');
  const nginx = await Nginx.start(t, `http://127.0.0.1:${(counter.address() as AddressInfo).port}`);
  for (let i = 0; i < 10; i++) assert.equal((await nginx.send('/healthz')).status, 200);
  assert.equal(connections, 1);
});
