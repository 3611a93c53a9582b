/**
 * Commands on a file system that is mounted read-only, and servers whose file system becomes read-only. What needs a
 * mount is skipped if this user cannot mount.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { makeKey, petstore, runServer, serverPath, startServer, type RunningServer } from '../harness/server.ts';
import { codeOf } from './testing/http-response.ts';
import { contentOf } from './testing/journal.ts';
import { send } from './testing/service.ts';

const mount = (...args: string[]): { status: number | null; stderr: string } =>
  spawnSync('mount', args, { encoding: 'utf8' });

test('on a read-only file system, every command that only reads works, beside a server too', async (t) => {
  const place = temporaryFolder(t);
  const [disk, view] = [join(place, 'disk'), join(place, 'view')];
  for (const path of [disk, view]) mkdirSync(path);
  const mounted = mount('-t', 'tmpfs', '-o', 'size=8m', 'tmpfs', disk);
  if (mounted.status !== 0) return t.skip(`a tmpfs cannot be mounted: ${mounted.stderr}`);
  try {
    assert.equal(mount('--bind', disk, view).status, 0);
    assert.equal(mount('-o', 'remount,bind,ro', view).status, 0);
    const folder = join(disk, 'store');
    const key = await makeKey(t, folder);
    const server = await startServer(t, folder);
    const create = async (): Promise<void> => {
      const body = '{"name":"Rex","categoryId":1}';
      assert.equal((await send(server.address, 'POST', '/v1/pets', { key, body })).status, 201);
    };
    for (let count = 0; count < 3; count++) await create();
    const commands = [['keys', 'list'], ['usage'], ['export'], ['backup'], ['verify']];
    const results = async (round: string): Promise<string[]> => {
      const ended = await Promise.all(commands.map(async (command) => {
        const to = command[0] === 'backup' ? [join(place, `backup-${round}`)] : [];
        const { code, stdout, stderr } = await petstore(t, join(view, 'store'), ...command, ...to);
        assert.equal(code, 0, `${command.join(' ')}: ${stderr}`);
        return stdout;
      }));
      assert.match(ended[0]!, /^k1 /m);
      assert.match(ended[1]!, / 3 of /);
      assert.equal(ended[2]!.split('\n').length, 4);
      return ended;
    };
    // The server runs on another mount of the same file system, as in another container.
    await results('running');
    await server.stop();
    await results('stopped');
    const torn = await startServer(t, folder);
    const { status } = await send(torn.address, 'POST', '/v1/pets', { key, body: '{"name":"Mia","categoryId":1}' });
    assert.equal(status, 201);
    await torn.kill();
    const [segment = ''] = readdirSync(folder).filter((name) => name.endsWith('.journal'));
    const journal = join(folder, segment);
    writeFileSync(journal, `${contentOf(journal).toString()}{"seq":`); // a crash has cut off the last line
    writeFileSync(join(folder, 'usage.json'), 'damaged');
    const backup = join(place, 'backup-torn');
    for (const command of [['export'], ['backup', backup], ['keys', 'list'], ['usage'], ['verify']]) {
      const { code, stderr } = await petstore(t, join(view, 'store'), ...command);
      assert.equal(code, command[0] === 'verify' ? 1 : 0, stderr);
      assert.match(stderr, /usage\.json, line 1: /);
    }
    const exported = await petstore(t, join(view, 'store'), 'export');
    assert.equal(exported.stdout.split('\n').length, 5, exported.stderr);
    for (const command of [['keys', 'create', '--name', 'a', '--plan', 'free'], ['keys', 'revoke', 'k1']]) {
      const { code, stdout, stderr } = await petstore(t, join(view, 'store'), ...command);
      assert.deepEqual([code, stdout], [1, '']);
      assert.match(stderr, /^petstore: cannot use the data folder .*EROFS.*must be mounted for writing.*\n$/);
    }
    const { code, stderr } = await runServer(t, join(view, 'store')).ended;
    assert.equal(code, 1);
    assert.match(stderr, /^petstore: cannot use the data folder .*EROFS.*must be mounted for writing.*\n$/);
  } finally {
    for (const path of [view, disk]) spawnSync('umount', [path]);
  }
});

/** Returns the id of a new animal, or null if it is refused because it cannot be saved. */
async function create({ address }: RunningServer, key: string): Promise<number | null> {
  const response = await send(address, 'POST', '/v1/pets', { key, body: '{"name":"Rex","categoryId":1}' });
  if (response.status === 201) return (JSON.parse(response.body) as { id: number }).id;
  assert.deepEqual([response.status, codeOf(response)], [503, 'storage_unavailable']);
  return null;
}

async function idsIn({ address }: RunningServer, key: string): Promise<number[]> {
  const { status, body } = await send(address, 'GET', '/v1/pets?limit=100', { key });
  assert.equal(status, 200);
  return (JSON.parse(body) as { id: number }[]).map(({ id }) => id);
}

/** Waits until /readyz has this status. It tests the disk at most every 5 s. */
async function ready({ address }: RunningServer, status: number): Promise<void> {
  while ((await send(address, 'GET', '/readyz')).status !== status) await new Promise(setImmediate);
}

/** On a file system that has become read-only: /readyz says so before a create fails, and reads continue. */
async function checkReadOnly(t: TestContext, server: RunningServer, folder: string, key: string): Promise<void> {
  const ids = await idsIn(server, key);
  await ready(server, 503);
  const results = await Promise.all(Array.from({ length: 20 }, () => create(server, key)));
  assert.deepEqual(new Set(results), new Set([null]));
  assert.deepEqual(await idsIn(server, key), ids);
  assert.equal((await send(server.address, 'GET', '/healthz')).status, 200);
  const { code, stdout, stderr } = await petstore(t, folder, 'keys', 'create', '--name', 'a', '--plan', 'free');
  assert.deepEqual([code, stdout], [1, ''], stderr);
  assert.match(stderr, /^petstore: cannot write .*EROFS.*; the file system must be mounted for writing.*\n$/);
}

/**
 * Returns the command of a server whose writing calls fail with EROFS while the file `marker` exists. The kernel does
 * not remount a file system read-only while a file is open for writing, and a forced remount is permanent.
 */
function readOnlyCommand(marker: string): string[] {
  const preload = `
    import fs from 'node:fs';
    import promises from 'node:fs/promises';
    import { syncBuiltinESMExports } from 'node:module';
    const error = (syscall) =>
      Object.assign(new Error('EROFS: read-only file system, ' + syscall), { code: 'EROFS', errno: -30, syscall });
    const isRefused = (name, [target, flags]) =>
      target !== 2 && (name !== 'open' || flags !== 'r') && fs.existsSync(${JSON.stringify(marker)});
    for (const name of ['open', 'write', 'ftruncate', 'fdatasync']) {
      const original = fs[name];
      fs[name] = (...args) => {
        if (!isRefused(name, args)) return original(...args);
        setImmediate(args.at(-1), error(name));
      };
    }
    for (const name of ['open', 'rename', 'rm', 'truncate']) {
      const original = promises[name];
      promises[name] = async (...args) => {
        if (isRefused(name, args)) throw error(name);
        return original(...args);
      };
    }
    syncBuiltinESMExports();`;
  return [process.execPath, '--import', `data:text/javascript,${encodeURIComponent(preload)}`, serverPath];
}

test('if writes fail with EROFS, creates are refused and reads continue; then creates resume', async (t) => {
  const place = temporaryFolder(t);
  const [folder, marker] = [join(place, 'store'), join(place, 'read-only')];
  const key = await makeKey(t, folder);
  const server = await startServer(t, folder, [], readOnlyCommand(marker));
  const ids = [await create(server, key)];
  for (let round = 0; round < 2; round++) {
    writeFileSync(marker, '');
    await checkReadOnly(t, server, folder, key);
    rmSync(marker);
    await ready(server, 200);
    ids.push(await create(server, key), await create(server, key));
    assert.deepEqual(await idsIn(server, key), ids);
  }
  await makeKey(t, folder);
  writeFileSync(marker, '');
  const { code, stderr } = await server.stop();
  assert.equal(code, 1, 'the counters could not be saved');
  assert.match(stderr, /\npetstore: stopping failed: [^\n]*EROFS[^\n]*\n$/);
  const again = await startServer(t, folder);
  assert.deepEqual(await idsIn(again, key), ids);
  await again.stop();
});

test('if the kernel makes the file system read-only, creates are refused, and nothing confirmed is lost', async (t) => {
  const place = temporaryFolder(t);
  const [image, disk] = [join(place, 'image'), join(place, 'disk')];
  mkdirSync(disk);
  const run = (...[command = '', ...args]: string[]): boolean => spawnSync(command, args).status === 0;
  const mountImage = (): boolean => run('mount', '-o', 'loop,errors=remount-ro', image, disk);
  if (!run('truncate', '--size', '32M', image) || !run('mkfs.ext4', '-q', image) || !mountImage()) {
    return t.skip('this user cannot mount an ext4 image');
  }
  try {
    const device = readFileSync('/proc/mounts', 'utf8').split('\n').find((line) => line.includes(` ${disk} `))!;
    const trigger = `/sys/fs/ext4/${basename(device.split(' ')[0]!)}/trigger_fs_error`;
    if (!existsSync(trigger)) return t.skip(`there is no ${trigger}`);
    const folder = join(disk, 'store');
    const key = await makeKey(t, folder);
    const server = await startServer(t, folder);
    const ids = [await create(server, key), await create(server, key)];
    writeFileSync(trigger, 'an error that a test makes');
    await checkReadOnly(t, server, folder, key);
    await server.stop();
    assert(run('umount', disk) && mountImage());
    const again = await startServer(t, folder);
    ids.push(await create(again, key));
    assert.deepEqual(await idsIn(again, key), ids);
    await again.stop();
  } finally {
    run('umount', '--lazy', disk); // the server may still run if the test failed
  }
});
