/**
 * What happens to a data folder in tests of the disk: creates, snapshots, key commands, usage, imports, starts, stops
 * and kills, with what was confirmed meanwhile.
 */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { mock } from 'node:test';
import { OperatorError } from '../domain/operator-error.ts';
import { petLine } from '../domain/pet.ts';
import type { ChangedKey } from '../engine.ts';
import { storeIdOf } from '../file-engine/files/store-id.ts';
import { KeyRing } from '../file-engine/accounts/key-ring.ts';
import { limitsOf } from '../limits/plans.ts';
import { UsageFile } from '../file-engine/accounts/usage-file.ts';
import { PetStore } from '../file-engine/store/pet-store.ts';
import { addOrders, addPets, type ImportOptions } from '../file-engine/tools/import.ts';
import { orderLines } from '../file-engine/tools/contents.ts';
import { Progress } from '../program/progress.ts';
import { turns } from './journal.ts';
import type { SimulatedDisk } from './simulated-disk.ts';
import { stopTime } from './timers.ts';

/** Timers expire only in `pause`, so that the operations do not depend on the speed of the machine. */
const pass = stopTime({ mock });

/** The history does not share its folder. */
const lock = { check: (): void => {} };
const now = Date.parse('2026-11-21T12:00:00Z');

/** What must be found at some moment. */
export interface Confirmed {
  /** The number of confirmed animals. */
  readonly animals: number;
  /** The range of the states of the keys, any of which may be found. */
  readonly keys: readonly [from: number, to: number];
  /** The number of requests that were saved as usage, and that were sent. */
  readonly used: readonly [from: number, to: number];
  /** The range of the states of the orders, any of which may be found. */
  readonly orders: readonly [from: number, to: number];
}

interface Stores {
  readonly keys: KeyRing;
  readonly usage: UsageFile;
  readonly pets: PetStore;
}

/** Opens what the server opens, in the same order. */
async function open(folder: string, log: (line: string) => void): Promise<Stores> {
  const store = storeIdOf(folder);
  const keys = new KeyRing(folder, undefined, store);
  const usage = new UsageFile(folder, () => now, log, undefined, store);
  keys.checkChanges(usage.recorded.keyChanges);
  const pets = await PetStore.open(folder, log, { store, recorded: usage.recorded.durable });
  // Steps save usage.json. A timer of a history that has failed would write to the folder of the next one.
  let isFollowed = false;
  usage.follow(() => (isFollowed ? { durable: pets.durable, keyChanges: keys.changes } : { durable: 0, keyChanges: 0 }));
  isFollowed = true;
  return { keys, usage, pets };
}

async function close({ usage, pets }: Stores): Promise<void> {
  try {
    await usage.close();
  } finally {
    await pets.snapshot();
    await pets.close();
  }
}

/** Each step rejects if the disk fails. Creates may be concurrent, other steps are not. */
export class History {
  readonly logged: string[] = [];
  readonly #disk: SimulatedDisk;
  readonly #folder: string;
  #stores: Stores | null = null;
  /** The names of all animals that were sent; no other may be found. */
  readonly #sent = new Set<string>();
  /** The lines of the animals that were confirmed, or found at a start. */
  readonly #animals: string[] = [];
  /** The states of the keys, one after each change, as JSON. */
  readonly #keyStates = ['[]'];
  /** The last of them that is durable, and the last that may be found. */
  #keys: [number, number] = [0, 0];
  #used: [number, number] = [0, 0];
  /** The names of the animals of each import: all or none of them may be found. */
  readonly #imports: string[][] = [];
  /** The numbers of orders, one after each import of orders, and the range of those that may be found. */
  readonly #orderCounts = [0];
  #orders: [number, number] = [0, 0];

  constructor(disk: SimulatedDisk, folder: string) {
    this.#disk = disk;
    this.#folder = folder;
  }

  get isRunning(): boolean {
    return this.#stores !== null;
  }

  /** What must be found if the process or the power ends now. */
  get confirmed(): Confirmed {
    return { animals: this.#animals.length, keys: [...this.#keys], used: [...this.#used], orders: [...this.#orders] };
  }

  async start(): Promise<void> {
    this.#stores = await open(this.#folder, (line) => this.logged.push(line));
    this.#used[1] = this.#compare(this.#stores, this.confirmed);
    // From now on clients see what is there.
    const known = new Set(this.#animals);
    this.#animals.push(...linesIn(this.#stores.pets).filter((line) => !known.has(line)));
  }

  async create(bytes = 10): Promise<void> {
    const name = `${this.#sent.size} ${'x'.repeat(bytes)}`;
    this.#sent.add(name);
    const { line } = await this.#running.pets.create({ name, categoryId: 1n, status: 'sold' }).catch((error) => {
      throw new Error(`${this.logged.at(-1)}`, { cause: error }); // the error itself does not say why
    });
    this.#animals.push(line);
  }

  /** Sends nothing for so long that the journal gets a marker. A failure is not noticed. */
  async pause(): Promise<void> {
    await turns(8); // the journal waits for the next records of the last clients
    await pass(10);
    await turns(8);
  }

  /** Writes a snapshot. A failure is only logged. */
  fold(): Promise<void> {
    return this.#running.pets.snapshot();
  }

  createKey(): Promise<void> {
    return this.#changeKey(({ keys }) => keys.create('till', { name: 'free' }, null, now));
  }

  rotateKey(): Promise<void> {
    return this.#changeKey(({ keys }) => keys.rotate('k1', 0, now));
  }

  moveKey(): Promise<void> {
    return this.#changeKey(({ keys }) => keys.setPlan('k1', { name: 'enterprise', perMinute: 9, perDay: now }, now));
  }

  /** Uses a key and saves that. */
  async useKey(): Promise<void> {
    const { usage } = this.#running;
    if (usage.limiter.admitKey('k1', limitsOf({ name: 'business' }), now, 0)) this.#used[1]++;
    await usage.save();
    this.#used[0] = this.#used[1];
  }

  /** Imports animals. The server must be stopped. */
  async importPets(count: number): Promise<void> {
    const names = Array.from({ length: count }, (_, index) => `import ${this.#imports.length}, ${index}`);
    for (const name of names) this.#sent.add(name);
    this.#imports.push(names);
    const pets = names.map((name) => ({ name, categoryId: 1n, status: 'sold' as const }));
    const options = this.#importOptions(pets.map((pet) => petLine(0, pet)));
    const { firstId, unsynced } = await addPets(options, lock).catch((error: unknown) => {
      if (!this.#disk.isOff) for (const name of names) this.#sent.delete(name); // none may be found
      throw error;
    });
    if (unsynced === null) this.#animals.push(...pets.map((pet, index) => petLine(Number(firstId) + index, pet)));
  }

  /** Imports orders. The server must be stopped. */
  async importOrders(count: number): Promise<void> {
    const next = this.#orderCounts.length;
    this.#orderCounts.push(this.#orderCounts.at(-1)! + count);
    this.#orders[1] = next;
    const order = '{"id":1,"petId":1,"quantity":1,"status":"placed","complete":false}';
    const options = this.#importOptions(Array<string>(count).fill(order));
    const { unsynced } = await addOrders(options, lock).catch((error: unknown) => {
      if (!this.#disk.isOff) this.#orderCounts[next] = this.#orderCounts[next - 1]!;
      throw error;
    });
    if (unsynced === null) this.#orders[0] = next;
  }

  #importOptions(lines: readonly string[]): ImportOptions {
    const path = `${this.#folder}.import`;
    writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
    const log = (line: string): void => void this.logged.push(line);
    const progress = new Progress('import');
    return { folder: this.#folder, paths: [path], keepIds: false, now: () => now, log, progress };
  }

  async stop(): Promise<void> {
    const stores = this.#running;
    this.#stores = null;
    await close(stores);
    this.#used[0] = this.#used[1];
  }

  /** Ends the process: what it does from now on has no effect. */
  async kill(): Promise<void> {
    if (this.#stores === null) return;
    this.#disk.isOff = true;
    await close(this.#stores).catch(() => {});
    this.#disk.isOff = false;
    this.#stores = null;
  }

  /**
   * Starts on the folder as it is, compares it with what was confirmed at some moment and with the line of another
   * animal, creates an animal and stops. Returns the line of that animal.
   */
  async verify(confirmed: Confirmed, also?: string): Promise<string> {
    const stores = await open(this.#folder, (line) => this.logged.push(line));
    this.#compare(stores, confirmed);
    if (also !== undefined) assert(linesIn(stores.pets).includes(also), `lost: ${also}`);
    const name = `verified ${this.#sent.size}`;
    this.#sent.add(name);
    const { line } = await stores.pets.create({ name, categoryId: 1n, status: 'sold' });
    await close(stores);
    return line;
  }

  /** Fails if something that was confirmed is missing. Returns the usage of the key. */
  #compare({ keys, usage, pets }: Stores, { animals, keys: [from, to], used, orders }: Confirmed): number {
    const lines = linesIn(pets);
    const found = new Set(lines);
    for (const line of this.#animals.slice(0, animals)) assert(found.has(line), `lost: ${line.slice(0, 80)}`);
    let last = 0;
    for (const line of lines) {
      const { id, name } = JSON.parse(line) as { id: number; name: string };
      assert(id > last && this.#sent.has(name), `not expected: ${line.slice(0, 80)}`);
      last = id;
    }
    const names = new Set(lines.map((line) => (JSON.parse(line) as { name: string }).name));
    assert.equal(names.size, lines.length, 'an animal is there twice');
    for (const all of this.#imports) {
      const count = all.filter((name) => names.has(name)).length;
      assert(count === 0 || count === all.length, `${count} of an import of ${all.length}`);
    }
    const counts = this.#orderCounts.slice(orders[0], orders[1] + 1);
    assert(counts.includes(orderLines(this.#folder).length), `orders: not ${counts.join(' or ')}`);
    const state = JSON.stringify(keys.keys);
    assert(this.#keyStates.slice(from, to + 1).includes(state), `keys: ${state}, not ${from} to ${to}`);
    const count = usage.limiter.usageOf('k1', now).day.used;
    assert(count >= used[0] && count <= used[1], `used: ${count}, not ${used.join(' to ')}`);
    for (const line of this.logged) assert(!line.includes('start from nothing'), line);
    return count;
  }

  async #changeKey(change: (stores: Stores) => Promise<ChangedKey>): Promise<void> {
    const { keys } = this.#running;
    const next = this.#keyStates.length;
    this.#keys[1] = next; // from now on it may be on disk
    let unsynced;
    try {
      ({ unsynced } = await change(this.#running));
    } catch (error) {
      assert(error instanceof OperatorError, String(error));
      this.#keys[1] = next - 1;
      throw error;
    }
    this.#keyStates.push(JSON.stringify(keys.keys));
    if (unsynced === null) this.#keys[0] = next;
  }

  get #running(): Stores {
    assert(this.#stores !== null);
    return this.#stores;
  }
}

function linesIn({ table }: PetStore): string[] {
  const text = [...table.pieces(table.count, 64 * 1024)].map(String).join('');
  return text.split(',\n').slice(0, -1);
}
