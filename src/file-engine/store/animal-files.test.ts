/** Reading the animals of a folder while a server changes it. */
import assert from 'node:assert/strict';
import { mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { temporaryFolder } from '../../../harness/owner.ts';
import { shortenReads } from '../../testing/file-handle.ts';
import { numbers, pet, recordingTable, testStore } from '../../testing/journal.ts';
import { newPet } from '../../testing/stores.ts';
import { withAnimalFiles } from './animal-files.ts';
import { encodeMarker, encodeRecords } from './journal-format.ts';
import { recoverJournal } from './journal-recovery.ts';
import { PetStore } from './pet-store.ts';
import { readSnapshot } from './snapshot.ts';

/** Returns the ids of the animals in a folder, as a command reads them. */
async function idsIn(folder: string, recorded = 0): Promise<number[]> {
  const ids: number[] = [];
  const table = recordingTable((line) => ids.push((JSON.parse(line) as { id: number }).id));
  await withAnimalFiles(folder, async ({ snapshot, segments }) => {
    const { sequence: snapshotSequence } = await readSnapshot(snapshot, table);
    await recoverJournal({ folder, segments, snapshotSequence, recorded, table, log() {} });
  });
  return ids;
}

/** Makes a store whose animals 1 and 2 are in the snapshot, and 3 to 6 in two segments. */
async function storeIn(t: TestContext, folder: string): Promise<PetStore> {
  mkdirSync(folder);
  const pets = await PetStore.open(folder, () => {});
  t.after(() => pets.close());
  const create = async (): Promise<void> => {
    for (const name of ['a', 'b']) await pets.create(newPet(name));
  };
  await create();
  await pets.snapshot();
  await create();
  mkdirSync(join(folder, 'pets.json.tmp', 'full'), { recursive: true }); // the snapshot fails, but a segment is started
  await pets.snapshot();
  rmSync(join(folder, 'pets.json.tmp'), { recursive: true });
  await create();
  return pets;
}

test('animals that are added while the files are opened, and segments that a snapshot replaces, lose nothing', async (t) => {
  const steps = ['pets.3.journal', 'pets.5.journal', 'pets.json'];
  const parent = temporaryFolder(t);
  const { open } = promises;
  for (const step of steps) {
    for (const snapshots of [0, 1, 2]) {
      const folder = join(parent, `${step}-${snapshots}`);
      const pets = await storeIn(t, folder);
      const opened: string[] = [];
      const mock = t.mock.method(promises, 'open', async (...args: Parameters<typeof open>) => {
        const [path, flags] = args.map(String) as [string, string];
        if (flags !== 'r' || dirname(path) !== folder || opened.includes(step)) return open(...args);
        opened.push(basename(path));
        if (basename(path) !== step) return open(...args);
        for (let count = 0; count < snapshots; count++) {
          await pets.create(newPet('c'));
          await pets.snapshot();
        }
        await pets.create(newPet('d'));
        return open(...args);
      });
      syncBuiltinESMExports();
      const ids = await idsIn(folder).finally(() => {
        mock.mock.restore();
        syncBuiltinESMExports();
      });
      assert.deepEqual(opened, steps.slice(0, steps.indexOf(step) + 1));
      assert.ok(ids.length >= 6 && ids.length <= 7 + snapshots, `${ids.length}`);
      assert.deepEqual(ids, numbers(1, ids.length), `${snapshots} snapshots before ${step} is opened`);
    }
  }
});

test('a journal that grows while it is read, whose zeros become records, is not taken for damaged', async (t) => {
  const parent = temporaryFolder(t);
  for (const maxBytes of [1500, 4000]) {
    const folder = join(parent, `${maxBytes}`);
    const pets = await storeIn(t, folder);
    let reads = 0;
    const mock = await shortenReads(t, maxBytes, async () => {
      if (++reads < 8) return; // zeros are being read
      await Promise.all(Array.from({ length: 100 }, () => pets.create(newPet('x'.repeat(150 + (reads % 50))))));
    });
    const ids = await idsIn(folder, 6);
    mock.mock.restore();
    assert.ok(reads > 20 && ids.length >= 6 && ids.length < pets.count(), `${reads}, ${ids.length}, ${pets.count()}`);
    assert.deepEqual(ids, numbers(1, ids.length));
  }
});

test('a group that is replaced while it is read, because its write failed, is read as the old or the new one', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'pets.1.journal');
  const group = (durable: number, ...ids: number[]): Buffer =>
    encodeRecords(ids.map((id) => pet(id, 'x'.repeat(id % 7))), durable, Buffer.alloc(0)).bytes;
  const kept = Buffer.concat([encodeMarker(0, testStore), group(0, 1, 2), group(2, 3)]);
  const refused = group(3, 4, 5, 6, 7);
  const later = [group(3, 8, 9), group(5, 10), group(6, 11, 12), encodeMarker(8)];
  const histories = [[1, 2, 3, 4, 5, 6, 7], [1, 2, 3, 8, 9, 10, 11, 12]];
  const found = new Set<string>();
  const before = Buffer.concat([kept, refused, Buffer.alloc(1000)]);
  for (const maxBytes of [31, 117, 200]) {
    for (let replacedAt = 1; replacedAt <= before.length / maxBytes; replacedAt++) {
      writeFileSync(path, before);
      let reads = 0;
      const mock = await shortenReads(t, maxBytes, async () => {
        if (++reads !== replacedAt) return;
        truncateSync(path, kept.length);
        writeFileSync(path, Buffer.concat([...later, Buffer.alloc(9000)]), { flag: 'a' });
      });
      const ids = await idsIn(folder, 3);
      mock.mock.restore();
      assert.ok(ids.length >= 3 && histories.some((history) => ids.every((id, i) => id === history[i])), ids.join());
      found.add(ids.join());
    }
  }
  for (const history of histories) assert.ok(found.has(history.join()), [...found].join(' '));
});

test('a damaged line is damaged although it is read twice', async (t) => {
  const folder = temporaryFolder(t);
  const bytes = Buffer.concat([
    encodeMarker(0, testStore), encodeRecords([pet(1)], 0, Buffer.alloc(0)).bytes,
    encodeRecords([pet(2)], 1, Buffer.alloc(0)).bytes, encodeMarker(2),
  ]);
  bytes[bytes.indexOf('"seq":2') + 20]! ^= 1;
  writeFileSync(join(folder, 'pets.1.journal'), bytes);
  await assert.rejects(idsIn(folder), /pets\.1\.journal, line 3: the line is damaged, and it had been synced; /);
});
