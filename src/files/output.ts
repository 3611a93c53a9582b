import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { OperatorError } from '../domain/operator-error.ts';
import { diskError } from './errors.ts';
import { requireParent } from './new-folder.ts';
import { syncName } from './replace.ts';

const bufferBytes = 1024 * 1024;

/** Collects bytes, and passes them on when there are many. `write` must not keep the buffer. */
export class ByteBuffer {
  readonly #bytes = Buffer.allocUnsafeSlow(bufferBytes);
  readonly #write: (bytes: Uint8Array) => void;
  #used = 0;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  append(bytes: Uint8Array, start = 0, end = bytes.length): void {
    if (this.#used + end - start > bufferBytes) this.flush();
    if (end - start > bufferBytes) return this.#write(bytes.subarray(start, end));
    this.#bytes.set(bytes.subarray(start, end), this.#used);
    this.#used += end - start;
  }

  flush(): void {
    this.#write(this.#bytes.subarray(0, this.#used));
    this.#used = 0;
  }
}

/** Writes all bytes to a descriptor. Throws the error of the file system. */
export function writeAll(descriptor: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; ) written += writeSync(descriptor, bytes, written);
}

/**
 * A file, with mode 0600, that a command writes in one go: it appears, or replaces the one of its name, complete or not
 * at all. The methods throw OperatorError.
 */
export class OutputFile {
  #path: string;
  readonly #temporary: string;
  readonly #descriptor: number;

  constructor(path: string) {
    this.#path = path;
    requireParent(path);
    const found = this.#try(() => statSync(path, { throwIfNoEntry: false }));
    if (found?.isFile() === false) throw new OperatorError(`${path} is not a regular file; name another one`);
    if (found !== undefined) this.#path = this.#try(() => realpathSync(path)); // a link is kept
    // Two commands may write the same file at the same time.
    this.#temporary = `${this.#path}.tmp-${randomBytes(4).toString('hex')}`;
    this.#descriptor = this.#try(() => openSync(this.#temporary, 'wx', 0o600));
  }

  write(bytes: Uint8Array): void {
    this.#try(() => writeAll(this.#descriptor, bytes));
  }

  /** Gives the file its name. It is on disk then. Rejects with UnsyncedError if only the name may not be. */
  async commit(): Promise<void> {
    this.#try(() => {
      fsyncSync(this.#descriptor);
      closeSync(this.#descriptor);
      renameSync(this.#temporary, this.#path);
    });
    await syncName(this.#path);
  }

  /** Removes what was written. */
  discard(): void {
    rmSync(this.#temporary, { force: true });
  }

  #try<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw diskError('write', this.#path, error);
    }
  }
}
