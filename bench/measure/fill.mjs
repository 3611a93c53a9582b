// Fills a data folder with animals, as the server itself would have: fill.mjs FOLDER HOW-MANY.
import { PetStore } from '../../dist/store/pet-store.js';
import { animal } from './animal.mjs';

const [folder, animals] = process.argv.slice(2);
const store = await PetStore.open(folder, (complaint) => {
  console.error(complaint); // the disk is full, say: then this folder is of no use
  process.exit(1);
});
const atOnce = 20_000;
for (let id = 1; id <= Number(animals); id += atOnce) {
  const count = Math.min(atOnce, Number(animals) - id + 1);
  await Promise.all(Array.from({ length: count }, (_, i) => store.create(animal(id + i))));
}
await store.snapshot();
await store.close();
