/**
 * `petstore import`: adds animals or orders from files, all or none of them.
 *
 * The animals of the folder and the new ones are written to a new snapshot, which replaces the old one in one step. So
 * nothing is left of an import that is killed, except temporary files. A running server has its own table and journal,
 * from which nothing can be taken back: therefore the server must be stopped.
 */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { useFolder } from '../lock/use-folder.ts';
import { describeHolder, type FolderLock } from '../lock/folder-lock.ts';
import { counted } from '../../domain/counted.ts';
import { int64OfJsonNumber } from '../../domain/int64.ts';
import { messageOf, OperatorError } from '../../domain/operator-error.ts';
import { orderLine, readOrder, type Order } from '../../domain/order.ts';
import { idWarning, maxPetId, petLine, readNewPet, type NewPet } from '../../domain/pet.ts';
import { onDisk, unsyncedReason } from '../../files/errors.ts';
import { Spool } from '../files/spool.ts';
import { storeIdOf } from '../files/store-id.ts';
import { JsonNumber, JsonObject } from '../../json/read.ts';
import { UsageFile } from '../accounts/usage-file.ts';
import { withAnimalFiles } from '../store/animal-files.ts';
import { recoverJournal } from '../store/journal-recovery.ts';
import { Journal, type JournalOptions } from '../store/journal.ts';
import { writeOrders } from '../store/orders.ts';
import { readSnapshot, writeSnapshot } from '../store/snapshot.ts';
import { idOf, orderLines, type PetSink } from './contents.ts';
import type { Progress } from '../../program/progress.ts';
import { importError, readValues, type ValueInFile } from './values.ts';

/** The files to import. */
export interface FilesToImport {
  readonly paths: readonly string[];
  /** Whether the ids in the files are kept. Otherwise new ones are assigned. */
  readonly keepIds: boolean;
  readonly progress: Progress;
}

/** What to import into a data folder. */
export interface ImportOptions extends FilesToImport {
  readonly folder: string;
  /** Returns the time in milliseconds since the epoch. */
  readonly now: () => number;
  readonly log: (line: string) => void;
}

/** How many records were imported, and their smallest and largest id. All of them are there. */
export interface Imported {
  readonly count: number;
  readonly firstId: bigint | number;
  readonly lastId: bigint | number;
  /** What the operator should know about the ids that are left; null if there are enough. */
  readonly warning: string | null;
  /** Why a power cut may undo the import; null if it is on disk. */
  readonly unsynced: string | null;
}

/** The part of the folder's lock that an import needs. */
type Lock = Pick<FolderLock, 'check'>;

/** A value in one of the files. */
interface Incoming extends ValueInFile {
  readonly path: string;
}

/** An animal in one of the files. */
export interface IncomingPet {
  readonly id: number;
  readonly pet: NewPet;
  readonly path: string;
  readonly line: number;
}

/** An order in one of the files. */
export interface IncomingOrder {
  readonly order: Order;
  readonly path: string;
  readonly line: number;
}

/** The event loop turns after this many values, so that the lock can respond that this process holds it. */
const valuesPerTurn = 1000;

/** Adds the animals in the files. Rejects with OperatorError, which names the line at fault; nothing is added then. */
export function importPets(options: ImportOptions): Promise<Imported> {
  return withStoppedFolder(options, (lock) => addPets(options, lock));
}

/** Adds the orders in the files. Rejects with OperatorError, which names the line at fault; nothing is added then. */
export function importOrders(options: ImportOptions): Promise<Imported> {
  return withStoppedFolder(options, (lock) => addOrders(options, lock));
}

/** Does what `importPets` does, in a folder whose lock is held. */
export async function addPets(options: ImportOptions, lock: Lock): Promise<Imported> {
  const { folder, keepIds, now, log } = options;
  const store = storeIdOf(folder);
  const usage = new UsageFile(folder, now, log, () => lock.check(), store);
  const { durable: recorded, keyChanges } = usage.recorded;
  const checkLock = (): void => lock.check();
  const spool = new Spool(join(folder, 'pets.json.import.tmp'));
  try {
    const incoming = valuesIn(options);
    let next = keepIds ? nextPet(incoming, keepIds, 0) : null;
    let firstId = 0;
    let count = 0;
    let largest = 0;
    const add = ({ id, pet }: IncomingPet): void => {
      if (count++ === 0) firstId = id;
      largest = id;
      spool.append(Buffer.from(petLine(id, pet), 'latin1'));
    };
    let id = 0; // of the last animal that was read
    const table: PetSink = {
      append(bytes, status, start = 0, end = bytes.length) {
        id = idOf(bytes, start);
        for (; next !== null && next.id < id; next = nextPet(incoming, keepIds, next.id)) add(next);
        if (next?.id === id) throw importError(next.path, next.line, `there is an animal with the id ${id}`);
        spool.append(bytes, status, start, end);
      },
    };
    const { sequence, lastId } = await withAnimalFiles(folder, async ({ snapshot, segments }) => {
      const { sequence: snapshotSequence, lastId: assigned } = await readSnapshot(snapshot, table);
      const journal = { folder, segments, store, snapshotSequence, recorded, table, log, checkLock };
      // Without segments there is nothing to repair, so an import that fails leaves no journal in a new folder.
      const read = segments.length === 0 ? (await recoverJournal(journal)).last : await openAndClose(journal);
      return { sequence: read, lastId: Math.max(assigned, id) };
    });
    if (!keepIds) next = nextPet(incoming, keepIds, lastId);
    for (; next !== null; next = nextPet(incoming, keepIds, next.id)) {
      add(next);
      if (count % valuesPerTurn === 0) await nextTurn();
    }
    let unsynced = null;
    if (count > 0) {
      // An import counts as a record. So a start notices if the new snapshot is missing or replaced by an older one.
      const state = { store, sequence: sequence + 1, lastId: Math.max(lastId, largest) };
      const written = writeSnapshot(join(folder, 'pets.json'), spool, state, checkLock);
      unsynced = await unsyncedReason(written);
      // If a power cut may undo the import, the old segments are needed.
      if (unsynced === null) {
        const again = { log() {}, table: { append() {} }, snapshotSequence: state.sequence };
        await finish([
          () => withAnimalFiles(folder, ({ segments }) =>
            openAndClose({ folder, segments, store, recorded, checkLock, ...again })),
          () => {
            usage.follow(() => ({ durable: state.sequence, keyChanges }));
            return usage.close();
          },
        ], log);
      }
    }
    return { count, firstId, lastId: largest, warning: idWarning(Math.max(lastId, largest)), unsynced };
  } finally {
    spool.close();
  }
}

/** Opens the journal, which repairs it, and closes it. Resolves to the number of the last record. */
async function openAndClose(options: Omit<JournalOptions, 'saveSnapshot'>): Promise<number> {
  const lost = new OperatorError(`the journal in ${options.folder} was removed or replaced; try again`);
  const journal = await Journal.open({ ...options, saveSnapshot: () => Promise.reject(lost) });
  await journal.close();
  return journal.durable;
}

/** Takes the steps that follow a complete import. If one fails, that is logged, and the next start takes it. */
async function finish(steps: readonly (() => Promise<unknown>)[], log: (line: string) => void): Promise<void> {
  for (const step of steps) {
    await step().catch((error: unknown) => log(`${messageOf(error)}; the next start of the server tries again`));
  }
}

/** Does what `importOrders` does, in a folder whose lock is held. */
export async function addOrders(options: ImportOptions, lock: Lock): Promise<Imported> {
  const { folder } = options;
  const lines = new Map(orderLines(folder).map((line) => [BigInt(/^\{"id":(-?[0-9]+)/.exec(line)![1]!), line]));
  const lastId = [...lines.keys()].reduce((largest, id) => (id > largest ? id : largest), 0n);
  const ids: bigint[] = [];
  for (const { order, path, line } of ordersIn(options, lastId + 1n)) {
    if (lines.has(order.id)) throw importError(path, line, `there is an order with the id ${order.id}`);
    lines.set(order.id, orderLine(order));
    ids.push(order.id);
    if (ids.length % valuesPerTurn === 0) await nextTurn();
  }
  ids.sort(ascending);
  let unsynced = null;
  if (ids.length > 0) {
    const sorted = [...lines].sort(([a], [b]) => ascending(a, b)).map(([, line]) => line);
    unsynced = await unsyncedReason(writeOrders(folder, storeIdOf(folder), sorted, () => lock.check()));
  }
  const largest = ids.at(-1) ?? 0n;
  const warning = orderIdWarning(largest > lastId ? largest : lastId);
  return { count: ids.length, firstId: ids[0] ?? 0, lastId: largest, warning, unsynced };
}

/** Returns what the operator should know if few ids are larger than the last one of an order; null otherwise. */
export function orderIdWarning(lastId: bigint): string | null {
  const left = maxInt64 - lastId;
  if (left >= fewOrderIds) return null;
  const effect = `ids end at ${maxInt64}, so only ${counted(left, 'order')} can be imported without --keep-ids`;
  return `${effect}; give the orders smaller ids`;
}

const maxInt64 = 2n ** 63n - 1n;
/** A warning is due if fewer ids are left for orders. */
const fewOrderIds = 1_000_000n;
const ascending = (a: bigint, b: bigint): number => (a < b ? -1 : a > b ? 1 : 0);

function withStoppedFolder<T>({ folder }: ImportOptions, work: (lock: FolderLock) => Promise<T>): Promise<T> {
  return useFolder(folder, {
    withoutLock: null,
    withLock: work,
    async withServer(held) {
      throw new OperatorError(`${folder} is in use by ${describeHolder(held)}; stop it before an import`);
    },
  });
}

/** Yields the animals in all files, by ascending ids; new ids begin with 1. Throws as `importPets` does. */
export function* petsIn(files: FilesToImport): Generator<IncomingPet, void, void> {
  const incoming = valuesIn(files);
  for (let id = 0; ; ) {
    const next = nextPet(incoming, files.keepIds, id);
    if (next === null) return;
    yield next;
    id = next.id;
  }
}

/** Yields the orders in all files; new ids begin with `nextId`. Throws as `importOrders` does. */
export function* ordersIn(files: FilesToImport, nextId: bigint): Generator<IncomingOrder, void, void> {
  for (const { value, path, line } of valuesIn(files)) {
    let order: Order;
    try {
      if (!(value instanceof JsonObject)) throw new Error('the value must be a JSON object: an order');
      order = readOrder(value, files.keepIds ? undefined : nextId++);
    } catch (error) {
      throw importError(path, line, messageOf(error));
    }
    if (order.id > maxInt64) throw importError(path, line, 'all ids have been assigned');
    yield { order, path, line };
  }
}

/** Yields the values in all files, one after the other. */
function* valuesIn({ paths, progress }: FilesToImport): Generator<Incoming, void, void> {
  progress.expect(paths.reduce((sum, path) => sum + onDisk('read', path, () => statSync(path).size), 0));
  for (const path of paths) {
    for (const value of readValues(path)) {
      progress.add(value.bytes);
      yield { ...value, path };
    }
  }
}

/**
 * Returns the next animal; null if there is none. Its id is the one after `previous` or, if it is kept, the one in its
 * file, which must exceed `previous`.
 */
function nextPet(
  incoming: Generator<Incoming, void, void>, keepIds: boolean, previous: number,
): IncomingPet | null {
  const { value: next } = incoming.next();
  if (next === undefined) return null;
  if (!keepIds) return petOf(next, previous + 1);
  const { value, path, line } = next;
  const given = value instanceof JsonObject ? value.get('id') : undefined;
  const id = given instanceof JsonNumber ? int64OfJsonNumber(given.text) : null;
  const rule = `id must be an integer from 1 to ${maxPetId}`;
  if (value instanceof JsonObject && (id === null || id < 1n || id > maxPetId)) throw importError(path, line, rule);
  if (Number(id) <= previous && value instanceof JsonObject) {
    throw importError(path, line, `the id ${id} is not greater than ${previous}, the one before: sort by id`);
  }
  return petOf(next, Number(id));
}

function petOf({ value, path, line }: Incoming, id: number): IncomingPet {
  if (id > maxPetId) throw importError(path, line, `all ids up to ${maxPetId} have been assigned`);
  try {
    return { id, pet: readNewPet(value, 'the value'), path, line };
  } catch (error) {
    throw importError(path, line, messageOf(error).replace(/\.$/, ''));
  }
}
