import { randomBytes } from 'node:crypto';
import {
  closeSync, fstatSync, fsyncSync, openSync, realpathSync, renameSync, rmSync, statSync, writeSync,
} from 'node:fs';
import { OperatorError } from '../../domain/operator-error.ts';
import { onDisk } from '../../files/errors.ts';
import { isSame } from '../../files/identity.ts';
import { requireParent } from './new-folder.ts';
import { syncName } from './replace.ts';
import { refuseReserved } from './reserved-names.ts';
import { hasHead } from './store-id.ts';

const bufferBytes = 256 * 1024;

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

/** Whether a path such as /dev/stdout leads to the file, the pipe or the device that is this program's stdout. */
export function isStdout(path: string): boolean {
  try {
    return isSame(statSync(path, { bigint: true }), fstatSync(1, { bigint: true }));
  } catch {
    return false; // there is no such file, or stdout is closed
  }
}

/** The path of a descriptor of this process: of a file that the shell has just created. */
const descriptorPath = /^\/(?:dev|proc\/self)\/(?:fd\/(\d+)|stdout|stderr)$/;

/** Whether a path is that of a descriptor that is open for writing. */
function isOpenForWriting(path: string): boolean {
  const match = descriptorPath.exec(path);
  if (match === null) return false;
  const descriptor = match[1] ?? (path.endsWith('out') ? 1 : 2);
  try {
    writeSync(Number(descriptor), '');
    return true;
  } catch {
    return false;
  }
}

/**
 * A file, with mode 0600, that a command writes in one go: it appears, or replaces the one of its name, complete or not
 * at all. The methods throw OperatorError.
 */
export class OutputFile {
  readonly #given: string;
  readonly #replaces: boolean;
  readonly #path: string;
  readonly #temporary: string;
  readonly #descriptor: number;

  /** `replaces`: whether the file may exist already. A file of a data folder is never replaced. */
  constructor(path: string, replaces: boolean) {
    this.#given = path;
    this.#replaces = replaces || isOpenForWriting(path);
    this.#path = path;
    this.#path = this.#checkedPath();
    // Two commands may write the same file at the same time.
    this.#temporary = `${this.#path}.tmp-${randomBytes(4).toString('hex')}`;
    this.#descriptor = onDisk('write', this.#path, () => openSync(this.#temporary, 'wx', 0o600));
  }

  write(bytes: Uint8Array): void {
    onDisk('write', this.#path, () => writeAll(this.#descriptor, bytes));
  }

  /** Gives the file its name. It is on disk then. Rejects with UnsyncedError if only the name may not be. */
  async commit(): Promise<void> {
    this.#checkedPath(); // writing can take long
    onDisk('write', this.#path, () => {
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

  /** The path of the file to create or replace: a link is kept. Throws OperatorError if it must not be written. */
  #checkedPath(): string {
    const given = this.#given;
    requireParent(given);
    const found = onDisk('write', this.#path, () => statSync(given, { throwIfNoEntry: false }));
    if (found === undefined) return given;
    if (!found.isFile()) throw new OperatorError(`${given} is not a regular file; name another one`);
    const path = onDisk('write', this.#path, () => realpathSync(given));
    refuseReserved(path);
    // Links and mounts can give any name to a file of a data folder.
    if (hasHead(path)) throw new OperatorError(`${given} is a file of a data folder or a backup; name another one`);
    if (!this.#replaces) throw new OperatorError(`${given} exists; name another file, or replace it with --force`);
    return path;
  }
}
