import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { onSync } from '../../testing/file-handle.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { LockLostError, UnsyncedError } from '../../files/errors.ts';
import { replaceFile, syncFolder } from './replace.ts';

test('a file is created and replaced with mode 0600', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'f');
  await replaceFile(path, ['one']);
  assert.equal(readFileSync(path, 'utf8'), 'one');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await replaceFile(path, ['2']);
  assert.equal(readFileSync(path, 'utf8'), '2');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(folder), ['f']);
});

test('the content is synced under another name, the file is renamed, and the folder is synced', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'f');
  writeFileSync(path, 'old');
  const seen: string[] = [];
  await onSync(t, async (handle) => {
    const what = (await handle.stat()).isDirectory() ? 'folder' : 'file';
    seen.push(
      `${what}: ${readdirSync(folder)
        .map((name) => `${name} ${readFileSync(join(folder, name), 'utf8')}`)
        .join(', ')}`,
    );
  });
  await replaceFile(path, ['new']);
  assert.deepEqual(seen, ['file: f old, f.tmp new', 'folder: f new']);
});

test('after a failure the folder contains only the old file, or the new one if its name was not synced', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'f');
  writeFileSync(path, 'old');
  const untouched = (): void => {
    assert.equal(readFileSync(path, 'utf8'), 'old');
    assert.deepEqual(readdirSync(folder), ['f']);
  };
  const pieces = function* (): Generator<string> {
    yield 'half';
    throw new Error('no more');
  };
  await assert.rejects(replaceFile(path, pieces()), { message: new RegExp(`^cannot write ${path}: no more;`) });
  untouched();
  await onSync(t, () => Promise.reject(new Error('EIO')));
  await assert.rejects(
    replaceFile(path, ['new']),
    { message: new RegExp(`^cannot write ${path}: EIO;`) },
  );
  untouched();
  t.mock.restoreAll();
  await onSync(t, async (handle) => {
    if ((await handle.stat()).isDirectory()) throw new Error('EIO');
  });
  await assert.rejects(replaceFile(path, ['new']), UnsyncedError);
  assert.deepEqual([readFileSync(path, 'utf8'), readdirSync(folder)], ['new', ['f']]);
  t.mock.restoreAll();
  mkdirSync(join(folder, 'd'));
  // A file cannot replace a folder.
  await assert.rejects(replaceFile(join(folder, 'd'), ['new']));
  assert.deepEqual(readdirSync(folder), ['d', 'f']);
});

test('a file is not replaced if the lock is lost, before or meanwhile', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'f');
  writeFileSync(path, 'old');
  let isHeld = false;
  const checkLock = (): void => {
    if (!isHeld) throw new LockLostError('lost');
  };
  await assert.rejects(replaceFile(path, ['new'], checkLock), LockLostError);
  assert.deepEqual(readdirSync(folder), ['f']);
  const pieces = function* (): Generator<string> {
    yield 'new';
    isHeld = false;
  };
  isHeld = true;
  await assert.rejects(replaceFile(path, pieces(), checkLock), LockLostError);
  assert.equal(readFileSync(path, 'utf8'), 'old');
});

test('a temporary file of an interrupted replacement is replaced, its mode included', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'f');
  writeFileSync(`${path}.tmp`, 'a longer text of another time', { mode: 0o666 });
  await replaceFile(path, ['new']);
  assert.equal(readFileSync(path, 'utf8'), 'new');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert(!existsSync(`${path}.tmp`));
});

test('a folder can be synced; a missing one is an error', async (t) => {
  const folder = temporaryFolder(t);
  await syncFolder(folder);
  await assert.rejects(syncFolder(join(folder, 'x')), { code: 'ENOENT' });
});
