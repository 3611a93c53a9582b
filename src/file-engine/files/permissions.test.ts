import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { petstore, startServer } from '../../../harness/server.ts';
import { permissionWarning } from './permissions.ts';

test('others who can write to a folder, or to one above it that is not sticky, are a warning', (t) => {
  const above = temporaryFolder(t); // in /tmp, which is sticky
  const [parent, folder] = [join(above, 'parent'), join(above, 'parent', 'store')];
  mkdirSync(folder, { recursive: true });
  const cases: [parent: number, store: number, warned: string | null][] = [
    [0o755, 0o700, null], [0o755, 0o755, null], [0o1777, 0o700, null], [0o1775, 0o755, null],
    [0o755, 0o770, folder], [0o755, 0o722, folder], [0o755, 0o1777, folder], [0o1777, 0o702, folder],
    [0o775, 0o700, parent], [0o777, 0o700, parent], [0o2770, 0o700, parent],
  ];
  for (const [parentMode, mode, warned] of cases) {
    chmodSync(parent, parentMode);
    chmodSync(folder, mode);
    const warning = permissionWarning(folder);
    assert.equal(warning === null, warned === null, `${parentMode.toString(8)} ${mode.toString(8)}`);
    if (warned !== null) assert.ok(warning!.startsWith(`other users can write to ${warned}, so they can `), warning!);
  }
  chmodSync(parent, 0o755);
  const open = join(above, 'open');
  mkdirSync(open);
  chmodSync(open, 0o777);
  symlinkSync(folder, join(open, 'link'));
  assert.match(permissionWarning(join(open, 'link'))!, /open, so they can replace \S+link: /);
  assert.equal(permissionWarning(join(above, 'none')), null);
});

test('the server and the commands warn in one line', async (t) => {
  const folder = temporaryFolder(t);
  chmodSync(folder, 0o770);
  const line = `petstore: other users can write to ${folder}, so they can put a socket there that receives new keys: ` +
    'run chmod go-w on it\n';
  for (const command of [['keys', 'list'], ['keys', 'create', '--name', 'a', '--plan', 'free']]) {
    const { code, stderr } = await petstore(t, folder, ...command);
    assert.deepEqual([code, stderr.startsWith(line)], [0, true], stderr);
  }
  const server = await startServer(t, folder);
  assert.equal((await server.stop()).stderr.split(line).length, 2);
});
