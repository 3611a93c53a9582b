import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { OperatorError } from '../domain/operator-error.ts';
import { JsonArray } from '../json/read.ts';
import { temporaryFolder } from '../testing/programs.ts';
import { DamagedFileError } from './damaged-file.ts';
import { readJsonFile } from './read-json.ts';

test('a JSON file is read; one that is not there is null', (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  assert.equal(readJsonFile(path), null);
  writeFileSync(path, '["a", true]');
  const document = readJsonFile(path);
  assert(document instanceof JsonArray);
  assert.deepEqual(document.items, ['a', true]);
});

test('a file that is no JSON is refused, naming file and line', (t) => {
  const path = join(temporaryFolder(t), 'f.json');
  const cases: [content: string | Buffer, line: number][] = [
    ['', 1],
    ['[1,\n2,\n', 3],
    ['{"a":1,\n"a":2}', 2],
    [Buffer.from([0x5b, 0x22, 0x0a, 0x22]), 1],
    [Buffer.from('[\n"\xff"]', 'latin1'), 2],
    ['null', 1], // or it would pass for a file that is not there
  ];
  for (const [content, line] of cases) {
    writeFileSync(path, content);
    assert.throws(() => readJsonFile(path), (error) => error instanceof OperatorError && error.message.startsWith(`${path}, line ${line}: `), String(content));
  }
});

test('what the disk reports is told, with the file', (t) => {
  const path = join(temporaryFolder(t), 'folder');
  mkdirSync(path);
  assert.throws(() => readJsonFile(path), (error) => error instanceof OperatorError && error.message.startsWith(`cannot read ${path}: EISDIR`));
});

test('a bad line is one line for the operator', () => {
  const error = new DamagedFileError('/d/f.json', 7, 'it is odd');
  assert(error instanceof OperatorError);
  assert.equal(error.exitCode, 1);
  assert.equal(error.message, '/d/f.json, line 7: it is odd; correct the file, or restore it from a backup');
});
