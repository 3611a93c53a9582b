/**
 * `usage.json`: what each key has used of its limits, so that a restart forgives nothing.
 *
 * It is written whole, in the background, about a second after something has changed: so often, and no more often than
 * that, however many requests come. A write that fails is tried again; requests go on meanwhile.
 */
import { join } from 'node:path';
import { setAside } from '../files/aside.ts';
import { DamagedFileError } from '../files/read-json.ts';
import { readRecords, writeRecords } from '../files/record-file.ts';
import { optionalNumberMember, objectMember, stringMember, timeMember } from '../json/members.ts';
import type { JsonObject } from '../json/read.ts';
import { endOfBan, type Ban } from './bans.ts';
import { KeyUsage } from './key-usage.ts';
import { Limiter } from './limiter.ts';
import { windowStart, type Window } from './windows.ts';

const format = 'petstore-usage';
/** From the first change that is not saved to the write that saves it: a second, less what a busy event loop may add. */
const saveDelayMs = 800;

/** Keeps a limiter's counters and bans in a file. */
export class UsageFile {
  readonly limiter: Limiter;
  readonly #path: string;
  readonly #now: () => number;
  readonly #log: (line: string) => void;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> = Promise.resolve();
  #failing = false;

  /**
   * Reads what was used from a data folder. A damaged file is set aside, and `log` told; the counters begin anew then.
   * Throws OperatorError if the file can be neither read nor set aside.
   */
  static async open(folder: string, now: () => number, log: (line: string) => void): Promise<UsageFile> {
    const path = join(folder, 'usage.json');
    try {
      return new UsageFile(path, readRecords(path, format, decodeUsage), now, log);
    } catch (error) {
      if (!(error instanceof DamagedFileError)) throw error;
      const aside = await setAside(path, 'broken');
      log(`${error.fault}; the file is now ${aside}, and all keys' counters and bans begin anew`);
      return new UsageFile(path, [], now, log);
    }
  }

  private constructor(path: string, records: readonly UsageRecord[], now: () => number, log: (line: string) => void) {
    this.#path = path;
    this.#now = now;
    this.#log = log;
    this.limiter = new Limiter(new Map(records.map(({ id, usage }) => [id, usage])), now(), () => this.#scheduleSave());
  }

  /** Writes what has changed until now. Rejects with OperatorError; the file is as it was then, and it is tried again. */
  save(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined; // what changes from now on may be too late for this write
    const saved = this.#saving
      .then(() => writeRecords(this.#path, format, encodeUsages(this.limiter, this.#now)))
      .catch((error: unknown) => {
        this.#scheduleSave();
        throw error;
      });
    this.#saving = saved.catch(() => {});
    return saved;
  }

  /** Writes what is not saved yet, for the last time. Rejects with OperatorError if that fails. */
  async close(): Promise<void> {
    if (this.#timer === undefined) await this.#saving;
    if (this.#timer === undefined) return; // it is set again when a write has failed
    await this.save().finally(() => clearTimeout(this.#timer));
  }

  #scheduleSave(): void {
    this.#timer ??= setTimeout(() => void this.#saveInBackground(), saveDelayMs);
  }

  async #saveInBackground(): Promise<void> {
    try {
      await this.save();
      if (this.#failing) this.#log(`the keys' usage is saved in ${this.#path} again`);
      this.#failing = false;
    } catch (error) {
      if (!this.#failing) this.#log(`${(error as Error).message}; until then a restart forgets what keys have used`);
      this.#failing = true;
    }
  }
}

interface UsageRecord {
  readonly id: string;
  readonly usage: KeyUsage;
}

function* encodeUsages(limiter: Limiter, now: () => number): Generator<string> {
  const texts = new Map<number, string>(); // most windows begin at the same two times, and a time's text is dear
  const isoTime = (time: number): string => {
    const text = texts.get(time) ?? new Date(time).toISOString();
    texts.set(time, text);
    return text;
  };
  for (const [id, usage] of limiter.usages(now)) yield encodeUsage(id, usage, isoTime);
}

/**
 * What a key has used as a line of usage.json, its times as `isoTime` writes them (RFC 3339). What never was is left out.
 * By hand, as it is done for each key of the day each second: JSON.stringify takes several times as long.
 */
export function encodeUsage(id: string, usage: KeyUsage, isoTime: (time: number) => string): string {
  const { minute, day, refusals, ban } = usage;
  const window = ({ start, used, firstRefusedAt }: Window): string => {
    const refused = firstRefusedAt === null ? '' : `,"firstRefusedAt":"${isoTime(firstRefusedAt)}"`;
    return `"start":"${isoTime(start)}","used":${used}${refused}`;
  };
  const counted = refusals === 0 ? '' : `,"refusals":${refusals}`;
  const lastBan = ban === null ? '' : `,"ban":{"start":"${isoTime(ban.start)}","end":"${isoTime(endOfBan(ban))}"}`;
  return `{"id":${JSON.stringify(id)},"minute":{${window(minute)}${counted}},"day":{${window(day)}}${lastBan}}`;
}

/** What a record that `encodeUsage` made says. Throws an Error that names the member at fault. */
export function decodeUsage(record: JsonObject): UsageRecord {
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
  if (start !== windowStart(start, window.lengthMs)) throw new Error('"start" must begin a UTC minute or day');
  window.start = start;
  window.used = countMember(record, 'used');
  if (record.get('firstRefusedAt') !== undefined) window.firstRefusedAt = timeMember(record, 'firstRefusedAt');
}

function decodeBan(record: JsonObject): Ban {
  const start = timeMember(record, 'start');
  const lengthMs = timeMember(record, 'end') - start;
  if (start % 1000 === 0 && lengthMs > 0 && lengthMs % 1000 === 0) return { start, lengthMs };
  throw new Error('"ban" must start and end at whole seconds, and end after its start');
}

function countMember(parent: JsonObject, name: string): number {
  const value = optionalNumberMember(parent, name);
  if (value !== undefined && Number.isSafeInteger(value) && value >= 0) return value;
  throw new Error(`"${name}" must be a whole number from 0`);
}
