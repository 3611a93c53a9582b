import { join } from 'node:path';
import { ApiError } from '../domain/api-error.ts';
import { messageOf } from '../domain/operator-error.ts';
import { petLine, type NewPet, type StoredPet } from '../domain/pet.ts';
import { Journal } from './journal.ts';
import { LineTable, type Page, type PageQuery } from './line-table.ts';
import { readSnapshot, writeSnapshot, type Snapshot } from './snapshot.ts';

/** A smaller journal is not worth a snapshot: to read it back takes a fraction of a second, to write one makes creates wait. */
const defaultMinJournalBytes = 32 * 1024 * 1024;

/** The animals: in memory for reading, in a snapshot and a journal for good. */
export class PetStore {
  readonly #table = new LineTable();
  readonly #path: string;
  readonly #log: (line: string) => void;
  readonly #minJournalBytes: number;
  #journal!: Journal;
  #snapshot: Snapshot;
  #lastId = 0;
  /** The journal's length when a snapshot could not be written last; 0 if it could. */
  #failedAtBytes = 0;
  #writing: Promise<void> | null = null;
  #writeFailed = false;
  #closing = false;

  /**
   * Reads the store in `folder`. Throws OperatorError that names file and line where it is damaged.
   * A journal of up to `minJournalBytes` is not folded into a snapshot before the end.
   */
  static async open(
    folder: string,
    log: (line: string) => void,
    minJournalBytes = defaultMinJournalBytes,
  ): Promise<PetStore> {
    const store = new PetStore(folder, log, minJournalBytes);
    const { sequence, lastId } = store.#snapshot;
    store.#journal = await Journal.open({ folder, snapshotSequence: sequence, table: store.#table, log });
    store.#lastId = Math.max(lastId, Number(store.#table.lastId ?? 0));
    return store;
  }

  private constructor(folder: string, log: (line: string) => void, minJournalBytes: number) {
    this.#path = join(folder, 'pets.json');
    this.#log = log;
    this.#minJournalBytes = minJournalBytes;
    this.#snapshot = readSnapshot(this.#path, this.#table);
  }

  /** How many animals there are. */
  get count(): number {
    return this.#table.count;
  }

  /** The animal with this id, or null: the bytes of its JSON, one character for each (`latin1`). */
  get(id: bigint): string | null {
    return this.#table.get(id);
  }

  /** A page of the list, in ascending id. */
  page(query: PageQuery): Page {
    return this.#table.page(query);
  }

  /**
   * Adds an animal. Resolves when it is on the disk.
   * Throws ApiError `storage_unavailable` if it could not be made durable: then its id stays unused.
   */
  async create(pet: NewPet): Promise<StoredPet> {
    const id = ++this.#lastId;
    const stored = { id, line: petLine(id, pet), status: pet.status };
    try {
      await this.#journal.append(stored);
    } catch (error) {
      this.#noteFailed(error);
      const message = 'The animal could not be saved. Try again later.';
      throw new ApiError('storage_unavailable', message, { retryAfterSeconds: 5 });
    }
    this.#noteWritten();
    this.#writeSnapshotIfDue();
    return stored;
  }

  /** Whether animals can be added: after a failed write, tries whether the disk is back. */
  async writable(): Promise<boolean> {
    if (!this.#writeFailed) return true;
    try {
      await this.#journal.probe();
      this.#noteWritten();
      return true;
    } catch {
      return false;
    }
  }

  /** Brings the snapshot up to date, for a person to read. If it cannot, that is logged: the journal has the animals. */
  async snapshot(): Promise<void> {
    await this.#writing;
    if (this.#journal.durable > this.#snapshot.sequence) await this.#writeSnapshot();
  }

  /** Finishes what is being written. No call may follow. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#writing;
    await this.#journal.close();
  }

  #noteWritten(): void {
    if (this.#writeFailed) this.#log(`the journal of ${this.#path} can be written again`);
    this.#writeFailed = false;
  }

  #noteFailed(error: unknown): void {
    if (this.#writeFailed) return;
    this.#writeFailed = true;
    this.#log(`cannot write the journal of ${this.#path}: ${messageOf(error)}; creates are refused until it can`);
  }

  #writeSnapshotIfDue(): void {
    if (this.#closing || this.#writing !== null) return;
    if (this.#journal.bytes <= Math.max(this.#failedAtBytes + this.#minJournalBytes, this.#snapshot.bytes)) return;
    this.#writing = this.#writeSnapshot().finally(() => (this.#writing = null));
  }

  /** Writes the snapshot while requests go on: animals never change, so those there are now are the table's first rows. */
  async #writeSnapshot(): Promise<void> {
    try {
      await this.#journal.rotate();
      const sequence = this.#journal.durable;
      const head = { sequence, lastId: this.#lastId, count: this.count };
      this.#snapshot = await writeSnapshot(this.#path, this.#table, head);
      await this.#journal.removeSegments(sequence);
      this.#failedAtBytes = 0;
    } catch (error) {
      this.#failedAtBytes = this.#journal.bytes;
      this.#log(`no new snapshot: ${messageOf(error)}; the journal keeps the animals instead`);
    }
  }
}
