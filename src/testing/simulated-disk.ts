/**
 * A simulated disk below node:fs. Its operations can fail, and its power can be cut.
 *
 * The files of one folder are really written; what a process reads is the page cache. This class records what the disk
 * may have instead. The rules are those of a file system that orders nothing by itself:
 *
 * - A write changes the cache. Until the file is synced, the disk has any version of each sector that the cache has had
 *   since the last sync, and any length. A sync writes all dirty pages.
 * - A write to a file that was opened with O_DSYNC is followed by a sync of the sectors that it has written, before it
 *   completes. This syncs the length only as far as it is needed to read them, and no other dirty sector.
 * - A failed sync writes some sectors. The kernel then treats all pages as clean: the next sync does not write them,
 *   unless they are written again. The process may end meanwhile.
 * - A created, renamed or removed name changes the cache. Until the folder is synced, the disk has any state of each
 *   name that the cache has had since the last sync of the folder, whatever it has of the other names and of the file.
 *
 * Asynchronous operations are executed when they are called, and complete later; a sync has its effect when it
 * completes. All of node:fs that writes is intercepted, and an operation that is not known here throws an error.
 */
import fs from 'node:fs';
import promises, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename, dirname, join } from 'node:path';

const pageBytes = 4096;
const sectorBytes = 512;

/** What the disk may have of a file. */
interface DiskFile {
  /** What the disk has for certain, where `sectors` has no newer versions. Zeros follow. */
  durable: Buffer;
  /** The versions of each dirty sector since the last sync, by its number, the oldest first. */
  readonly sectors: Map<number, Buffer[]>;
  /** The lengths since the last sync. The last one is that of the cache. */
  readonly lengths: { readonly value: number }[];
}

/** What a descriptor refers to: a file, or the folder itself. */
interface OpenFile {
  readonly file: DiskFile | null;
  readonly syncsWrites: boolean;
  position: number;
}

/** An operation on the folder. */
export interface Call {
  /** As in `node:fs`, without `Sync`; or `O_DSYNC`, the sync that follows a write. */
  readonly operation: string;
  /** The name of the file in the folder; `.` for the folder itself. */
  readonly name: string;
  readonly kind: 'read' | 'write' | 'sync' | 'other';
}

/**
 * How a call fails: with this code and, if `part` is set, after a part of it was done. A write has written half of its
 * bytes then, a sync has lost pages. Without a code, a write reports that it has written half of its bytes.
 */
export interface Fault {
  readonly code: string | null;
  readonly part: boolean;
}

/** The files in a folder by name. Zeros follow the bytes up to the length. */
export type Files = ReadonlyMap<string, { readonly bytes: Buffer; readonly length: number }>;

type Args = unknown[];
type Operate = (...args: Args) => unknown;

const kinds: Readonly<Record<string, Call['kind']>> = {
  open: 'other', ftruncate: 'other', truncate: 'other', rename: 'other', rm: 'other', unlink: 'other',
  write: 'write', writeFile: 'write', fsync: 'sync', fdatasync: 'sync',
  read: 'read', readFile: 'read', readdir: 'read', stat: 'read', lstat: 'read', fstat: 'read',
};
const unknown = ['appendFile', 'copyFile', 'cp', 'link', 'mkdtemp', 'symlink', 'writev'];
/** The methods of FileHandle, and what they are in node:fs. */
const handleMethods = {
  write: 'write', writeFile: 'writeFile', truncate: 'ftruncate', sync: 'fsync', datasync: 'fdatasync', read: 'read',
  readFile: 'readFile', stat: 'fstat', writev: 'writev', appendFile: 'appendFile',
};
const errnos: Readonly<Record<string, number>> = { EIO: -5, EMFILE: -24, ENOSPC: -28, EROFS: -30, EDQUOT: -122 };

const zeros = Buffer.alloc(sectorBytes);
const real = { ...fs };

export class SimulatedDisk {
  /** Called before each operation in the folder. It fails if this returns a fault. */
  onCall: (call: Call) => Fault | null = () => null;
  /** A seeded fault: syncs of files with such a name (`.` for the folder) succeed without an effect. */
  ignoredSyncs: RegExp | null = null;
  /** A seeded fault: O_DSYNC has no effect on writes of such bytes. */
  ignoredWrites: RegExp | null = null;
  /** While this is true, every operation fails without an effect: the process that calls them counts as killed. */
  isOff = false;
  #isInside = false;
  readonly #folder: string;
  readonly #random: () => number;
  /** The files that each name has had since the last sync of the folder; null for none. The last one is current. */
  readonly #names = new Map<string, { readonly file: DiskFile | null }[]>();
  readonly #open = new Map<number, OpenFile>();

  /** Simulates a folder for all modules of this process that are imported afterwards. */
  static async install(folder: string, random: () => number): Promise<SimulatedDisk> {
    const handle = await promises.open('.', 'r');
    const prototype: unknown = Object.getPrototypeOf(handle);
    await handle.close();
    return new SimulatedDisk(folder, random, prototype as Record<string, Operate>);
  }

  private constructor(folder: string, random: () => number, handlePrototype: Record<string, Operate>) {
    this.#folder = folder;
    this.#random = random;
    const all = fs as unknown as Record<string, Operate>;
    const allPromises = promises as unknown as Record<string, Operate>;
    for (const operation of [...Object.keys(kinds), ...unknown]) {
      const originalSync = all[`${operation}Sync`]!;
      all[`${operation}Sync`] = (...args) => {
        const call = this.#callOf(operation, args);
        if (call === null) return originalSync(...args);
        const { result, complete } = this.#execute(call, args);
        complete();
        return result;
      };
      const original = all[operation]!;
      const withCallback: Operate = (...args) => {
        const call = this.#callOf(operation, args);
        const done = args.at(-1) as Operate;
        if (call === null) original(...args);
        else void this.#later(call, args.slice(0, -1)).then((result) => done(null, result, args[1]), done);
      };
      // `promisify` finds properties of the original.
      all[operation] = Object.defineProperties(withCallback, Object.getOwnPropertyDescriptors(original));
      const originalPromise = allPromises[operation];
      if (originalPromise === undefined) continue;
      allPromises[operation] = async (...args) => {
        const call = this.#callOf(operation, args);
        if (call === null) return originalPromise(...args);
        if (operation !== 'open') return this.#later(call, args);
        this.#begin(call);
        const handle = (await originalPromise(...args)) as FileHandle;
        this.#opened(handle.fd, call.name, args[1]);
        return handle;
      };
    }
    for (const [method, operation] of Object.entries(handleMethods)) {
      const original = handlePrototype[method]!;
      const disk = this;
      handlePrototype[method] = async function (this: FileHandle, ...args: Args) {
        const call = disk.#callOf(operation, [this.fd]);
        if (call === null) return original.call(this, ...args);
        const result = await disk.#later(call, [this.fd, ...args]);
        if (operation === 'read') return { bytesRead: result, buffer: args[0] };
        return operation === 'write' ? { bytesWritten: result, buffer: args[0] } : result;
      };
    }
    // A closed descriptor may be used again for another file. Closing never fails.
    const { close: closeHandle } = handlePrototype;
    const opened = this.#open;
    handlePrototype['close'] = function (this: FileHandle) {
      opened.delete(this.fd);
      return closeHandle!.call(this);
    };
    for (const name of ['close', 'closeSync']) {
      const original = all[name]!;
      all[name] = (...args) => {
        opened.delete(args[0] as number);
        return original(...args);
      };
    }
    syncBuiltinESMExports();
  }

  /** Writes these files to the folder, and turns the disk on. It has all of them. */
  load(files: Files): void {
    this.isOff = false;
    this.#unobserved(() => real.rmSync(this.#folder, { recursive: true, force: true }));
    real.mkdirSync(this.#folder);
    this.#open.clear();
    this.#names.clear();
    for (const [name, { bytes, length }] of files) {
      real.writeFileSync(join(this.#folder, name), bytes);
      real.truncateSync(join(this.#folder, name), length);
      this.#names.set(name, [{ file: { durable: bytes, sectors: new Map(), lengths: [{ value: length }] } }]);
    }
  }

  /** Returns the files as the disk may have them if the power is cut now. */
  cut(): Files {
    // All, some or nothing of what was not synced.
    const [names, sectors] = [this.#some(), this.#some()];
    const files = new Map<string, { bytes: Buffer; length: number }>();
    for (const [name, states] of this.#names) {
      const { file } = this.#random() < names ? states.at(-1)! : this.#pick(states);
      if (file === null) continue;
      const { value: length } = this.#random() < sectors ? file.lengths.at(-1)! : this.#pick(file.lengths);
      const bytes = this.#onDisk(file, sectors).subarray(0, length);
      files.set(name, { bytes: withoutZeros(bytes), length });
    }
    return files;
  }

  #some(): number {
    return this.#pick([0, this.#random(), 1]);
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(items.length * this.#random())]!;
  }

  /** Returns the bytes of a file with this share of the dirty sectors, in any of their versions. */
  #onDisk({ durable, sectors }: DiskFile, share: number): Buffer {
    const end = Math.max(0, ...sectors.keys()) * sectorBytes + sectorBytes;
    const bytes = Buffer.alloc(Math.max(durable.length, end));
    durable.copy(bytes);
    for (const [sector, versions] of sectors) {
      if (this.#random() >= share) continue;
      const version = share === 1 || this.#random() < 0.7 ? versions.at(-1)! : this.#pick(versions);
      version.copy(bytes, sector * sectorBytes);
    }
    return bytes;
  }

  /** Returns the call if it is one in the folder. */
  #callOf(operation: string, [target]: Args): Call | null {
    if (this.#isInside) return null;
    let name: string | undefined;
    if (typeof target === 'number') {
      const open = this.#open.get(target);
      if (open !== undefined) name = open.file === null ? '.' : (this.#nameOf(open.file) ?? '(removed)');
    } else if (typeof target === 'string') {
      if (target === this.#folder) name = '.';
      else if (dirname(target) === this.#folder) name = basename(target);
    }
    if (name === undefined) return null;
    const kind = kinds[operation];
    if (kind === undefined) throw new Error(`the simulated disk does not know ${operation}`);
    return { operation, name, kind };
  }

  /** Some functions of Node call others of node:fs. */
  #unobserved<Result>(run: () => Result): Result {
    this.#isInside = true;
    try {
      return run();
    } finally {
      this.#isInside = false;
    }
  }

  #nameOf(file: DiskFile): string | undefined {
    for (const [name, states] of this.#names) if (states.at(-1)?.file === file) return name;
    return undefined;
  }

  /** Throws if the call fails at once. Returns the fault if only a part of it is done. */
  #begin(call: Call): Fault | null {
    const fault = this.isOff ? { code: 'EIO', part: false } : this.onCall(call);
    if (fault === null || fault.part) return fault;
    throw errorOf(call, fault.code);
  }

  async #later(call: Call, args: Args): Promise<unknown> {
    const { result, complete } = this.#execute(call, args);
    await new Promise((resolve) => setImmediate(resolve));
    complete();
    return result;
  }

  /** Executes a call in the cache. `complete` is to be called when it completes, and throws if it fails then. */
  #execute(call: Call, args: Args): { result: unknown; complete: () => void } {
    const fault = this.#begin(call);
    if (call.kind === 'sync') return { result: undefined, complete: this.#sync(call, args[0] as number, fault) };
    if (call.kind === 'write') return this.#write(call, args, fault);
    return { result: this.#change(call, args), complete: () => {} };
  }

  #change({ operation, name }: Call, args: Args): unknown {
    const run = real[`${operation}Sync` as 'openSync'] as Operate;
    if (operation === 'open') {
      const [path, flags, ...more] = args;
      const cached = typeof flags === 'number' ? flags & ~fs.constants.O_DSYNC : flags;
      const descriptor = run(path, cached, ...more) as number;
      this.#opened(descriptor, name, flags);
      return descriptor;
    }
    const file = this.#current(name);
    const result = this.#unobserved(() => run(...args));
    if (operation === 'rename') {
      this.#setName(basename(args[1] as string), file);
      this.#setName(name, null);
    } else if (operation === 'rm' || operation === 'unlink') {
      this.#setName(name, null);
    } else if (/truncate/.test(operation)) {
      const target = typeof args[0] === 'number' ? this.#open.get(args[0])!.file! : file!;
      const length = (args[1] as number | undefined) ?? 0;
      const before = target.lengths.at(-1)!.value;
      target.lengths.push({ value: length });
      // The rest of the last page is zeroed, and so is what follows, if the file grows again.
      this.#changed(target, length, Math.max(before, length) + 1);
    }
    return result;
  }

  /** Writes in the cache. The result is how many bytes were written. */
  #write(call: Call, [target, data, ...more]: Args, fault: Fault | null): { result: number; complete: () => void } {
    const open = typeof target === 'number' ? this.#open.get(target) : undefined;
    if (open?.file == null) throw new Error(`the simulated disk does not know ${call.operation} of a path`);
    const options = typeof more[0] === 'object' && more[0] !== null ? more[0] : {};
    const { offset = more[0], length = more[1], position = more[2] } = options as Record<string, unknown>;
    const all = Buffer.from(typeof data === 'string' ? Buffer.from(data) : (data as Uint8Array));
    const isPositioned = call.operation === 'write';
    const from = isPositioned && typeof offset === 'number' ? offset : 0;
    let bytes = all.subarray(from, isPositioned && typeof length === 'number' ? from + length : undefined);
    if (fault !== null) bytes = bytes.subarray(0, Math.ceil(bytes.length / 2));
    const at = isPositioned && typeof position === 'number' ? position : open.position;
    for (let done = 0; done < bytes.length; ) {
      done += real.writeSync(target as number, bytes, done, bytes.length - done, at + done);
    }
    if (typeof position !== 'number') open.position = at + bytes.length;
    open.file.lengths.push({ value: Math.max(open.file.lengths.at(-1)!.value, at + bytes.length) });
    this.#changed(open.file, at, at + bytes.length);
    if (fault !== null && fault.code !== null) throw errorOf(call, fault.code);
    const isSynced = open.syncsWrites && !this.ignoredWrites?.test(bytes.toString('latin1'));
    if (!isSynced) return { result: bytes.length, complete: () => {} };
    const sync = { ...call, operation: 'O_DSYNC', kind: 'sync' } as const;
    const complete = this.#sync(sync, target as number, this.#begin(sync), at, at + bytes.length);
    return { result: bytes.length, complete };
  }

  /** Notes that the cache of a file has changed from one offset to another, in whole pages. */
  #changed(file: DiskFile, from: number, to: number): void {
    const name = this.#nameOf(file);
    if (name === undefined) return; // it was removed
    const start = Math.floor(from / pageBytes) * pageBytes;
    const cache = Buffer.alloc(Math.ceil(to / pageBytes) * pageBytes - start);
    const descriptor = real.openSync(join(this.#folder, name), 'r');
    real.readSync(descriptor, cache, 0, cache.length, start);
    real.closeSync(descriptor);
    for (let at = 0; at < cache.length; at += sectorBytes) {
      const sector = (start + at) / sectorBytes;
      const version = cache.subarray(at, at + sectorBytes);
      const versions = file.sectors.get(sector);
      if (versions !== undefined) versions.push(version);
      else if (!version.equals(sectorOf(file.durable, sector))) file.sectors.set(sector, [version]);
    }
  }

  /**
   * Begins a sync, of the whole file or from one offset to another. Returns the function that completes it; what is
   * written meanwhile stays dirty.
   */
  #sync(call: Call, descriptor: number, fault: Fault | null, from = 0, to = Infinity): () => void {
    const { file } = this.#open.get(descriptor)!;
    const fail = (): void => {
      if (fault !== null) throw errorOf(call, fault.code);
    };
    if (this.ignoredSyncs?.test(call.name)) return fail;
    if (file === null) {
      const begun = [...this.#names.values()].map((states) => [states, states.at(-1)!] as const);
      return () => {
        fail(); // and the names stay dirty
        for (const [states, state] of begun) dropBefore(states, state);
      };
    }
    const begun = [...file.sectors].map(([sector, versions]) => [sector, versions.at(-1)!] as const)
      .filter(([sector]) => sector >= Math.floor(from / sectorBytes) && sector * sectorBytes < to);
    const length = file.lengths.at(-1)!;
    return () => {
      const sectors = new Map<number, Buffer[]>();
      for (const [sector, version] of begun) {
        const versions = file.sectors.get(sector) ?? [];
        const count = versions.indexOf(version) + 1; // 0 if another sync has completed meanwhile
        if (count > 0) sectors.set(sector, versions.splice(0, count));
        if (versions.length === 0) file.sectors.delete(sector);
      }
      file.durable = this.#onDisk({ ...file, sectors }, fault === null ? 1 : 0.5);
      fail();
      const before = file.lengths.splice(0, file.lengths.indexOf(length));
      if (to < Infinity) file.lengths.unshift(...before.filter(({ value }) => value >= to));
    };
  }

  #opened(descriptor: number, name: string, flags: unknown): void {
    let file = name === '.' ? null : this.#current(name);
    if (name !== '.' && file === null) {
      file = { durable: Buffer.alloc(0), sectors: new Map(), lengths: [{ value: 0 }] };
      this.#setName(name, file);
    } else if (file !== null && (typeof flags === 'number' ? flags & fs.constants.O_TRUNC : /^w/.test(`${flags}`))) {
      throw new Error('the simulated disk does not know how to open a file that exists for replacing it');
    }
    const syncsWrites = typeof flags === 'number' && (flags & fs.constants.O_DSYNC) !== 0;
    this.#open.set(descriptor, { file, syncsWrites, position: 0 }); // closed descriptors are used again
  }

  #current(name: string): DiskFile | null {
    return this.#names.get(name)?.at(-1)?.file ?? null;
  }

  #setName(name: string, file: DiskFile | null): void {
    const states = this.#names.get(name) ?? [{ file: null }];
    states.push({ file });
    this.#names.set(name, states);
  }
}

function dropBefore<Item>(items: Item[], item: Item): void {
  items.splice(0, Math.max(0, items.indexOf(item)));
}

function sectorOf(bytes: Buffer, sector: number): Buffer {
  const found = bytes.subarray(sector * sectorBytes, (sector + 1) * sectorBytes);
  return found.length === sectorBytes ? found : Buffer.concat([found, zeros], sectorBytes);
}

/** Returns the sectors before the zeros at the end. */
function withoutZeros(bytes: Buffer): Buffer {
  let sectors = Math.ceil(bytes.length / sectorBytes);
  while (sectors > 0 && sectorOf(bytes, sectors - 1).equals(zeros)) sectors--;
  return bytes.subarray(0, sectors * sectorBytes);
}

function errorOf({ operation, name }: Call, code: string | null): Error {
  const text = `${code}: simulated, ${operation} ${name}`;
  return Object.assign(new Error(text), { code, errno: errnos[code ?? ''], syscall: operation });
}
