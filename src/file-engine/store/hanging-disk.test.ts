/** What the store does while an operation of the disk does not end. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { UnavailableError } from '../../engine.ts';
import { AppendFile } from '../files/append-file.ts';
import { contentOf, linesOf, numbers, openJournal, pet, turns, undisturbed, until } from '../../testing/journal.ts';
import { stopTime } from '../../testing/timers.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { PetStore } from './pet-store.ts';

/** Lets the next calls of a method hang until they are let go: then they run, or fail. */
function hang(t: TestContext, name: 'append' | 'sync' | 'reserve') {
  const original = AppendFile.prototype[name] as (this: AppendFile, ...args: unknown[]) => Promise<never>;
  const waiting: ((error: Error | null) => void)[] = [];
  const mock = t.mock.method(AppendFile.prototype, name, async function (this: AppendFile, ...args: unknown[]) {
    await new Promise<void>((resolve, reject) => {
      waiting.push((error) => (error === null ? resolve() : reject(error)));
    });
    return original.apply(this, args);
  } as never);
  return {
    hangs: () => until(() => waiting.length > 0),
    get count() {
      return waiting.length;
    },
    letGo(error: Error | null = null) {
      mock.mock.restore();
      for (const end of waiting) end(error);
    },
  };
}

const refused = { message: 'the disk has made no progress for 2 s' };

for (const name of ['append', 'sync'] as const) {
  for (const fails of [false, true]) {
    test(`if ${name} hangs, creates are refused after 2 s; then it ${fails ? 'fails' : 'ends'}`, async (t) => {
      const folder = temporaryFolder(t);
      const pass = stopTime(t);
      const { journal, applied } = await openJournal(folder);
      await journal.append(pet(1));
      await journal.idle();
      const disk = hang(t, name);
      let settled = 0;
      const noted = (append: Promise<void>): Promise<void> => append.finally(() => settled++);
      const group = [noted(journal.append(pet(2))), noted(journal.append(pet(3)))];
      await disk.hangs();
      const next = [noted(journal.append(pet(4))), noted(journal.probe()), noted(journal.rotate())];
      await pass(1_999);
      await turns(5);
      assert.deepEqual([settled, journal.stalled], [0, null]);
      await Promise.all([pass(1), ...[...group, ...next].map((waiting) => assert.rejects(waiting, refused))]);
      await Promise.all([journal.append(pet(5)), journal.probe(), journal.rotate()]
        .map((late) => assert.rejects(late, refused)));
      await pass(40_000);
      assert.equal(disk.count, 1, 'no operation begins while one hangs');
      assert.deepEqual(applied, [1]);
      disk.letGo(fails ? new Error('EIO') : null);
      await journal.idle();
      const kept = fails ? [1] : [1, 2, 3];
      assert.deepEqual([applied, journal.stalled], [kept, null], 'what was written is in the list once');
      await journal.append(pet(6));
      await journal.close();
      const again = await openJournal(folder);
      assert.deepEqual([again.applied, again.logged], [[...kept, 6], []]);
      assert.deepEqual(linesOf(join(folder, 'pets.1.journal')).flatMap(({ pet }) => pet?.id ?? []), [...kept, 6]);
      await again.journal.close();
    });
  }
}

test('a disk that is slow, but makes progress, is waited for', async (t) => {
  const pass = stopTime(t);
  const { journal, applied } = await openJournal(temporaryFolder(t));
  const [write, sync] = [hang(t, 'append'), hang(t, 'sync')];
  const appended = journal.append(pet(1));
  for (const disk of [write, sync]) {
    await disk.hangs();
    await pass(1_999);
    disk.letGo();
  }
  await appended;
  assert.deepEqual(applied, [1]);
  await journal.close();
});

test('if the journal was removed, creates wait for the snapshot, however long it takes', async (t) => {
  const folder = temporaryFolder(t);
  const pass = stopTime(t);
  const { journal, applied } = await openJournal(folder, 0, {
    ...undisturbed,
    async saveSnapshot(onPiece) {
      for (let pieces = 0; pieces < 5; pieces++) {
        await pass(1_999);
        onPiece();
      }
    },
  });
  await journal.append(pet(1));
  rmSync(join(folder, 'pets.1.journal'));
  await journal.append(pet(2));
  assert.deepEqual([applied, journal.failures], [[1, 2], 0]);
  await journal.close();
});

test('an operation that ended while the event loop was blocked has not hung', async (t) => {
  const pass = stopTime(t);
  const { journal } = await openJournal(temporaryFolder(t));
  let letGo: (() => void) | null = null;
  const sync = t.mock.method(AppendFile.prototype, 'sync', () => new Promise<void>((resolve) => (letGo = resolve)));
  const appended = journal.append(pet(1));
  await until(() => letGo !== null);
  sync.mock.restore();
  const passed = pass(10_000);
  letGo!();
  await passed;
  await appended;
  await journal.idle();
  await pass(10_000);
  assert.equal(journal.stalled, null, 'nothing is under way');
  await journal.close();
});

test('a marker that hangs is noticed, too, and no create waits for it', async (t) => {
  const folder = temporaryFolder(t);
  const pass = stopTime(t);
  const { journal, applied } = await openJournal(folder);
  await journal.append(pet(1));
  await turns(2); // until the journal waits
  const disk = hang(t, 'append');
  await pass(10);
  await disk.hangs();
  const before = contentOf(join(folder, 'pets.1.journal'));
  const waiting = assert.rejects(journal.append(pet(2)), refused);
  await pass(2_000);
  await waiting;
  await assert.rejects(journal.append(pet(3)), refused);
  assert.deepEqual(contentOf(join(folder, 'pets.1.journal')), before);
  disk.letGo();
  await journal.idle();
  await journal.append(pet(4));
  assert.deepEqual(applied, [1, 4]);
  await journal.close();
});

test('while the disk hangs, reads continue, /readyz says so, and no id is used again', async (t) => {
  const folder = temporaryFolder(t);
  const pass = stopTime(t);
  const logged: string[] = [];
  let now = 0;
  const store = await PetStore.open(folder, (line) => logged.push(line));
  t.mock.method(performance, 'now', () => now);
  const create = (): Promise<{ id: number }> => store.create({ name: 'Rex', categoryId: 1n, status: 'sold' });
  const ids = (): number[] => numbers(1, 9).filter((id) => store.table.get(String(id)) !== null);
  await create();
  assert.equal(await store.writable(), true);
  const disk = hang(t, 'sync');
  const waiting = Promise.all(numbers(2, 3).map(() => assert.rejects(create(), UnavailableError)));
  await disk.hangs();
  assert.deepEqual([await store.writable(), ids()], [true, [1]]);
  await pass(2_000);
  await waiting;
  await assert.rejects(create(), UnavailableError);
  assert.deepEqual([await store.writable(), ids()], [false, [1]]);
  now += 5_000;
  assert.equal(await store.writable(), false, 'a probe does not wait, either');
  disk.letGo();
  await until(() => ids().length === 3);
  now += 5_000;
  assert.deepEqual([await store.writable(), ids()], [true, [1, 2, 3]]);
  assert.equal((await create()).id, 5);
  const path = join(folder, 'pets.json');
  assert.deepEqual(logged, [
    `cannot write the journal of ${path}: ${refused.message}; creates are refused until it succeeds`,
    `the journal of ${path} can be written again`,
  ]);
  await store.close();
});
