import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { OperatorError } from '../domain/operator-error.ts';
import { stringMember } from '../json/members.ts';
import type { JsonObject } from '../json/read.ts';
import { temporaryFolder } from '../../harness/owner.ts';
import { DamagedFileError } from './errors.ts';
import { readRecords, writeRecords } from './record-file.ts';

const format = { name: 'things', member: 'list' };
const decode = (record: JsonObject): { id: string } => ({ id: stringMember(record, 'id') });
const idsIn = (path: string, bare = false): string[] =>
  readRecords(path, bare ? null : format, decode).map(({ id }) => id);

test('records are read as they were written; without a file there are none', async (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  assert.deepEqual(idsIn(path), []);
  for (const count of [0, 1, 2, 20_000]) {
    const ids = Array.from({ length: count }, (_, index) => `é${index}`);
    await writeRecords(path, format, ids.map((id) => JSON.stringify({ id })));
    const lines = readFileSync(path, 'utf8').split('\n');
    assert.equal(lines[0], '{"format":"things","version":1,"list":[');
    assert.deepEqual(lines.slice(1, -2), ids.map((id, index) => `{"id":"${id}"}${index < count - 1 ? ',' : ''}`));
    assert.deepEqual(idsIn(path), ids);
  }
});

test('the whole document may be the array', (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  writeFileSync(path, ' [{"id":"b"},\n{"id":"a"}] ');
  assert.deepEqual(idsIn(path, true), ['b', 'a']);
});

test('a damaged file is refused with a message that names the file and the line', (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  const head = '{"format":"things","version":1,"list":[';
  const cases: [content: string | Buffer, line: number, why: string][] = [
    ['', 1, ''],
    [`${head}\n{"id":"a"},\n`, 3, ''],
    [`${head}\n{"id":"a",\n"id":"b"}]}`, 3, ''],
    [Buffer.from([0x5b, 0x22, 0x0a, 0x22]), 1, ''],
    [Buffer.from(`${head}\n"\xff"]}`, 'latin1'), 2, ''],
    ['null', 1, 'this is not a things file'],
    ['[]', 1, 'this is not a things file'],
    ['{"format":"others","version":1,"list":[]}', 1, 'this is not a things file'],
    ['{"format":"things","version":2,"list":[]}', 1, '"version" is not 1'],
    ['{"format":"things","version":1,"list":{}}', 1, 'the records must be a JSON array'],
    [`${head}\n{"id":"a"},\n\n7]}`, 2, 'the next record is not a JSON object'],
    [`${head}\n{"id":"a"},\n{"id":7}]}`, 3, '"id" must be a string'],
    [`${head}\n{"id":"a"},\n{"id":"b"},\n{"id":"a"}]}`, 4, 'line 2 has the same id, a'],
  ];
  for (const [content, line, why] of cases) {
    writeFileSync(path, content);
    assert.throws(() => idsIn(path), (error) => {
      assert(error instanceof DamagedFileError && error instanceof OperatorError);
      assert(error.problem.startsWith(`${path}, line ${line}: ${why}`), error.problem);
      assert.equal(error.message, `${error.problem}; correct the file, or restore it from a backup`);
      assert(!error.message.includes('\n'));
      assert.equal(error.exitCode, 1);
      return true;
    }, String(content));
  }
  for (const content of ['null', '{}', head + ']}']) {
    writeFileSync(path, content);
    assert.throws(() => idsIn(path, true), { problem: `${path}, line 1: the records must be a JSON array` });
  }
});

test('an error of the file system names the file', (t) => {
  const path = join(temporaryFolder(t), 'folder');
  mkdirSync(path);
  assert.throws(
    () => idsIn(path),
    (error) => {
      return (
        !(error instanceof DamagedFileError) &&
        error instanceof OperatorError &&
        error.message.startsWith(`cannot read ${path}: EISDIR`)
      );
    },
  );
});
