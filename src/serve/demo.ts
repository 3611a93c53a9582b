/** `--demo` fills an empty store with sample data and creates a key. */
import { readFileSync } from 'node:fs';
import { OperatorError } from '../domain/operator-error.ts';
import { readOrder } from '../domain/order.ts';
import { readNewPet } from '../domain/pet.ts';
import { UnavailableError, type Engine } from '../engine.ts';
import { socketPathIn } from '../http/listener.ts';
import { readJson, type JsonArray, type JsonObject } from '../json/read.ts';
import { newSecret } from '../keys/secret.ts';
import { shellWord } from '../program/program.ts';

/** Reads the sample data, which the build copies from data/sample/. */
export function readSamples(samples: URL) {
  const [pets, orders] = ['pets.json', 'orders.json'].map((name) => {
    return (readJson(readFileSync(new URL(name, samples))) as JsonArray).items;
  });
  return {
    pets: pets!.map((pet) => readNewPet(pet)),
    orders: orders!.map((order) => readOrder(order as JsonObject)),
  };
}

/**
 * If there is no key yet: adds the sample animals and orders where there are none, creates a Business key, and returns a
 * text that shows the key with a curl command for each operation that is not deprecated. The key is created last, so
 * that the next start completes an interrupted one. If there is a key: changes nothing and returns ''.
 * Rejects with OperatorError if something cannot be saved; the log says why. `place` names where the data is.
 */
export async function startDemo(
  samples: ReturnType<typeof readSamples>,
  engine: Engine,
  place: string,
  serverAddress: string,
  basePath: string,
): Promise<string> {
  const { pets, keys } = engine;
  if ((await keys.list()).length > 0) return '';
  await engine.addOrders(samples.orders);
  try {
    if ((await pets.count()) === 0) await Promise.all(samples.pets.map((pet) => pets.create(pet)));
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    const advice = 'the line above says why; correct that, and start the server again with --demo';
    throw new OperatorError(`cannot save the sample animals in ${place}; ${advice}`);
  }
  const secret = newSecret();
  await keys.create('demo', { name: 'business' }, null, Date.now(), secret);

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
The store was empty. It now contains sample animals and orders, and one API key (plan business).
The key is shown only once:

  ${secret}

Try it:

  ${auth} ${curl} -H @- '${base}/pets?limit=5&status=available'
  ${auth} ${curl} -H @- -H 'Content-Type: application/json' -d '{"name":"Rex","categoryId":1}' ${base}/pets
  ${auth} ${curl} -H @- ${base}/store/orders
  ${curl} ${address}/openapi.json

`;
}
