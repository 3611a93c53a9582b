import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { OperatorError } from '../domain/operator-error.ts';
import { temporaryFolder } from '../../harness/owner.ts';
import { setAside } from './aside.ts';

test('each file that is set aside has a name of its own and keeps its content', (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  for (const number of [1, 2, 3]) {
    writeFileSync(path, String(number));
    assert.equal(setAside(path, 'broken'), `${path}.broken-${number}`);
    assert.equal(existsSync(path), false);
  }
  for (const number of [1, 2, 3]) assert.equal(readFileSync(`${path}.broken-${number}`, 'utf8'), String(number));
});

test('an error names the file', (t) => {
  const path = join(temporaryFolder(t), 'none');
  assert.throws(
    () => setAside(path, 'broken'),
    (error) => error instanceof OperatorError && error.message.startsWith(`cannot write ${path}.broken-1: ENOENT`),
  );
});
