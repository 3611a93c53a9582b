import { statSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { DiskError, diskError, onDisk } from '../../files/errors.ts';

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
 * A file that was opened for reading. It stays the same file when its name is removed or replaced. Bytes that are
 * appended after it was measured are not read.
 */
export class OpenFile {
  readonly path: string;
  #size = 0;
  readonly #handle: FileHandle | null;
  readonly #error: unknown;

  /** Opens a file. If that fails, `read` rejects with the reason. */
  static async open(path: string): Promise<OpenFile> {
    let handle: FileHandle | null = null;
    try {
      fileExists(path);
      handle = await open(path, 'r');
      const file = new OpenFile(path, handle, null);
      await file.measure();
      return file;
    } catch (error) {
      await handle?.close();
      return new OpenFile(path, null, error);
    }
  }

  private constructor(path: string, handle: FileHandle | null, error: unknown) {
    this.path = path;
    this.#handle = handle;
    this.#error = error;
  }

  /** The length up to which it is read: that when it was opened, or last measured. */
  get size(): number {
    return this.#size;
  }

  /** Measures the length again. Rejects with OperatorError. */
  async measure(): Promise<void> {
    if (this.#handle === null) return;
    const { size } = await this.#handle.stat().catch((error: unknown) => {
      throw diskError('read', this.path, error);
    });
    this.#size = size;
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
