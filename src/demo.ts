/** `--demo`: sample data and a first key for an empty data folder. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { OperatorError } from './domain/operator-error.ts';
import { readNewPet } from './domain/pet.ts';
import { replaceFile } from './files/replace.ts';
import { readJson, type JsonArray } from './json/read.ts';
import type { KeyRing } from './keys/key-ring.ts';
import { ordersName, type OrderStore } from './store/order-store.ts';
import type { PetStore } from './store/pet-store.ts';

interface Stores {
  readonly folder: string;
  readonly basePath: string;
  readonly address: string;
  readonly keys: KeyRing;
  readonly orders: OrderStore;
  readonly pets: PetStore;
}

/** Reads the sample data. Throws OperatorError where it is missing. */
export function readSamples(samples: URL) {
  try {
    const pets = readJson(readFileSync(new URL('pets.json', samples))) as JsonArray;
    return { pets: pets.items.map(readNewPet), ordersFile: readFileSync(new URL('orders.json', samples)) };
  } catch (error) {
    const why = (error as Error).message;
    throw new OperatorError(`--demo needs the sample data beside the program: ${why}; start without --demo`);
  }
}

/**
 * Unless a key was ever made here: fills what is empty with the samples, makes a Business key, and gives the text that
 * shows it with a curl line for each operation. The key comes last, so that a start that was interrupted is made good
 * by the next. Otherwise does nothing and gives ''.
 */
export async function startDemo(samples: ReturnType<typeof readSamples>, stores: Stores): Promise<string> {
  if (stores.keys.keys.length > 0) return '';
  const ordersPath = join(stores.folder, ordersName);
  if (!existsSync(ordersPath)) await replaceFile(ordersPath, (file) => file.writeFile(samples.ordersFile));
  stores.orders.load();
  if (stores.pets.count === 0) await Promise.all(samples.pets.map((pet) => stores.pets.create(pet)));
  const { secret } = await stores.keys.create('demo', { name: 'business' }, null, Date.now());

  const address = stores.address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  const base = `${address}${stores.basePath}`;
  const auth = `-H 'Authorization: Bearer ${secret}'`;
  return `
This folder was empty: it now holds sample animals and orders, and one API key (plan business).
The key is shown only this once:

  ${secret}

Try it:

  curl ${auth} '${base}/pets?limit=5&status=available'
  curl ${auth} -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":1}' ${base}/pets
  curl ${auth} ${base}/pets/1
  curl ${auth} ${base}/store/orders
  curl ${address}/openapi.json

`;
}
