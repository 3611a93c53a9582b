/** Test support: what a server opens and responds to on its control socket, without HTTP. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { execute } from '../control/commands.ts';
import { responseTo } from '../file-engine/lock/send-response.ts';
import { FolderLock } from '../file-engine/lock/folder-lock.ts';
import { readNewPet } from '../domain/pet.ts';
import { FileEngine } from '../file-engine/file-engine.ts';
import type { PetStore } from '../file-engine/store/pet-store.ts';
import { readJson } from '../json/read.ts';

/** The order in a new folder. */
export const order =
  '{"id":7,"petId":1,"quantity":2,"shipDate":"2026-03-02T09:30:00Z","status":"placed","complete":false}';
const silent = (line: string): never => assert.fail(line);

/** A NewPet with this name. */
export const newPet = (name: string) => readNewPet(readJson(Buffer.from(JSON.stringify({ name, categoryId: 1 }))));

/** Opens all that a server opens, in a folder with two keys, some usage, an order and three animals. */
export async function openStores(folder: string) {
  if (!existsSync(folder)) mkdirSync(folder);
  const isNew = readdirSync(folder).length === 0;
  if (isNew) writeFileSync(join(folder, 'orders.json'), `[${order}]`);
  const engine = new FileEngine(folder, silent);
  const { store, keys: ring, usage, orderTable, pets } = engine;
  await engine.prepare();
  await engine.load();
  if (isNew) {
    for (const name of ['one', 'two']) await ring.create(name, { name: 'pro' }, null, Date.now());
    usage.limiter.admitKey('k1', { perMinute: 5, perDay: 5 }, Date.now(), 0);
    for (const name of ['Rex', 'Żubr \ud800', 'Mia']) await pets.create(newPet(name));
  }
  const close = async (): Promise<void> => {
    await usage.close();
    await pets.close();
  };
  return { engine, store, ring, usage, orderTable, pets, close };
}

/** Fills a folder with the animals 1 to 3 in the snapshot, and 4 and 5 in the journal. Returns its stores, closed. */
export async function fillStore(folder: string) {
  const first = await openStores(folder);
  await first.pets.snapshot();
  await first.close();
  const second = await openStores(folder);
  for (const name of ['four', 'five']) await second.pets.create(newPet(name));
  await second.close();
  return second;
}

/** Adds animals and writes snapshots. Returns a function that ends this, and resolves when the last one is done. */
export function keepCreating(pets: PetStore): () => Promise<void> {
  let stopped = false;
  const creating = (async () => {
    for (let i = 0; !stopped; i++) {
      await Promise.all(Array.from({ length: 20 }, () => pets.create(newPet('x'.repeat(300)))));
      if (i % 10 === 9) await pets.snapshot();
    }
  })();
  return () => {
    stopped = true;
    return creating;
  };
}

/** Responds to commands in the folder `store` of a temporary one as a server does. */
export async function serve(t: TestContext) {
  let close = async (): Promise<void> => {};
  t.after(() => close()); // registered before the hook that removes the folder
  const parent = temporaryFolder(t);
  const folder = join(parent, 'store');
  const stores = await openStores(folder);
  const lock = await FolderLock.acquire(folder, 'server');
  assert.ok(lock instanceof FolderLock);
  close = async () => {
    await lock.release();
    await stores.close();
  };
  const { keys } = stores.engine;
  lock.serve('http://127.0.0.1:1', (command) => responseTo(command, () => execute({ keys }, command, Date.now())));
  return { parent, folder, stores };
}
