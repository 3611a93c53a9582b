/** Each file operation of a history fails once, in each way. Then the disk works again. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import test from 'node:test';
import { randomNumbers } from './testing/random.ts';
import { SimulatedDisk, type Call, type Fault } from './testing/simulated-disk.ts';
import { temporaryFolder, thisProcess } from '../harness/owner.ts';

const folder = join(temporaryFolder(thisProcess), 'store');
let random = randomNumbers(1);
const disk = await SimulatedDisk.install(folder, () => random());
const { History } = await import('./testing/history.ts');

const changes = ({ kind }: Call): boolean => kind !== 'read';
const faults: Record<string, { readonly fault: Fault; readonly applies: (call: Call) => boolean }> = {
  EIO: { fault: { code: 'EIO', part: false }, applies: () => true },
  EMFILE: { fault: { code: 'EMFILE', part: false }, applies: ({ operation }) => /^(open|read)/.test(operation) },
  EROFS: { fault: { code: 'EROFS', part: false }, applies: changes },
  EDQUOT: { fault: { code: 'EDQUOT', part: false }, applies: changes },
  'ENOSPC after a part': { fault: { code: 'ENOSPC', part: true }, applies: ({ kind }) => kind === 'write' },
  'a short write': {
    fault: { code: null, part: true },
    applies: ({ operation }) => operation === 'write', // `writeFile` writes until all is written
  },
  'lost pages': { fault: { code: 'EIO', part: true }, applies: ({ kind }) => kind === 'sync' },
};

/** Lives with the n-th call to which the fault applies failing. Returns whether there was such a call. */
async function live({ fault, applies }: (typeof faults)[string], n: number): Promise<boolean> {
  random = randomNumbers(n);
  disk.load(new Map());
  let calls = 0;
  disk.onCall = (call) => (applies(call) && ++calls === n ? fault : null);
  const history = new History(disk, folder);
  /** Does a step, and repeats it if the disk failed. The second time it must succeed. */
  const twice = async (step: () => Promise<unknown>): Promise<void> => {
    const before = calls;
    await step().catch((error: unknown) => {
      assert(before < n && calls >= n, `failed without a fault: ${String(error)}`);
      return step();
    });
  };
  const stop = async (): Promise<void> => {
    await history.stop().catch(() => assert(calls >= n)); // the process ends anyway
    await twice(() => history.start());
  };
  const createMany = (count: number): Promise<unknown> =>
    Promise.allSettled(Array.from({ length: count }, () => history.create()));
  await twice(() => history.start());
  await twice(() => history.createKey());
  await createMany(3);
  await history.pause();
  await twice(() => history.create()); // creates resume
  await history.pause();
  await twice(() => history.useKey());
  await history.fold();
  await twice(() => history.create());
  await createMany(2);
  await twice(() => history.rotateKey());
  await Promise.all([history.fold(), createMany(2)]);
  await twice(() => history.create());
  await stop();
  await twice(() => history.moveKey());
  await history.stop().catch(() => assert(calls >= n));
  await twice(() => history.importPets(3));
  await twice(() => history.importOrders(2));
  await twice(() => history.start());
  await twice(() => history.create(70_000));
  await history.kill();
  await twice(() => history.start());
  await twice(() => history.useKey());
  await twice(() => history.create());
  const { confirmed } = history;
  await history.kill();
  const cut = disk.cut();
  disk.onCall = () => null;
  await history.verify(confirmed); // after a kill
  disk.load(cut);
  await history.verify(confirmed); // after a power cut
  return calls >= n;
}

for (const [name, one] of Object.entries(faults)) {
  test(`after ${name} at any operation, creates resume, and nothing that was confirmed is lost`, async (t) => {
    let n = 1;
    try {
      while (await live(one, n)) n++;
    } catch (error) {
      throw new Error(`operation ${n}: ${String(error)}`, { cause: error });
    }
    t.diagnostic(`${n - 1} operations`);
    assert(n > 5);
  });
}
