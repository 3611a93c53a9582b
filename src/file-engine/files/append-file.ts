import { close, constants, fdatasync, fstat, ftruncate, open, read, write } from 'node:fs';
import { promisify } from 'node:util';
import { isSame, statOf, type Identity } from '../../files/identity.ts';

const [openAsync, closeAsync] = [promisify(open), promisify(close)];
const [fdatasyncAsync, ftruncateAsync] = [promisify(fdatasync), promisify(ftruncate)];

/** Reserved space is added in this amount, which is more than any animal needs. */
const reserved = Buffer.alloc(256 * 1024);

const openFlags = { 'r+': constants.O_RDWR, wx: constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL };

/**
 * A file to which bytes are appended. Appended bytes are on disk when the next `sync` has resolved. All methods reject
 * with the error of the file system. The caller waits for one before it calls the next: two writes must not overlap.
 *
 * After its content the file has reserved space: zeros, until `truncate` removes them. Replacing zeros takes a third
 * less time to sync than extending the file, because its length and its blocks stay the same.
 *
 * On Linux the file is opened with O_DSYNC: each write is on disk when it ends, with what is needed to read it, and
 * `sync` has nothing to do. On macOS such a write may still be in the cache of the drive, which `fdatasync` empties.
 */
export class AppendFile {
  readonly #descriptor: number;
  readonly #identity: Identity;
  readonly #syncsWrites: boolean;
  /** Whether something may not be on disk. */
  #isDirty = true;
  #size: number;
  /** The length of the file, reserved space included. */
  #length: number;

  /**
   * Opens a file of `size` bytes, or one that has only zeros after its first `size` bytes. With the flag
   * `wx`, it creates the file, with mode 0600.
   */
  static async open(path: string, size: number, flags: 'r+' | 'wx' = 'r+'): Promise<AppendFile> {
    const syncsWrites = process.platform === 'linux';
    const descriptor = await openAsync(path, openFlags[flags] | (syncsWrites ? constants.O_DSYNC : 0), 0o600);
    try {
      const identity = await promisify(fstat)(descriptor, { bigint: true });
      return new AppendFile(descriptor, identity, size, syncsWrites);
    } catch (error) {
      await closeAsync(descriptor);
      throw error;
    }
  }

  private constructor(descriptor: number, identity: Identity, size: number, syncsWrites: boolean) {
    this.#descriptor = descriptor;
    this.#identity = identity;
    this.#syncsWrites = syncsWrites;
    this.#size = size;
    this.#length = size;
  }

  /** The length of the content. */
  get size(): number {
    return this.#size;
  }

  /** Whether this is the file with the name `path`, and has not been truncated by another process. */
  isAt(path: string): boolean {
    const found = statOf(path);
    return found !== undefined && isSame(found, this.#identity) && found.size >= this.#length;
  }

  /** Writes `bytes` after the content. If that fails, `size` is unchanged. */
  async append(bytes: Uint8Array): Promise<void> {
    const end = this.#size + bytes.length;
    // The space only saves time. If it cannot be reserved, the write or the next sync reports a broken disk.
    if (end > this.#length) await this.reserve().catch(() => {});
    await this.#write(bytes, this.#size);
    this.#size = end;
    this.#length = Math.max(this.#length, end);
  }

  /** Writes reserved space after the content, whether there is some or not. */
  async reserve(): Promise<void> {
    await this.#write(reserved, this.#size);
    this.#length = Math.max(this.#length, this.#size + reserved.length);
  }

  /**
   * Writes the content from offset `from` on again. After a failed sync, the kernel may treat pages as written that
   * never reached the disk: reading returns their content, but a sync includes them only if they are written again.
   */
  async rewrite(from: number): Promise<void> {
    const bytes = Buffer.allocUnsafe(this.#size - from);
    const { bytesRead } = await promisify(read)(this.#descriptor, bytes, 0, bytes.length, from);
    if (bytesRead < bytes.length) throw new Error('the file was truncated by another process');
    await this.#write(bytes, from);
  }

  /** Syncs the content, unless it is on disk already. */
  async sync(): Promise<void> {
    if (!this.#isDirty) return;
    await fdatasyncAsync(this.#descriptor);
    this.#isDirty = false;
  }

  /** Truncates the content to its first `size` bytes, and removes the reserved space. */
  async truncate(size = this.#size): Promise<void> {
    this.#isDirty = true;
    await ftruncateAsync(this.#descriptor, size);
    this.#size = size;
    this.#length = size;
  }

  close(): Promise<void> {
    return closeAsync(this.#descriptor);
  }

  async #write(bytes: Uint8Array, position: number): Promise<void> {
    const wasDirty = this.#isDirty;
    this.#isDirty = true;
    for (let written = 0; written < bytes.length; ) {
      written += await writeOnce(this.#descriptor, bytes, written, position + written);
    }
    this.#isDirty = wasDirty || !this.#syncsWrites;
  }
}

/** Writes the bytes from `offset` on, or some of them. Returns their number. */
function writeOnce(descriptor: number, bytes: Uint8Array, offset: number, position: number): Promise<number> {
  return new Promise((resolve, reject) => {
    write(descriptor, bytes, offset, bytes.length - offset, position, (error, written) => {
      if (error === null) resolve(written);
      else reject(error);
    });
  });
}
