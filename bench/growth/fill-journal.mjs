// Goes on filling a folder until its journal is almost as long as it may be before the server writes a snapshot:
// fill-journal.mjs FOLDER SPARE, which leaves that many bytes. Prints how many animals there are then.
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { PetStore } from '../../dist/store/pet-store.js';
import { animal } from '../measure/animal.mjs';

const [folder, spare] = process.argv.slice(2);
// As store/pet-store.ts has it. If that changes, no snapshot is written where one is expected, and the bench says so.
const due = Math.max(32 * 1024 * 1024, statSync(join(folder, 'pets.json')).size);
const store = await PetStore.open(folder, (complaint) => {
  console.error(complaint);
  process.exit(1);
});
const journal = join(folder, readdirSync(folder).find((name) => name.endsWith('.journal')));
/** Without the zeros behind its last line. */
const journalBytes = () => readFileSync(journal).findLastIndex((byte) => byte !== 0) + 1;
/** More than the journal needs for one. */
const recordBytes = 160;
for (;;) {
  const room = due - Number(spare) - journalBytes();
  if (room <= 0) break;
  const count = Math.min(20_000, Math.ceil(room / recordBytes));
  const first = store.count + 1;
  await Promise.all(Array.from({ length: count }, (_, i) => store.create(animal(first + i))));
}
console.log(store.count);
await store.close();
