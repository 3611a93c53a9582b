import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describeHolder, FolderLock } from './lock/folder-lock.ts';
import { responseTo } from './lock/send-response.ts';
import type { Log } from '../observe/log.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { orderLine, type Order } from '../domain/order.ts';
import type { Engine, Execute, Figures, Records } from '../engine.ts';
import { permissionWarning } from './files/permissions.ts';
import { storeIdOf } from './files/store-id.ts';
import { inTurns } from './files/turns.ts';
import { UsageFile } from './accounts/usage-file.ts';
import { LineTable } from './store/line-table.ts';
import { ordersName, orderSteps, readOrders, writeOrders } from './store/orders.ts';
import { PetStore } from './store/pet-store.ts';
import { Progress } from '../program/progress.ts';
import { FileAccounts } from './accounts/file-accounts.ts';

export interface FileEngineOptions {
  /** The lock of the folder; null if nothing is written. It is released with the engine. */
  readonly lock?: FolderLock | null;
  /** The time in milliseconds since the epoch. */
  readonly now?: () => number;
}

/** The storage engine that has everything in memory and in the files of a data folder (docs/files.md). */
export class FileEngine implements Engine {
  readonly folder: string;
  /** The id of the store. */
  readonly store: string;
  readonly usage: UsageFile;
  /** Empty until `load` has resolved. */
  readonly pets: PetStore;
  /** Empty until `prepare` has resolved. */
  readonly orderTable = new LineTable();
  readonly orders: Records = {
    page: (query) => this.orderTable.page(query),
    count: () => this.orderTable.count,
  };
  readonly accounts: FileAccounts;
  readonly keys: FileAccounts;
  readonly #lock: FolderLock | null;
  readonly #now: () => number;
  readonly #log: Log;
  #isLoaded = false;

  /** Takes the lock of a folder for a server, and reads the keys and the counts. Rejects with OperatorError. */
  static async open(folder: string, log: Log): Promise<FileEngine> {
    const lock = await FolderLock.acquire(folder, 'server');
    const warning = permissionWarning(folder);
    if (warning !== null) log(warning, 'warn', { folder });
    if (lock instanceof FolderLock) return new FileEngine(folder, log, { lock });
    const advice = 'stop that process, or choose another folder with --data';
    throw new OperatorError(`the data folder ${folder} is in use by ${describeHolder(lock)}; ${advice}`);
  }

  /** Reads the keys and the counts. Throws an OperatorError if a file is damaged, missing or unreadable. */
  constructor(folder: string, log: Log, { lock = null, now = Date.now }: FileEngineOptions = {}) {
    this.folder = folder;
    this.#log = log;
    this.#lock = lock;
    this.#now = now;
    const checkLock = lock === null ? undefined : () => lock.check();
    this.store = storeIdOf(folder);
    // It is read before keys.json, so that the changes that it records are in there.
    this.usage = new UsageFile(folder, now, log, checkLock, this.store);
    this.accounts = this.keys = new FileAccounts(folder, checkLock, this.store, this.usage);
    const { recorded } = this.usage;
    this.keys.checkChanges(recorded.keyChanges);
    const options = { store: this.store, recorded: recorded.durable, onCreated: () => this.usage.noteChange() };
    this.pets = new PetStore(folder, log, checkLock === undefined ? options : { ...options, checkLock });
  }

  get progress(): number {
    return this.pets.progress;
  }

  /** Reads the orders, in steps. */
  prepare(): Promise<void> {
    return inTurns(orderSteps(this.folder, this.orderTable));
  }

  /** Reads the animals, and shows the progress. */
  async load(signal?: AbortSignal): Promise<void> {
    const progress = new Progress('reading the animals', this.#log);
    try {
      await this.pets.load(() => {
        signal?.throwIfAborted();
        progress.show(this.pets.progress);
      });
      signal?.throwIfAborted();
    } finally {
      progress.end();
    }
    this.#isLoaded = true;
    this.usage.follow(() => ({ durable: this.pets.durable, keyChanges: this.keys.changes }));
  }

  figures(): Figures {
    const { pets, usage, orderTable } = this;
    const files = pets.figures;
    const state = {
      animals: pets.table.count,
      orders: orderTable.count,
      bannedKeys: usage.limiter.bannedKeys(this.#now()),
      creates: files?.creates ?? null,
    };
    if (files === null) return { ...state, metrics: [], details: { journal: null, snapshot: null } };
    const { journal, snapshot } = files;
    const metric = (type: 'gauge' | 'counter', name: string, help: string, value: number) =>
      ({ type, name: `petstore_${name}`, help, value });
    return {
      ...state,
      metrics: [
        metric('gauge', 'journal_bytes', 'Length of the journal.', journal.bytes),
        metric('gauge', 'journal_last_record', 'Number of the last record on disk.', journal.durable),
        metric('gauge', 'journal_last_sync_duration_seconds',
          'Duration of the last sync of the journal, and the write before.', journal.lastSyncMs / 1000),
        metric('counter', 'journal_failures_total', 'Failed or hanging writes and syncs of the journal.',
          journal.failures),
        metric('gauge', 'journal_stalled', 'Whether the disk makes no progress.', Number(journal.isStalled)),
        metric('gauge', 'snapshot_bytes', 'Length of the snapshot.', snapshot.bytes),
        metric('gauge', 'snapshot_last_duration_seconds',
          'Duration of the last snapshot written; 0 before the first.', snapshot.lastMs / 1000),
        metric('counter', 'snapshot_failures_total', 'Snapshots that could not be written.', snapshot.failures),
      ],
      details: {
        journal: {
          bytes: journal.bytes,
          lastSyncAt: new Date(journal.lastSyncAt).toISOString(),
          lastSyncMs: journal.lastSyncMs,
          failures: journal.failures,
        },
        snapshot: {
          bytes: snapshot.bytes,
          writtenAt: snapshot.writtenAt === null ? null : new Date(snapshot.writtenAt).toISOString(),
          failures: snapshot.failures,
        },
      },
    };
  }

  async addOrders(orders: readonly Order[]): Promise<void> {
    const { folder, store, orderTable } = this;
    const lock = this.#lock;
    if (existsSync(join(folder, ordersName))) return;
    await writeOrders(folder, store, orders.map(orderLine), lock === null ? undefined : () => lock.check());
    readOrders(folder, orderTable);
  }

  serveCommands(address: string | null, execute: Execute, report: (problem: string) => void): void {
    this.#lock?.serve(address, (command) => responseTo(command, execute), report);
  }

  async close(): Promise<void> {
    try {
      await this.usage.close();
    } finally {
      if (this.#isLoaded) await this.pets.snapshot(); // otherwise the files have everything
      if (this.progress === 100) await this.pets.close();
    }
    await this.usage.close(); // creates that were under way have changed what it records
  }

  async release(): Promise<void> {
    await this.#lock?.release();
  }

  /** Releases the lock when the commands under way have their responses. */
  async abandon(): Promise<void> {
    await this.#lock?.abandon();
  }
}
