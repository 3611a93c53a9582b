import assert from 'node:assert/strict';
import {
  appendFileSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, truncateSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { fillStore, keepCreating, openStores, serve } from '../../testing/stores.ts';
import { backUp } from './backup.ts';
import { Progress } from '../../program/progress.ts';
import { verify } from './verify.ts';

const check = (folder: string) => verify(folder, new Progress('verify'));

/** A stopped folder with three animals in the snapshot and two in the journal. */
async function makeStore(folder: string): Promise<string> {
  await fillStore(folder);
  return folder;
}

/** Everything about the files in a folder that writing would change. */
function stateOf(folder: string): string[] {
  return [folder, ...readdirSync(folder).sort().map((name) => join(folder, name))].map((path) => {
    const { ino, size, mtimeNs, ctimeNs, mode } = statSync(path, { bigint: true });
    return `${path} ${ino} ${size} ${mtimeNs} ${ctimeNs} ${mode}`;
  });
}

test('a sound folder is described, and not touched', async (t) => {
  const folder = await makeStore(join(temporaryFolder(t), 'store'));
  const before = stateOf(folder);
  assert.deepEqual(await check(folder), {
    content: [
      'usage.json: 1 counter', 'keys.json: 2 keys', 'orders.json: 1 order',
      'pets.json: 3 animals, up to record 3', 'journal: 1 segment, 2 animals, up to record 5',
    ],
    counts: { counters: 1, keys: 2, orders: 1, animals: 5, segments: 1, lastRecord: 5 },
    notes: [], damage: [], unreadable: [],
  });
  assert.deepEqual(stateOf(folder), before);
});

test('each damaged byte, and each missing or emptied file, is damage, and nothing is touched', async (t) => {
  const folder = await makeStore(join(temporaryFolder(t), 'store'));
  writeFileSync(join(folder, 'note.txt'), '');
  for (const name of readdirSync(folder).filter((one) => /^(keys|usage|pets).*/.test(one))) {
    const path = join(folder, name);
    const bytes = readFileSync(path);
    const end = bytes.findLastIndex((byte) => byte !== 0) + 1;
    const lastLine = bytes.subarray(0, end - 1).lastIndexOf('\n') + 1;
    const isDamaged = async (what: string, at = 0): Promise<void> => {
      const before = stateOf(folder);
      const { damage, notes, unreadable } = await check(folder);
      // After the last record, nothing can be lost: the last marker may be missing.
      const isTorn = name.endsWith('.journal') && at >= lastLine && notes.join().includes('is incomplete');
      assert.ok(damage.length > 0 || isTorn, `${name}: ${what}`);
      assert.deepEqual([unreadable, stateOf(folder)], [[], before]);
    };
    for (let at = 0; at < end; at += 7) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1;
      writeFileSync(path, flipped);
      await isDamaged(`bit flipped in byte ${at}`, at);
    }
    truncateSync(path, 0);
    await isDamaged('emptied');
    rmSync(path);
    if (name !== 'usage.json') await isDamaged('missing');
    writeFileSync(path, bytes);
  }
  const { damage, notes } = await check(folder);
  assert.deepEqual([damage, notes], [[], ['note.txt is not a file of the store']]);
});

test('the end that a crash cut off, and files that were left, are notes', async (t) => {
  const folder = await makeStore(join(temporaryFolder(t), 'store'));
  const journal = readdirSync(folder).find((name) => name.endsWith('.journal'))!;
  appendFileSync(join(folder, journal), '{"seq":6,"dur');
  writeFileSync(join(folder, 'pets.json.tmp'), '');
  writeFileSync(join(folder, 'usage.json.broken-1'), '');
  const before = stateOf(folder);
  const { notes, damage } = await check(folder);
  assert.deepEqual(damage, []);
  assert.deepEqual(notes, [
    `the end of ${journal} is incomplete: a crash cut it off, or a server is writing it; the next start sets it aside`,
    'pets.json.tmp is being written, or was left by a process that was killed',
    'usage.json.broken-1 was set aside',
  ]);
  assert.deepEqual(stateOf(folder), before);
});

test('a journal that ends before the snapshot is not called incomplete', async (t) => {
  const folder = await makeStore(join(temporaryFolder(t), 'store'));
  const old = join(folder, 'pets.4.journal');
  const text = readFileSync(old, 'utf8');
  const stores = await openStores(folder);
  await stores.pets.snapshot();
  await stores.close();
  rmSync(join(folder, 'pets.6.journal'));
  writeFileSync(old, text.slice(0, text.indexOf('\n') + 1));
  const { damage, notes } = await check(folder);
  assert.deepEqual(damage, []);
  assert.match(notes.join('\n'), /^.* has a snapshot of the records up to 5, but no journal of later ones; .*$/);
});

test('a snapshot and a journal that are both damaged are both named', async (t) => {
  const folder = await makeStore(join(temporaryFolder(t), 'store'));
  for (const name of readdirSync(folder).filter((one) => one.startsWith('pets.'))) {
    const path = join(folder, name);
    writeFileSync(path, readFileSync(path, 'latin1').replace(/"name":"(Rex|four)/, '"name":"Max'), 'latin1');
  }
  const { damage } = await check(folder);
  assert.equal(damage.length, 2, damage.join('\n'));
  assert.match(damage[0]!, /pets\.json, line 2: the line does not match its checksum/);
  assert.match(damage[1]!, /pets\.4\.journal, line 2: the line is damaged/);
});

test('beside a running server that adds animals and writes snapshots, everything is sound', async (t) => {
  const { folder, stores: { pets } } = await serve(t);
  const stop = keepCreating(pets);
  for (let i = 0; i < 20; i++) {
    const { damage, unreadable } = await check(folder);
    assert.deepEqual([damage, unreadable], [[], []]);
  }
  await stop();
});

test('a backup is verified against its manifest', async (t) => {
  const parent = temporaryFolder(t);
  const folder = await makeStore(join(parent, 'store'));
  const backup = join(parent, 'backup');
  await backUp(folder, backup, (line) => assert.fail(line), new Progress('backup'));
  const { content, damage, notes } = await check(backup);
  assert.equal(content.at(-1), 'backup.json: all 5 files are as it says');
  assert.deepEqual([damage, notes], [[], []]);
  appendFileSync(join(backup, 'orders.json'), ' ');
  assert.match((await check(backup)).damage.join(), /orders\.json is damaged: it has \d+ bytes, but should have \d+;/);
});

test('a folder that does not exist cannot be read', async (t) => {
  await assert.rejects(check(join(temporaryFolder(t), 'none')), /cannot read .*none/);
});

test('for a file of a newer version, nothing else is reported, and a link that leads nowhere is ignored', async (t) => {
  const folder = temporaryFolder(t);
  await (await openStores(folder)).close();
  symlinkSync(join(folder, 'loop.tmp'), join(folder, 'loop.tmp'));
  const path = join(folder, 'keys.json');
  writeFileSync(path, readFileSync(path, 'utf8').replace('"version":2', '"version":3'));
  const { damage, unreadable } = await verify(folder, new Progress('verify'));
  assert.deepEqual([damage.length, unreadable], [1, []]);
  assert.match(damage[0]!, /keys\.json has version 3 of its format, .*; use the version of petstore that wrote it/);
});
