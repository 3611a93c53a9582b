import assert from 'node:assert/strict';
import fs, {
  existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import test from 'node:test';
import * as fc from 'fast-check';
import { onSync } from '../../testing/file-handle.ts';
import { onFolderSync } from '../../testing/journal.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { FolderLock } from '../lock/folder-lock.ts';
import { petStatuses } from '../../domain/pet.ts';
import type { JsonArray, JsonNumber, JsonObject } from '../../json/read.ts';
import { openStores, order, serve } from '../../testing/stores.ts';
import { exportRecords, type Exported, type ExportOptions } from './export.ts';
import { importOrders, importPets, type Imported } from './import.ts';
import { Progress } from '../../program/progress.ts';
import { readValues } from './values.ts';
import { verify } from './verify.ts';

const silent = (line: string): never => assert.fail(line);
const progress = new Progress('test');

const exportTo = (folder: string, path: string, more: Partial<ExportOptions> = {}): Promise<Exported> =>
  exportRecords({ folder, path, what: 'animals', format: 'ndjson', force: true, log: silent, progress, ...more });

async function exported(folder: string, more: Partial<ExportOptions> = {}): Promise<string> {
  const path = join(folder, '../exported');
  await exportTo(folder, path, more);
  return readFileSync(path, 'utf8');
}

/** Imports a file with this text. */
function imported(
  folder: string, text: string, keepIds = false, work = importPets, log: (line: string) => void = silent,
): Promise<Imported> {
  const path = join(folder, '../imported');
  writeFileSync(path, text);
  return work({ folder, paths: [path], keepIds, now: Date.now, log, progress });
}

function added(count: number, firstId: bigint | number, lastId: bigint | number): Imported {
  return { count, firstId, lastId, warning: null, unsynced: null };
}

/** A folder with three animals and an order. */
async function makeStore(folder: string): Promise<void> {
  await (await openStores(folder)).close();
}

/** The files of a folder, without the locks. */
function filesIn(folder: string): Map<string, string> {
  const names = readdirSync(folder).filter((name) => !name.startsWith('lock.')).sort();
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'latin1')]));
}

const anyPet = fc.record({
  name: fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant('\ud800"\\\n')),
  categoryId: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  status: fc.constantFrom(...petStatuses),
});

test('what was exported is imported unchanged, in both formats, with and without the ids', async (t) => {
  const parent = temporaryFolder(t);
  let run = 0;
  await fc.assert(fc.asyncProperty(
    fc.array(anyPet, { maxLength: 30 }), fc.constantFrom('json', 'ndjson'), fc.integer({ min: 1, max: 9 }),
    async (pets, format, step) => {
      mkdirSync(join(parent, `${++run}`));
      const [one, two, three] = [join(parent, `${run}/one`), join(parent, `${run}/two`), join(parent, `${run}/three`)];
      const lines = pets.map(({ name, categoryId, status }, index) =>
        `{"id":${1 + step * index},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`);
      await imported(one, lines.join('\n'), true);
      const text = await exported(one, { format });
      const all = lines.map((line) => `${line}\n`).join('');
      assert.equal(text, format === 'ndjson' ? all : lines.length === 0 ? '[]\n' : `[\n${lines.join(',\n')}\n]\n`);
      assert.equal((await imported(two, text, true)).count, lines.length);
      assert.equal(await exported(two), all);
      const ids = await imported(three, text);
      assert.deepEqual([ids.count, ids.lastId], [lines.length, lines.length]);
      let id = 0;
      assert.equal(await exported(three), all.replace(/^\{"id":[0-9]+/gm, () => `{"id":${++id}`));
    },
  ), { numRuns: 10 });
});

test('an import whose folder cannot be synced was made, and says that a power cut may undo it', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  await makeStore(folder);
  let failures = 1;
  await onFolderSync(t, () => {
    if (filesIn(folder).get('pets.json')?.includes('Mia') !== true) return; // it is not replaced yet
    if (failures-- > 0) throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' });
  });
  const logged: string[] = [];
  const log = (line: string): void => void logged.push(line);
  const { unsynced, ...rest } = await imported(folder, '{"name":"Mia","categoryId":1}', false, importPets, log);
  assert.deepEqual(logged, []);
  assert.deepEqual(readdirSync(folder).filter((name) => name.endsWith('.journal')), ['pets.1.journal']); // still needed
  assert.deepEqual(rest, { count: 1, firstId: 4, lastId: 4, warning: null });
  assert.match(unsynced ?? '', /^cannot sync the folder of .*pets\.json: EIO.* a power cut may undo that/);
  const order = '{"petId":1,"quantity":1,"status":"placed","complete":false}';
  failures = 1;
  const orders = await imported(folder, order, false, importOrders);
  assert.match(orders.unsynced ?? '', /^cannot sync the folder of .*orders\.json: EIO/);
  t.mock.restoreAll();
  assert.match(await exported(folder, { log }), /"id":4,/);
});

test('an import adds to what is there: at the end, or in the order of the ids', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  await makeStore(folder); // ids 1 to 3, in the journal
  const pet = (id: number, name = 'new') => `{"id":${id},"name":"${name}","categoryId":1}`;
  assert.deepEqual(await imported(folder, `${pet(5)}\n${pet(9)}\n`, true), added(2, 5, 9));
  assert.deepEqual(await imported(folder, pet(7), true), added(1, 7, 7));
  assert.deepEqual(await imported(folder, `[${pet(1)},${pet(1)}]`), added(2, 10, 11));
  const stores = await openStores(folder);
  const created = await stores.pets.create({ name: 'Kit', categoryId: 2n, status: 'sold' });
  await stores.close();
  assert.equal(created.id, 12);
  const ids = (await exported(folder)).trimEnd().split('\n').map((line) => (JSON.parse(line) as { id: number }).id);
  assert.deepEqual(ids, [1, 2, 3, 5, 7, 9, 10, 11, 12]);
  assert.deepEqual(await imported(folder, ''), added(0, 0, 0));
  assert.deepEqual(await imported(folder, ' \n[ ]\n'), added(0, 0, 0));
});

test('a start notices that the animals of an import are missing', async (t) => {
  const parent = temporaryFolder(t);
  for (const name of ['new', 'old']) {
    const folder = join(parent, name);
    if (name === 'old') await makeStore(folder);
    await imported(folder, good);
    const [snapshot, before] = [join(folder, 'pets.json'), readFileSync(join(folder, 'pets.json'))];
    rmSync(snapshot);
    await assert.rejects(openStores(folder), /pets\.json is missing or an old copy/);
    writeFileSync(snapshot, before);
    await imported(folder, good);
    writeFileSync(snapshot, before);
    await assert.rejects(openStores(folder), /pets\.json is missing or an old copy/);
  }
});

test('orders are exported and imported, with new ids or their own', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  await makeStore(folder);
  assert.equal(await exported(folder, { what: 'orders' }), `${order}\n`);
  const rest = '"petId":9223372036854775807,"quantity":1,"status":"placed","complete":false}';
  const other = `{"id":-9223372036854775808,${rest}`;
  const { firstId } = await imported(folder, `[${other}]`, true, importOrders);
  assert.equal(firstId, -(2n ** 63n));
  assert.deepEqual(await imported(folder, other, false, importOrders), added(1, 8n, 8n));
  const expected = [other, order, other.replace('-9223372036854775808', '8')];
  assert.equal(await exported(folder, { what: 'orders', format: 'json' }), `[\n${expected.join(',\n')}\n]\n`);
  const largest = other.replace('-9', '9').replace('808', '807');
  await imported(folder, largest, true, importOrders);
  await assert.rejects(imported(folder, other, false, importOrders), /line 1: all ids have been assigned/);
});

const good = '{"id":10,"name":"Rex","categoryId":1}';

test('an import with one wrong line changes nothing, and names the line, the field and the rule', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  await makeStore(folder);
  await imported(folder, good.replace('10', '8'), true);
  const before = filesIn(folder);
  type Wrong = [text: string, line: number, why: RegExp, keepIds?: boolean, work?: typeof importPets];
  const wrong: Wrong[] = [
    [`${good}\n{"name":1,"categoryId":1.5}\n`, 2, /name must be a string; categoryId must be an integer from/],
    [`${good}\n\n\n{"name":"a","categoryId":1,"status":"gone"}`, 4, /status must be one of available, pending, sold/],
    [`${good}\n7`, 2, /the value must be a JSON object: a NewPet/],
    [`${good}\n{"name":"a",}`, 2, /not JSON: expected a name but found "}"/],
    [`${good}\n{"name":"a","name":"b","categoryId":1}`, 2, /not JSON: .*name/],
    [`${good} ${good}`, 1, /not JSON: expected the end/],
    [`[${good},\n{\n"name":\n"a"}]`, 2, /categoryId is required/],
    [`[${good},\n{\n"name":\nnul}]`, 4, /not JSON/],
    [`[${good},\n]`, 2, /not JSON: expected a value/],
    [`[${good}\n${good}]`, 2, /not JSON/],
    [`[${good}`, 1, /the array does not end/],
    [`[${good}]\n,`, 2, /the file continues after the array/],
    [`${good}\n{"name":"${'x'.repeat(70_000)}","categoryId":1}`, 2, /a value has more than 66560 bytes/],
    [`${good}\n"\xff`, 2, /not JSON/],
    [`${good}\n${good}`, 2, /the id 10 is not greater than 10, the one before: sort by id/, true],
    [`${good}\n${good.replace('10', '9')}`, 2, /the id 9 is not greater than 10/, true],
    [good.replace('10', '2'), 1, /there is an animal with the id 2/, true],
    [`\n${good.replace('10', '8')}`, 2, /there is an animal with the id 8/, true],
    [good.replace('10', '0'), 1, /id must be an integer from 1 to 999999999999999/, true],
    [good.replace('10', '1e15'), 1, /id must be an integer from 1/, true],
    [good.replace('10', '"4"'), 1, /id must be an integer from 1/, true],
    ['{"name":"a","categoryId":1}', 1, /id must be an integer from 1/, true],
    ['7', 1, /the value must be a JSON object/, true],
    [order.replace('"quantity":2', '"quantity":0'), 1, /quantity must be an integer from 1 to/, false, importOrders],
    [order, 1, /there is an order with the id 7/, true, importOrders],
    [`[${order.replace(':7', ':8')},\n${order.replace(':7', ':8')}]`, 2, /an order with the id 8/, true, importOrders],
    [order.replace('"id":7,', ''), 1, /id must be an int64/, true, importOrders],
    ['[]\n[]', 2, /continues/, true, importOrders],
    ['null', 1, /the value must be a JSON object: an order/, false, importOrders],
  ];
  for (const [text, line, why, keepIds, work] of wrong) {
    await assert.rejects(imported(folder, text, keepIds, work), (error: Error) => {
      assert.match(error.message, /\/imported, line [0-9]+: [^\n]*; nothing was imported$/);
      assert.ok(error.message.includes(`, line ${line}: `), `${error.message}, not line ${line}`);
      assert.match(error.message, why);
      return true;
    });
    assert.deepEqual(filesIn(folder), before, text);
  }
  await imported(folder, good.replace('10', '999999999999999'), true);
  await assert.rejects(imported(folder, good), /line 1: all ids up to 999999999999999 have been assigned/);
});

test('an import after which few ids or none are left says so', async (t) => {
  const parent = temporaryFolder(t);
  let number = 0;
  const warningOf = async (text: string, work = importPets): Promise<string | null> =>
    (await imported(join(parent, `${++number}`), text, true, work)).warning;
  const pet = (id: string): string => `{"id":${id},"name":"Rex","categoryId":1}`;
  const last = (id: string): string => `the id ${id} has been assigned, and ids end at 999999999999999, so `;
  const advice = 'export the animals, and import them without --keep-ids into a new data folder or database';
  assert.equal(await warningOf(pet('999999998999999')), null);
  for (const [id, effect] of [
    ['999999999000000', 'only 999999 animals can be added'], ['999999999999998', 'only 1 animal can be added'],
    ['999999999999999', 'no animal can be added'],
  ] as const) {
    assert.equal(await warningOf(`${pet('1')}\n${pet(id)}`), `${last(id)}${effect}; ${advice}`);
    const { notes, damage } = await verify(join(parent, `${number}`), progress);
    assert.deepEqual([notes, damage], [[`${last(id)}${effect}; ${advice}`], []]);
  }
  // The advice is right: the animals get new ids.
  const text = await exported(join(parent, `${number}`));
  assert.deepEqual(await imported(join(parent, 'new'), text), added(2, 1, 2));

  const withId = (id: bigint): string => order.replace(/"id":[0-9]+/, `"id":${id}`);
  assert.equal(await warningOf(withId(2n ** 63n - 1_000_001n), importOrders), null);
  assert.match(await warningOf(withId(2n ** 63n - 1n), importOrders) ?? '', /, so only 0 orders can be imported /);
});

test('an import lets the event loop turn, so that its lock can say which process holds the folder', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  await makeStore(folder);
  const pets = Array.from({ length: 5000 }, (_, i) => good.replace('10', `${10 + i}`)).join('\n');
  const orders = Array.from({ length: 5000 }, (_, i) => order.replace('7', `${10 + i}`)).join('\n');
  const works = [[pets, false, importPets], [pets, true, importPets], [orders, true, importOrders]] as const;
  for (const [text, keepIds, work] of works) {
    let inTurn = 0;
    let most = 0;
    const add = t.mock.method(Progress.prototype, 'add', () => void (most = Math.max(most, ++inTurn)));
    let turning = true;
    const turn = (): void => {
      inTurn = 0;
      if (turning) setImmediate(turn);
    };
    turn();
    try {
      assert.equal((await imported(join(folder, `../${keepIds}`), text, keepIds, work)).count, 5000);
    } finally {
      turning = false;
      add.mock.restore();
    }
    assert.ok(most <= 1001, `${most} values in one turn`);
  }
});

test('values are found in any layout, wherever a chunk of the file ends', (t) => {
  const path = join(temporaryFolder(t), 'values.json');
  const values = Array.from({ length: 3000 }, (_, i) => ({ a: `]},[{"\\${'x'.repeat(i % 997)}`, b: [i, { c: '"' }] }));
  for (const text of [
    JSON.stringify(values, null, 1), JSON.stringify(values), `\r\n ${JSON.stringify(values)} \n`,
    values.map((value) => `${JSON.stringify(value)}\r\n`).join(''),
  ]) {
    writeFileSync(path, text);
    const found = [...readValues(path)];
    assert.equal(found.length, values.length);
    for (const [index, { value }] of found.entries()) {
      const { items: [number] } = (value as JsonObject).get('b') as JsonArray;
      assert.equal((number as JsonNumber).text, `${index}`);
    }
    const expected = text.startsWith('[\n') ? [2, 11, 20] : text.startsWith('{') ? [1, 2, 3] : undefined;
    if (expected !== undefined) assert.deepEqual(found.slice(0, 3).map(({ line }) => line), expected);
  }
});

test('a running server exports what it holds, and refuses imports', async (t) => {
  const { parent, folder, stores: { pets } } = await serve(t);
  const lines = [...pets.table.pieces(3, Infinity)].map(String).join('');
  assert.equal(await exported(folder), lines.replaceAll(',\n', '\n'));
  assert.equal(await exported(folder, { what: 'orders', format: 'json' }), `[\n${order}\n]\n`);
  await assert.rejects(imported(folder, good), /is in use by process \d+ \(server, .*\); stop it before an import$/);
  assert.deepEqual(readdirSync(parent).sort(), ['exported', 'imported', 'store']);
});

test('an export to a file that fails leaves the file as it was', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  await makeStore(folder);
  const path = join(folder, '../exported');
  writeFileSync(path, 'old');
  writeFileSync(join(folder, 'pets.json'), 'damaged');
  await assert.rejects(exportTo(folder, path), /pets\.json/);
  assert.equal(readFileSync(path, 'utf8'), 'old');
  assert.equal(existsSync(`${path}.tmp`), false);
  const absent = `the folder ${join(folder, 'no')} does not exist; create it`;
  await assert.rejects(exportTo(folder, join(folder, 'no/file')), {
    message: `cannot write ${join(folder, 'no/file')}: ${absent}`,
  });
  await assert.rejects(exportTo(folder, folder), /store is not a regular file/); // nor may /dev/null be replaced
  assert.equal(existsSync(`${folder}.tmp`), false);
});

test('an export is synced before and after it gets its name; if the latter fails, the file is kept', async (t) => {
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  await makeStore(folder);
  const path = join(parent, 'exported');
  const expected = await exported(folder);
  writeFileSync(path, 'old');
  const seen: string[] = [];
  const temporaryPath = (): string =>
    join(parent, readdirSync(parent).find((name) => name.startsWith('exported.tmp-')) ?? 'none');
  const synced = (name: string): void => {
    const [old, temporary] = [path, temporaryPath()].map((one) => existsSync(one) && readFileSync(one, 'utf8'));
    seen.push(`${name}: ${old === expected ? 'new' : old}, ${temporary === expected ? 'new' : temporary}`);
  };
  const { fsyncSync } = fs;
  t.mock.method(fs, 'fsyncSync', (descriptor: number) => {
    if (fs.fstatSync(descriptor).ino === fs.statSync(temporaryPath()).ino) synced('file');
    fsyncSync(descriptor);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  await onSync(t, async (handle) => {
    if ((await handle.stat()).ino !== fs.statSync(parent).ino) return;
    synced('folder');
    throw Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO', syscall: 'fsync' });
  });
  const { count, unsynced } = await exportTo(folder, path);
  assert.deepEqual(seen, ['file: old, new', 'folder: new, false']);
  assert.equal(count, 3);
  assert.match(unsynced ?? '', /^cannot sync the folder of .*exported: EIO.*; the file was replaced, but a power cut/);
});

test('an export reads only the files that it needs', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  await makeStore(folder);
  const [animals, orders] = [await exported(folder), await exported(folder, { what: 'orders' })];
  const isDamaged = /, line 1: /;
  writeFileSync(join(folder, 'keys.json'), '{');
  const ordersFile = readFileSync(join(folder, 'orders.json'));
  writeFileSync(join(folder, 'orders.json'), '{');
  assert.equal(await exported(folder), animals);
  await assert.rejects(exported(folder, { what: 'orders' }), isDamaged);
  writeFileSync(join(folder, 'orders.json'), ordersFile);
  writeFileSync(join(folder, 'pets.json'), '{');
  assert.equal(await exported(folder, { what: 'orders' }), orders);
  await assert.rejects(exported(folder), isDamaged);
});

test('an import that has lost its lock changes nothing', async (t) => {
  const folder = join(temporaryFolder(t), 'store');
  await makeStore(folder);
  const before = filesIn(folder);
  const check = t.mock.method(FolderLock.prototype, 'check');
  let calls = 0;
  await imported(folder, '');
  const most = check.mock.callCount();
  assert.ok(most > 0);
  check.mock.mockImplementation(() => {
    if (++calls > most) throw new Error('lost');
  });
  await assert.rejects(imported(folder, good), /lost/);
  assert.equal(filesIn(folder).get('pets.json'), before.get('pets.json'));
  check.mock.mockImplementation(() => {
    throw new Error('lost');
  });
  await assert.rejects(imported(folder, order.replace('7', '8'), true, importOrders), /lost/);
  assert.equal(filesIn(folder).get('orders.json'), before.get('orders.json'));
});

test('concurrent exports to one file do not disturb each other, and a link to it is kept', async (t) => {
  const place = temporaryFolder(t);
  const [folder, file, link] = [join(place, 'store'), join(place, 'file'), join(place, 'link')];
  await makeStore(folder);
  writeFileSync(file, 'old');
  symlinkSync(file, link);
  const mine = `${file}.tmp`;
  writeFileSync(mine, 'of somebody else');
  const counts = await Promise.all([exportTo(folder, link), exportTo(folder, file), exportTo(folder, link)]);
  assert.deepEqual(counts.map(({ count }) => count), [3, 3, 3]);
  assert.equal(readFileSync(file, 'utf8').split('\n').length, 4);
  assert.ok(lstatSync(link).isSymbolicLink());
  assert.equal(readFileSync(mine, 'utf8'), 'of somebody else');
  assert.deepEqual(readdirSync(place).sort(), ['file', 'file.tmp', 'link', 'store']);
});
