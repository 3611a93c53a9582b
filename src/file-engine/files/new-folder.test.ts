import assert from 'node:assert/strict';
import { existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { onSync } from '../../testing/file-handle.ts';
import { createFolder } from './new-folder.ts';

test('a new folder is synced before it gets its name, and then its name is synced', async (t) => {
  const parent = temporaryFolder(t);
  const path = join(parent, 'new');
  const seen: string[] = [];
  await onSync(t, async (handle) => {
    const { ino } = await handle.stat();
    const child = readdirSync(parent).find((name) => statSync(join(parent, name)).ino === ino);
    const synced = ino === statSync(parent).ino ? 'parent' : child?.replace(/-.*/, '');
    seen.push(`${synced}: ${existsSync(join(path, 'file'))}`);
  });
  const made = await createFolder(path, async (temporary) => {
    writeFileSync(join(temporary, 'file'), '');
    return { count: 1 };
  });
  assert.deepEqual(made, { count: 1, unsynced: null });
  assert.deepEqual(seen, ['new.tmp: false', 'parent: true']);
  assert.equal(statSync(path).mode & 0o777, 0o700);
});
