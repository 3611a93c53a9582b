import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { passwordInFile } from './password-file.ts';

const login = { host: 'db.example.com', port: 5432, database: 'pets', user: 'shop' };

test('a password is in the first line that matches', async (t) => {
  const path = join(temporaryFolder(t), '.pgpass');
  const { PGPASSFILE: before } = process.env;
  t.after(() => (before === undefined ? delete process.env['PGPASSFILE'] : (process.env['PGPASSFILE'] = before)));
  process.env['PGPASSFILE'] = path;
  assert.equal(await passwordInFile(login), undefined, 'there is no file');
  const lines = [
    '#*:*:*:*:comment', '', 'db.example.com:5432:pets', 'db.example.com:5433:pets:shop:port',
    'db.example.com:*:pets:shop:a\\:b\\\\c', '*:*:*:*:other', 'localhost:5432:pets:shop:late',
  ];
  writeFileSync(path, lines.join('\r\n'), { mode: 0o600 });
  assert.equal(await passwordInFile(login), 'a:b\\c');
  assert.equal(await passwordInFile({ ...login, port: 5433 }), 'port');
  assert.equal(await passwordInFile({ ...login, user: 'x' }), 'other');
  writeFileSync(path, 'localhost:5432:pets:shop:socket\n');
  assert.equal(await passwordInFile({ ...login, host: '/run/postgresql' }), 'socket');
  assert.equal(await passwordInFile(login), undefined);
  chmodSync(path, 0o640);
  await assert.rejects(passwordInFile(login), OperatorError);
  mkdirSync(process.env['PGPASSFILE'] = join(temporaryFolder(t), 'folder'), { mode: 0o700 });
  assert.equal(await passwordInFile(login), undefined);
});
