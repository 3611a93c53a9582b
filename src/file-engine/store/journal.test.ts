import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { AppendFile } from '../files/append-file.ts';
import { contentOf, linesOf, numbers, onFolderSync, openJournal, pet, turns, until } from '../../testing/journal.ts';
import { stopTime } from '../../testing/timers.ts';
import { temporaryFolder } from '../../../harness/owner.ts';

function crcByDefinition(text: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (~crc >>> 0).toString(16).padStart(8, '0');
}

test('every line is JSON with its number, the last durable number, and a checksum', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'pets.1.journal');
  const { journal, applied } = await openJournal(folder);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await journal.append(pet(1));
  await journal.idle(); // a marker is written
  await Promise.all([journal.append(pet(2, 'é\\n\\ud800')), journal.append(pet(5))]);
  await journal.close();
  assert.equal(journal.durable, 3);
  assert.deepEqual(applied, [1, 2, 5]);
  assert.deepEqual(linesOf(path).map(({ seq, durable, pet }) => [seq, durable, pet?.id ?? null]), [
    [0, 0, null],
    [1, 0, 1],
    [1, 1, null],
    [2, 1, 2],
    [3, 1, 5],
    [3, 3, null],
  ]);
  for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    const [, before, crc] = /^(.*),"crc":"([0-9a-f]{8})"\}$/.exec(line) ?? [];
    assert.equal(crc, crcByDefinition(before!));
  }
  assert(
    readFileSync(path, 'latin1').includes(`"pet":${pet(2, 'é\\n\\ud800').line},"crc"`),
    'the animal is in it byte for byte',
  );
});

test('a marker is written when no record has come for 10 ms, or at the end', async (t) => {
  const folder = temporaryFolder(t);
  const pass = stopTime(t);
  const { journal } = await openJournal(folder);
  const durables = (): number[] => linesOf(join(folder, 'pets.1.journal')).map(({ durable }) => durable);
  for (const id of numbers(1, 3)) {
    await journal.append(pet(id));
    await turns(5);
    await pass(9);
  }
  assert.deepEqual(durables(), [0, 0, 1, 2]);
  await pass(1);
  await until(() => durables().length === 5);
  assert.equal(durables().at(-1), 3);
  await pass(1_000);
  await journal.append(pet(4));
  await turns(5);
  assert.deepEqual(durables(), [0, 0, 1, 2, 3, 3]);
  await journal.close();
  assert.deepEqual(durables(), [0, 0, 1, 2, 3, 3, 4]);
});

test('zeros follow the last line; close and rotation remove them, and a start ignores them', async (t) => {
  const root = temporaryFolder(t);
  const [folder, killed] = [join(root, 'store'), join(root, 'killed')];
  mkdirSync(folder);
  const path = join(folder, 'pets.1.journal');
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await journal.append(pet(2));
  const length = statSync(path).size;
  assert(length > contentOf(path).length + 100_000);
  for (const id of numbers(3, 20)) await journal.append(pet(id));
  assert.equal(statSync(path).size, length, 'the file does not grow with each record');
  cpSync(folder, killed, { recursive: true });

  const again = await openJournal(killed);
  assert.deepEqual([again.applied, again.logged], [numbers(1, 20), []]);
  await again.journal.append(pet(21));
  await again.journal.close();
  assert.deepEqual(readdirSync(killed), ['pets.1.journal'], 'no file is set aside');
  assert.deepEqual(linesOf(join(killed, 'pets.1.journal')).flatMap(({ pet }) => pet?.id ?? []), numbers(1, 21));

  await journal.rotate();
  await journal.append(pet(21));
  await journal.close();
  for (const name of readdirSync(folder)) assert.equal(readFileSync(join(folder, name)).indexOf(0), -1, name);
});

test('a promise resolves after the sync of its record, and nothing is added to the table before', async (t) => {
  const folder = temporaryFolder(t);
  const { journal, applied } = await openJournal(folder);
  const events: string[] = [];
  let letGo = (): void => {};
  const sync = AppendFile.prototype.sync;
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    const records = linesOf(join(folder, 'pets.1.journal')).filter(({ pet }) => pet !== undefined);
    events.push(`sync of ${records.length}`);
    await new Promise<void>((resolve) => (letGo = resolve));
    await sync.call(this);
    events.push('synced');
  });
  const append = (id: number): Promise<void> => journal.append(pet(id)).then(() => void events.push(`${id} done`));
  const first = append(1);
  await until(() => events.length === 1);
  const second = append(2); // during a sync: it waits for the next one
  const third = append(3);
  await turns(5);
  assert.deepEqual(events, ['sync of 1']);
  assert.deepEqual(applied, []);
  letGo();
  await first;
  await until(() => events.length === 4);
  assert.deepEqual(applied, [1]);
  assert.deepEqual(events, ['sync of 1', 'synced', '1 done', 'sync of 3']);
  letGo();
  await Promise.all([second, third]);
  assert.deepEqual(events, ['sync of 1', 'synced', '1 done', 'sync of 3', 'synced', '2 done', '3 done']);
  t.mock.restoreAll();
  await journal.close();
});

test('a hundred concurrent appends share a sync', async (t) => {
  const folder = temporaryFolder(t);
  const { journal, applied } = await openJournal(folder);
  const sync = t.mock.method(AppendFile.prototype, 'sync');
  await Promise.all(numbers(1, 100).map((id) => journal.append(pet(id))));
  assert(sync.mock.callCount() <= 2, `${sync.mock.callCount()} syncs`);
  assert.deepEqual(applied, numbers(1, 100));
  await Promise.all(numbers(101, 200).map(async (id) => {
    await turns(id % 3); // at different times
    await journal.append(pet(id));
  }));
  assert(sync.mock.callCount() <= 10, `${sync.mock.callCount()} syncs`);
  await journal.close();
  const records = linesOf(join(folder, 'pets.1.journal')).filter(({ pet }) => pet !== undefined);
  assert.deepEqual(records.map(({ seq }) => seq), numbers(1, 200));
  assert(new Set(records.map(({ durable }) => durable)).size <= 10);
});

test('a single append waits for one turn of the event loop, even if many preceded it', async (t) => {
  const { journal } = await openJournal(temporaryFolder(t));
  for (const before of [0, 10]) {
    await Promise.all(numbers(1, before).map((id) => journal.append(pet(id))));
    await journal.idle();
    const append = t.mock.method(AppendFile.prototype, 'append');
    const appended = journal.append(pet(before + 1));
    await turns(1);
    assert.equal(append.mock.callCount(), 1);
    await appended;
    append.mock.restore();
  }
  await journal.close();
});

test('records of clients that send again at once share a write, which waits for some turns', async (t) => {
  const { journal } = await openJournal(temporaryFolder(t));
  t.mock.method(performance, 'now', () => 0); // independent of the speed of the machine
  const append = t.mock.method(AppendFile.prototype, 'append');
  await Promise.all(numbers(1, 10).map(async (id) => {
    await journal.append(pet(id));
    await turns((id % 4) * 2);
    await journal.append(pet(id + 10));
  }));
  assert.equal(append.mock.callCount(), 2);
  const nine = Promise.all(numbers(21, 29).map((id) => journal.append(pet(id))));
  await turns(7);
  assert.equal(append.mock.callCount(), 3);
  await nine;
  await journal.close();
});

test('a write waits at most two milliseconds for records that arrive one by one', async (t) => {
  const { journal } = await openJournal(temporaryFolder(t));
  let now = 0;
  t.mock.method(performance, 'now', () => now);
  await Promise.all(numbers(1, 50).map((id) => journal.append(pet(id))));
  const append = t.mock.method(AppendFile.prototype, 'append');
  const appended: Promise<void>[] = [];
  for (const id of numbers(51, 55)) {
    appended.push(journal.append(pet(id)));
    now++;
    await turns(1);
  }
  assert.equal(append.mock.callCount(), 1);
  await Promise.all(appended);
  await journal.close();
});

test('records from different callbacks in one turn of the event loop share a sync', async (t) => {
  const { journal } = await openJournal(temporaryFolder(t));
  const sync = t.mock.method(AppendFile.prototype, 'sync');
  await Promise.all(
    numbers(1, 10).map((id) => new Promise((resolve) => setImmediate(resolve)).then(() => journal.append(pet(id)))),
  );
  assert.equal(sync.mock.callCount(), 1);
  await journal.close();
});

test('an append at the moment when a group ends is not forgotten', async (t) => {
  const { journal, applied } = await openJournal(temporaryFolder(t));
  // `distance` is the number of promises between the end of the group and the caller. A forgotten append would hang.
  for (let distance = 0; distance < 12; distance++) {
    const wrapped = async (depth: number): Promise<void> =>
      depth === 0 ? journal.append(pet(2 * distance + 1)) : await wrapped(depth - 1);
    await wrapped(distance);
    await journal.append(pet(2 * distance + 2));
  }
  for (let distance = 0; distance < 12; distance++) {
    let after = journal.append(pet(25 + distance));
    for (let hop = 0; hop < distance; hop++) after = after.then(() => {});
    await after.then(() => journal.rotate());
  }
  assert.deepEqual(applied, numbers(1, 36));
  await journal.close();
});

test('a rotation starts a segment after all before it is on disk, and syncs its name before a record', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await journal.idle();
  const events: string[] = [];
  const note = (what: string): void => {
    const names = readdirSync(folder).sort().map((name) => `${name} ${linesOf(join(folder, name)).length}`);
    events.push(`${what}: ${names.join(', ')}`);
  };
  const sync = AppendFile.prototype.sync;
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    await sync.call(this);
    note('file');
  });
  await onFolderSync(t, () => note('folder'));
  await Promise.all([journal.rotate(), journal.append(pet(2))]);
  assert.deepEqual(events.filter((event, index) => event !== events[index - 1]), [
    'file: pets.1.journal 3', // with its last marker
    'file: pets.1.journal 3, pets.2.journal.tmp 1',
    'folder: pets.1.journal 3, pets.2.journal 1',
    'file: pets.1.journal 3, pets.2.journal 1',
    'file: pets.1.journal 3, pets.2.journal 2',
  ]);
  await journal.close();
});

test('a segment is started only if the current one has records, and removed only if it is in a snapshot', async (t) => {
  const folder = temporaryFolder(t);
  const names = (): string[] => readdirSync(folder).sort();
  const { journal } = await openJournal(folder);
  await journal.rotate();
  assert.deepEqual(names(), ['pets.1.journal']);
  for (const id of numbers(1, 5)) {
    await journal.append(pet(id));
    if (id % 2 === 0) await journal.rotate();
    if (id === 4) await journal.rotate();
  }
  assert.deepEqual(names(), ['pets.1.journal', 'pets.3.journal', 'pets.5.journal']);
  assert.deepEqual(
    linesOf(join(folder, 'pets.3.journal'))
      .map(({ seq, durable }) => [seq, durable])
      .slice(0, 2),
    [
      [2, 2],
      [3, 2],
    ],
  );
  const size = (): number => names().reduce((sum, name) => sum + contentOf(join(folder, name)).length, 0);
  await journal.idle();
  assert.equal(journal.bytes, size());
  await journal.removeSegments(1);
  assert.equal(names().length, 3, 'record 2 is in no snapshot');
  await journal.removeSegments(2);
  assert.deepEqual(names(), ['pets.3.journal', 'pets.5.journal']);
  assert.equal(journal.bytes, size());
  await journal.removeSegments(99);
  assert.deepEqual(names(), ['pets.5.journal'], 'the current segment is kept');
  await journal.close();
  const again = await openJournal(folder, 4);
  assert.deepEqual(again.applied, [5]);
  await again.journal.close();
});

test('segments are removed one by one, the oldest first, with a sync of the folder after each', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  for (const id of [1, 2, 3]) {
    await journal.append(pet(id));
    await journal.rotate();
  }
  const seen: string[] = [];
  await onFolderSync(t, () => seen.push(readdirSync(folder).sort().join(' ')));
  await journal.removeSegments(3);
  assert.deepEqual(seen, [
    'pets.2.journal pets.3.journal pets.4.journal',
    'pets.3.journal pets.4.journal',
    'pets.4.journal',
  ]);
  await journal.close();
});

test('a rotation closes the file of the old segment', { skip: process.platform !== 'linux' }, async (t) => {
  const { journal } = await openJournal(temporaryFolder(t));
  const open = (): number => readdirSync('/proc/self/fd').length;
  const before = open();
  for (const id of numbers(1, 5)) {
    await journal.append(pet(id));
    await journal.rotate();
  }
  assert.equal(open(), before);
  await journal.close();
  assert.equal(open(), before - 1);
});

test('a journal that is opened again continues at its end, without segments that are in the snapshot', async (t) => {
  const folder = temporaryFolder(t);
  for (const round of numbers(0, 4)) {
    const { journal, applied, logged } = await openJournal(folder);
    assert.deepEqual(applied, numbers(1, 2 * round));
    assert.equal(journal.durable, 2 * round);
    await Promise.all([journal.append(pet(2 * round + 1)), journal.append(pet(2 * round + 2))]);
    if (round === 2) await journal.rotate();
    await journal.close();
    assert.deepEqual(logged, []);
  }
  const { journal, applied } = await openJournal(folder, 7);
  assert.deepEqual(applied, numbers(8, 10));
  assert.deepEqual(readdirSync(folder), ['pets.7.journal']);
  await journal.close();
});

test('record numbers may have fifteen digits', async (t) => {
  const folder = temporaryFolder(t);
  const before = 99_999_999_999_998;
  for (const expected of [[], [1, 2, 3], [1, 2, 3, 1, 2, 3]]) {
    const { journal, applied, logged } = await openJournal(folder, before);
    assert.deepEqual(applied, expected);
    assert.equal(journal.durable, before + expected.length);
    await Promise.all([1, 2, 3].map((id) => journal.append(pet(id))));
    await journal.close();
    assert.equal(logged.length, expected.length === 0 ? 1 : 0); // a snapshot without a journal is logged
  }
});

test('a start syncs what a killed process had written, and the names in the folder', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await journal.close();
  const events: string[] = [];
  const sync = AppendFile.prototype.sync;
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    await sync.call(this);
    events.push('file');
  });
  await onFolderSync(t, () => events.push('folder'));
  const again = await openJournal(folder);
  assert.deepEqual(events.sort(), ['file', 'folder']);
  await again.journal.close();
});

test('close waits for the work under way, syncs the last marker, and rejects if that fails', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  const appends = [journal.append(pet(1)), journal.append(pet(2))];
  await journal.close();
  await Promise.all(appends);
  assert.deepEqual(linesOf(join(folder, 'pets.1.journal')).map(({ durable }) => durable), [0, 0, 0, 2]);

  const other = await openJournal(folder);
  t.mock.method(AppendFile.prototype, 'sync', () => Promise.reject(new Error('EIO')));
  await assert.rejects(other.journal.close(), { message: 'EIO' });
});
