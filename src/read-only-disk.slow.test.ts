/** Commands on a file system that is mounted read-only. Skipped if this user cannot mount one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../harness/owner.ts';
import { makeKey, petstore, runServer, startServer } from '../harness/server.ts';
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
      if (command[0] === 'export') assert.match(stderr, /journal: the end is incomplete, from line \d+ on, and is ig/);
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
