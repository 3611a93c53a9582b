/** How many file operations a create takes that shares its group with no other. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { pretendPlatform } from '../../testing/platform.ts';
import { SimulatedDisk } from '../../testing/simulated-disk.ts';
import { stopTime } from '../../testing/timers.ts';
import { temporaryFolder, thisProcess } from '../../../harness/owner.ts';

const folder = join(temporaryFolder(thisProcess), 'store');
const disk = await SimulatedDisk.install(folder, Math.random);
const { statOf } = await import('../../files/identity.ts');
const { turns } = await import('../../testing/journal.ts');
const { PetStore } = await import('./pet-store.ts');

for (const [platform, syncs] of Object.entries({ linux: [], darwin: ['fdatasync pets.1.journal'] })) {
  test(`${platform}: a lone create takes ${4 + syncs.length} file operations`, async (t) => {
    pretendPlatform(t, platform);
    const pass = stopTime(t);
    disk.load(new Map([['lock.1', { bytes: Buffer.alloc(0), length: 0 }]]));
    const checkLock = (): void => void statOf(join(folder, 'lock.1')); // as FolderLock does
    const store = await PetStore.open(folder, assert.fail, { checkLock });
    const create = () => store.create({ name: 'Rex', categoryId: 1n, status: 'sold' });
    await create(); // reserves space
    await turns(20);
    const calls: string[] = [];
    disk.onCall = ({ operation, name }) => {
      if (operation !== 'O_DSYNC') calls.push(`${operation} ${name}`); // which is a part of the write
      return null;
    };
    const before = ['stat lock.1'];
    const group = ['write pets.1.journal', ...syncs, 'stat lock.1', 'stat pets.1.journal'];
    for (let creates = 0; creates < 4; creates++) {
      await create();
      await turns(20);
      await pass(9);
      assert.deepEqual(calls.splice(0), [...before, ...group]);
    }
    await pass(1);
    await turns(20);
    assert.deepEqual(calls.splice(0), ['stat lock.1', 'write pets.1.journal']);
    await create(); // the next series
    assert.deepEqual(calls.splice(0), [...before, ...group]);
    disk.onCall = () => null;
    await store.close();
  });
}
