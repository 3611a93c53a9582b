/** The power of a simulated disk is cut: at every operation of one history, and at any in random ones. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import test from 'node:test';
import * as fc from 'fast-check';
import { OperatorError } from './domain/operator-error.ts';
import type { Confirmed, History } from './testing/history.ts';
import { pretendPlatform } from './testing/platform.ts';
import { randomNumbers } from './testing/random.ts';
import { SimulatedDisk, type Files } from './testing/simulated-disk.ts';
import { temporaryFolder, thisProcess } from '../harness/owner.ts';

const folder = join(temporaryFolder(thisProcess), 'store');
let random = randomNumbers(1);
const disk = await SimulatedDisk.install(folder, () => random());
const { History: NewHistory } = await import('./testing/history.ts');

/** A life of a folder with all that is ever written. */
async function live(history: History): Promise<void> {
  const createMany = (count: number, bytes?: number): Promise<unknown> =>
    Promise.all(Array.from({ length: count }, () => history.create(bytes)));
  await history.start();
  await history.createKey();
  await createMany(3);
  await history.pause();
  await history.useKey();
  await history.fold();
  await history.create();
  await history.pause();
  await createMany(2, 5_000);
  await history.pause();
  await createMany(2);
  await history.rotateKey();
  await Promise.all([history.fold(), createMany(3), history.useKey()]);
  await history.create();
  await history.kill();
  await history.start(); // nothing was synced since the kill
  await history.create();
  await history.pause();
  await history.moveKey();
  await history.useKey();
  await history.stop();
  await history.importOrders(2);
  await history.importPets(3);
  await history.start();
  await history.create();
  await history.stop();
  await history.importPets(200);
  await history.importOrders(1);
  await history.start();
  await history.create();
  await history.kill();
  await history.start();
  await history.createKey();
  await createMany(5, 70_000); // more than the reserved space
  await history.kill();
  await history.start();
  await history.stop();
}

interface Cut {
  readonly files: Files;
  readonly confirmed: Confirmed;
}

/**
 * Runs and returns the states after cuts at each operation, on average this number. The same state is returned once.
 */
async function cutsDuring(run: () => Promise<unknown>, confirmed: () => Confirmed, perCall: number): Promise<Cut[]> {
  const cuts = new Map<string, Cut>();
  const take = (): null => {
    for (let i = random(); i < perCall; i++) {
      const cut = { files: disk.cut(), confirmed: confirmed() };
      const hash = createHash('sha1').update(JSON.stringify(cut.confirmed));
      for (const [name, { bytes, length }] of cut.files) hash.update(`${name} ${length} `).update(bytes);
      cuts.set(hash.digest('hex'), cut);
    }
    return null;
  };
  disk.onCall = ({ kind }) => (kind === 'read' ? null : take());
  await run();
  disk.onCall = () => null;
  if (perCall >= 1) take();
  return [...cuts.values()];
}

/** Tries about as many states for each operation, and returns their number. Rejects if one has lost something. */
async function sweep(perCall: number): Promise<number> {
  random = randomNumbers(1);
  disk.load(new Map());
  const history = new NewHistory(disk, folder);
  const cuts = await cutsDuring(() => live(history), () => history.confirmed, perCall);
  for (const { files, confirmed } of cuts) {
    disk.load(files);
    let line: string | undefined;
    const recover = async (): Promise<void> => void (line = await history.verify(confirmed));
    const [again] = await cutsDuring(recover, () => confirmed, 0.05);
    if (again !== undefined) disk.load(again.files);
    await history.verify(confirmed, again === undefined ? line : undefined);
  }
  return cuts.length;
}

test('nothing that was confirmed is lost by a power cut at any operation, or during the recovery', async (t) => {
  t.diagnostic(`${await sweep(20)} cuts`);
});

test('the same where the journal is synced with fdatasync, as on macOS', async (t) => {
  pretendPlatform(t, process.platform === 'linux' ? 'darwin' : 'linux');
  t.diagnostic(`${await sweep(5)} cuts`);
});

/** Returns a history with three segments, because two snapshots failed, and 4 animals that were confirmed. */
async function withSegments(seed: number): Promise<History> {
  random = randomNumbers(seed);
  disk.load(new Map());
  const history = new NewHistory(disk, folder);
  await history.start();
  for (let i = 0; i < 2; i++) {
    await history.create();
    disk.onCall = ({ name }) => (name === 'pets.json.tmp' ? { code: 'ENOSPC', part: false } : null);
    await history.fold();
    disk.onCall = () => null;
  }
  await Promise.all([history.create(), history.create()]);
  await history.kill();
  return history;
}

async function verifyAll(history: History, cuts: readonly Cut[]): Promise<number> {
  for (const { files, confirmed } of cuts) {
    disk.load(files);
    await history.verify(confirmed);
  }
  return cuts.length;
}

test('an import killed at any operation loses nothing, even if the power is cut during the next start', async (t) => {
  let count = 0;
  let kills = 0;
  for (let isKilled = true; isKilled; kills++) {
    const history = await withSegments(kills);
    let calls = 0;
    disk.onCall = ({ kind }) => {
      if (kind !== 'read' && calls++ === kills) disk.isOff = true; // after this one
      return null;
    };
    await history.importPets(5).catch(() => {});
    isKilled = disk.isOff;
    disk.isOff = false;
    const cuts = await cutsDuring(() => history.start(), () => history.confirmed, 3);
    await history.kill();
    count += await verifyAll(history, cuts);
  }
  t.diagnostic(`${kills} kills, ${count} cuts`);
  assert(kills > 20 && count > 200);
});

test('an import loses nothing if the power is cut, whether its folder can be synced or not', async (t) => {
  let count = 0;
  for (let seed = 1; seed <= 40; seed++) {
    const history = await withSegments(seed);
    count += await verifyAll(history, await cutsDuring(() => history.importPets(5), () => history.confirmed, 2));

    const unsynced = await withSegments(seed);
    let isRenamed = false;
    disk.onCall = ({ operation, kind, name }) => {
      if (operation === 'rename' && name === 'pets.json.tmp') isRenamed = true;
      return isRenamed && kind === 'sync' && name === '.' ? { code: 'EIO', part: false } : null;
    };
    await unsynced.importPets(5);
    disk.onCall = () => null;
    const { confirmed } = unsynced;
    assert.equal(confirmed.animals, 4); // a power cut may undo the import
    count += await verifyAll(unsynced, Array.from({ length: 5 }, () => ({ files: disk.cut(), confirmed })));
  }
  t.diagnostic(`${count} cuts`);
});

const omissions: Record<string, RegExp> = {
  'a sync of the journal': /^pets\.\d+\.journal$/,
  'a sync of the folder': /^\.$/,
  'the sync of a segment before its rename': /^pets\.\d+\.journal\.tmp$/,
  'the sync of the snapshot before its rename': /^pets\.json\.tmp$/,
  'the sync of keys.json before its rename': /^keys\.json\.tmp$/,
  'the sync of usage.json before its rename': /^usage\.json\.tmp$/,
  'the sync of orders.json before its rename': /^orders\.json\.tmp$/,
};

for (const [what, names] of Object.entries(omissions)) {
  test(`the simulation finds that ${what} is omitted`, async (t) => {
    disk.ignoredSyncs = names;
    t.after(() => (disk.ignoredSyncs = null));
    await assert.rejects(sweep(2), (error: Error) => {
      t.diagnostic(error.message);
      return error instanceof assert.AssertionError || error instanceof OperatorError; // lost, or refused at the start
    });
  });
}

for (const isSynced of [true, false]) {
  test(isSynced ? 'a group after a marker is whole' : 'the simulation finds a marker without O_DSYNC', async (t) => {
    pretendPlatform(t, 'linux');
    if (!isSynced) disk.ignoredWrites = /^\{"seq":\d+,"durable":\d+,"crc"/;
    t.after(() => (disk.ignoredWrites = null));
    let lost = 0;
    for (let bytes = 1; bytes <= 512; bytes += 16) { // so that the marker is in two sectors, and the group in one
      random = randomNumbers(bytes);
      disk.load(new Map());
      const history = new NewHistory(disk, folder);
      await history.start();
      await history.create(bytes);
      await history.pause();
      await history.create();
      const cuts = Array.from({ length: 5 }, () => ({ files: disk.cut(), confirmed: history.confirmed }));
      await history.kill();
      const error = await verifyAll(history, cuts).then(() => null, (reason: unknown) => reason);
      if (isSynced && error !== null) throw error;
      if (error !== null) lost++;
    }
    t.diagnostic(`lost after ${lost} of 32 lengths`);
    assert.equal(lost > 0, !isSynced);
  });
}

type Step = readonly [what: (typeof whats)[number], size: number];
const whats = ['create', 'create', 'pause', 'fold', 'key', 'use', 'stop', 'kill', 'cut', 'cut', 'fail'] as const;

test('nothing that was confirmed is lost after any power cuts, kills and failed syncs', async (t) => {
  const size = fc.oneof({ weight: 9, arbitrary: fc.integer({ min: 0, max: 500 }) }, fc.constant(70_000));
  const stepLists = fc.array(fc.tuple(fc.constantFrom(...whats), size), { minLength: 10, maxLength: 40, size: 'max' });
  const seen = { confirmed: 0, refused: 0, torn: 0, cuts: 0, startsCut: 0 };
  await fc.assert(
    fc.asyncProperty(stepLists, fc.nat(), async (steps: Step[], seed) => {
      random = randomNumbers(seed);
      disk.load(new Map());
      const history = new NewHistory(disk, folder);
      let failures = 0;
      let dies = false;
      let callsToCut = Infinity;
      let cut: Files | null = null;
      disk.onCall = ({ kind }) => {
        if (callsToCut-- <= 0) {
          cut = disk.cut();
          disk.isOff = true; // until the process has ended
          return { code: 'EIO', part: false };
        }
        if (kind !== 'sync' || failures-- <= 0) return null;
        disk.isOff = failures === 0 && dies; // before it can repair anything
        return { code: 'EIO', part: true };
      };
      const refused = (): void => void seen.refused++;
      /** Ends the process. If the power was cut, the disk is left as it was then. */
      const restart = async (): Promise<void> => {
        failures = 0;
        for (;;) {
          if (callsToCut !== Infinity) {
            cut ??= disk.cut();
            disk.isOff = true;
          }
          await history.kill();
          callsToCut = Infinity;
          if (cut !== null) disk.load(cut);
          cut = null;
          if (random() < 0.3) callsToCut = Math.floor(random() * 10);
          await history.start().catch((error: unknown) => {
            if (cut === null) throw error;
          });
          if (cut === null) break;
          seen.startsCut++;
        }
        callsToCut = Infinity;
      };
      await history.start();
      for (const [what, bytes] of steps) {
        const length = what === 'fail' ? 10 * bytes : bytes; // several pages, only some of which are lost
        const creates = (): Promise<unknown>[] =>
          Array.from({ length: 3 }, () => history.create(length).catch(refused));
        dies = what === 'fail' && bytes % 2 === 0;
        if (what === 'fail') failures = 1 + (bytes % 5 === 0 ? 2 : 0); // then the repair fails, too
        if (what === 'create' || what === 'fail') await Promise.all(creates());
        else if (what === 'pause') await history.pause();
        else if (what === 'fold') await history.fold();
        else if (what === 'use') await history.useKey().catch(refused);
        else if (what === 'key') await (bytes % 2 === 0 ? history.createKey() : history.moveKey()).catch(refused);
        else if (what === 'cut') {
          seen.cuts++;
          callsToCut = bytes % 6;
          await Promise.all([...creates(), ...(bytes % 5 === 0 ? [history.fold()] : [])]);
          await restart();
        } else {
          if (what === 'stop') await history.stop().catch(refused);
          await restart();
        }
        if (!dies) continue;
        await restart(); // the kernel still has what the disk does not have
        if (bytes % 4 === 0) callsToCut = 0;
        await restart();
      }
      failures = 0;
      await history.stop();
      disk.onCall = () => null;
      await history.verify(history.confirmed);
      seen.confirmed += history.confirmed.animals;
      seen.torn += history.logged.filter((line) => /\.torn-\d/.test(line)).length;
    }),
    { numRuns: 60, includeErrorInReport: true },
  );
  t.diagnostic(JSON.stringify(seen));
  for (const [what, count] of Object.entries(seen)) assert(count > 5, `${what}: ${count}`);
});
