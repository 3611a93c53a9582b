import { closeSync, fdatasync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { promisify } from 'node:util';

const fdatasyncAsync = promisify(fdatasync);

/** A file that only grows. What `append` wrote is on the disk when `sync` has resolved. */
export class AppendFile {
  readonly #descriptor: number;
  #size: number;

  /** Opens a file that is `size` bytes long. Throws what the disk reports. */
  constructor(path: string, size: number, flags: 'r+' | 'wx' = 'r+') {
    this.#descriptor = openSync(path, flags, 0o600);
    this.#size = size;
  }

  /** Makes a new file of mode 0600. Throws what the disk reports, also if it exists. */
  static create(path: string): AppendFile {
    return new AppendFile(path, 0, 'wx');
  }

  /** Bytes appended so far. */
  get size(): number {
    return this.#size;
  }

  /** Writes `bytes` at the end. Throws what the disk reports; `size` is then what it was. */
  append(bytes: Uint8Array): void {
    let written = 0;
    while (written < bytes.length) {
      written += writeSync(this.#descriptor, bytes, written, bytes.length - written, this.#size + written);
    }
    this.#size += bytes.length;
  }

  /** Makes durable what was appended. Rejects with what the disk reports. */
  sync(): Promise<void> {
    return fdatasyncAsync(this.#descriptor);
  }

  /** Cuts the file back to its first `size` bytes. */
  truncate(size: number): void {
    ftruncateSync(this.#descriptor, size);
    this.#size = size;
  }

  close(): void {
    closeSync(this.#descriptor);
  }
}
