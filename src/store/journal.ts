/**
 * The journal: what was created since the snapshot, as lines that are on the disk before anyone is told of them.
 *
 *     {"seq":8,"durable":7,"pet":{"id":8,…},"crc":"0c1d2e3f"}
 *     {"seq":8,"durable":8,"crc":"4a5b6c7d"}
 *
 * The first is a record. The second is a marker: it adds nothing but what it knows. `seq` counts the records without a
 * gap; a marker repeats the last one. `durable` is the number of the last record known to be on the disk when the line
 * was written. `crc` is the CRC-32 of everything before `,"crc":`.
 *
 * Group commit: records that arrive while the disk is busy, or just behind the answers to those before, are written
 * together and share the next `fdatasync`. A record's promise resolves after the sync that covers it, never before.
 *
 * Segments: the journal is a row of files `pets.<n>.journal`, n being the number of the first record in each. Only the
 * last one grows, into zeros that stand ready behind its last line. A snapshot starts a new segment, and removes those
 * before it when it is done (journal-recovery.ts reads them back). A segment gets its name only when all before it is on
 * the disk: a crash can tear the last one alone.
 *
 * Failures: what a failed write or sync left is cut off before anything else is written, back to the last sync that
 * succeeded. For after a failed sync the kernel may take for written what never reached the disk. The process may end
 * before it has cut it off: so a start writes again what no line shows to have been synced.
 */
import { rm } from 'node:fs/promises';
import { performance } from 'node:perf_hooks'; // the global one is a getter, which V8 calls each time
import type { StoredPet } from '../domain/pet.ts';
import { AppendFile } from '../files/append-file.ts';
import { syncFolder } from '../files/replace.ts';
import { encodeMarker, encodeRecords, type EncodedRecords, type Segment } from './journal-format.ts';
import { JournalGroup } from './journal-group.ts';
import { recoverJournal, type RecoveryOptions } from './journal-recovery.ts';
import { firstSegment, openSegment, startSegment, type OpenSegment } from './journal-segment.ts';

/** More than the record of any animal, as the body that makes it has at most 64 KiB. */
const probeBytes = 128 * 1024;

/** Records that are likely to come are waited for so long, and for so many turns of the event loop that bring none. */
const maxGatherMs = 2;
const maxQuietTurns = 4;

export class Journal {
  readonly #folder: string;
  readonly #table: RecoveryOptions['table'];
  /** Where records are encoded. */
  readonly #room = Buffer.allocUnsafeSlow(256 * 1024);
  /** The segments before the one that grows. */
  readonly #closed: Segment[];
  #active: Segment;
  #file: AppendFile;
  #durable: number;
  /** What waits for its turn: `#count` records. */
  #waiting: JournalGroup | null = null;
  /** How many records are likely to come for the next group: those that wait, and one of each client that has just been answered. */
  #expected = 0;
  #rotation: (() => Promise<void>) | null = null;
  #running: Promise<void> | null = null;
  /** The length of the file's part that is on the disk. */
  #syncedBytes: number;
  /** Whether the end of the file and the names in the folder must be settled before more is written. */
  #unsettled = true;

  /** Reads the journal back, adding each record behind the snapshot to the table. Throws OperatorError on damage. */
  static async open(options: RecoveryOptions): Promise<Journal> {
    const { segments, last, provenBytes } = await recoverJournal(options);
    const active = segments.pop();
    const end = active === undefined ? await firstSegment(options.folder, last + 1) : openSegment(active);
    const journal = new Journal(options, segments, end, last);
    // What a process had written that was killed, or whose syncs failed, may not be on the disk; from now on it counts as durable.
    if (active !== undefined) journal.#file.rewrite(provenBytes);
    await journal.#settle();
    await journal.removeClosed(options.snapshotSequence);
    return journal;
  }

  private constructor({ folder, table }: RecoveryOptions, closed: Segment[], { segment, file }: OpenSegment, last: number) {
    this.#folder = folder;
    this.#table = table;
    this.#closed = closed;
    this.#active = segment;
    this.#file = file;
    this.#syncedBytes = file.size;
    this.#durable = last;
  }

  /** The number of the last record on the disk: everything up to it is in the table. */
  get durable(): number {
    return this.#durable;
  }

  /** Bytes in all segments. */
  get bytes(): number {
    return this.#closed.reduce((sum, segment) => sum + segment.bytes, this.#file.size);
  }

  /** Resolves when the animal is on the disk and in the table. Rejects with what the disk reports. */
  append(pet: StoredPet): Promise<void> {
    const group = (this.#waiting ??= new JournalGroup());
    group.pets.push(pet);
    this.#start();
    return group.written;
  }

  /** Resolves if the disk takes writes, with room for a record of any animal. Rejects with what it reports. */
  probe(): Promise<void> {
    const { written } = (this.#waiting ??= new JournalGroup());
    this.#start();
    return written;
  }

  /** Starts a new segment, between two groups. Rejects with what the disk reports; the old segment goes on then. */
  rotate(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#rotation = () => this.#rotate().then(resolve, reject);
      this.#start();
    });
  }

  /** Removes the segments before the current one that hold no record behind number `sequence`. */
  async removeClosed(sequence: number): Promise<void> {
    for (;;) {
      const [oldest, next = this.#active] = this.#closed;
      if (oldest === undefined || next.first > sequence + 1) return;
      await rm(oldest.path, { force: true });
      await syncFolder(this.#folder); // or a power cut might bring back this one and not the next
      this.#closed.shift();
    }
  }

  /** Waits for what is under way, makes the last marker durable and closes the file. */
  async close(): Promise<void> {
    while (this.#running !== null) await this.#running;
    try {
      await this.#settle();
      this.#file.trim();
      await this.#file.sync();
    } finally {
      this.#file.close();
    }
  }

  #start(): void {
    this.#running ??= this.#run();
  }

  async #run(): Promise<void> {
    let synced = false;
    let group: JournalGroup | null;
    do {
      await this.#gather();
      const rotate = this.#rotation;
      this.#rotation = null;
      if (rotate !== null) {
        if (synced) this.#appendMarker();
        synced = false;
        await rotate();
      }
      group = this.#waiting;
      this.#waiting = null;
      if (group !== null) synced = await this.#commit(group);
    } while (group !== null || this.#waiting !== null || this.#rotation !== null);
    // Nothing waits: let the file itself say that its last record has been synced.
    if (synced) this.#appendMarker();
    this.#expected = 0;
    this.#running = null; // no await since the loop ended: whoever comes from now on starts anew
  }

  /**
   * Waits a turn of the event loop, in which the answers to the group before leave; and then for the records that the answered
   * clients are likely to send at once: one sync for all takes less than two for half each, and none waits for the sync of others.
   */
  async #gather(): Promise<void> {
    await nextTurn();
    if (this.#expected === 1) return; // it would go alone all the same
    const until = performance.now() + maxGatherMs;
    for (let quiet = 0; this.#count < this.#expected && quiet < maxQuietTurns && performance.now() < until; ) {
      const before = this.#count;
      await nextTurn();
      if (this.#count === before) quiet++;
    }
  }

  get #count(): number {
    return this.#waiting?.pets.length ?? 0;
  }

  async #commit({ pets, resolve, reject }: JournalGroup): Promise<boolean> {
    let records: EncodedRecords;
    try {
      await this.#settle();
      records = encodeRecords(pets, this.#durable, this.#room);
      this.#file.append(pets.length === 0 ? Buffer.alloc(probeBytes) : records.bytes);
      await this.#file.sync();
      if (pets.length === 0) {
        this.#unsettled = true; // the probe goes again
        await this.#settle();
      }
    } catch (error) {
      this.#unsettled = true;
      await this.#settle().catch(() => {}); // then before the next write
      this.#expected = 0;
      reject(error);
      return false;
    }
    const { bytes, places } = records;
    this.#syncedBytes = this.#file.size;
    for (let i = 0; i < pets.length; i++) this.#table.append(bytes, pets[i]!.status, places[2 * i]!, places[2 * i + 1]!);
    this.#durable += pets.length;
    this.#expected = pets.length + this.#count;
    resolve();
    if (pets.length === 0 || !this.#file.runsShort) return true;
    await nextTurn(); // the answers leave first
    try {
      await this.#file.replenish();
      return true;
    } catch {
      this.#unsettled = true; // the next write tells of the fault
      return false;
    }
  }

  /** Cuts off what no sync has reached, and makes that and the folder's names durable. Rejects with what the disk reports. */
  async #settle(): Promise<void> {
    if (!this.#unsettled) return;
    this.#file.truncate(this.#syncedBytes);
    await syncFolder(this.#folder);
    await this.#file.sync();
    this.#unsettled = false;
  }

  /** It may be missing: if it cannot be written, the next write tells of the fault. */
  #appendMarker(): void {
    try {
      this.#file.append(encodeMarker(this.#durable));
    } catch {
      this.#unsettled = true;
    }
  }

  async #rotate(): Promise<void> {
    if (this.#active.first === this.#durable + 1) return; // it holds no record yet
    await this.#settle();
    this.#unsettled = true; // until the last marker is on the disk, and then the new segment's name
    this.#file.trim();
    await this.#file.sync();
    this.#syncedBytes = this.#file.size;
    const { segment, file } = await startSegment(this.#folder, this.#durable + 1);
    // Its name stands: from here on the old segment must not grow, whatever fails.
    this.#closed.push({ ...this.#active, bytes: this.#file.size });
    this.#file.close();
    this.#file = file;
    this.#active = segment;
    this.#syncedBytes = file.size;
    await this.#settle();
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
