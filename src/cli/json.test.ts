/** What every command prints with `--json`: docs/server.md, "JSON output". */
import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { petstore, startServer } from '../../harness/server.ts';
import { command } from '../testing/command.ts';
import { commands } from './commands.ts';

type Json = Readonly<Record<string, unknown>>;

/** Runs a command with --json. Its stdout must be one JSON text, and its stderr have as many lines as stated. */
async function json(folder: string, [code, lines]: [number, number], ...args: string[]): Promise<Json> {
  const ended = await command(folder, ...args, '--json');
  assert.deepEqual([ended.code, ended.stderr.split('\n').length - 1], [code, lines], ended.stderr);
  return JSON.parse(ended.stdout) as Json;
}

/** The documented members of each result, in their order. */
const members: Readonly<Record<string, string>> = {
  'keys create': 'key secret unsynced',
  'keys rotate': 'key secret unsynced',
  'keys revoke': 'key unsynced',
  'keys set-plan': 'key unsynced',
  'keys unban': 'key unbanned',
  backup: 'path createdAt animals lastRecord unsynced',
  restore: 'path createdAt lastRecord unsynced',
  verify: 'path intact counters keys orders animals segments lastRecord notes damage unreadable',
  salvage: 'path animals keys orders lost unsynced',
  export: 'path what count unsynced',
  import: 'path what count firstId lastId warning unsynced',
};
const key = 'id name plan perMinute perDay state createdAt expiresAt secrets';
const usage = 'id name plan minute day ban';
const namesIn = (value: unknown): string => Object.keys(value as Json).join(' ');

for (const running of [false, true]) {
  test(`every command prints one JSON text, ${running ? 'with' : 'without'} a running server`, async (t) => {
    const parent = temporaryFolder(t);
    const folder = join(parent, 'store');
    const file = join(parent, 'file');
    writeFileSync(file, '{"name":"Rex","categoryId":1}\n{"name":"Mia","categoryId":2}\n');
    const done: string[] = [];
    const run = async (name: string, at = folder, ...args: string[]): Promise<Json> => {
      const result = await json(at, [0, 0], ...name.split(' '), ...args);
      assert.equal(namesIn(result), members[name], name);
      if ('key' in result) assert.equal(namesIn(result['key']), key);
      done.push(name);
      return result;
    };
    const imported = await run('import', folder, file);
    assert.deepEqual(imported, {
      path: folder, what: 'animals', count: 2, firstId: '1', lastId: '2', warning: null, unsynced: null,
    });
    if (running) await startServer(t, folder);

    const { secret } = await run('keys create', folder, '--name', 'a', '--plan', 'pro');
    assert.match(String(secret), /^petstore_[0-9A-Za-z]{36}$/);
    assert.notEqual((await run('keys rotate', folder, 'k1'))['secret'], secret);
    assert.equal(((await run('keys set-plan', folder, 'k1', 'free'))['key'] as Json)['plan'], 'free');
    assert.equal((await run('keys unban', folder, 'k1'))['unbanned'], false);
    const usages = await json(folder, [0, 0], 'usage') as unknown as Json[];
    assert.deepEqual(usages.map(namesIn), [usage]);
    assert.equal(((await run('keys revoke', folder, 'k1'))['key'] as Json)['state'], 'revoked');
    const keys = await json(folder, [0, 0], 'keys', 'list') as unknown as Json[];
    assert.deepEqual(keys.map(namesIn), [key]);
    done.push('usage', 'keys list');

    const [backup, salvaged, restored] = ['backup', 'salvaged', 'restored'].map((name) => join(parent, name));
    const made = await run('backup', folder, backup!);
    assert.deepEqual([made['path'], made['animals']], [backup, 2]);
    const { path, createdAt, lastRecord } = await run('restore', restored!, backup!);
    assert.deepEqual([path, createdAt, lastRecord], [restored, made['createdAt'], made['lastRecord']]);
    const { notes, ...sound } = await run('verify', restored!);
    assert.deepEqual(sound, {
      path: restored, intact: true, counters: 0, keys: 1, orders: 0, animals: 2, segments: 1,
      lastRecord: made['lastRecord'], damage: [], unreadable: [],
    });
    assert.ok(Array.isArray(notes));
    const copied = await run('salvage', restored!, salvaged!);
    assert.deepEqual(copied, { path: salvaged, animals: 2, keys: 1, orders: 0, lost: [], unsynced: null });
    assert.deepEqual(await run('export', folder, '--force', file), {
      path: file, what: 'animals', count: 2, unsynced: null,
    });
    assert.match(readFileSync(file, 'utf8'), /^\{"id":1,.*\n\{"id":2,.*\n$/);
    const copy = join(parent, 'copy');
    const { code, stdout, stderr } = await command(null, 'copy', restored!, copy, '--json');
    assert.equal(code, 0, stderr);
    assert.deepEqual(JSON.parse(stdout), { from: restored, to: copy, animals: 2, orders: 0, keys: 1 });
    done.push('copy', 'status'); // see status.test.ts
    assert.deepEqual(Object.keys(commands).filter((name) => !done.includes(name)), [], 'these were not tried');
  });
}

test('problems are in the JSON text and on stderr; an error is only one line on stderr', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  const file = join(parent, 'file');
  writeFileSync(file, '{"id":7,"name":"Rex","categoryId":1}\n');
  await json(folder, [0, 0], 'import', '--keep-ids', file);
  writeFileSync(file, '{"id":9223372036854775807,"petId":1,"quantity":1,"status":"placed","complete":false}\n');
  const orders = await json(folder, [0, 1], 'import', '--orders', '--keep-ids', file);
  const id = '9223372036854775807';
  const { warning, ...rest } = orders;
  assert.deepEqual(rest, { path: folder, what: 'orders', count: 1, firstId: id, lastId: id, unsynced: null });
  assert.match(String(warning), /^ids end at 9223372036854775807, so only 0 orders can be imported /);
  writeFileSync(file, '');
  const none = await json(folder, [0, 0], 'import', file);
  assert.deepEqual([none['count'], none['firstId'], none['lastId']], [0, null, null]);

  for (const args of [['keys', 'revoke', 'k9'], ['restore', parent], ['import', join(parent, 'none')]]) {
    const { code, stdout, stderr } = await command(folder, ...args, '--json');
    assert.deepEqual([code, stdout], [1, ''], args.join(' '));
    assert.match(stderr, /^petstore: [^\n]+\n$/);
  }

  rmSync(join(folder, 'pets.json'));
  const damaged = await json(folder, [1, 1], 'verify');
  assert.deepEqual([damaged['intact'], damaged['orders'], damaged['animals'], damaged['lastRecord']],
    [false, 1, null, null]);
  assert.equal((damaged['damage'] as unknown[]).length, 1);
  const { code, stdout, stderr } = await petstore(t, folder, 'verify', '--json');
  assert.deepEqual([code, stderr.split('\n').length, JSON.parse(stdout)], [1, 2, damaged]);
  const { lost } = await json(folder, [1, 1], 'salvage', join(parent, 'salvaged'));
  assert.equal((lost as unknown[]).length, 1);
  rmSync(folder, { recursive: true });
  assert.deepEqual((await command(folder, 'verify', '--json')).code, 2);
});
