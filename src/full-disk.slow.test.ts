/** A disk that is really full: a small tmpfs. Skipped if this user cannot mount one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { makeKey, petstore, startServer, type RunningServer } from '../harness/server.ts';
import type { Status } from './file-engine/lock/status-client.ts';
import { codeOf } from './testing/http-response.ts';
import { send } from './testing/service.ts';

async function idsIn({ address }: RunningServer, key: string): Promise<number[]> {
  const ids: number[] = [];
  for (let path: string | undefined = '/v1/pets?limit=100'; path !== undefined; ) {
    const page = await send(address, 'GET', path, { key });
    assert.equal(page.status, 200);
    ids.push(...(JSON.parse(page.body) as { id: number }[]).map(({ id }) => id));
    path = /^<([^>]+)>/.exec(page.headers.get('link') ?? '')?.[1];
  }
  return ids;
}

/** Mounts a tmpfs with these options, and returns its path; null if this user cannot mount one: the test is skipped. */
function mountTmpfs(t: TestContext, options: string): string | null {
  const path = temporaryFolder(t);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', path], { encoding: 'utf8' });
  if (mounted.status === 0) return path;
  t.skip(`a tmpfs cannot be mounted: ${mounted.stderr ?? mounted.error?.message}`);
  return null;
}

test('on a full disk creates are 503 and reads continue; with room creates resume, and nothing is lost', async (t) => {
  const mount = mountTmpfs(t, 'size=2m');
  if (mount === null) return;
  let server: RunningServer | null = null;
  try {
    const folder = join(mount, 'store');
    const key = await makeKey(t, folder);
    server = await startServer(t, folder);
    const running = server;
    const create = async (): Promise<number | null> => {
      const body = JSON.stringify({ name: 'x'.repeat(10_000), categoryId: 1 });
      const response = await send(running.address, 'POST', '/v1/pets', { key, body });
      if (response.status === 201) return (JSON.parse(response.body) as { id: number }).id;
      assert.deepEqual([response.status, codeOf(response)], [503, 'storage_unavailable']);
      return null;
    };
    const ready = async (): Promise<number> => (await send(running.address, 'GET', '/readyz')).status;
    const status = async (): Promise<Status> =>
      JSON.parse((await petstore(t, folder, 'status', '--json')).stdout) as Status;
    // Somebody else's file takes half of the disk, so that there is room again without it.
    writeFileSync(join(mount, 'other'), Buffer.alloc(1024 * 1024));
    const ids: number[] = [];
    const fill = async (): Promise<void> => {
      for (let id = await create(); id !== null; id = await create()) ids.push(id);
      for (let i = 0; i < 20; i++) assert.equal(await create(), null); // none of them may damage the journal
    };
    await fill();
    assert(ids.length > 10);
    assert.equal(await ready(), 503);
    const full = await status();
    assert.equal(full.state, 'creates-refused');
    assert.match(full.reason!, /^ENOSPC: no space left on device; [^\n]+$/);
    assert.ok(full.disk.freeBytes! < 64 * 1024, `${full.disk.freeBytes}`);
    assert.deepEqual(await idsIn(server, key), ids);
    rmSync(join(mount, 'other'));
    while ((await ready()) !== 200) await new Promise(setImmediate); // it tries at most every 5 s
    const again = await status();
    assert.deepEqual([again.state, again.reason, again.since > full.since], ['ready', null, true]);
    const before = ids.length;
    await fill();
    assert(ids.length > before, 'creates resume');
    assert.deepEqual(await idsIn(server, key), ids);
    await server.kill();
    server = await startServer(t, folder); // while the disk is full
    assert.deepEqual(await idsIn(server, key), ids);
    assert.equal(spawnSync('mount', ['-o', 'remount,size=8m', mount]).status, 0);
    await server.stop();
    server = await startServer(t, folder);
    assert.deepEqual(await idsIn(server, key), ids);
  } finally {
    await server?.kill();
    const { status, stderr } = spawnSync('umount', [mount], { encoding: 'utf8' });
    assert.equal(status, 0, stderr);
  }
});

test('without room for another file, commands still reach the server', async (t) => {
  const mount = mountTmpfs(t, 'size=2m,nr_inodes=20');
  if (mount === null) return;
  let server: RunningServer | null = null;
  try {
    const folder = join(mount, 'store');
    const key = await makeKey(t, folder);
    server = await startServer(t, folder);
    const { status } = await send(server.address, 'POST', '/v1/pets', { key, body: '{"name":"Rex","categoryId":1}' });
    assert.equal(status, 201);
    assert.throws(() => {
      for (let number = 0; ; number++) writeFileSync(join(mount, `other-${number}`), '');
    }, { code: 'ENOSPC' });
    const backup = join(temporaryFolder(t), 'backup');
    for (const command of [['keys', 'list'], ['usage'], ['status'], ['export'], ['backup', backup]]) {
      const { code, stderr } = await petstore(t, folder, ...command);
      assert.equal(code, 0, `${command.join(' ')}: ${stderr}`);
    }
  } finally {
    await server?.kill();
    spawnSync('umount', [mount]);
  }
});
