import assert from 'node:assert/strict';
import test from 'node:test';
import { readDatabaseUrl } from './database-url.ts';

const read = (url: string) => readDatabaseUrl('--database', url);

test('a URL has the host, the port, the user, the password and the database', () => {
  assert.deepEqual(read('postgres://shop:p%40ss@db.example.com:6543/pets'), {
    host: 'db.example.com', port: 6543, user: 'shop', password: 'p@ss', database: 'pets', tls: true,
    text: 'postgres://shop@db.example.com:6543/pets',
  });
  const { port, user, password, tls } = read('postgresql://127.0.0.1/pets');
  assert.deepEqual([port, user, password, tls], [5432, undefined, undefined, false]);
});

test('TLS is left out on this machine only', () => {
  const hosts = { '127.0.0.1': false, localhost: false, '[::1]': false, '%2Frun%2Fpostgresql': false,
    '10.0.0.1': true, 'localhost.example.com': true, '[2001:db8::1]': true, 'db': true };
  for (const [host, tls] of Object.entries(hosts)) assert.equal(read(`postgres://${host}/pets`).tls, tls, host);
  assert.equal(read('postgres://[2001:db8::1]/pets').host, '2001:db8::1');
  assert.equal(read('postgres://u@%2Frun%2Fpostgresql/pets').host, '/run/postgresql');
});

test('an invalid URL is refused without showing it', () => {
  for (const url of [
    '', 'x', 'secret', 'mysql://u:secret@h/d', 'http://u:secret@h/d', 'postgres:', 'postgres:///d',
    'postgres://u:secret@h',
    'postgres://u:secret@h/', 'postgres://u:secret@h/a/b', 'postgres://u:secret@h:99999/d', 'postgres://u:secret@h/%zz',
    'postgres://u:secret@h/d?sslmode=disable', 'postgres://u:secret@h/d#x', 'postgres://u:%secret@h/d',
  ]) {
    assert.throws(() => read(url), (error: Error & { exitCode?: number }) => {
      assert.equal(error.exitCode, 2, url);
      assert.match(error.message, /^--database must be a URL like postgres:/);
      return !error.message.includes('secret');
    }, url);
  }
});
