// Fills a data folder with animals as the server itself does, and writes a snapshot: `fill.mjs FOLDER COUNT`. With a
// third argument SPARE it adds animals until the journal has room for only SPARE bytes before the server would write
// the next snapshot. Prints how many animals there are then.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PetStore } from '../../dist/file-engine/store/pet-store.js';
import { animal } from './animal.mjs';

const [folder, animals, spare] = process.argv.slice(2);
const store = await PetStore.open(folder, (message) => {
  console.error(message); // for example because the disk is full: this folder cannot be used
  process.exit(1);
});
const create = (count) => {
  const first = store.table.count + 1;
  return Promise.all(Array.from({ length: Math.min(20_000, count) }, (_, i) => store.create(animal(first + i))));
};
while (store.table.count < Number(animals)) await create(Number(animals) - store.table.count);
await store.snapshot();

/** More bytes than one record needs. */
const recordBytes = 256;
while (spare !== undefined) {
  // As in PetStore. If that changes, no snapshot is written where one is expected, and the bench reports it.
  const maxBytes = Math.max(32 * 1024 * 1024, statSync(join(folder, 'pets.json')).size);
  const journal = readFileSync(join(folder, readdirSync(folder).find((name) => name.endsWith('.journal'))));
  const used = journal.findLastIndex((byte) => byte !== 0) + 1; // zeros follow the last line
  const room = maxBytes - Number(spare) - used;
  if (room <= 0) break;
  await create(Math.ceil(room / recordBytes));
}
console.log(store.table.count);
await store.close();
