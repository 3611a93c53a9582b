/**
 * Requests do not wait for the disk. A server whose disk hangs: one in which writes and syncs do not end, and one on a
 * file system that is frozen.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, renameSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { makeKey, petstore, runServer, serverPath, startServer, type RunningServer } from '../harness/server.ts';
import type { Status } from './file-engine/lock/status-client.ts';
import { codeOf, type HttpResponse } from './testing/http-response.ts';
import { send } from './testing/service.ts';

const create = ({ address }: RunningServer, key: string): Promise<HttpResponse> =>
  send(address, 'POST', '/v1/pets', { key, body: '{"name":"Rex","categoryId":1}' });
const idOf = ({ status, body }: HttpResponse): number => {
  assert.equal(status, 201, body);
  return (JSON.parse(body) as { id: number }).id;
};

async function idsIn({ address }: RunningServer, key: string): Promise<number[]> {
  const { status, body } = await send(address, 'GET', '/v1/pets?limit=100', { key });
  assert.equal(status, 200);
  return (JSON.parse(body) as { id: number }[]).map(({ id }) => id);
}

/** Waits until creates have a 201 again. Returns the id of the first. */
async function resumed(server: RunningServer, key: string): Promise<number> {
  for (;;) {
    const response = await create(server, key);
    if (response.status === 201) return idOf(response);
    assert.deepEqual([response.status, codeOf(response)], [503, 'storage_unavailable']);
  }
}

/** While the disk of a server with animal 1 hangs: creates and /readyz are refused, and reads continue. */
async function checkHanging(t: TestContext, folder: string, server: RunningServer, key: string): Promise<void> {
  const waiting = Promise.all(Array.from({ length: 20 }, () => create(server, key)));
  assert.deepEqual(await idsIn(server, key), [1], 'reads continue');
  for (const response of [...(await waiting), await create(server, key)]) {
    assert.deepEqual([response.status, codeOf(response)], [503, 'storage_unavailable']);
  }
  assert.equal(codeOf(await send(server.address, 'GET', '/readyz')), 'not_ready');
  assert.equal((await send(server.address, 'GET', '/healthz')).status, 200);
  assert.deepEqual(await idsIn(server, key), [1]);
  const status = JSON.parse((await petstore(t, folder, 'status', '--json')).stdout) as Status;
  assert.deepEqual([status.state, status.reason], ['creates-refused', 'the disk has made no progress for 2 s']);
  assert.ok(status.journal!.failures > 0);
  const exported = await petstore(t, folder, 'export');
  assert.deepEqual([exported.code, exported.stdout.split('\n')[0]!.slice(0, 8)], [0, '{"id":1,']);
  assert.equal((await petstore(t, folder, 'backup', join(temporaryFolder(t), 'backup'))).code, 0);
}

/** The ids of a list are 1, those that waited, or none of them, and these. */
function checkIds(ids: number[], last: number[]): void {
  assert.equal(new Set(ids).size, ids.length, 'no animal is there twice');
  assert.deepEqual(ids.filter((id) => id === 1 || id > 21), [1, ...last]);
}

/**
 * Returns the command of a server in which writes and syncs of the journal, and the sync of `folder`, hang while
 * `folder` has a pipe `hangs`: opening it occupies a thread until it has a writer, as a disk that hangs does. Then it
 * prints `hangs`.
 */
function hangingCommand(folder: string): string[] {
  const preload = join(folder, 'preload.mjs');
  writeFileSync(preload, `
    import fs from 'node:fs';
    import promises from 'node:fs/promises';
    import { syncBuiltinESMExports } from 'node:module';
    const [folder, pipe] = ${JSON.stringify([folder, join(folder, 'hangs')])};
    const { close, fdatasync, open, write } = fs;
    const { open: openHandle } = promises;
    process.on('SIGUSR2', () => { throw new Error('a bug'); });
    const hang = (done) => {
      if (!fs.existsSync(pipe)) return done();
      process.stderr.write('hangs\\n');
      open(pipe, (error, descriptor) => {
        if (error === null) close(descriptor);
        done();
      });
    };
    fs.write = (descriptor, ...more) => {
      if (descriptor <= 2) write(descriptor, ...more);
      else hang(() => write(descriptor, ...more));
    };
    fs.fdatasync = (descriptor, done) => hang(() => fdatasync(descriptor, done));
    promises.open = async (path, ...more) => {
      if (path === folder) await new Promise(hang);
      return openHandle(path, ...more);
    };
    syncBuiltinESMExports();
  `);
  return [process.execPath, '--import', preload, serverPath];
}

function startHanging(...[t, folder]: Parameters<typeof startServer>): Promise<RunningServer> {
  return startServer(t, folder, [], hangingCommand(folder));
}

/** Lets the next writes and syncs hang. Returns a function that lets them continue. */
function hang(folder: string): () => void {
  const pipe = join(folder, 'hangs');
  spawnSync('mkfifo', [pipe]);
  return () => {
    const writer = openSync(pipe, 'r+'); // does not wait for a reader
    unlinkSync(pipe);
    closeSync(writer);
  };
}

test('if the journal hangs, creates are refused and reads continue; then creates resume', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const server = await startHanging(t, folder);
  assert.equal(idOf(await create(server, key)), 1);
  const letGo = hang(folder);
  await checkHanging(t, folder, server, key);
  letGo();
  const ids = [await resumed(server, key), idOf(await create(server, key))];
  checkIds(await idsIn(server, key), ids);
  assert.equal((await server.stop()).code, 0);
  checkIds(await idsIn(await startServer(t, folder), key), ids);
});

test('if the journal hangs, a stop ends with SIGKILL after 10.5 s, and nothing confirmed is lost', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const server = await startHanging(t, folder);
  const ids = [idOf(await create(server, key)), idOf(await create(server, key))];
  hang(folder);
  assert.equal((await create(server, key)).status, 503);
  const before = performance.now();
  const { stderr } = await server.stop();
  t.diagnostic(`the stop took ${Math.round(performance.now() - before)} ms`);
  assert.equal(server.child.signalCode, 'SIGKILL');
  assert.match(stderr, /\npetstore: the files could not be saved within 10\.5 s; [^\n]*\n$/);
  assert.deepEqual((await idsIn(await startServer(t, folder), key)).slice(0, 2), ids);
});

test('if the journal hangs, a bug ends the server at once', async (t) => {
  const folder = temporaryFolder(t);
  const key = await makeKey(t, folder);
  const server = await startHanging(t, folder);
  hang(folder);
  assert.equal((await create(server, key)).status, 503);
  const { stderr } = await server.stop('SIGUSR2');
  assert.equal(server.child.signalCode, 'SIGKILL');
  assert.match(stderr, /\npetstore: the server ends because of a bug: Error: a bug/);
});

for (const [what, name] of [['creates its folder', 'store'], ['opens its journal', '']] as const) {
  test(`if the disk hangs while a server ${what}, SIGTERM ends it after 10.5 s`, { timeout: 120_000 }, async (t) => {
    const parent = temporaryFolder(t);
    const command = hangingCommand(parent);
    hang(parent);
    const server = runServer(t, join(parent, name), [], command);
    await server.printed(/^hangs\n/, 'stderr');
    await server.stop();
    assert.equal(server.child.signalCode, 'SIGKILL');
  });
}

test('after the start, the only synchronous file operation is the stat of a name', async (t) => {
  const folder = temporaryFolder(t);
  const server = await startServer(t, folder, [], [process.execPath, '--trace-sync-io', serverPath]);
  const key = await makeKey(t, folder);
  const ids = await Promise.all(Array.from({ length: 9 }, async () => idOf(await create(server, key))));
  unlinkSync(join(folder, 'pets.1.journal'));
  ids.push(idOf(await create(server, key)));
  writeFileSync(join(folder, 'copy'), '');
  renameSync(join(folder, 'copy'), join(folder, 'pets.10.journal'));
  ids.push(idOf(await create(server, key)));
  assert.equal((await send(server.address, 'GET', '/readyz')).status, 200);
  assert.equal((await petstore(t, folder, 'status')).code, 0);
  assert.deepEqual(await idsIn(server, key), ids.sort((a, b) => a - b));
  while (!existsSync(join(folder, 'usage.json'))) await new Promise(setImmediate);
  const { code, stderr } = await server.stop();
  assert.equal(code, 0);
  assert(existsSync(join(folder, 'pets.json')));
  const [start = '', after = ''] = stderr.split(' animals in ');
  assert.match(start, /Detected use of sync API/, 'Node reports those of the start');
  assert.match(after, /\npetstore: /);
  // Node also reports the random bytes of request ids. The kernel returns them without reading a file (getrandom).
  assert.doesNotMatch(after, /sync API\n *at (?!statSync .*\n *at statOf |randomFillSync .*\n *at newRequestId )/);
});

test('on a frozen file system reads continue, creates are refused, and they resume when it is thawed', async (t) => {
  let unmount = (): void => {};
  t.after(() => unmount()); // registered before the hook that removes the folder: a test's hooks run in this order
  const root = temporaryFolder(t);
  const [image, disk] = [join(root, 'image'), join(root, 'disk')];
  mkdirSync(disk);
  const run = (...[command = '', ...args]: string[]): boolean => spawnSync(command, args).status === 0;
  const isMounted = run('truncate', '--size', '32M', image) && run('mkfs.ext4', '-q', image)
    && run('mount', '-o', 'loop', image, disk);
  unmount = () => void (run('fsfreeze', '--unfreeze', disk), isMounted && run('umount', '--lazy', disk));
  const canFreeze = isMounted && run('fsfreeze', '--freeze', disk);
  if (!canFreeze) return t.skip('this user cannot mount and freeze a file system');
  assert(run('fsfreeze', '--unfreeze', disk));
  const folder = join(disk, 'store');
  const key = await makeKey(t, folder);
  const server = await startServer(t, folder);
  assert.equal(idOf(await create(server, key)), 1);
  assert(run('fsfreeze', '--freeze', disk));
  await checkHanging(t, folder, server, key);
  assert(run('fsfreeze', '--unfreeze', disk));
  const ids = [await resumed(server, key), idOf(await create(server, key))];
  checkIds(await idsIn(server, key), ids);
  assert.equal((await server.stop()).code, 0);
  const again = await startServer(t, folder);
  checkIds(await idsIn(again, key), ids);
  await again.stop();
});
