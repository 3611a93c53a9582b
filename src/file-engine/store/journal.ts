/**
 * The journal: the file to which new animals are appended, divided into segments.
 *
 * The problem. An animal must be on disk before its create is confirmed, but a sync of the disk takes longer than
 * everything else in a create. And any write or sync can fail, or be cut short by a crash.
 *
 * The idea. Group commit: records that arrive during a sync are written together and share the next one. A line is a
 * record, which adds an animal, or a marker, which does not (docs/files.md has the format):
 *
 *     {"seq":8,"durable":7,"pet":{"id":8,…},"crc":"0c1d2e3f"}
 *     {"seq":8,"durable":8,"crc":"4a5b6c7d"}
 *
 * `seq` is the number of the record; a marker repeats that of the last record. `durable` is the number of the last
 * record that was known to be on disk when the line was written. Recovery (journal-recovery.ts) uses it to distinguish
 * damage from an end that a crash cut off.
 *
 * The invariants.
 * - An animal is added to the table, and the promise of `append` resolves, only after the sync of its record.
 * - One loop, `#run`, does all writing. It does one task after the other: writes a group, probes or rotates. No file
 *   operation begins before the last one has ended, however long it takes.
 * - If the disk makes no progress for 2 s, those who wait are refused, and so are all others until it does. The
 *   operation under way cannot be interrupted. If its group is saved in the end, it is added to the table.
 * - After a failed write or sync, nothing is written until the file was truncated to its last synced length. This is
 *   because the kernel may treat pages as written that never reached the disk. If the process ends before the repair,
 *   the next start writes everything again that no line shows to have been synced.
 * - A segment gets its name only when everything before it is on disk. So a crash can damage only the last segment.
 * - Nothing is written if this process does not hold the lock of the folder any more.
 * - A group is confirmed only if the lock and the segments still have their names after its sync. If a segment does
 *   not, all animals are saved in a snapshot, and the group is written to a new segment.
 * - A marker follows the last group of a series: it is written 10 ms later or at the end, and only to a file that needs
 *   no repair. Nobody waits for it.
 */
import { performance } from 'node:perf_hooks'; // the global `performance` is a getter, called on each use
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StoredPet } from '../../domain/pet.ts';
import { AppendFile } from '../files/append-file.ts';
import { asideName } from '../files/aside.ts';
import { diskError } from '../../files/errors.ts';
import { statOf } from '../../files/identity.ts';
import { rename, rm, syncFolder } from '../files/replace.ts';
import { encodeMarker, encodeRecords } from './journal-format.ts';
import { recoverJournal, type RecoveryOptions } from './journal-recovery.ts';
import { removeSegment, segmentPath, setTornEndAside, startSegment, type Segment } from './journal-segment.ts';

/** How long to wait for records that are likely to arrive, and for how many turns of the event loop without one. */
const maxGatherMs = 2;
const maxIdleTurns = 4;

/** Those who wait for a write or a sync are refused if the disk makes no progress for this time. */
const stallMs = 2_000;

/** A series of groups has ended when nothing was written for this time. */
const markerDelayMs = 10;

interface Task {
  /** Rejects with the error of the disk. */
  readonly work: () => Promise<void>;
  /** Settle the promise of whoever waits. If they were refused meanwhile, these have no effect. */
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** How to open a journal. */
export interface JournalOptions extends RecoveryOptions {
  /** The id of the store. */
  readonly store: string;
  /** Throws if this process may not write to the folder any more. */
  readonly checkLock: () => void;
  /**
   * Writes a snapshot of the table, in which all records up to `durable` are. Called if a segment was removed or
   * replaced by somebody else. Calls `onPiece` while it makes progress. Rejects if it fails.
   */
  readonly saveSnapshot: (onPiece: () => void) => Promise<void>;
}

/** The journal of one data folder, open for appending. */
export class Journal {
  readonly #options: JournalOptions;
  /** Records are encoded here, unless they are too long. */
  readonly #buffer = Buffer.allocUnsafeSlow(256 * 1024);
  /** The segments before the current one, the oldest first. */
  readonly #closed: Segment[];
  /** The number of the current segment's first record. */
  #first: number;
  /** The current segment. */
  #file: AppendFile;
  #durable: number;
  /** The animals of the next group. */
  #waiting: StoredPet[] = [];
  /** Settled when the next group is on disk or has failed; null if nothing waits. */
  #written: Promise<void> | null = null;
  /** How many records the next group is likely to have: those that wait, and one of each client just responded to. */
  #expected = 0;
  /** The tasks for `#run`. */
  readonly #tasks: Task[] = [];
  /** The task under way. */
  #task: Task | null = null;
  /** Counts the operations of the disk that have ended. */
  #steps = 0;
  /** Expires when the disk has made no progress for `stallMs`. It is not stopped when nothing is under way. */
  readonly #watch = setTimeout(() => void this.#refuseIfStalled(), stallMs).unref();
  #stalled: Error | null = null;
  /** How many writes or syncs have failed, and how often the disk has made no progress for `stallMs`. */
  failures = 0;
  /** How long the last sync took, including a write before it, and when it ended (milliseconds since the epoch). */
  lastSyncMs = 0;
  lastSyncAt = 0;
  #running: Promise<void> | null = null;
  /** The length of the file at its last successful sync. */
  #syncedBytes: number;
  /** Whether `#repair` has work to do before anything else is written. */
  #needsRepair = true;
  /** The number of the last record that the snapshot contains. */
  #snapshotSequence: number;
  /** Whether no line shows yet that the last group was synced. */
  #markerDue = false;
  /** Expires when nothing was written for `markerDelayMs`. */
  readonly #pause = setTimeout(() => this.#beginMarker(), markerDelayMs).unref();

  /**
   * Opens the journal, and adds the animals of the records after the snapshot to the table.
   * Rejects with OperatorError if the journal is damaged or cannot be written.
   */
  static async open(options: JournalOptions): Promise<Journal> {
    const { folder, store, log, checkLock } = options;
    const { segments, obsolete, torn, last, provenBytes } = await recoverJournal(options);
    const active = segments.pop();
    const first = active?.first ?? last + 1;
    const path = segmentPath(folder, first);
    try {
      checkLock(); // reading can take long
      if (torn !== null) await setTornEndAside(torn, log, checkLock);
      const isNew = active === undefined;
      // An import that was killed may have left changes that are not on disk: the name of its snapshot, without which
      // these segments are needed, and the removal of segments, which would not fit the new one.
      if (isNew) await syncFolder(folder);
      for (const segment of obsolete) await removeSegment(folder, segment.first, checkLock);
      const file = isNew
        ? await startSegment(folder, store, first, checkLock)
        : await AppendFile.open(path, active.bytes);
      const journal = new Journal(options, segments, first, file, last);
      // From now on all records that were read count as durable. So those that may not have reached the disk, because a
      // process was killed or its syncs failed, are written again, and `#repair` syncs them.
      if (!isNew) await file.rewrite(provenBytes);
      await journal.#repair();
      await journal.removeSegments(options.snapshotSequence);
      return journal;
    } catch (error) {
      throw diskError('write', path, error);
    }
  }

  private constructor(options: JournalOptions, closed: Segment[], first: number, file: AppendFile, last: number) {
    this.#options = options;
    this.#closed = closed;
    this.#first = first;
    this.#file = file;
    this.#syncedBytes = file.size;
    this.#durable = last;
    this.#snapshotSequence = options.snapshotSequence;
  }

  /** The number of the last record on disk. The table contains all records up to it. */
  get durable(): number {
    return this.#durable;
  }

  /** The length of all segments in bytes, reserved space excluded. */
  get bytes(): number {
    return this.#closed.reduce((sum, segment) => sum + segment.bytes, this.#file.size);
  }

  /** Why everything is refused: the disk makes no progress. Null if it does. */
  get stalled(): Error | null {
    return this.#stalled;
  }

  /**
   * Resolves when the animal is on disk and in the table. Rejects with the error of the write or the sync. If the disk
   * makes no progress, this rejects as well, but an animal that is being written may still be added.
   */
  append(pet: StoredPet): Promise<void> {
    if (this.#stalled !== null) return Promise.reject(this.#stalled);
    this.#waiting.push(pet);
    // One promise for the group, because garbage collections copy every object that lives as long as a sync.
    this.#written ??= this.#enqueue(() => this.#commit());
    return this.#written;
  }

  /** Resolves if reserved space can be written and synced, which is larger than any record. Rejects with the error. */
  probe(): Promise<void> {
    return this.#enqueue(async () => {
      const isRepair = this.#needsRepair;
      await this.#write(() => this.#file.reserve());
      if (isRepair) this.#markerDue = true; // instead of the one that was removed
    });
  }

  /** Starts a new segment between two groups. Rejects with the error of the disk; the old segment then stays in use. */
  rotate(): Promise<void> {
    return this.#enqueue(async () => {
      const lost = this.#lostSegment();
      if (lost !== null) await this.#startAgain(lost);
      const first = this.#durable + 1;
      if (first === this.#first) return; // the current segment has no record yet
      await this.#appendMarker();
      await this.#repair();
      this.#needsRepair = true; // until the marker is synced, and after that until the new segment's name is
      this.#options.checkLock();
      await this.#file.truncate();
      await this.#sync();
      this.#syncedBytes = this.#file.size;
      const old = { first: this.#first, bytes: this.#file.size };
      await this.#startSegment(first);
      // The new segment has its name. Whatever fails from here on, the old one must not grow.
      this.#closed.push(old);
      await this.#repair();
    });
  }

  /** Removes the segments before the current one that contain only records up to number `sequence`. */
  async removeSegments(sequence: number): Promise<void> {
    this.#snapshotSequence = sequence;
    for (let oldest; (oldest = this.#closed[0]) !== undefined && !this.#isNeeded(oldest); ) {
      await removeSegment(this.#options.folder, oldest.first, this.#options.checkLock);
      if (this.#closed[0] === oldest) this.#closed.shift(); // not if `#startAgain` has removed it meanwhile
    }
  }

  /** Writes a marker if one is due. Resolves when nothing is left to write. */
  async idle(): Promise<void> {
    while (this.#running !== null || this.#beginMarker()) await this.#running;
  }

  /** Waits for the work under way, syncs the last marker and closes the file. Rejects with the error of the disk. */
  async close(): Promise<void> {
    await this.idle();
    try {
      await this.#repair();
      this.#options.checkLock();
      await this.#file.truncate();
      await this.#file.sync();
    } finally {
      clearTimeout(this.#watch);
      clearTimeout(this.#pause);
      await this.#file.close();
    }
  }

  /** Adds a task. Returns its result. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    if (this.#stalled !== null) return Promise.reject(this.#stalled);
    return new Promise((resolve, reject) => {
      this.#tasks.push({ work, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Does the tasks until a turn of the event loop brings none. */
  async #run(): Promise<void> {
    for (;;) {
      await this.#gather();
      const task = this.#tasks.shift();
      if (task === undefined) break;
      this.#task = task;
      this.#noteProgress();
      await task.work().then(task.resolve, task.reject);
      this.#task = null;
      this.#noteProgress();
    }
    // There was no await after #gather, so nothing can have been added. The next call starts a new loop.
    this.#running = null;
    this.#pause.refresh();
  }

  /** Begins to write a marker if one is due and nothing else is under way. Returns whether it has begun. */
  #beginMarker(): boolean {
    const begins = this.#running === null && this.#markerDue && !this.#needsRepair;
    if (begins) this.#enqueue(() => this.#appendMarker()).catch(() => {}); // `#refuseIfStalled` rejects it
    return begins;
  }

  /** Notes that the disk makes progress. */
  #noteProgress(): void {
    this.#steps++;
    this.#stalled = null;
    this.#watch.refresh();
  }

  /**
   * Refuses those who wait, and all who come until the disk makes progress again. The task under way continues: it
   * cannot be interrupted, and nothing else may be written before it ends.
   */
  async #refuseIfStalled(): Promise<void> {
    const steps = this.#steps;
    await nextTurn(); // the disk may have made progress while the event loop was blocked
    if (this.#task === null || steps !== this.#steps) return;
    this.failures++;
    this.#stalled = new Error(`the disk has made no progress for ${stallMs / 1000} s`);
    for (const { reject } of [this.#task, ...this.#tasks.splice(0)]) reject(this.#stalled);
    this.#waiting = [];
    this.#written = null;
  }

  /**
   * Waits for one turn of the event loop, in which the responses to the last group are sent, and then for the records
   * that these clients are likely to send next. One sync for all of them takes less time than two for half each, and no
   * record waits for the sync of others.
   */
  async #gather(): Promise<void> {
    await nextTurn();
    if (this.#expected === 1) return; // nothing to wait for
    const pets = this.#waiting;
    const until = performance.now() + maxGatherMs;
    for (let idle = 0; pets.length < this.#expected && idle < maxIdleTurns && performance.now() < until; ) {
      const before = pets.length;
      await nextTurn();
      if (pets.length === before) idle++;
    }
  }

  /** Writes and syncs the group that waits, and adds its animals to the table. Rejects with the error of the disk. */
  async #commit(): Promise<void> {
    const pets = this.#waiting;
    this.#waiting = [];
    this.#written = null;
    this.#expected = 0; // if this fails
    const { bytes, offsets } = encodeRecords(pets, this.#durable, this.#buffer);
    await this.#write(() => this.#file.append(bytes));
    this.#syncedBytes = this.#file.size;
    for (let i = 0; i < pets.length; i++) {
      this.#options.table.append(bytes, pets[i]!.status, offsets[2 * i]!, offsets[2 * i + 1]!);
    }
    this.#durable += pets.length;
    this.#markerDue = true;
    this.#expected = pets.length + this.#waiting.length;
  }

  /**
   * Writes to the current segment and syncs it; if a segment is lost then, it starts again and repeats that. If it
   * fails, it repairs the file at once or, if that fails too, before the next write.
   */
  async #write(write: () => Promise<void>): Promise<void> {
    try {
      let lost = await this.#writeAndSync(write);
      if (lost === null) return;
      await this.#startAgain(lost);
      lost = await this.#writeAndSync(write);
      if (lost !== null) throw new Error(`${lost} was removed or replaced again`);
    } catch (error) {
      this.failures++;
      this.#needsRepair = true;
      await this.#repair().catch(() => {});
      throw error;
    }
  }

  /**
   * Returns the path of a segment that was lost, or null. If there is one, what was written must not be confirmed.
   * Rejects if the write fails, or if the lock was lost meanwhile: another process may have written to the same place.
   */
  async #writeAndSync(write: () => Promise<void>): Promise<string | null> {
    await this.#repair();
    this.#options.checkLock();
    await this.#sync(write);
    this.#options.checkLock();
    return this.#lostSegment();
  }

  /** Syncs the current segment after it was written to. */
  async #sync(write = async (): Promise<void> => {}): Promise<void> {
    const startedAt = performance.now();
    await write();
    this.#noteProgress();
    await this.#file.sync();
    this.lastSyncMs = performance.now() - startedAt;
    this.lastSyncAt = Date.now();
    this.#noteProgress();
  }

  /** Returns the path of a segment that somebody else has removed, replaced or truncated; null if there is none. */
  #lostSegment(): string | null {
    const paths = this.#closed.filter((segment) => this.#isNeeded(segment)).map(({ first }) => this.#pathOf(first));
    const path = this.#pathOf(this.#first);
    return paths.find((closed) => statOf(closed) === undefined) ?? (this.#file.isAt(path) ? null : path);
  }

  #pathOf(first: number): string {
    return segmentPath(this.#options.folder, first);
  }

  /** Whether this is a segment before the current one, with a record that the snapshot does not contain. */
  #isNeeded(segment: Segment): boolean {
    const index = this.#closed.indexOf(segment);
    return index >= 0 && (this.#closed[index + 1]?.first ?? this.#first) > this.#snapshotSequence + 1;
  }

  /**
   * Replaces the segments, one of which is lost, by a snapshot and a new segment. A file that somebody else has put in
   * the place of the current segment is kept under another name. The order matters for a crash: the segments are
   * needed until there is the snapshot, and they do not fit the new one.
   */
  async #startAgain(lost: string): Promise<void> {
    const { folder, log, saveSnapshot } = this.#options;
    const path = this.#pathOf(this.#first);
    await saveSnapshot(() => this.#noteProgress());
    await this.removeSegments(this.#durable);
    this.#options.checkLock();
    let kept = '';
    if (this.#file.isAt(path)) await rm(path);
    else if (statOf(path) !== undefined) {
      const aside = await asideName(path, 'replaced');
      await rename(path, aside);
      kept = `; the file that is there now was renamed to ${aside}`;
    }
    await syncFolder(folder);
    this.#needsRepair = true; // until the name of the new segment is synced
    await this.#startSegment(this.#durable + 1);
    await this.#repair();
    const done = 'all animals were saved in a new snapshot, and the journal was started again';
    log(`${lost} was removed or replaced while the server was running: ${done}${kept}`, 'warn');
  }

  /** Makes a new segment the current one. The caller must sync the folder. */
  async #startSegment(first: number): Promise<void> {
    const { folder, store, checkLock } = this.#options;
    const file = await startSegment(folder, store, first, checkLock);
    const old = this.#file;
    this.#first = first;
    this.#file = file;
    this.#syncedBytes = file.size;
    await old.close().catch(() => {}); // what is needed of it was synced
  }

  /** If necessary, truncates the file to its last synced length, and syncs the folder and the file. */
  async #repair(): Promise<void> {
    if (!this.#needsRepair) return;
    this.#markerDue = false;
    this.#options.checkLock();
    await this.#file.truncate(this.#syncedBytes);
    this.#noteProgress();
    await syncFolder(this.#options.folder);
    this.#noteProgress();
    await this.#sync();
    this.#needsRepair = false;
  }

  /** Appends a marker if one is due. It may be missing: if this fails, the next write repairs the file. */
  async #appendMarker(): Promise<void> {
    if (!this.#markerDue || this.#needsRepair) return;
    this.#markerDue = false;
    this.#expected = 0;
    try {
      this.#options.checkLock();
      await this.#file.append(encodeMarker(this.#durable));
    } catch {
      this.#needsRepair = true;
    }
  }
}
