import { statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import type { ByteText } from '../../domain/byte-text.ts';
import type { Log } from '../../observe/log.ts';
import { messageOf } from '../../domain/operator-error.ts';
import { idWarning, maxPetId, noIdsLeft, petLine, type NewPet, type StoredPet } from '../../domain/pet.ts';
import { UnavailableError, type Page, type PageQuery, type Pets } from '../../engine.ts';
import { describeError, LockLostError } from '../../files/errors.ts';
import { storeIdOf } from '../files/store-id.ts';
import { withAnimalFiles, type AnimalFiles } from './animal-files.ts';
import { Journal } from './journal.ts';
import { LineTable } from './line-table.ts';
import { readSnapshot, writeSnapshot, type Snapshot } from './snapshot.ts';

/** A journal up to this length is read in a fraction of a second, while writing a snapshot slows creates down. */
const defaultMinJournalBytes = 32 * 1024 * 1024;

/** How to open the animals of a data folder. */
export interface PetStoreOptions {
  /** The id of the store. */
  readonly store?: string;
  /** The number of the last journal record that another file shows to have been on disk; 0 if none does. */
  readonly recorded?: number;
  /** Throws if this process may not write to the folder any more. */
  readonly checkLock?: () => void;
  /** A journal of up to this length is not replaced by a snapshot. */
  readonly minJournalBytes?: number;
  /** Called after each create. */
  readonly onCreated?: () => void;
}

/** A probe takes a sync of the disk, so that nobody can have one for each request. */
const probeIntervalMs = 5_000;

/** The animals: in a table in memory, and on disk in a snapshot and a journal. */
export class PetStore implements Pets {
  /** The animals that are on disk. Only this class adds to them. */
  readonly table = new LineTable();
  readonly #folder: string;
  readonly #store: string;
  readonly #recorded: number;
  readonly #path: string;
  readonly #log: Log;
  readonly #checkLock: () => void;
  readonly #minJournalBytes: number;
  readonly #onCreated: () => void;
  #journal!: Journal;
  #snapshot!: Snapshot;
  #progress = 0;
  #lastId = 0;
  /** The length of the journal when writing a snapshot last failed; 0 if the last one succeeded. */
  #failedAtBytes = 0;
  #writing: Promise<void> | null = null;
  /** Settled when the snapshot under way, if any, is complete. */
  #saved: Promise<void> = Promise.resolve();
  /** Why the last write failed; null if it succeeded. */
  #failure: string | null = null;
  /** Since when animals can be added, or cannot (milliseconds since the epoch). */
  #since = 0;
  #snapshotFailures = 0;
  #snapshotMs = 0;
  /** When the snapshot was written (milliseconds since the epoch); null if there is none. */
  #snapshotAt: number | null = null;
  #probedAt = -Infinity;
  /** Settled when the last probe has ended. */
  #probed: Promise<void> = Promise.resolve();
  #closing = false;

  /** Makes a store and loads it. Rejects as `load` does. */
  static async open(folder: string, log: Log, options?: PetStoreOptions): Promise<PetStore> {
    const pets = new PetStore(folder, log, options);
    await pets.load();
    return pets;
  }

  /** Makes a store for the animals in a data folder. No method may be called before `load` has resolved. */
  constructor(folder: string, log: Log, options: PetStoreOptions = {}) {
    const { store = storeIdOf(folder), recorded = 0, checkLock = (): void => {} } = options;
    this.#folder = folder;
    this.#recorded = recorded;
    this.#path = join(folder, 'pets.json');
    this.#store = store;
    this.#log = log;
    this.#checkLock = checkLock;
    this.#minJournalBytes = options.minJournalBytes ?? defaultMinJournalBytes;
    this.#onCreated = options.onCreated ?? ((): void => {});
  }

  /** How much of the files has been read, in percent: 100 only when `load` is done. */
  get progress(): number {
    return this.#progress;
  }

  /**
   * Reads the animals, in parts: in between, the event loop turns. Each time, `onProgress` is called.
   * Rejects with OperatorError if a file is damaged or records are missing; the message names the file and, if
   * possible, the line. Rejects with what `onProgress` throws. The store must not be used then.
   */
  async load(onProgress = (): void => {}): Promise<void> {
    await withAnimalFiles(this.#folder, (files) => this.#read(files, onProgress));
    this.#since = Date.now();
    this.#progress = 100;
    this.#warnOfIds();
  }

  async #read({ snapshot, segments, bytes: size }: AnimalFiles, onProgress: () => void): Promise<void> {
    const [folder, table] = [this.#folder, this.table];
    let read = 0;
    const onRead = (bytes: number): void => {
      read += bytes;
      this.#progress = Math.min(99, Math.floor((read / (size + 1)) * 100));
      onProgress();
    };
    this.#snapshot = await readSnapshot(snapshot, table, onRead);
    this.#snapshotAt = statSync(this.#path, { throwIfNoEntry: false })?.mtimeMs ?? null;
    const { sequence, lastId } = this.#snapshot;
    const saveSnapshot = (onPiece: () => void): Promise<void> => this.#saveSnapshot(onPiece);
    this.#journal = await Journal.open({
      folder, segments, store: this.#store, recorded: this.#recorded, snapshotSequence: sequence, table,
      log: this.#log, checkLock: this.#checkLock, onRead, saveSnapshot,
    });
    this.#lastId = Math.max(lastId, Number(table.lastId ?? 0));
  }

  /**
   * Adds an animal. Resolves when it is on disk. Rejects with UnavailableError if the write or the sync fails; its id
   * is not used again. It does so, without a time after which to try again, if no id is left.
   */
  async create(pet: NewPet): Promise<StoredPet> {
    if (this.#lastId >= maxPetId) throw new UnavailableError(noIdsLeft);
    const id = ++this.#lastId;
    if (id === maxPetId) this.#warnOfIds();
    const stored = { id, line: petLine(id, pet), status: pet.status };
    try {
      await this.#journal.append(stored);
    } catch (error) {
      this.#noteFailed(error);
      throw new UnavailableError('The animal could not be saved. Try again later.', 5);
    }
    this.#noteWritten();
    this.#onCreated();
    this.#writeSnapshotIfDue();
    return stored;
  }

  page(query: PageQuery): Page {
    return this.table.page(query);
  }

  get(id: string): ByteText | null {
    return this.table.get(id);
  }

  count(): number {
    return this.table.count;
  }

  /** The number of the last journal record on disk. The table contains all records up to it. */
  get durable(): number {
    return this.#journal.durable;
  }

  /** Whether animals can be added. Tries to write, unless that was tried less than `probeIntervalMs` ago. */
  async writable(): Promise<boolean> {
    const now = performance.now();
    if (now - this.#probedAt >= probeIntervalMs) {
      this.#probedAt = now;
      this.#probed = this.#journal.probe().then(() => this.#noteWritten(), (error: unknown) => this.#noteFailed(error));
    }
    void this.#replaceIfLost();
    await this.#probed;
    return this.#refusal === null;
  }

  /**
   * Writes a snapshot if it would contain anything new, or if somebody has removed the file. A failure is only logged:
   * the journal has the animals.
   */
  async snapshot(): Promise<void> {
    await this.#writing;
    if ((await this.#isLost()) || this.#journal.durable > this.#snapshot.sequence) await this.#writeSnapshot();
  }

  /** The state of the files, for those who watch the server; null until `load` has resolved. */
  get figures() {
    if (this.#progress < 100) return null;
    const { bytes, durable, failures, lastSyncMs, lastSyncAt, stalled } = this.#journal;
    const [failed, lastMs, writtenAt] = [this.#snapshotFailures, this.#snapshotMs, this.#snapshotAt];
    return {
      /** Why creates are refused, or null; and since when that is so. */
      creates: { refusal: this.#refusal, since: this.#since },
      journal: { bytes, durable, failures, lastSyncMs, lastSyncAt, isStalled: stalled !== null },
      snapshot: { bytes: this.#snapshot.bytes, failures: failed, lastMs, writtenAt },
    };
  }

  /** Waits for all writing under way and closes the files. No other method may be called afterwards. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#writing;
    await this.#journal.close();
  }

  /** Why creates are refused, or null. */
  get #refusal(): string | null {
    const full = this.#lastId >= maxPetId ? idWarning(this.#lastId) : null;
    return this.#failure ?? this.#journal.stalled?.message ?? full;
  }

  #warnOfIds(): void {
    const warning = idWarning(this.#lastId);
    if (warning !== null) this.#log(`${this.#folder}: ${warning}`, 'warn');
  }

  /** Whether somebody has removed the snapshot. The journal does not have its animals. */
  async #isLost(): Promise<boolean> {
    if (this.#snapshot.bytes === 0) return false;
    const error = await stat(this.#path).then(() => null, (reason: NodeJS.ErrnoException) => reason);
    if (error?.code !== 'ENOENT') return false;
    this.#log(`${this.#path} was removed: all animals are saved in a new one`, 'warn');
    return true;
  }

  async #replaceIfLost(): Promise<void> {
    if (this.#writing === null && (await this.#isLost())) this.#beginSnapshot();
  }

  #noteWritten(): void {
    if (this.#failure === null) return;
    this.#log(`the journal of ${this.#path} can be written again`);
    this.#failure = null;
    this.#since = Date.now();
  }

  #noteFailed(error: unknown): void {
    const { message, remedy } = describeError(error);
    const note = remedy === undefined ? '' : `; ${remedy}`;
    const isFirst = this.#failure === null;
    this.#failure = `${message}${note}`;
    if (!isFirst) return;
    this.#since = Date.now();
    if (error instanceof LockLostError) return;
    const problem = `cannot write the journal of ${this.#path}: ${message}`;
    this.#log(`${problem}; creates are refused until it succeeds${note}`, 'error');
  }

  #writeSnapshotIfDue(): void {
    if (this.#journal.bytes <= Math.max(this.#failedAtBytes + this.#minJournalBytes, this.#snapshot.bytes)) return;
    this.#beginSnapshot();
  }

  #beginSnapshot(): void {
    if (this.#closing || this.#writing !== null) return;
    this.#writing = this.#writeSnapshot().finally(() => (this.#writing = null));
  }

  /** Writes a snapshot of the animals that are now in the table, while other requests add more. Never rejects. */
  async #writeSnapshot(): Promise<void> {
    try {
      await this.#journal.rotate();
      await this.#saveSnapshot();
      await this.#journal.removeSegments(this.#snapshot.sequence);
      this.#failedAtBytes = 0;
    } catch (error) {
      this.#failedAtBytes = this.#journal.bytes;
      this.#snapshotFailures++;
      if (error instanceof LockLostError) return;
      const note = 'no animal is lost, because the journal is kept';
      this.#log(`no new snapshot: ${messageOf(error)}; ${note}`, 'warn');
    }
  }

  /** Replaces the file. The journal can need a snapshot while another one is written: then this waits for that one. */
  #saveSnapshot(onPiece?: () => void): Promise<void> {
    const saved = this.#saved.then(async () => {
      const { durable } = this.#journal;
      const startedAt = performance.now();
      const state = { store: this.#store, sequence: durable, lastId: this.#lastId };
      this.#snapshot = await writeSnapshot(this.#path, this.table, state, this.#checkLock, onPiece);
      this.#snapshotMs = performance.now() - startedAt;
      this.#snapshotAt = Date.now();
    });
    this.#saved = saved.catch(() => {});
    return saved;
  }
}
