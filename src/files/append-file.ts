import { closeSync, fdatasync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';

const fdatasyncAsync = promisify(fdatasync);

/** What a file is made longer by, ahead of its content. */
const reserve = Buffer.alloc(256 * 1024);

/**
 * A file that only grows. What `append` wrote is on the disk when `sync` has resolved.
 *
 * Zeros stand behind its content, until `trim`: a sync of bytes that only replace others takes a third less than one that must also
 * make the file's new length and its new blocks durable.
 */
export class AppendFile {
  readonly #descriptor: number;
  #size: number;
  /** The file's length, reserve included. */
  #length: number;

  /** Opens a file whose content is `size` bytes long: nothing else may stand behind it. Throws what the disk reports. */
  constructor(path: string, size: number, flags: 'r+' | 'wx' = 'r+') {
    this.#descriptor = openSync(path, flags, 0o600);
    this.#size = size;
    this.#length = size;
  }

  /** Makes a new file of mode 0600. Throws what the disk reports, also if it exists. */
  static create(path: string): AppendFile {
    return new AppendFile(path, 0, 'wx');
  }

  /** The length of its content. */
  get size(): number {
    return this.#size;
  }

  /** Writes `bytes` behind the content. Throws what the disk reports; `size` is then what it was. */
  append(bytes: Uint8Array): void {
    this.#write(bytes, this.#size);
    this.#size += bytes.length;
    if (this.#size > this.#length) this.#extend();
  }

  /**
   * Writes what stands behind the first `from` bytes once more. For after a sync that failed, the kernel may take for written what
   * never reached the disk, and a process that opens the file then reads it all the same. Throws what the disk reports.
   */
  rewrite(from: number): void {
    const bytes = Buffer.allocUnsafe(this.#size - from);
    for (let read = 0; read < bytes.length; ) {
      const got = readSync(this.#descriptor, bytes, read, bytes.length - read, from + read);
      if (got === 0) throw new Error('the file has become shorter');
      read += got;
    }
    this.#write(bytes, from);
  }

  /** Whether it is time to `extendReserve`. */
  get isReserveLow(): boolean {
    return this.#length - this.#size < reserve.length / 2;
  }

  /**
   * Writes more zeros and makes them durable, ahead of the append that would have to. Without room for them the file goes without.
   * Rejects with what the disk reports of the sync.
   */
  async extendReserve(): Promise<void> {
    if (this.#extend()) await this.sync();
  }

  /** Makes durable what was appended. Rejects with what the disk reports. */
  sync(): Promise<void> {
    return fdatasyncAsync(this.#descriptor);
  }

  /** Cuts the file back to its first `size` bytes. Throws what the disk reports. */
  truncate(size: number): void {
    ftruncateSync(this.#descriptor, size);
    this.#size = size;
    this.#length = size;
  }

  /** Cuts off the reserve. Throws what the disk reports. */
  trim(): void {
    this.truncate(this.#size);
  }

  close(): void {
    closeSync(this.#descriptor);
  }

  /** Gives whether there was room. It can go without; if the disk is at fault, and not just full, the next sync tells. */
  #extend(): boolean {
    this.#length = Math.max(this.#length, this.#size);
    try {
      this.#write(reserve, this.#length);
      this.#length += reserve.length;
      return true;
    } catch {
      return false;
    }
  }

  #write(bytes: Uint8Array, position: number): void {
    let written = 0;
    while (written < bytes.length) {
      written += writeSync(this.#descriptor, bytes, written, bytes.length - written, position + written);
    }
  }
}
