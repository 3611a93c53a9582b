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
import { diskError } from '../files/errors.ts';
import { syncFolder } from '../files/replace.ts';
import { encodeMarker, encodeRecords, type EncodedRecords } from './journal-format.ts';
import { recoverJournal, type JournalOptions } from './journal-recovery.ts';
import { segmentPath, startSegment, type Segment } from './journal-segment.ts';

/** More than the record of any animal, as the body that makes it has at most 64 KiB. */
const probeBytes = 128 * 1024;

/** Records that are likely to come are waited for so long, and for so many turns of the event loop that bring none. */
const maxGatherMs = 2;
const maxIdleTurns = 4;

export class Journal {
  readonly #folder: string;
  readonly #table: JournalOptions['table'];
  /** Where records are encoded. */
  readonly #buffer = Buffer.allocUnsafeSlow(256 * 1024);
  /** The segments before the one that grows. */
  readonly #closed: Segment[];
  /** The number of the first record in the segment that grows. */
  #first: number;
  #file: AppendFile;
  #durable: number;
  /** The records that wait for their turn. */
  #waiting = new Group();
  /** How many records are likely to come for the next group: those that wait, and one of each client that has just been answered. */
  #expected = 0;
  /** What waits to be done between two groups. None of them rejects. */
  readonly #tasks: (() => Promise<void>)[] = [];
  #probing: Promise<void> | null = null;
  #running: Promise<void> | null = null;
  /** The length of the file's part that is on the disk. */
  #syncedBytes: number;
  /** Whether the end of the file and the names in the folder must be settled before more is written. */
  #needsRepair = true;
  /** Whether the last group was synced, and no line says so yet. */
  #markerDue = false;

  /** Reads the journal back, adding each record behind the snapshot to the table. Throws OperatorError on damage. */
  static async open(options: JournalOptions): Promise<Journal> {
    const { segments, last, provenBytes } = await recoverJournal(options);
    const active = segments.pop();
    const first = active?.first ?? last + 1;
    const path = segmentPath(options.folder, first);
    let file: AppendFile;
    try {
      file = active === undefined ? await startSegment(options.folder, first) : new AppendFile(path, active.bytes);
    } catch (error) {
      throw diskError('write', path, error);
    }
    const journal = new Journal(options, segments, first, file, last);
    // What a process had written that was killed, or whose syncs failed, may not be on the disk; from now on it counts as durable.
    if (active !== undefined) journal.#file.rewrite(provenBytes);
    await journal.#repair();
    await journal.removeSegments(options.snapshotSequence);
    return journal;
  }

  private constructor(options: JournalOptions, closed: Segment[], first: number, file: AppendFile, last: number) {
    this.#folder = options.folder;
    this.#table = options.table;
    this.#closed = closed;
    this.#first = first;
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
    this.#waiting.pets.push(pet);
    this.#running ??= this.#run();
    return this.#waiting.written;
  }

  /** Resolves if the disk takes writes, with room for a record of any animal. Rejects with what it reports. */
  probe(): Promise<void> {
    this.#probing ??= this.#betweenGroups(() => this.#probe()).finally(() => (this.#probing = null));
    return this.#probing;
  }

  /** Starts a new segment, between two groups. Rejects with what the disk reports; the old segment goes on then. */
  rotate(): Promise<void> {
    return this.#betweenGroups(() => this.#rotate());
  }

  /** Removes the segments before the current one that hold no record behind number `sequence`. */
  async removeSegments(sequence: number): Promise<void> {
    for (;;) {
      const [oldest, next] = this.#closed;
      if (oldest === undefined || (next?.first ?? this.#first) > sequence + 1) return;
      await rm(segmentPath(this.#folder, oldest.first), { force: true });
      await syncFolder(this.#folder); // or a power cut might bring back this one and not the next
      this.#closed.shift();
    }
  }

  /** Waits for what is under way, makes the last marker durable and closes the file. */
  async close(): Promise<void> {
    while (this.#running !== null) await this.#running;
    try {
      await this.#repair();
      this.#file.trim();
      await this.#file.sync();
    } finally {
      this.#file.close();
    }
  }

  #betweenGroups(work: () => Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#tasks.push(() => work().then(resolve, reject));
      this.#running ??= this.#run();
    });
  }

  async #run(): Promise<void> {
    for (;;) {
      await this.#gather();
      const task = this.#tasks.shift();
      if (task !== undefined) await task();
      const group = this.#waiting;
      if (group.pets.length > 0) {
        this.#waiting = new Group();
        await this.#commit(group);
      } else if (task === undefined) break;
    }
    // There was no await since #gather: whoever comes from now on starts anew.
    this.#appendMarker();
    this.#expected = 0;
    this.#running = null;
  }

  /**
   * Waits a turn of the event loop, in which the answers to the group before leave; and then for the records that the answered
   * clients are likely to send at once: one sync for all takes less than two for half each, and none waits for the sync of others.
   */
  async #gather(): Promise<void> {
    await nextTurn();
    if (this.#expected === 1) return; // it would go alone all the same
    const { pets } = this.#waiting;
    const until = performance.now() + maxGatherMs;
    for (let idle = 0; pets.length < this.#expected && idle < maxIdleTurns && performance.now() < until; ) {
      const before = pets.length;
      await nextTurn();
      if (pets.length === before) idle++;
    }
  }

  async #commit({ pets, resolve, reject }: Group): Promise<void> {
    let records: EncodedRecords;
    try {
      records = encodeRecords(pets, this.#durable, this.#buffer);
      await this.#write(records.bytes);
    } catch (error) {
      this.#expected = 0;
      return reject(error);
    }
    const { bytes, offsets } = records;
    this.#syncedBytes = this.#file.size;
    for (let i = 0; i < pets.length; i++) {
      this.#table.append(bytes, pets[i]!.status, offsets[2 * i]!, offsets[2 * i + 1]!);
    }
    this.#durable += pets.length;
    this.#markerDue = true;
    this.#expected = pets.length + this.#waiting.pets.length;
    resolve();
    if (!this.#file.isReserveLow) return;
    await nextTurn(); // the answers leave first
    try {
      await this.#file.extendReserve();
    } catch {
      this.#needsRepair = true; // the next write tells of the fault
    }
  }

  /** Appends and syncs. What it leaves if it fails is cut off at once or, if that fails too, before the next write. */
  async #write(bytes: Uint8Array): Promise<void> {
    try {
      await this.#repair();
      this.#file.append(bytes);
      await this.#file.sync();
    } catch (error) {
      this.#needsRepair = true;
      await this.#repair().catch(() => {});
      throw error;
    }
  }

  async #probe(): Promise<void> {
    await this.#write(Buffer.alloc(probeBytes));
    this.#needsRepair = true; // the zeros, and with them a marker, are cut off again
    await this.#repair();
    this.#markerDue = true;
  }

  /** Cuts off what no sync has reached, and makes that and the folder's names durable. Rejects with what the disk reports. */
  async #repair(): Promise<void> {
    if (!this.#needsRepair) return;
    this.#markerDue = false;
    this.#file.truncate(this.#syncedBytes);
    await syncFolder(this.#folder);
    await this.#file.sync();
    this.#needsRepair = false;
  }

  /** Lets the file itself say that its last group has been synced. If that cannot be written, the next write tells of the fault. */
  #appendMarker(): void {
    if (!this.#markerDue || this.#needsRepair) return;
    this.#markerDue = false;
    try {
      this.#file.append(encodeMarker(this.#durable));
    } catch {
      this.#needsRepair = true;
    }
  }

  async #rotate(): Promise<void> {
    const first = this.#durable + 1;
    if (first === this.#first) return; // it holds no record yet
    this.#appendMarker();
    await this.#repair();
    this.#needsRepair = true; // until the last marker is on the disk, and then the new segment's name
    this.#file.trim();
    await this.#file.sync();
    this.#syncedBytes = this.#file.size;
    const file = await startSegment(this.#folder, first);
    // Its name stands: from here on the old segment must not grow, whatever fails.
    this.#closed.push({ first: this.#first, bytes: this.#file.size });
    this.#file.close();
    this.#first = first;
    this.#file = file;
    this.#syncedBytes = file.size;
    await this.#repair();
  }
}

/** The records that are written and synced together. One promise for all: what lives until the disk has answered is what garbage collections copy. */
class Group {
  readonly pets: StoredPet[] = [];
  resolve!: () => void;
  reject!: (error: unknown) => void;
  /** Settled once the disk has answered. */
  readonly written = new Promise<void>((resolve, reject) => {
    this.resolve = resolve;
    this.reject = reject;
  });
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
