/**
 * A simulated disk with a page cache, whose power can be cut.
 *
 * Files are actually written; what a process reads is the cache. This class stores what the disk has of each file. A
 * sync writes all dirty pages to the disk. A failed sync writes some of their sectors, and the kernel then treats the
 * pages as clean. After a power cut, some unsynced sectors are on the disk too, and the file has any of its lengths
 * since the last sync.
 */
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';

const pageBytes = 4096;
const sectorBytes = 512;

type Written = (error: Error | null, written: number) => void;

interface Disk {
  bytes: Buffer;
  /** The pages that were written since the last sync, successful or not. */
  readonly dirty: Set<number>;
  /** The lengths that the file has had since the last sync. */
  lengths: number[];
}

export class PowerCut {
  readonly #folder: string;
  readonly #random: () => number;
  /** Called at each sync of a file, before it has an effect. Returns whether the sync fails. */
  failSync: () => boolean = () => false;
  #disks = new Map<string, Disk>();
  readonly #paths = new Map<number, string>();

  /**
   * Watches the writes to the files in `folder` by modules of this process that are imported afterwards. `random`
   * returns numbers from 0 to 1.
   */
  constructor(folder: string, random: () => number) {
    this.#folder = folder;
    this.#random = random;
    const { open, close, write, ftruncate } = fs;
    const disk = this;
    Object.assign(fs, {
      open(path: string, flags: string, mode: number, done: (error: Error | null, descriptor: number) => void) {
        open(path, flags, mode, (error, descriptor) => {
          if (error === null && dirname(path) === folder) disk.#paths.set(descriptor, path);
          done(error, descriptor);
        });
      },
      close(descriptor: number, done: (error: Error | null) => void) {
        disk.#paths.delete(descriptor);
        close(descriptor, done);
      },
      write(descriptor: number, bytes: Buffer, offset: number, length: number, position: number, done: Written) {
        write(descriptor, bytes, offset, length, position, (error, written) => {
          disk.#changed(descriptor, position, position + written);
          done(error, written);
        });
      },
      ftruncate(descriptor: number, length: number, done: (error: Error | null) => void) {
        ftruncate(descriptor, length, (error) => {
          disk.#changed(descriptor, length, length + 1); // the rest of the last page is zeroed
          done(error);
        });
      },
      fdatasync(descriptor: number, done: (error: Error | null) => void) {
        const failed = disk.failSync();
        disk.#synced(descriptor, failed);
        setImmediate(done, failed ? new Error('EIO') : null);
      },
    });
    syncBuiltinESMExports();
  }

  /** Resets the simulation: everything in the folder is on the disk. */
  begin(): void {
    this.#paths.clear();
    this.#disks = new Map(fs.readdirSync(this.#folder).map((name) => {
      const path = join(this.#folder, name);
      const bytes = fs.readFileSync(path);
      return [path, { bytes, dirty: new Set(), lengths: [bytes.length] }];
    }));
  }

  /** Returns the files as they are after a power cut. Created and renamed names are assumed to be kept. */
  cut(): Map<string, Buffer> {
    return new Map(fs.readdirSync(this.#folder).map((name) => {
      const disk = this.#diskOf(join(this.#folder, name));
      const length = disk.lengths[Math.floor(this.#random() * disk.lengths.length)]!;
      return [name, this.#withSome(disk, fs.readFileSync(join(this.#folder, name)), length)];
    }));
  }

  #diskOf(path: string): Disk {
    const final = finalOf(path);
    let disk = this.#disks.get(final);
    if (disk === undefined) this.#disks.set(final, (disk = { bytes: Buffer.alloc(0), dirty: new Set(), lengths: [0] }));
    return disk;
  }

  #changed(descriptor: number, from: number, to: number): void {
    const path = this.#paths.get(descriptor);
    if (path === undefined) return;
    const disk = this.#diskOf(path);
    disk.lengths.push(fs.fstatSync(descriptor).size);
    for (let page = Math.floor(from / pageBytes); page * pageBytes < to; page++) disk.dirty.add(page);
  }

  #synced(descriptor: number, failed: boolean): void {
    const path = this.#paths.get(descriptor);
    if (path === undefined) return;
    const disk = this.#diskOf(path);
    const cache = fs.readFileSync(fs.existsSync(path) ? path : finalOf(path));
    disk.bytes = this.#withSome(disk, cache, cache.length, failed ? 0.5 : 1);
    disk.dirty.clear();
    disk.lengths = [cache.length];
  }

  /** Returns the bytes on the disk, with this share of the sectors that only the cache has. */
  #withSome({ bytes, dirty }: Disk, cache: Buffer, length: number, share = this.#random()): Buffer {
    const result = Buffer.alloc(length);
    bytes.copy(result);
    for (const page of dirty) {
      const end = Math.min((page + 1) * pageBytes, cache.length, length);
      for (let at = page * pageBytes; at < end; at += sectorBytes) {
        if (this.#random() < share) cache.copy(result, at, at, at + sectorBytes);
      }
    }
    return result;
  }
}

/** Returns the path to which a temporary file is renamed. */
function finalOf(path: string): string {
  return path.replace(/\.tmp$/, '');
}
