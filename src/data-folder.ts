import type { Stores } from './control/contents.ts';
import { describeHolder, FolderLock } from './control/folder-lock.ts';
import type { Log } from './domain/log.ts';
import { OperatorError } from './domain/operator-error.ts';
import { permissionWarning } from './files/permissions.ts';
import { storeIdOf } from './files/store-id.ts';
import { inTurns } from './files/turns.ts';
import { KeyRing } from './keys/key-ring.ts';
import { UsageFile } from './limits/usage-file.ts';
import { LineTable } from './store/line-table.ts';
import { orderSteps } from './store/orders.ts';
import { PetStore } from './store/pet-store.ts';
import { Progress } from './tools/progress.ts';

/** The data folder of a server, and what is in it. */
export class DataFolder implements Stores {
  readonly path: string;
  readonly lock: FolderLock;
  readonly store: string;
  readonly keys: KeyRing;
  readonly usage: UsageFile;
  /** Empty until `readOrders` has resolved. */
  readonly orders = new LineTable();
  /** Empty until `load` has resolved. */
  readonly pets: PetStore;
  readonly #log: Log;

  /** Takes the lock, and reads the keys and the counters. Rejects with OperatorError. */
  static async open(path: string, log: Log): Promise<DataFolder> {
    const lock = await FolderLock.acquire(path, 'server');
    const warning = permissionWarning(path);
    if (warning !== null) log(warning, 'warn', { folder: path });
    if (lock instanceof FolderLock) return new DataFolder(path, lock, log);
    const advice = 'stop that process, or choose another folder with --data';
    throw new OperatorError(`the data folder ${path} is in use by ${describeHolder(lock)}; ${advice}`);
  }

  private constructor(path: string, lock: FolderLock, log: Log) {
    this.path = path;
    this.lock = lock;
    this.#log = log;
    this.store = storeIdOf(path);
    this.keys = new KeyRing(path, this.checkLock, this.store);
    this.usage = new UsageFile(path, Date.now, log, this.checkLock, this.store);
    const { recorded } = this.usage;
    this.keys.checkChanges(recorded.keyChanges);
    this.pets = new PetStore(path, log, { store: this.store, recorded: recorded.durable, checkLock: this.checkLock });
  }

  /** Rejects if another process may write to the folder. */
  readonly checkLock = (): Promise<void> => this.lock.check();

  /** Reads the orders, in steps. Rejects with OperatorError. */
  readOrders(): Promise<void> {
    return inTurns(orderSteps(this.path, this.orders));
  }

  /** Reads the animals, and shows the progress. Rejects with OperatorError, and if `signal` is aborted meanwhile. */
  async load(signal: AbortSignal): Promise<void> {
    const progress = new Progress('reading the animals', this.#log);
    try {
      await this.pets.load(() => {
        signal.throwIfAborted();
        progress.show(this.pets.progress);
      });
      signal.throwIfAborted();
    } finally {
      progress.end();
    }
    this.usage.follow(this.pets, this.keys);
  }

  /** Saves what is not saved yet. A snapshot is written only if `withSnapshot`. Rejects with OperatorError. */
  async save(withSnapshot: boolean): Promise<void> {
    try {
      await this.usage.close();
    } finally {
      if (withSnapshot) await this.pets.snapshot();
      if (this.pets.progress === 100) await this.pets.close();
    }
  }
}
