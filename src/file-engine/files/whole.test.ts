import assert from 'node:assert/strict';
import { existsSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { readWhole } from './whole.ts';

test('reads a file of at most so many bytes, and none that is missing', (t) => {
  const path = join(temporaryFolder(t), 'file');
  assert.equal(readWhole(path, 3), undefined);
  writeFileSync(path, 'abc');
  assert.equal(readWhole(path, 3)?.toString(), 'abc');
  assert.throws(() => readWhole(path, 2), /has 3 bytes, but may have 2 at most/);
  writeFileSync(path, '');
  assert.equal(readWhole(path, 3)?.length, 0);
});

test('reads no more of a file than its size, which is 0 in /proc', (t) => {
  if (!existsSync('/proc/self/maps')) return t.skip('there is no /proc/self/maps');
  const path = join(temporaryFolder(t), 'backup.json');
  symlinkSync('/proc/self/maps', path);
  assert.throws(() => readWhole(path, 100), /has more than the 0 bytes of its size/);
});
