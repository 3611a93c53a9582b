import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { OperatorError } from '../../domain/operator-error.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { headMembers, storeIdOf } from './store-id.ts';

const [one, other] = ['1'.repeat(32), 'f'.repeat(32)];
const names = ['keys.json', 'orders.json', 'pets.12.journal', 'pets.json', 'usage.json'];

test('the id is that of any file; if no file contains one, it is new each time', (t) => {
  const folder = temporaryFolder(t);
  const made = [storeIdOf(folder), storeIdOf(folder)];
  assert.notEqual(made[0], made[1]);
  for (const id of made) assert.match(id, /^[0-9a-f]{32}$/);
  for (const name of names) {
    const alone = join(folder, name.replaceAll('.', '-'));
    mkdirSync(alone);
    writeFileSync(join(alone, 'keys.json'), '{"format":"petstore-keys","version":2,"keys":[]}');
    writeFileSync(join(alone, name), `{${headMembers('petstore-x', one)}}`);
    assert.equal(storeIdOf(alone), one);
  }
});

test('an edited file may have white space in its head', (t) => {
  const folder = temporaryFolder(t);
  const document: unknown = JSON.parse(`{${headMembers('petstore-keys', one)}}`);
  writeFileSync(join(folder, 'keys.json'), JSON.stringify(document, null, 2));
  assert.equal(storeIdOf(folder), one);
});

test('files of different stores are refused, each with its id', (t) => {
  const root = temporaryFolder(t);
  for (const name of names) {
    const folder = join(root, name);
    mkdirSync(folder);
    for (const each of names) {
      writeFileSync(join(folder, each), `{${headMembers('petstore', each === name ? other : one)}}`);
    }
    const rest = names.filter((each) => each !== name).join(', ');
    assert.throws(() => storeIdOf(folder), (error) => {
      assert(error instanceof OperatorError && !error.message.includes('\n'));
      for (const part of [`${name} of store ${other}`, `${rest} of store ${one}`, folder]) {
        assert(error.message.includes(part), error.message);
      }
      return true;
    });
  }
});

test('a file of a newer version is refused and not changed', (t) => {
  const root = temporaryFolder(t);
  for (const name of names) {
    const folder = join(root, name);
    mkdirSync(folder);
    const path = join(folder, name);
    const text = `{"seq":7,${headMembers('petstore', one).replace('"version":2', '"version":3')},"new":[]}`;
    writeFileSync(path, text);
    const start = `${path} has version 3 of its format, but this program supports only versions up to 2; `;
    assert.throws(() => storeIdOf(folder), (error: Error) => error.message.startsWith(start));
    assert.deepEqual([readdirSync(folder), readFileSync(path, 'utf8')], [[name], text]);
  }
});

test('files with other names are not looked at, and a name in an animal is not a head', (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(join(folder, 'keys.json'), `{${headMembers('petstore-keys', one)}}`);
  for (const name of ['keys.json.tmp', 'old-keys.json', 'pets.1.journal.torn-1', 'pets.0.journal', 'other.json']) {
    writeFileSync(join(folder, name), `{${headMembers('petstore', other)}}`);
  }
  const pet = JSON.stringify({ id: 1, name: headMembers('petstore', other), categoryId: 1, status: 'sold' });
  writeFileSync(join(folder, 'pets.1.journal'), `{"seq":1,"durable":0,"pet":${pet},"crc":"00000000"}\n`);
  assert.equal(storeIdOf(folder), one);
});

test('a file that cannot be read is an error that names it', (t) => {
  const folder = temporaryFolder(t);
  mkdirSync(join(folder, 'usage.json'));
  assert.throws(() => storeIdOf(folder), { message: /^cannot read .*\/usage\.json: it is not a regular file/ });
  assert.throws(() => storeIdOf(join(folder, 'none')), { message: /^cannot read .*\/none: ENOENT/ });
});
