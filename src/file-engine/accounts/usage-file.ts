/**
 * `usage.json`: the usage and the ban of each key, so that they survive a restart (decisions.md, "Restarts").
 *
 * The whole file is written in the background, about a second after the first change that it does not contain. The
 * number of requests has no influence on the number of writes. If a write fails, the server continues to run and tries
 * again.
 *
 * Because it is written so often, it also records the number of the last journal record that is on disk, and how often
 * the keys were changed. The next start notices by it if animals or keys are missing.
 */
import { join } from 'node:path';
import type { Log } from '../../observe/log.ts';
import { messageOf } from '../../domain/operator-error.ts';
import { asideName } from '../files/aside.ts';
import { DamagedFileError, diskError, LockLostError } from '../../files/errors.ts';
import { readRecords, writeRecords, type RecordHead, type RecordNumbers } from '../files/record-file.ts';
import { rename } from '../files/replace.ts';
import { storeIdOf } from '../files/store-id.ts';
import { countMember, objectMember, stringMember, timeMember } from '../files/members.ts';
import type { JsonObject } from '../../json/read.ts';
import type { Ban } from '../../limits/bans.ts';
import { KeyUsage } from '../../limits/key-usage.ts';
import { Limiter } from '../../limits/limiter.ts';
import type { Window } from '../../limits/windows.ts';

export const usageName = 'usage.json';
export const usageFormat = { name: 'petstore-usage', member: 'keys' };
/** The time from the first unsaved change to the write. It is less than 1 s, because a busy event loop adds to it. */
const saveDelayMs = 800;

/** Keeps the counters and bans of a limiter in a file. */
export class UsageFile {
  readonly limiter: Limiter;
  readonly #path: string;
  readonly #now: () => number;
  readonly #log: Log;
  readonly #checkLock: (() => void) | undefined;
  readonly #store: string;
  #numbers: () => RecordNumbers;
  #isFollowing = false;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  /** The write that waits for the one under way. */
  #next: Promise<void> | null = null;
  #failing = false;
  /** Whether the file is damaged and must be set aside before it is written. */
  #damaged = false;

  /**
   * Reads the file of a data folder. If it is damaged, this is logged, all counters start from nothing, and the file is
   * set aside before it is next written. Throws an OperatorError if it cannot be read. `checkLock` throws if this
   * process may not write to the folder any more. `store` is the id of the store.
   */
  constructor(
    folder: string,
    now: () => number,
    log: Log,
    checkLock?: () => void,
    store = storeIdOf(folder),
  ) {
    this.#path = join(folder, usageName);
    this.#now = now;
    this.#log = log;
    this.#checkLock = checkLock;
    this.#store = store;
    const usages = new Map<string, KeyUsage>();
    let recorded: RecordNumbers = { durable: 0, keyChanges: 0 };
    try {
      const { records, ...numbers } = readRecords(this.#path, usageFormat, decodeUsage);
      for (const { id, usage } of records) usages.set(id, usage);
      recorded = numbers;
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error;
      this.#damaged = true;
      const effect = 'all counters and bans start from nothing, and missing animals or keys cannot be noticed';
      log(`${error.problem}; ${effect}`, 'warn');
    }
    this.#numbers = () => recorded;
    this.limiter = new Limiter(usages, now(), () => this.#scheduleSave());
  }

  /** The last journal record, and the number of changes of the keys, that are known to be on disk. */
  get recorded(): RecordNumbers {
    return this.#numbers();
  }

  /** From now on, the file records these numbers. It is saved soon if it does not have them yet. */
  follow(numbers: () => RecordNumbers): void {
    const { durable, keyChanges } = this.recorded;
    this.#numbers = numbers;
    this.#isFollowing = true;
    if (numbers().durable > durable || numbers().keyChanges > keyChanges) this.#scheduleSave();
  }

  /** Called when one of the numbers has changed. */
  noteChange(): void {
    if (this.#isFollowing) this.#scheduleSave();
  }

  /** Saves all changes so far. Rejects with an OperatorError; the file is then unchanged, and will be tried again. */
  save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined; // later changes may miss this write, so they schedule another one
    if (this.#next !== null) return this.#next; // the disk is slow; this write has not begun
    this.#next = this.#saving.then(async () => {
      this.#next = null;
      if (this.#damaged) await this.#setAside();
      const { head, lines } = this.contents;
      return writeRecords(this.#path, usageFormat, head, lines, this.#checkLock);
    });
    this.#saving = this.#next.catch(() => this.#scheduleSave());
    return this.#next;
  }

  /** What the file is to contain now. The lines are made while they are read. */
  get contents(): { head: RecordHead; lines: Iterable<string> } {
    return { head: { store: this.#store, ...this.recorded }, lines: encodeUsages(this.limiter, this.#now) };
  }

  /** Saves what is not saved yet. Rejects with an OperatorError; there is no further try. */
  async close(): Promise<void> {
    if (this.#timer === undefined) await this.#saving; // a failed write sets the timer again
    if (this.#timer !== undefined) await this.save().finally(() => clearTimeout(this.#timer));
  }

  /** Renames the damaged file. Rejects with an OperatorError. */
  async #setAside(): Promise<void> {
    const aside = await asideName(this.#path, 'broken');
    this.#checkLock?.();
    await rename(this.#path, aside).catch((error: unknown) => {
      throw diskError('write', aside, error);
    });
    this.#damaged = false;
    this.#log(`the damaged ${this.#path} was renamed to ${aside}`);
  }

  #scheduleSave(): void {
    this.#timer ??= setTimeout(() => void this.#saveInBackground(), saveDelayMs);
  }

  async #saveInBackground(): Promise<void> {
    const error: unknown = await this.save().then(() => null, (reason: unknown) => reason);
    if (error instanceof LockLostError) return;
    const note = 'a restart would lose recent usage and bans';
    if (error !== null && !this.#failing) this.#log(`${messageOf(error)}; ${note}`, 'warn');
    if (error === null && this.#failing) this.#log(`the usage of the keys is saved in ${this.#path} again`);
    this.#failing = error !== null;
  }
}

function* encodeUsages(limiter: Limiter, now: () => number): Generator<string> {
  const texts = new Map<number, string>(); // formatting a time is slow, and most windows have the same two starts
  const isoTime = (time: number): string => {
    const text = texts.get(time) ?? new Date(time).toISOString();
    texts.set(time, text);
    return text;
  };
  for (const [id, usage] of limiter.usages(now)) yield encodeUsage(id, usage, isoTime);
}

/**
 * Returns the usage of a key as a line of usage.json. `isoTime` formats a time (RFC 3339). This runs every second for
 * each key that was used today, so it does not use JSON.stringify, which takes several times as long.
 */
export function encodeUsage(id: string, usage: KeyUsage, isoTime: (time: number) => string): string {
  const { minute, day, refusals, ban } = usage;
  const window = ({ start, used, firstRefusedAt }: Window): string => {
    const refused = firstRefusedAt === null ? '' : `,"firstRefusedAt":"${isoTime(firstRefusedAt)}"`;
    return `"start":"${isoTime(start)}","used":${used}${refused}`;
  };
  const counted = refusals === 0 ? '' : `,"refusals":${refusals}`;
  const lastBan = ban === null ? '' : `,"ban":{"start":"${isoTime(ban.start)}","end":"${isoTime(ban.end)}"}`;
  return `{"id":${JSON.stringify(id)},"minute":{${window(minute)}${counted}},"day":{${window(day)}}${lastBan}}`;
}

/** Decodes a line of usage.json. Throws an Error that names the invalid member. */
export function decodeUsage(record: JsonObject): { id: string; usage: KeyUsage } {
  const usage = new KeyUsage();
  const minute = objectMember(record, 'minute');
  decodeWindow(usage.minute, minute);
  decodeWindow(usage.day, objectMember(record, 'day'));
  if (minute.get('refusals') !== undefined) usage.refusals = countMember(minute, 'refusals');
  if (record.get('ban') !== undefined) usage.ban = decodeBan(objectMember(record, 'ban'));
  return { id: stringMember(record, 'id'), usage };
}

function decodeWindow(window: Window, record: JsonObject): void {
  const start = timeMember(record, 'start');
  if (start % window.lengthMs !== 0) throw new Error('"start" must begin a UTC minute or day');
  window.start = start;
  window.used = countMember(record, 'used');
  if (record.get('firstRefusedAt') !== undefined) window.firstRefusedAt = timeMember(record, 'firstRefusedAt');
}

function decodeBan(record: JsonObject): Ban {
  const start = timeMember(record, 'start');
  const end = timeMember(record, 'end');
  if (start % 1000 === 0 && end % 1000 === 0 && start < end) return { start, end };
  throw new Error('"ban" must start and end at whole seconds, and end after its start');
}
