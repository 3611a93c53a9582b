import { statSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { DiskError, onDisk } from '../../files/errors.ts';

/**
 * Whether there is a file. Throws OperatorError if it is not a regular file: opening a FIFO waits for a writer, which
 * may never come.
 */
export function fileExists(path: string): boolean {
  const stats = onDisk('read', path, () => statSync(path, { throwIfNoEntry: false }));
  if (stats?.isFile() === false) {
    throw new DiskError(`cannot read ${path}: it is not a regular file; remove it, or restore it from a backup`);
  }
  return stats !== undefined;
}

/**
 * A file that was opened for reading. It stays the same file when its name is removed or replaced, and bytes that are
 * appended later are not read.
 */
export class OpenFile {
  readonly path: string;
  /** Its length when it was opened. */
  readonly size: number;
  readonly #handle: FileHandle | null;
  readonly #error: unknown;

  /** Opens a file. If that fails, `read` rejects with the reason. */
  static async open(path: string): Promise<OpenFile> {
    let handle: FileHandle | null = null;
    try {
      fileExists(path);
      handle = await open(path, 'r');
      return new OpenFile(path, (await handle.stat()).size, handle, null);
    } catch (error) {
      await handle?.close();
      return new OpenFile(path, 0, null, error);
    }
  }

  private constructor(path: string, size: number, handle: FileHandle | null, error: unknown) {
    this.path = path;
    this.size = size;
    this.#handle = handle;
    this.#error = error;
  }

  /** Whether there was no such file. */
  get isMissing(): boolean {
    return (this.#error as NodeJS.ErrnoException | null)?.code === 'ENOENT';
  }

  /** Reads up to `length` bytes. Resolves to their number; 0 at the end. Rejects with the error of the file system. */
  async read(buffer: Buffer, at: number, length: number, position: number): Promise<number> {
    if (this.#handle === null) throw this.#error;
    const most = Math.min(length, this.size - position);
    return most <= 0 ? 0 : (await this.#handle.read(buffer, at, most, position)).bytesRead;
  }

  async close(): Promise<void> {
    await this.#handle?.close();
  }
}
