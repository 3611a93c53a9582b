/** Removing the socket of a killed process: only that one, whatever happens meanwhile. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import fs, { readdirSync, rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import test, { mock, type TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { removeStaleSocket, temporarySocketPath } from './stale-socket.ts';

/** Returns a path at which a process that was killed has left its socket. */
function staleSocket(t: TestContext): string {
  const path = join(temporaryFolder(t), 'socket');
  const listenAndDie = `require('net').createServer().listen(process.argv[1], () => process.kill(process.pid, 9))`;
  assert.equal(spawnSync(process.execPath, ['-e', listenAndDie, path]).signal, 'SIGKILL');
  return path;
}

const namesBeside = (path: string): string[] => readdirSync(join(path, '..'));

test('removes the socket of a killed process, and nothing if there is none', async (t) => {
  const path = staleSocket(t);
  await removeStaleSocket(path);
  assert.deepEqual(namesBeside(path), []);
  await removeStaleSocket(path);
});

test('leaves the socket of a process that listens', async (t) => {
  const path = join(temporaryFolder(t), 'socket');
  const server = createServer((socket) => socket.end()).listen(path);
  t.after(() => server.close());
  await once(server, 'listening');
  await removeStaleSocket(path);
  assert.deepEqual(namesBeside(path), ['socket']);
});

/** Replaces the stale socket as a faster process does, and returns what checks that its clients still reach it. */
function replaceSocket(t: TestContext, path: string): () => Promise<void> {
  rmSync(path);
  const server = createServer((socket) => socket.end()).listen(path);
  t.after(() => server.close());
  return async () => {
    assert.deepEqual(namesBeside(path), ['socket']);
    const client = connect(path);
    await once(client.resume(), 'close'); // rejects if it is refused
  };
}

test('leaves the socket of a process that has replaced the stale one meanwhile', async (t) => {
  const path = staleSocket(t);
  const removing = removeStaleSocket(path); // it has looked at the stale socket now
  const checkReachable = replaceSocket(t, path);
  await removing;
  await checkReachable();
});

test('restores the socket of a process that has replaced the stale one at the last moment', async (t) => {
  const path = staleSocket(t);
  const { renameSync } = fs;
  let checkReachable = (): Promise<void> => assert.fail('it was not renamed');
  const rename = mock.method(fs, 'renameSync', (from: string, to: string) => {
    checkReachable = replaceSocket(t, path);
    renameSync(from, to);
  });
  syncBuiltinESMExports();
  t.after(() => {
    rename.mock.restore();
    syncBuiltinESMExports();
  });
  await removeStaleSocket(path);
  await checkReachable();
});

test('a temporary path is never that of the socket, and no longer', () => {
  for (const name of ['a', '7', 'ab', 'http.sock', 'é'.repeat(15)]) {
    for (let i = 0; i < 1_000; i++) {
      const temporary = temporarySocketPath(`/run/${name}`);
      assert.match(temporary, /^\/run\/[0-9a-f]+(?:\.tmp)?$/);
      assert.notEqual(temporary, `/run/${name}`);
      assert(temporary.length <= Buffer.byteLength(`/run/${name}`));
    }
  }
});
