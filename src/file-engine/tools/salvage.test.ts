import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import type { Made } from '../files/new-folder.ts';
import { failReads, onSync, pageBytes } from '../../testing/file-handle.ts';
import { encodeMarker } from '../store/journal-format.ts';
import { fillStore, newPet, openStores } from '../../testing/stores.ts';
import { Progress } from '../../program/progress.ts';
import { salvage, type Salvaged } from './salvage.ts';
import { verify } from './verify.ts';

/** A folder with the animals 1 to 3 in the snapshot and 4 and 5 in the journal, and how to salvage it. */
async function makeStore(t: TestContext) {
  const parent = temporaryFolder(t);
  const [folder, to] = [join(parent, 'store'), join(parent, 'salvaged')];
  const { pets } = await fillStore(folder);
  const rows = new Map<number, string>();
  const all = [...pets.table.pieces(5, Infinity)].map(String).join('').split(',\n').slice(0, -1);
  for (const line of all) rows.set((JSON.parse(line) as { id: number }).id, line);

  /** Salvages, checks that the new folder is intact and all animals in it are as they were; returns those lost. */
  const run = async (what: string): Promise<Made<Salvaged> & { gone: number[] }> => {
    const salvaged = await salvage(folder, to);
    const { damage, unreadable, notes } = await verify(to, new Progress('verify'));
    assert.deepEqual([damage, unreadable, notes], [[], [], []], what);
    const found = new Map<number, string>();
    for (const line of readFileSync(join(to, 'pets.json'), 'utf8').split('\n')) {
      if (line.startsWith('{"id"')) found.set(Number(/[0-9]+/.exec(line)), line.replace(/,$/, ''));
    }
    for (const [id, line] of found) assert.equal(line, rows.get(id), what);
    rmSync(to, { recursive: true });
    assert.equal(salvaged.unsynced, null);
    return { ...salvaged, gone: [...rows.keys()].filter((id) => !found.has(id)) };
  };
  return { folder, to, run };
}

test('of an intact folder, everything is copied', async (t) => {
  const { folder, to, run } = await makeStore(t);
  assert.deepEqual(await run('intact'), {
    animals: 5, keys: 2, orders: 1, lost: [], gone: [], unsynced: null,
  });
  await salvage(folder, to);
  const stores = await openStores(to);
  const created = await stores.pets.create(newPet('new'));
  await stores.close();
  assert.equal(created.id, 6);
});

test('one damaged byte loses one animal at most, and names it', async (t) => {
  const { folder, run } = await makeStore(t);
  let lostOnes = 0;
  for (const name of readdirSync(folder).filter((one) => one.startsWith('pets.'))) {
    const path = join(folder, name);
    const bytes = readFileSync(path);
    for (let at = 0; at < bytes.length; at += 4) {
      const flipped = Buffer.from(bytes);
      flipped[at]! ^= 1;
      writeFileSync(path, flipped);
      const { gone, lost } = await run(`${name}: byte ${at}`);
      assert.ok(gone.length <= 1, `${name}: byte ${at} loses ${gone.join()}`);
      if (gone.length === 0) continue;
      lostOnes++;
      const report = lost.join();
      assert.ok(report.includes(`${gone[0]}`) || report.includes('does not show an id'), `byte ${at}: ${report}`);
    }
    writeFileSync(path, bytes);
  }
  assert.ok(lostOnes > 50);
});

test('of a file that was cut off, everything before the cut is kept', async (t) => {
  const { folder, run } = await makeStore(t);
  const path = join(folder, 'pets.json');
  const lines = readFileSync(path, 'utf8').split('\n');
  writeFileSync(path, lines.slice(0, 3).join('\n')); // the head and two animals
  const { gone, lost } = await run('cut off');
  assert.deepEqual(gone, [3]);
  assert.deepEqual(lost, [
    `the end of ${path}; 2 animals of it are kept although their checksums are missing`,
    'the ids 3 have no animal: lost, or never there',
  ]);
  rmSync(path);
  const missing = await run('missing');
  assert.deepEqual([missing.gone, missing.lost[0]], [[1, 2, 3], `${path} does not exist`]);
  assert.equal(missing.lost[1], 'the ids 1-3 have no animal: lost, or never there');
});

test('a file that is missing or empty, or an old copy, is said to be lost', async (t) => {
  const { folder, run } = await makeStore(t);
  const names = readdirSync(folder).filter((name) => /^(keys|pets).*\.(json|journal)$/.test(name));
  assert.equal(names.length, 3);
  for (const name of names) {
    const path = join(folder, name);
    const bytes = readFileSync(path);
    writeFileSync(path, '');
    assert.notDeepEqual((await run(`${name} empty`)).lost, []);
    rmSync(path);
    const { lost } = await run(`${name} missing`);
    assert.match(lost.join('|'), /pets\.json does not exist|records 4 to 5 are missing|keys\.json is missing/);
    writeFileSync(path, bytes);
  }
  rmSync(join(folder, 'usage.json'));
  rmSync(join(folder, names.find((name) => name.endsWith('.journal'))!));
  assert.match((await run('no journal')).lost.join('|'), /^the journal, which does not exist/);
});

test('of a store that has had no snapshot yet, nothing is lost', async (t) => {
  const [folder, to] = [join(temporaryFolder(t), 'store'), join(temporaryFolder(t), 'salvaged')];
  mkdirSync(folder);
  writeFileSync(join(folder, 'pets.1.journal'), encodeMarker(0, '0'.repeat(32)));
  assert.deepEqual((await salvage(folder, to)).lost, []);
});

test('any number of animals can be damaged', async (t) => {
  const { folder, run } = await makeStore(t);
  const count = 150_000; // more than a function takes arguments
  const lines = Array.from({ length: count }, (_, index) => `{"id":${index + 1},"name":broken},\n`);
  writeFileSync(join(folder, 'pets.json'), lines.join(''));
  const { animals, lost } = await run('all damaged');
  assert.equal(animals, 2); // of the journal
  assert.ok(lost.length >= count);
});

test('of damaged keys and orders, what can be read is kept, and the report says so', async (t) => {
  const { folder, run } = await makeStore(t);
  const path = join(folder, 'keys.json');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace('"name":"two"', '"name"?"two"'));
  const broken = await run('a key that cannot be read');
  assert.equal(broken.keys, 1);
  assert.match(broken.lost.join('\n'), /keys\.json, line 3: .*; the records that can be read are kept, but may be/);
  assert.match(broken.lost.join('\n'), /the record with the id "k2" in \S+keys\.json, line 3: /);
  writeFileSync(path, text.replace('"name":"two"', '"name":"twq"'));
  const changed = await run('a key that was changed');
  assert.deepEqual([changed.keys, changed.lost.length], [2, 1]);
  writeFileSync(path, text);
  const order = '{"id":1,"petId":4,"quantity":1,"status":"placed","complete":true}';
  writeFileSync(join(folder, 'orders.json'), `[\n${order},\n{"id":2,`);
  const orders = await run('orders cut off');
  assert.equal(orders.orders, 1);
  assert.match(orders.lost.join('\n'), /the record with the id 2 in \S+orders\.json, line 3: /);
});

test('files of another store are kept under a new id, and this is reported', async (t) => {
  const { folder, run } = await makeStore(t);
  const path = join(folder, 'pets.json');
  const text = readFileSync(path, 'utf8');
  writeFileSync(path, text.replace(/"store":"[0-9a-f]{32}"/, `"store":"${'0'.repeat(32)}"`));
  const { gone, lost } = await run('two stores');
  assert.deepEqual(gone, []);
  assert.match(lost[0]!, /the id of the store, which gets a new one: .* of different stores/);
});

test('a folder with a file of a newer version is refused, whatever else is wrong, and nothing is made', async (t) => {
  const { folder, to } = await makeStore(t);
  const names = readdirSync(folder).filter((one) => /^(keys|pets|usage).*\.(json|journal)$/.test(one)).sort();
  assert.equal(names.length, 4);
  const good = new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  const withStore = (other: string, id: string): void => {
    writeFileSync(join(folder, other), good.get(other)!.replace(/(?<="store":")[^"]*/, id));
  };
  const spoil = [
    (): void => {},
    (other: string): void => withStore(other, 'damaged'),
    (other: string): void => withStore(other, 'f'.repeat(32)),
    (other: string): void => {
      rmSync(join(folder, other));
      mkdirSync(join(folder, other));
    },
  ];
  for (const name of names) {
    for (const damage of spoil) {
      const other = names.find((one) => one !== name)!;
      damage(other);
      writeFileSync(join(folder, name), good.get(name)!.replace('"version":2', '"version":3'));
      const before = readdirSync(folder);
      await assert.rejects(salvage(folder, to), ({ message }: Error) => {
        return message.startsWith(`${join(folder, name)} has version 3 of its format, but this program supports only`);
      });
      assert.deepEqual(readdirSync(join(folder, '..')), ['store']);
      assert.deepEqual(readdirSync(folder), before);
      for (const [one, content] of good) {
        rmSync(join(folder, one), { recursive: true });
        writeFileSync(join(folder, one), content);
      }
    }
  }
  await salvage(folder, to);
});

test('a new folder is kept if its name cannot be synced, and this is reported', async (t) => {
  const { folder, to } = await makeStore(t);
  await onSync(t, async (handle) => {
    if ((await handle.stat()).ino !== statSync(join(to, '..')).ino) return;
    assert.equal(existsSync(join(to, 'pets.json')), true);
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' });
  });
  const { animals, lost, unsynced } = await salvage(folder, to);
  assert.deepEqual([animals, lost], [5, []]);
  assert.match(unsynced ?? '', /^cannot sync the folder of .*\/salvaged: EIO.*; the folder was created, but a power/);
});

test('everything is kept except bad sectors and files that cannot be opened', async (t) => {
  const { folder, to } = await makeStore(t);
  const stores = await openStores(folder);
  for (let i = 0; i < 300; i++) await stores.pets.create(newPet('x'.repeat(100)));
  await stores.pets.snapshot();
  await stores.close();
  const path = join(folder, 'pets.json');
  const keysPath = join(folder, 'keys.json');
  await failReads(t, path, [2, 3]);
  rmSync(keysPath);
  mkdirSync(keysPath);
  const { animals, keys, orders, lost } = await salvage(folder, to);

  const linesIn = (text: string): RegExpExecArray[] => [...text.matchAll(/^\{"id":.*\}/gm)];
  const whole = linesIn(readFileSync(path, 'latin1')).filter(({ index, 0: line }) => {
    return index + line.length < 2 * pageBytes || index >= 4 * pageBytes;
  });
  assert.deepEqual([animals, keys, orders], [whole.length, 0, 1]);
  assert.ok(whole.length > 200);
  const kept = linesIn(readFileSync(join(to, 'pets.json'), 'latin1'));
  assert.deepEqual(kept.map(([line]) => line), whole.map(([line]) => line));
  assert.ok(lost.includes(`${path}, bytes ${2 * pageBytes} to ${4 * pageBytes - 1}: EIO: i/o error`));
  assert.match(lost.join('\n'), /cannot read \S+keys\.json: it is not a regular file/);
});

test('of two animals with one id, from different stores, the first is kept, and this is reported', async (t) => {
  const { folder, to } = await makeStore(t);
  const other = join(temporaryFolder(t), 'store');
  const stores = await openStores(other); // the animals 1 to 3, which are the same
  for (const name of ['four', 'another five']) await stores.pets.create(newPet(name));
  await stores.close();
  const [segment = ''] = readdirSync(other).filter((name) => name.endsWith('.journal'));
  writeFileSync(join(folder, 'pets.6.journal'), readFileSync(join(other, segment)));
  const { animals, lost } = await salvage(folder, to);
  assert.equal(animals, 5);
  assert.match(readFileSync(join(to, 'pets.json'), 'utf8'), /^\{"id":5,"name":"five",/m);
  assert.deepEqual(lost.filter((line) => line.startsWith('animal ')), [
    'animal 5: two different lines have this id; the first one is kept',
  ]);
});

test('ids of records that are missing at the end of the journal are not assigned again', async (t) => {
  const { folder, to } = await makeStore(t);
  const path = join(folder, readdirSync(folder).find((name) => name.endsWith('.journal'))!);
  const lines = readFileSync(path, 'utf8').split('\n');
  writeFileSync(path, `${lines[0]}\n`); // without 4 and 5, which usage.json shows to have been on disk
  const { lost } = await salvage(folder, to);
  assert.match(lost.join('\n'), /2 of the records 4 to 5 are missing/);
  const stores = await openStores(to);
  const created = await stores.pets.create(newPet('new'));
  await stores.close();
  assert.equal(created.id, 6);
});

test('animals and records in any order are all kept', async (t) => {
  const { folder, run } = await makeStore(t);
  for (const name of readdirSync(folder).filter((one) => one.startsWith('pets.'))) {
    const path = join(folder, name);
    const [first, second, third, ...rest] = readFileSync(path, 'utf8').split('\n');
    writeFileSync(path, [first, third, second, ...rest].join('\n'));
  }
  const { animals, lost } = await run('in another order');
  assert.deepEqual([animals, lost], [5, []]);
});
