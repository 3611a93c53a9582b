import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { OperatorError } from '../../domain/operator-error.ts';
import { stringMember } from './members.ts';
import type { JsonObject } from '../../json/read.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { crc32, crcHex } from '../../domain/crc32.ts';
import { DamagedFileError } from '../../files/errors.ts';
import { readRecords, writeRecords } from './record-file.ts';

const store = 'ab'.repeat(16);
const format = { name: 'petstore-things', member: 'list' };
const decode = (record: JsonObject): { id: string } => ({ id: stringMember(record, 'id') });
const idsIn = (path: string, mayBeBare = false): string[] =>
  readRecords(path, { ...format, mayBeBare }, decode).records.map(({ id }) => id);

test('records are read as they were written; without a file there are none', async (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  assert.deepEqual(idsIn(path), []);
  for (const count of [0, 1, 2, 20_000]) {
    const ids = Array.from({ length: count }, (_, index) => `é${index}`);
    await writeRecords(path, format, { store, durable: count }, ids.map((id) => JSON.stringify({ id })));
    const lines = readFileSync(path, 'utf8').split('\n');
    assert.equal(lines[0], `{"format":"petstore-things","version":2,"store":"${store}","durable":${count},"list":[`);
    assert.deepEqual(lines.slice(1, -2), ids.map((id, index) => `{"id":"${id}"}${index < count - 1 ? ',' : ''}`));
    const covered = readFileSync(path).subarray(0, -',"crc32":"01234567"}\n'.length);
    assert.equal(lines.at(-2), `],"crc32":"${crcHex(crc32(covered))}"}`);
    const records = ids.map((id) => ({ id }));
    assert.deepEqual(readRecords(path, format, decode), { records, durable: count, keyChanges: 0 });
  }
});

test('the whole document may be the array', (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  writeFileSync(path, ' [{"id":"b"},\n{"id":"a"}] ');
  assert.deepEqual(idsIn(path, true), ['b', 'a']);
});

test('a damaged file is refused with a message that names the file and the line', (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  const head = '{"format":"petstore-things","version":2,"list":[';
  const cases: [content: string | Buffer, line: number, why: string][] = [
    ['', 1, ''],
    [`${head}\n{"id":"a"},\n`, 3, ''],
    [`${head}\n{"id":"a",\n"id":"b"}]}`, 3, ''],
    [Buffer.from([0x5b, 0x22, 0x0a, 0x22]), 1, ''],
    [Buffer.from(`${head}\n"\xff"]}`, 'latin1'), 2, ''],
    ['null', 1, 'this is not a petstore-things file'],
    ['[]', 1, 'this is not a petstore-things file'],
    ['{"format":"others","version":2,"list":[]}', 1, 'this is not a petstore-things file'],
    ['{"format":"petstore-things","version":3,"list":[]}', 1, '"version" is not 2'],
    ['{"format":"petstore-things","version":2,"lis":[],"list":[]}', 1, '"lis" is an unknown member'],
    ['{"format":"petstore-things","version":2,"durable":-1,"list":[]}', 1, '"durable" must be a whole number from 0'],
    ['{"format":"petstore-things","version":2,"durable":"1","list":[]}', 1, '"durable" must be a whole number from 0'],
    ['{"format":"petstore-things","version":2,"list":[],"crc32":"00000000"}\n', 1, 'the file does not match its'],
    ['{"format":"petstore-things","version":2,"list":{}}', 1, '"list" must be an array'],
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
  for (const content of ['null', '{}', '{"format":"petstore"}']) {
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
        error.message.startsWith(`cannot read ${path}: it is not a regular file`)
      );
    },
  );
});

test('a file that is too large is refused without reading it', (t) => {
  const path = join(temporaryFolder(t), 'file.json');
  writeFileSync(path, '[]');
  truncateSync(path, 2 ** 40);
  assert.throws(() => readRecords(path, { name: 'any', member: 'any', mayBeBare: true }, () => assert.fail()), {
    message: `${path}, line 1: the file has 1099511627776 bytes, but may have 268435456 at most; ` +
      'correct the file, or restore it from a backup',
  });
});
