/** The built server on a Unix socket: `--host unix:PATH`. */
import assert from 'node:assert/strict';
import { existsSync, lstatSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { petstore, runServer, startServer } from '../harness/server.ts';
import { runDemoCommands } from './testing/demo.ts';
import { newKey } from './testing/command.ts';
import { send } from './testing/service.ts';
import { withinMinute } from './testing/timers.ts';

test('serves requests on a socket to which every user can connect, and removes it when it stops', async (t) => {
  const [place, folder] = [temporaryFolder(t), temporaryFolder(t)];
  const path = join(place, 'http.sock');
  // The umask is that of deploy/petstore.service.
  const command = ['sh', '-c', 'umask 077; exec "$0" "$@"', process.execPath, join('dist', 'server.js')];
  const server = await startServer(t, folder, ['--demo'], command, { HOST: `unix:${path}` });
  assert.equal(server.address, `unix:${path}`);
  assert.equal(lstatSync(path).mode & 0o666, 0o666);
  const [, key] = await server.printed(/\n {2}(petstore_[0-9A-Za-z_]+)\n[^]*openapi\.json\n/);
  assert.equal((await send(server.address, 'GET', '/v1/pets', { key: key! })).status, 200);
  await runDemoCommands(t, server.stdout);
  const second = await runServer(t, folder).ended;
  assert.ok(second.stderr.includes(`unix:${path}`), second.stderr);
  const { code, stderr } = await server.stop();
  assert.equal(code, 0);
  assert.doesNotMatch(stderr, /unencrypted|limit/);
  assert.equal(existsSync(path), false);
});

test('replaces the socket of a killed server, but no other file and no socket that is in use', async (t) => {
  const place = temporaryFolder(t);
  const path = join(place, 'http.sock');
  const host = ['--host', `unix:${path}`];
  await (await startServer(t, temporaryFolder(t), host)).kill();
  assert.ok(existsSync(path));
  const server = await startServer(t, temporaryFolder(t), host);
  assert.equal((await send(server.address, 'GET', '/healthz')).status, 200);

  writeFileSync(join(place, 'file'), 'text');
  mkdirSync(join(place, 'folder'));
  symlinkSync(path, join(place, 'link'));
  for (const [name, reason] of [
    ['http.sock', 'EADDRINUSE'], ['file', 'EADDRINUSE'], ['folder', 'EADDRINUSE'], ['link', 'EADDRINUSE'],
  ] as const) {
    const { code, stderr } = await runServer(t, temporaryFolder(t), ['--host', `unix:${join(place, name)}`]).ended;
    assert.equal(code, 1);
    const line = `^petstore: cannot listen on ${join(place, name)} \\(${reason}[^\n]+--host[^\n]+\n$`;
    assert.match(stderr, new RegExp(line));
  }
  const { stderr: noFolder } = await runServer(t, temporaryFolder(t), ['--host', `unix:${place}/none/s`]).ended;
  assert.equal(noFolder, `petstore: cannot write ${place}/none/s: the folder ${place}/none does not exist; create it\n`);
  assert.equal(lstatSync(join(place, 'file')).size, 4);
  assert.ok(lstatSync(join(place, 'link')).isSymbolicLink());
  assert.equal((await send(server.address, 'GET', '/healthz')).status, 200);
});

test('a server that stops removes its socket, and not what has its path meanwhile', async (t) => {
  const place = temporaryFolder(t);
  const path = join(place, 'http.sock');
  const start = () => startServer(t, temporaryFolder(t), ['--host', `unix:${path}`]);
  const first = await start();
  assert.deepEqual(readdirSync(place), ['http.sock'], 'it has no other path');
  rmSync(path);
  const second = await start();
  assert.equal((await first.stop()).code, 0);
  assert.deepEqual(readdirSync(place), ['http.sock']);
  assert.equal((await send(second.address, 'GET', '/healthz')).status, 200);

  renameSync(path, join(place, 'moved'));
  for (const make of [() => writeFileSync(path, 'text'), () => symlinkSync('moved', path), () => mkdirSync(path)]) {
    rmSync(path, { recursive: true, force: true });
    const other = await start();
    rmSync(path);
    make();
    const { code, stderr } = await other.stop();
    assert.deepEqual([code, stderr.includes('cannot remove')], [0, false]);
    assert.deepEqual(readdirSync(place), ['http.sock', 'moved']);
  }
  assert.equal((await second.stop()).code, 0, 'it has no path any more');
  assert.deepEqual(readdirSync(place), ['http.sock', 'moved']);
});

test('the path of a socket may have as many bytes as the system permits, however short its name', async (t) => {
  const most = process.platform === 'linux' ? 107 : 103;
  for (const name of ['a', 's', 'http.sock', 'é'.repeat(15)]) {
    const place = temporaryFolder(t);
    const folder = join(place, 'x'.repeat(most - Buffer.byteLength(join(place, '/', name)) - 1));
    mkdirSync(folder);
    const path = join(folder, name);
    assert.equal(Buffer.byteLength(path), most);
    const server = await startServer(t, temporaryFolder(t), ['--host', `unix:${path}`]);
    assert.equal((await server.stop()).code, 0);
    assert.deepEqual(readdirSync(folder), []);
  }
});

test('clients of a socket share one limit, unless a trusted proxy names them', async (t) => {
  for (const [flags, remaining, logged] of [[[], '58', '-'], [['--trust-proxy', '1'], '59', '203.0.113.8']] as const) {
    const { server, status, headers } = await withinMinute(async () => {
      const host = `unix:${join(temporaryFolder(t), 'http.sock')}`;
      const server = await startServer(t, temporaryFolder(t), ['--host', host, '--access-log', ...flags]);
      const from = (address: string) =>
        send(server.address, 'GET', '/v1/pets', { headers: { 'x-forwarded-for': address } });
      await from('203.0.113.7');
      return { server, ...(await from('203.0.113.8')) };
    });
    assert.deepEqual([status, headers.get('x-ratelimit-remaining')], [401, remaining]);
    const { stderr } = await server.stop();
    assert.match(stderr, new RegExp(` - ${logged.replaceAll('.', '\\.')} GET "/v1/pets" 401 `));
  }
});

test('petstore manages the keys of a server on a socket', async (t) => {
  const folder = temporaryFolder(t);
  const server = await startServer(t, folder, ['--host', `unix:${join(temporaryFolder(t), 'http.sock')}`]);
  const key = await newKey(folder);
  assert.equal((await send(server.address, 'GET', '/v1/pets', { key })).status, 200);
  await petstore(t, folder, 'keys', 'revoke', 'k1');
  assert.equal((await send(server.address, 'GET', '/v1/pets', { key })).status, 401);
});
