/** Helper for tests that watch syncs by way of node:fs/promises. */
import { open, type FileHandle } from 'node:fs/promises';
import type { TestContext } from 'node:test';

/** Calls `watch` before each `sync` (or `datasync`) of a FileHandle and waits for it. If it rejects, the sync fails. */
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
