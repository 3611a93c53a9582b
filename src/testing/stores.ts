/** Test support: what a server opens and responds to on its control socket, without HTTP. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { LineStream } from '../control/channel.ts';
import { respondToCommand } from '../control/commands.ts';
import { contentsOf, type Unread } from '../control/contents.ts';
import { FolderLock } from '../control/folder-lock.ts';
import { readNewPet } from '../domain/pet.ts';
import { storeIdOf } from '../files/store-id.ts';
import { readJson } from '../json/read.ts';
import { KeyRing } from '../keys/key-ring.ts';
import { UsageFile } from '../limits/usage-file.ts';
import { LineTable } from '../store/line-table.ts';
import { readOrders } from '../store/orders.ts';
import { PetStore } from '../store/pet-store.ts';

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
  const store = storeIdOf(folder);
  const keys = new KeyRing(folder, undefined, store);
  const usage = new UsageFile(folder, Date.now, silent, undefined, store);
  const orders = new LineTable();
  readOrders(folder, orders);
  const pets = await PetStore.open(folder, silent, { store, recorded: usage.recorded.durable });
  usage.follow(pets, keys);
  if (isNew) {
    for (const name of ['one', 'two']) await keys.create(name, { name: 'pro' }, null, Date.now());
    usage.limiter.admitKey('k1', { perMinute: 5, perDay: 5 }, Date.now(), 0);
    for (const name of ['Rex', 'Żubr \ud800', 'Mia']) await pets.create(newPet(name));
  }
  const close = async (): Promise<void> => {
    await usage.close();
    await pets.close();
  };
  return { store, keys, usage, orders, pets, close };
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
  const { keys, usage } = stores;
  const respondWith = (contents?: () => LineStream | Unread): void => {
    const accounts = { keys, usage, ...(contents && { contents }) };
    lock.serve('http://127.0.0.1:1', (message) => respondToCommand(accounts, message));
  };
  respondWith(() => contentsOf(stores, true));
  return { parent, folder, stores, respondWith };
}
