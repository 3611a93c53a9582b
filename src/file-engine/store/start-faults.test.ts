/** Every file operation of a start fails once: the error names a file and says what to do. */
import assert from 'node:assert/strict';
import fs, { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import test from 'node:test';
import { OperatorError } from '../../domain/operator-error.ts';
import { AppendFile } from '../files/append-file.ts';
import { onFolderSync } from '../../testing/journal.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { PetStore } from './pet-store.ts';

test('an error of the file system at a start is one line that names a file and says what to do', async (t) => {
  const root = temporaryFolder(t);
  const good = join(root, 'good');
  fs.mkdirSync(good);
  const store = await PetStore.open(good, assert.fail);
  await store.create({ name: 'Rex', categoryId: 1n, status: 'sold' });
  cpSync(join(good, 'pets.1.journal'), join(root, 'old'));
  await store.snapshot();
  await store.create({ name: 'Rex', categoryId: 1n, status: 'sold' });
  await store.close();
  const journal = readdirSync(good).find((name) => name.endsWith('.journal'))!;
  const text = readFileSync(join(good, journal));
  const starts: Record<string, () => void> = {
    'an older segment and a torn end': () => {
      // A segment that the snapshot contains, as after a kill before its removal.
      const old = readFileSync(join(root, 'old'));
      writeFileSync(join(good, 'pets.1.journal'), old.subarray(0, old.findLastIndex((byte) => byte !== 0) + 1));
      writeFileSync(join(good, journal), Buffer.concat([text, Buffer.from('{"seq":3,"dur')]));
    },
    'no segment after the snapshot': () => {
      rmSync(join(good, journal));
    },
    'no segment at all': () => rmSync(join(good, 'pets.1.journal')),
  };
  const folder = join(root, 'store');
  let calls = 0;
  let failing = 0;
  const step = (syscall: string, folderOrFile: unknown): void => {
    if (typeof folderOrFile === 'string' && !folderOrFile.startsWith(folder)) return;
    if (++calls !== failing) return;
    throw Object.assign(new Error(`EIO: i/o error, ${syscall}`), { code: 'EIO', errno: -5, syscall });
  };
  const sync = ['openSync', 'readSync', 'readdirSync'] as const;
  for (const name of sync) {
    const original = fs[name] as (...args: unknown[]) => unknown;
    t.mock.method(fs, name, ((...args: unknown[]) => {
      step(name, args[0]);
      return original(...args);
    }) as never);
  }
  for (const name of ['open', 'readdir', 'rename', 'rm', 'truncate'] as const) {
    const original = promises[name] as (...args: unknown[]) => Promise<unknown>;
    t.mock.method(promises, name, (async (...args: unknown[]) => {
      step(name, args[0]);
      return original(...args);
    }) as never);
  }
  for (const name of ['append', 'sync', 'rewrite', 'truncate'] as const) {
    const original = AppendFile.prototype[name] as (argument?: unknown) => Promise<void>;
    t.mock.method(AppendFile.prototype, name, async function (this: AppendFile, argument: unknown) {
      step(name, null);
      return original.call(this, argument);
    } as never);
  }
  const { open } = AppendFile;
  t.mock.method(AppendFile, 'open', async (...args: Parameters<typeof open>) => {
    step('open', args[0]);
    return open(...args);
  });
  await onFolderSync(t, () => step('fsync', null));
  const handle = await promises.open(root);
  const prototype = Object.getPrototypeOf(handle) as { read: (...args: unknown[]) => Promise<unknown> };
  await handle.close();
  const { read } = prototype;
  t.mock.method(prototype, 'read', async function (this: unknown, ...args: unknown[]) {
    step('read', null);
    return read.apply(this, args);
  });
  syncBuiltinESMExports();
  t.after(() => {
    t.mock.restoreAll();
    syncBuiltinESMExports();
  });
  const messages = new Set<string>();
  for (const [what, prepare] of Object.entries(starts)) {
    prepare();
    for (let n = 1, ended = false; !ended; n++) {
      failing = 0;
      rmSync(folder, { recursive: true, force: true });
      cpSync(good, folder, { recursive: true });
      [calls, failing] = [0, n];
      try {
        const opened = await PetStore.open(folder, () => {});
        ended = calls < n;
        failing = 0;
        await opened.close();
      } catch (error) {
        assert(error instanceof OperatorError, `${what}, operation ${n}: ${String(error)}`);
        assert.match(error.message, /^cannot (read|write|sync the folder of) [^ \n]+: EIO: [^\n]+; the disk may be failing: /);
        assert(error.message.includes(` ${folder}`), error.message);
        messages.add(error.message);
      }
    }
  }
  assert(messages.size >= 8, [...messages].join('\n'));
});
