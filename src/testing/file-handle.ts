/** For tests: what becomes of the file handles of node:fs/promises. */
import { open, type FileHandle } from 'node:fs/promises';
import type { TestContext } from 'node:test';

/** Lets `watch` see each sync of a file or folder, or datasync, before it happens: it may wait, or throw in its place. */
export async function onSync(
  t: TestContext,
  watch: (handle: FileHandle) => void | Promise<void>,
  name: 'sync' | 'datasync' = 'sync',
): Promise<void> {
  const handle = await open('.', 'r');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const method = prototype[name];
  t.mock.method(prototype, name, async function (this: FileHandle) {
    await watch(this);
    await method.call(this);
  });
}
