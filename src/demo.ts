/** `--demo` fills an empty data folder with sample data and creates a key. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { DataFolder } from './data-folder.ts';
import { ApiError } from './domain/api-error.ts';
import { OperatorError } from './domain/operator-error.ts';
import { orderLine, readOrder } from './domain/order.ts';
import { readNewPet } from './domain/pet.ts';
import { socketPathIn } from './http/listener.ts';
import { readJson, type JsonArray, type JsonObject } from './json/read.ts';
import { shellWord } from './program.ts';
import { ordersName, readOrders, writeOrders } from './store/orders.ts';

/** Reads the sample data, which the build copies from data/sample/. */
export function readSamples(samples: URL) {
  const [pets, orders] = ['pets.json', 'orders.json'].map((name) => {
    return (readJson(readFileSync(new URL(name, samples))) as JsonArray).items;
  });
  const orderLines = orders!.map((order) => orderLine(readOrder(order as JsonObject)));
  return { pets: pets!.map((pet) => readNewPet(pet)), orders: orderLines };
}

/**
 * If the folder has no key yet: adds the sample animals and orders where there are none, creates a Business key, and
 * returns a text that shows the key with a curl command for each operation. The key is created last, so that the next
 * start completes an interrupted one. If the folder has a key: changes nothing and returns ''.
 * Rejects with OperatorError if something cannot be saved; the log says why.
 */
export async function startDemo(
  samples: ReturnType<typeof readSamples>,
  folder: DataFolder,
  serverAddress: string,
  basePath: string,
): Promise<string> {
  const { path: folderPath, pets } = folder;
  if (folder.keys.keys.length > 0) return '';
  if (!existsSync(join(folderPath, ordersName))) {
    await writeOrders(folderPath, folder.store, samples.orders, folder.checkLock);
    readOrders(folderPath, folder.orders);
  }
  try {
    if (pets.table.count === 0) await Promise.all(samples.pets.map((pet) => pets.create(pet)));
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const advice = 'the line above says why; correct that, and start the server again with --demo';
    throw new OperatorError(`cannot save the sample animals in ${folderPath}; ${advice}`);
  }
  const { secret } = await folder.keys.create('demo', { name: 'business' }, null, Date.now());

  const path = socketPathIn(serverAddress);
  const address = path !== null
    ? 'http://localhost'
    : serverAddress.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  // A certificate is for the name of the shop, not for the address of this machine.
  const curl = path !== null ? `curl --unix-socket ${shellWord(path)}` : address.startsWith('https:') ? 'curl -k' : 'curl';
  const base = `${address}${basePath}`;
  // Through a pipe, because other users of the machine can read the arguments of curl.
  const auth = `echo 'Authorization: Bearer ${secret}' |`;
  return `
The data folder was empty. It now contains sample animals and orders, and one API key (plan business).
The key is shown only once:

  ${secret}

Try it:

  ${auth} ${curl} -H @- '${base}/pets?limit=5&status=available'
  ${auth} ${curl} -H @- -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":1}' ${base}/pets
  ${auth} ${curl} -H @- ${base}/pets/1
  ${auth} ${curl} -H @- ${base}/store/orders
  ${curl} ${address}/openapi.json

`;
}
