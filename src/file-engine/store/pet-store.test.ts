import assert from 'node:assert/strict';
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import * as fc from 'fast-check';
import { OperatorError } from '../../domain/operator-error.ts';
import { maxPetId, petLine, petStatuses, type NewPet } from '../../domain/pet.ts';
import { UnavailableError } from '../../engine.ts';
import { AppendFile } from '../files/append-file.ts';
import { storeIdOf } from '../files/store-id.ts';
import { onSync } from '../../testing/file-handle.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { encodeMarker, encodeRecords } from './journal-format.ts';
import { LineTable } from './line-table.ts';
import { PetStore } from './pet-store.ts';
import { writeSnapshot } from './snapshot.ts';
import { bytesOfBody } from '../../testing/bytes.ts';
import { testStore } from '../../testing/journal.ts';

const all = { limit: 100, after: undefined, status: undefined };
const rex: NewPet = { name: 'Rex', categoryId: 1n, status: 'available' };
/** 70 of these are more than `minJournalBytes`, 69 are not. */
const large: NewPet = { name: 'x'.repeat(60_000), categoryId: -9223372036854775808n, status: 'pending' };
const minJournalBytes = 4 * 1024 * 1024;

async function openStore(folder: string): Promise<{ store: PetStore; logged: string[] }> {
  const logged: string[] = [];
  return { store: await PetStore.open(folder, (line) => logged.push(line), { minJournalBytes }), logged };
}

/** Returns the lines of all animals that a start finds. The start must log nothing. */
async function linesIn(folder: string): Promise<string[]> {
  const { store, logged } = await openStore(folder);
  const { table } = store;
  const lines = Array.from({ length: table.count }, (_, index) => table.get(String(index + 1))?.toString() ?? '');
  await store.close();
  assert.deepEqual(logged, []);
  return lines;
}

const create = (store: PetStore, count: number, pet = rex): Promise<number[]> =>
  Promise.all(Array.from({ length: count }, () => store.create(pet).then(({ id }) => id)));
const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);
const journalsIn = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.journal'))
    .sort();
const countIn = (snapshot: string): number =>
  (JSON.parse(readFileSync(snapshot, 'utf8')) as { pets: unknown[] }).pets.length;
const eio = (): Promise<never> =>
  Promise.reject(Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }));

test('ids are 1, 2, 3, … in the order of creation, across restarts', async (t) => {
  const folder = temporaryFolder(t);
  for (let round = 0; round < 4; round++) {
    const { store } = await openStore(folder);
    assert.deepEqual(await create(store, 3), numbers(4 * round + 1, 4 * round + 3));
    const { id, line } = await store.create({ ...rex, name: `last of ${round}` });
    assert.equal(line.toString(), petLine(id, { ...rex, name: `last of ${round}` }));
    await store.close();
    if (round % 2 === 0) continue;
    const again = await openStore(folder);
    assert.equal(again.store.table.count, 4 * round + 4);
    await again.store.close();
  }
});

test('a created animal is found at once, in its page, by its id and by its status', async (t) => {
  const { store } = await openStore(temporaryFolder(t));
  const creating = create(store, 5);
  assert.equal(store.table.count, 0, 'nothing is visible before it is on disk');
  await creating;
  await store.create({ ...rex, status: 'sold' });
  assert.equal(store.table.get('0'), null);
  assert.equal(store.table.get('7'), null);
  assert.equal(store.table.get('6')!.toString(), petLine(6, { ...rex, status: 'sold' }));
  const { body, next } = store.table.page({ limit: 2, after: '3', status: 'available' });
  assert.equal(bytesOfBody(body).toString(), `[${[4, 5].map((id) => petLine(id, rex)).join(',\n')}]`);
  assert.equal(next, null);
  assert.equal(store.table.page({ ...all, limit: 4 }).next, '4');
  await store.close();
});

test('names and categories are returned exactly as they were sent, after a restart too', async (t) => {
  const folder = temporaryFolder(t);
  const unit = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }),
    fc.constantFrom(0, 0x0a, 0x22, 0x5c, 0x2028, 0xd83d, 0xde00, 0xd800, 0xdfff),
  );
  const pets = fc.array(
    fc.record({
      name: fc.array(unit, { maxLength: 20 }).map((units) => String.fromCharCode(...units)),
      categoryId: fc.oneof(
        fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
        fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n + 1n),
      ),
      status: fc.constantFrom(...petStatuses),
    }),
    { minLength: 1, maxLength: 30 },
  );
  const sent: NewPet[] = [];
  const checkPets = (store: PetStore): void => {
    for (const [index, pet] of sent.entries()) {
      const bytes = store.table.get(String(index + 1))!;
      assert.equal(bytes, petLine(index + 1, pet));
      const line = Buffer.from(bytes, 'latin1').toString();
      assert.equal((JSON.parse(line) as { name: string }).name, pet.name);
      assert(line.includes(`"categoryId":${pet.categoryId},`));
    }
    assert.equal(store.table.count, sent.length);
  };
  await fc.assert(
    fc.asyncProperty(pets, async (pets) => {
      const { store, logged } = await openStore(folder);
      checkPets(store);
      await Promise.all(pets.map((pet) => store.create(pet)));
      sent.push(...pets);
      checkPets(store);
      await store.close();
      assert.deepEqual(logged, []);
    }),
    { numRuns: 20 },
  );
  const disk = readFileSync(join(folder, 'pets.1.journal'), 'utf8');
  for (const { categoryId } of sent) assert(disk.includes(`"categoryId":${categoryId},`));
});

test('a failed write is 503 and logged once; its ids are not used again, its animals are not visible', async (t) => {
  const folder = temporaryFolder(t);
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { store, logged } = await openStore(folder);
  await create(store, 2);
  assert.equal(await store.writable(), true);

  const sync = t.mock.method(AppendFile.prototype, 'sync', eio);
  for (const _ of numbers(1, 2)) {
    const results = await Promise.allSettled([store.create(rex), store.create(rex)]);
    for (const result of results) {
      assert(result.status === 'rejected' && result.reason instanceof UnavailableError);
      assert.equal(result.reason.retryAfterSeconds, 5);
      assert(!result.reason.message.includes('EIO'), 'no internal detail is visible');
    }
  }
  assert.equal(await store.writable(), false);
  assert.equal(store.table.count, 2);
  assert.equal(store.table.get('3'), null);
  assert.deepEqual(logged, [
    `cannot write the journal of ${join(folder, 'pets.json')}: EIO: i/o error; ` +
      'creates are refused until it succeeds; the disk may be failing: the log of the machine says more',
  ]);

  sync.mock.restore();
  assert.equal(await store.writable(), false, 'it was tried less than 5 s ago');
  now += 5_000;
  assert.equal(await store.writable(), true, 'it writes to find out');
  assert.deepEqual(logged.slice(1), [`the journal of ${join(folder, 'pets.json')} can be written again`]);
  assert.deepEqual(await create(store, 2), [7, 8]);
  assert.equal(
    bytesOfBody(store.table.page(all).body).toString(),
    `[${[1, 2, 7, 8].map((id) => petLine(id, rex)).join(',\n')}]`,
  );
  await store.close();

  const again = await openStore(folder);
  assert.equal(
    bytesOfBody(again.store.table.page(all).body).toString(),
    `[${[1, 2, 7, 8].map((id) => petLine(id, rex)).join(',\n')}]`,
  );
  assert.deepEqual(await create(again.store, 1), [9]);
  assert.deepEqual(again.logged, []);
  await again.store.close();
});

test('a disk that cannot be written is noticed without a create, by one probe in 5 s', async (t) => {
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  const { store, logged } = await openStore(temporaryFolder(t));
  const probes = t.mock.method(AppendFile.prototype, 'reserve', () => Promise.reject(new Error('EROFS')));
  const ask = (count: number): Promise<boolean[]> => Promise.all(numbers(1, count).map(() => store.writable()));
  assert.deepEqual(await ask(3), [false, false, false]);
  assert.equal(logged.length, 1);
  now += 4_999;
  assert.deepEqual(await ask(3), [false, false, false]);
  assert.equal(probes.mock.callCount(), 1);
  probes.mock.restore();
  now += 1;
  assert.deepEqual(await ask(3), [true, true, true]);
  assert.equal(logged.length, 2);
  const sync = t.mock.method(AppendFile.prototype, 'sync');
  now += 4_999;
  await ask(3);
  assert.equal(sync.mock.callCount(), 0);
  now += 1;
  await ask(3);
  assert.equal(sync.mock.callCount(), 1);
  await store.close();
});

test('if no id is left, creates are refused for good, and the log says what to do', async (t) => {
  const folder = temporaryFolder(t);
  const table = new LineTable();
  table.append(Buffer.from('{"id":999999999999998,"name":"","categoryId":1,"status":"sold"}'), 'sold');
  const state = { store: storeIdOf(folder), sequence: 1, lastId: 999_999_999_999_998 };
  await writeSnapshot(join(folder, 'pets.json'), table, state);
  const { store, logged } = await openStore(folder);
  const warnings = (): string[] => logged.filter((line) => line.includes('ids end at 999999999999999'));
  assert.match(warnings().join(), /^[^,]*: the id 9{14}8 has been assigned, .*, so only 1 animal can be added; /);
  assert.equal((await store.create(rex)).id, 999_999_999_999_999);
  assert.match(warnings()[1] ?? '', /, so no animal can be added; export the animals, and import them without /);
  for (let attempt = 0; attempt < 2; attempt++) {
    await assert.rejects(store.create(rex), (error: UnavailableError) => {
      assert.equal(error.retryAfterSeconds, undefined);
      assert.match(error.message, /no later one can be: .*The operator of this service can export the animals, /);
      return true;
    });
    assert.equal(await store.writable(), false);
  }
  assert.match(store.figures?.creates.refusal ?? '', /no animal can be added/);
  const before = logged.length;
  await store.close();
  const again = await openStore(folder);
  assert.match(again.logged.join(), /no animal can be added/);
  await again.store.close();
  assert.equal(logged.length, before);
});

test('a folder is refused if the numbers of its next records could not be read', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'pets.json');
  await writeSnapshot(path, new LineTable(), { store: storeIdOf(folder), sequence: 999_999_999_999_999, lastId: 0 });
  await assert.rejects(openStore(folder), (error: Error) => {
    assert.match(error.message, /pets\.json, line 1: the number of a record is 9{15}, but may be 9{6}0{9} at most; /);
    return error instanceof OperatorError;
  });
  assert.deepEqual(readdirSync(folder), ['pets.json']);
});

test('the first create that succeeds after a failure is logged', async (t) => {
  const { store, logged } = await openStore(temporaryFolder(t));
  const sync = t.mock.method(AppendFile.prototype, 'sync', eio);
  await assert.rejects(store.create(rex), UnavailableError);
  sync.mock.restore();
  await create(store, 2);
  await create(store, 1);
  assert.equal(logged.length, 2);
  await store.close();
});

test('a snapshot of all animals is written when the journal exceeds its minimal length, not before', async (t) => {
  const folder = temporaryFolder(t);
  const snapshot = join(folder, 'pets.json');
  const { store, logged } = await openStore(folder);
  await create(store, 69, large);
  await store.close();
  assert(!existsSync(snapshot), 'not before');

  const again = await openStore(folder);
  await create(again.store, 6, large);
  await again.store.close(); // this waits for the snapshot
  assert.equal(countIn(snapshot), 75);
  assert.deepEqual(journalsIn(folder), ['pets.76.journal']);
  assert(statSync(join(folder, 'pets.76.journal')).size < 200);
  assert.deepEqual([...logged, ...again.logged], []);
  assert.deepEqual(await linesIn(folder), numbers(1, 75).map((id) => petLine(id, large)));

  // Now the journal must be larger than the snapshot.
  const third = await openStore(folder);
  await create(third.store, 70, large);
  await third.store.close();
  assert.equal(countIn(snapshot), 75);
  const fourth = await openStore(folder);
  assert.deepEqual(await create(fourth.store, 6, large), numbers(146, 151));
  await fourth.store.close();
  assert.equal(countIn(snapshot), 151);
  assert.equal((await linesIn(folder)).length, 151);
});

test('the snapshot contains the last assigned id, even if none of its animals has it', async (t) => {
  const folder = temporaryFolder(t);
  const { store } = await openStore(folder);
  await create(store, 69, large);
  const { sync } = AppendFile.prototype;
  let late: Promise<unknown> | null = null;
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    // While a new segment is started: the record is in that segment.
    if (store.table.count === 70) late ??= store.create(rex);
    await sync.call(this);
  });
  await create(store, 1, large);
  await store.close();
  await late;
  const { lastId, count } = JSON.parse(readFileSync(join(folder, 'pets.json'), 'utf8')) as {
    lastId: number;
    count: number;
  };
  assert.deepEqual([lastId, count], [71, 70]);
  for (const name of journalsIn(folder)) rmSync(join(folder, name)); // the journal has the id as well
  const again = await openStore(folder);
  assert.deepEqual(await create(again.store, 1), [72]);
  await again.store.close();
});

test('while a snapshot is written, creates and pages work, and a killed process can start again', async (t) => {
  const root = temporaryFolder(t);
  const folder = join(root, 'store');
  mkdirSync(folder);
  const { store, logged } = await openStore(folder);
  await create(store, 69, large);
  const confirmed = new Map(numbers(1, 69).map((id) => [id, petLine(id, large)]));
  const states: { folder: string; names: string; confirmed: number }[] = [];
  const keep = (): void => {
    const copy = join(root, `state-${states.length}`);
    cpSync(folder, copy, { recursive: true });
    states.push({ folder: copy, names: readdirSync(copy).sort().join(' '), confirmed: confirmed.size });
  };
  const createOne = async (): Promise<void> => {
    const { id, line } = await store.create(rex);
    confirmed.set(id, line);
  };
  const sync = AppendFile.prototype.sync;
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    keep();
    await sync.call(this);
    keep();
  });
  let meanwhile = 0;
  await onSync(t, async () => {
    keep();
    if (!existsSync(join(folder, 'pets.json.tmp')) && !existsSync(join(folder, 'pets.json'))) return;
    await createOne(); // the snapshot waits for this
    meanwhile++;
    assert(store.table.get(String(confirmed.size)) !== null);
    assert.equal(
      JSON.parse(bytesOfBody(store.table.page({ ...all, limit: 2, after: '70' }).body).toString()).length,
      Math.min(2, confirmed.size - 70),
    );
    keep();
  });
  const { id, line } = await store.create(large);
  confirmed.set(id, line);
  await store.close();
  t.mock.restoreAll();
  keep();
  assert(meanwhile >= 2, 'one create before the snapshot has its name, and one after it');
  assert.deepEqual(logged, []);

  // These are all states of the folder while a snapshot is written.
  const seen = states.map(({ names }) => names);
  for (const names of [
    'pets.1.journal',
    'pets.1.journal pets.71.journal.tmp',
    'pets.1.journal pets.71.journal',
    'pets.1.journal pets.71.journal pets.json.tmp',
    'pets.1.journal pets.71.journal pets.json',
    'pets.71.journal pets.json',
  ]) assert(seen.includes(names), `${names} is not among ${seen.join('; ')}`);
  for (const { folder, names, confirmed: count } of states) {
    const lines = await linesIn(folder);
    assert(lines.length >= count && lines.length <= confirmed.size, `${names}: ${lines.length} of ${count}`);
    for (const [index, line] of lines.entries()) assert.equal(line, confirmed.get(index + 1), names);
    const { store } = await openStore(folder); // a second start
    assert.equal(store.table.count, lines.length);
    assert.deepEqual(await create(store, 1), [lines.length + 1]);
    await store.close();
  }
});

test('an incomplete temporary snapshot is ignored', async (t) => {
  const folder = temporaryFolder(t);
  const { store } = await openStore(folder);
  await create(store, 3);
  await store.close();
  writeFileSync(join(folder, 'pets.json.tmp'), '{"format":"petstore","version":2,"sequence":2,"las');
  writeFileSync(join(folder, 'pets.9.journal.tmp'), '{"seq":8');
  assert.equal((await linesIn(folder)).length, 3);
});

test('a snapshot that fails is logged, and tried again when the journal has grown by its minimal length', async (t) => {
  const folder = temporaryFolder(t);
  const { store, logged } = await openStore(folder);
  mkdirSync(join(folder, 'pets.json.tmp'));
  await create(store, 80, large);
  await store.close();
  assert.equal(logged.length, 1);
  assert.match(
    logged[0]!,
    new RegExp(`^no new snapshot: .*${join(folder, 'pets.json')}.*; no animal is lost, because the journal is kept$`),
  );
  assert.equal((await linesIn(folder)).length, 80);

  const again = await openStore(folder);
  const failed = async (): Promise<void> => {
    while (again.logged.length === 0) await create(again.store, 1);
  };
  await failed();
  const first = again.logged.length;
  await create(again.store, 60, large);
  assert.equal(again.logged.length, first, 'not at once');
  assert.equal(await again.store.writable(), true);
  rmdirSync(join(folder, 'pets.json.tmp'));
  await create(again.store, 20, large);
  await again.store.close();
  assert.equal(again.logged.length, first);
  assert.equal(countIn(join(folder, 'pets.json')), again.store.table.count);
  assert.equal(journalsIn(folder).length, 1);
  assert.equal((await linesIn(folder)).length, again.store.table.count);
});

test('if no segment can be started, the journal continues as it was', async (t) => {
  const folder = temporaryFolder(t);
  const { store, logged } = await openStore(folder);
  mkdirSync(join(folder, 'pets.76.journal.tmp'));
  await create(store, 75, large);
  await create(store, 5);
  await store.close();
  assert.equal(logged.length, 1);
  rmdirSync(join(folder, 'pets.76.journal.tmp'));
  assert.equal((await linesIn(folder)).length, 80);
});

test('close waits for all creates under way and starts no snapshot', async (t) => {
  const folder = temporaryFolder(t);
  const { store, logged } = await openStore(folder);
  await create(store, 69, large);
  const creating = create(store, 3, large);
  await store.close();
  assert.deepEqual(await creating, [70, 71, 72]);
  assert.deepEqual(logged, []);
  assert.deepEqual(readdirSync(folder), ['pets.1.journal']);
  assert.equal((await linesIn(folder)).length, 72);
});

test('a start with a damaged file is refused with its name and line, and changes nothing', async (t) => {
  const root = temporaryFolder(t);
  const folder = join(root, 'store');
  mkdirSync(folder);
  const first = await openStore(folder);
  await create(first.store, 80, large);
  await first.store.close();
  const second = await openStore(folder);
  for (const _ of numbers(1, 3)) await second.store.create(rex);
  await second.store.close();
  writeFileSync(join(folder, 'pets.json.tmp'), 'left over');
  const contents = (): Map<string, string> =>
    new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'latin1')]));
  const good = contents();
  const damages: [name: string, find: string, line: number][] = [
    ['pets.json', '"id":33', 34],
    ['pets.json', '"lastId"', 1],
    ['pets.81.journal', '"id":81', 2],
    ['pets.81.journal', '"id":82', 3],
  ];
  for (const [name, find, line] of damages) {
    const text = good.get(name)!;
    const at = text.indexOf(find) + 5;
    writeFileSync(join(folder, name), `${text.slice(0, at)}#${text.slice(at + 1)}`, 'latin1');
    // The journal has a torn end as well, which must not be set aside now.
    if (name === 'pets.json') writeFileSync(join(folder, 'pets.81.journal'), good.get('pets.81.journal')!.slice(0, -5));
    const damaged = contents();
    const times = readdirSync(folder).map((name) => statSync(join(folder, name)).mtimeMs);
    await assert.rejects(PetStore.open(folder, assert.fail), (error) => {
      return error instanceof OperatorError && error.message.startsWith(`${join(folder, name)}, line ${line}: `);
    }, `${name} ${find}`);
    assert.deepEqual(contents(), damaged);
    assert.deepEqual(readdirSync(folder).map((name) => statSync(join(folder, name)).mtimeMs), times);
    for (const [name, text] of good) writeFileSync(join(folder, name), text, 'latin1');
  }
  assert.equal((await linesIn(folder)).length, 83);
  rmSync(join(folder, 'pets.json'));
  await assert.rejects(PetStore.open(folder, assert.fail), OperatorError, 'without its snapshot');
  assert.equal(good.get('pets.json')!.length > minJournalBytes, true);
});

test('after a kill while the journal is started again, the next start finds all confirmed animals', async (t) => {
  const root = temporaryFolder(t);
  for (const isReplaced of [false, true]) {
    const folder = join(root, `store-${isReplaced}`);
    mkdirSync(folder);
    const { store } = await openStore(folder);
    await create(store, 2);
    await store.snapshot();
    await create(store, 3);
    const journal = join(folder, 'pets.3.journal');
    cpSync(journal, `${journal}-copy`);
    if (isReplaced) renameSync(`${journal}-copy`, journal);
    else rmSync(journal);
    const states: string[] = [];
    const keep = (): void => {
      const copy = `${folder}-${states.length}`;
      cpSync(folder, copy, { recursive: true });
      states.push(copy);
    };
    const { sync } = AppendFile.prototype;
    t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
      keep();
      await sync.call(this);
      keep();
    });
    await onSync(t, keep);
    assert.deepEqual(await create(store, 1), [6]);
    t.mock.restoreAll();
    await store.close();
    keep();
    const found = new Set<number>();
    for (const state of states) {
      const isSaved = countIn(join(state, 'pets.json')) === 5;
      const again = await openStore(state);
      found.add(again.store.table.count);
      assert(again.store.table.count >= (isSaved || isReplaced ? 5 : 2), `${state}: ${readdirSync(state).join()}`);
      await again.store.close();
    }
    assert.deepEqual([...found].sort(), isReplaced ? [5, 6] : [2, 5, 6]);
    assert.equal((await openStore(states.at(-1)!)).store.table.count, 6);
  }
});

test('an id of more than 15 digits, which no snapshot can state, is neither read nor assigned', async (t) => {
  const place = async (write: (folder: string) => void | Promise<unknown>): Promise<string> => {
    const folder = temporaryFolder(t);
    await write(folder);
    return folder;
  };
  const encode = (id: number): Buffer => {
    const pets = [{ id, line: petLine(id, rex), status: rex.status }];
    return Buffer.concat([encodeMarker(0), encodeRecords(pets, 0, Buffer.alloc(0)).bytes]);
  };
  const inSnapshot = await place(async (folder) => {
    const table = new LineTable();
    for (const id of [7, maxPetId + 1]) table.append(Buffer.from(petLine(id, rex)), rex.status);
    await writeSnapshot(join(folder, 'pets.json'), table, { store: testStore, sequence: 2, lastId: 7 });
  });
  const inJournal = await place((folder) => writeFileSync(join(folder, 'pets.1.journal'), encode(maxPetId + 1)));
  for (const [folder, name, line] of [[inSnapshot, 'pets.json', 3], [inJournal, 'pets.1.journal', 2]] as const) {
    const before = readFileSync(join(folder, name));
    const why = 'the id has more than 15 digits; nothing was changed; restore the data folder from a backup';
    await assert.rejects(openStore(folder), { message: `${join(folder, name)}, line ${line}: ${why}` });
    assert.deepEqual([readdirSync(folder), readFileSync(join(folder, name))], [[name], before]);
  }
  const last = await place((folder) => writeFileSync(join(folder, 'pets.1.journal'), encode(maxPetId - 1)));
  const { store } = await openStore(last);
  assert.deepEqual(await create(store, 1), [maxPetId]);
  await assert.rejects(store.create(rex), UnavailableError);
  await store.snapshot();
  await store.close();
  const again = await openStore(last);
  assert.equal(again.store.table.lastId, BigInt(maxPetId));
  await again.store.close();
});

/** Writes a snapshot of several chunks, and a journal of several chunks. */
async function fillChunks(folder: string): Promise<void> {
  const { store } = await openStore(folder);
  await create(store, 10, large);
  await store.snapshot();
  await create(store, 10, large);
  await store.close();
}

test('the progress of a load is reported, and is 100 only at its end', async (t) => {
  const folder = temporaryFolder(t);
  const empty = new PetStore(folder, assert.fail);
  assert.equal(empty.progress, 0);
  await empty.load();
  assert.equal(empty.progress, 100);
  await empty.close();
  await fillChunks(folder);
  const store = new PetStore(folder, assert.fail);
  const seen: number[] = [];
  await store.load(() => seen.push(store.progress));
  assert.deepEqual(seen, seen.toSorted((a, b) => a - b));
  assert(new Set(seen).size === 7 && seen[0] === 0 && seen[1]! < 30 && seen.at(-1) === 99, seen.join());
  assert.equal(store.progress, 100);
  assert.equal(store.table.count, 20);
  await store.close();
});

test('a load that is ended at any time changes nothing', async (t) => {
  const folder = temporaryFolder(t);
  await fillChunks(folder);
  appendFileSync(join(folder, journalsIn(folder).at(-1)!), '{"seq":21,"dur'); // torn: a load that completes removes it
  const contents = (): string[] => readdirSync(folder).map((name) => name + readFileSync(join(folder, name), 'latin1'));
  const before = contents();
  const ended = new Error('ended');
  for (let calls = 1, done = false; !done; calls++) {
    let left = calls;
    const store = new PetStore(folder, () => {});
    const load = store.load(() => {
      if (--left === 0) throw ended;
    });
    const error: unknown = await load.then(() => store.close(), (reason: unknown) => reason);
    done = error === undefined;
    assert(done ? calls > 8 : error === ended, String(error));
    if (!done) assert.deepEqual(contents(), before);
  }
  assert.equal((await linesIn(folder)).length, 20);
});
