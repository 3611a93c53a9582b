import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { OperatorError } from '../../domain/operator-error.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { asideName } from './aside.ts';

test('each file that is set aside has a name of its own', async (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  for (const number of [1, 2, 3]) {
    const aside = await asideName(path, 'broken');
    assert.equal(aside, `${path}.broken-${number}`);
    writeFileSync(aside, '');
  }
});

test('an error names the folder', async (t) => {
  const folder = join(temporaryFolder(t), 'none');
  await assert.rejects(
    asideName(join(folder, 'f.json'), 'broken'),
    (error) => error instanceof OperatorError && error.message.startsWith(`cannot read ${folder}: ENOENT`),
  );
});
