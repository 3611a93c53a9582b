/** Helpers for tests that observe syncs or make reads fail, through node:fs/promises. */
import { statSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { TestContext } from 'node:test';

export const pageBytes = 4096;

/** Calls `watch` before each `sync` (or `datasync`) of a FileHandle and waits for it. If it rejects, the sync fails. */
export async function onSync(
  t: TestContext,
  watch: (handle: FileHandle) => void | Promise<void>,
  name: 'sync' | 'datasync' = 'sync',
): Promise<void> {
  const prototype = await fileHandlePrototype();
  const method = prototype[name];
  t.mock.method(prototype, name, async function (this: FileHandle) {
    await watch(this);
    await method.call(this);
  });
}

/** Makes every read that includes one of these pages of a file fail with EIO, as on a disk with bad sectors. */
export async function failReads(t: TestContext, path: string, pages: readonly number[]): Promise<void> {
  const { ino, size } = statSync(path);
  const prototype = await fileHandlePrototype();
  const method = prototype.read as (...args: unknown[]) => Promise<unknown>;
  t.mock.method(prototype, 'read', async function (this: FileHandle, ...args: [Buffer, number, number, number]) {
    const [, , length, position] = args;
    const isBad = pages.some((page) => position < (page + 1) * pageBytes && page * pageBytes < position + length);
    if (isBad && position < size && (await this.stat()).ino === ino) {
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO', syscall: 'read' });
    }
    return method.apply(this, args);
  });
}

/** Makes every read return at most `maxBytes` bytes, as the kernel may. Calls `before` each, and waits for it. */
export async function shortenReads(t: TestContext, maxBytes: number, before = async (): Promise<void> => {}) {
  const prototype = await fileHandlePrototype();
  const method = prototype.read as (...args: unknown[]) => Promise<unknown>;
  return t.mock.method(prototype, 'read', async function (this: FileHandle, ...args: [Buffer, number, number, number]) {
    const [buffer, at, length, position] = args;
    await before();
    return method.call(this, buffer, at, Math.min(length, maxBytes), position);
  });
}

async function fileHandlePrototype(): Promise<FileHandle> {
  const handle = await open('.', 'r');
  await handle.close();
  return Object.getPrototypeOf(handle) as FileHandle;
}
