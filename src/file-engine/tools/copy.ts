/** `petstore copy` from and to a data folder. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Copied, StoreContents } from '../../control/contents.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { onDisk } from '../../files/errors.ts';
import type { Progress } from '../../program/progress.ts';
import { encodeKey } from '../accounts/key-record.ts';
import { KeyRing } from '../accounts/key-ring.ts';
import { encodeUsage, UsageFile } from '../accounts/usage-file.ts';
import { markComplete, markIncomplete, refuseIncomplete } from '../files/incomplete.ts';
import { Spool } from '../files/spool.ts';
import { storeIdOf } from '../files/store-id.ts';
import { describeHolder, type FolderLock } from '../lock/folder-lock.ts';
import { folderExists, requireFolder, useFolder } from '../lock/use-folder.ts';
import { readContents, writeContents } from './contents.ts';

const spoolName = 'pets.json.copy.tmp';
const pieceBytes = 256 * 1024;

/**
 * Passes what a data folder contains to `use`, and resolves to its result. No other process may use the folder
 * meanwhile. Rejects with OperatorError, and as `use` does.
 */
export async function readFolder<T>(
  folder: string, use: (contents: StoreContents) => Promise<T>, log: (line: string) => void, progress: Progress,
): Promise<T> {
  requireFolder(folder);
  return alone(folder, async (lock) => {
    const spool = new Spool(join(folder, spoolName));
    try {
      const { lastId, orders } = await readContents(folder, spool, log, progress);
      const { limiter } = new UsageFile(folder, Date.now, log);
      return await use({
        animals: spool.count,
        lastId,
        keys: new KeyRing(folder).keys,
        usages: new Map(limiter.usages(Date.now)),
        *pets() {
          // Each line is followed by a comma and a line feed.
          for (const piece of spool.pieces(spool.count, pieceBytes)) yield String(piece.subarray(0, -2)).split(',\n');
        },
        orders: () => [orders],
        check: async () => lock.check(),
      });
    } finally {
      spool.close();
    }
  });
}

/** Writes a data folder, which must not exist or be empty. Rejects with OperatorError; it cannot be used then. */
export async function writeFolder(folder: string, contents: StoreContents, progress: Progress): Promise<Copied> {
  if (folderExists(folder)) requireEmpty(folder); // otherwise the lock would be left in it
  return alone(folder, async () => {
    requireEmpty(folder);
    const store = storeIdOf(folder);
    await markIncomplete(folder);
    const spool = new Spool(join(folder, spoolName));
    try {
      progress.expect(contents.animals);
      for await (const lines of contents.pets()) {
        for (const line of lines) spool.append(Buffer.from(line));
        progress.add(lines.length);
      }
      const orders: string[] = [];
      for await (const lines of contents.orders()) orders.push(...lines);
      const { lastId, keys, usages } = contents;
      // The copy counts as a record and as a change of the keys. So a start notices if a file is missing.
      const [sequence, keyChanges] = [1, 1];
      await writeContents(folder, {
        store, sequence, lastId, orders,
        keys: { head: { store, keyChanges }, lines: keys.map(encodeKey) },
        usage: {
          head: { store, durable: sequence, keyChanges },
          lines: Array.from(usages, ([id, usage]) => encodeUsage(id, usage, (time) => new Date(time).toISOString())),
        },
      }, spool);
      await contents.check();
      await markComplete(folder);
      return { animals: spool.count, orders: orders.length, keys: keys.length };
    } finally {
      spool.close();
    }
  });
}

/** Throws an OperatorError if a folder has files, except for locks. */
function requireEmpty(folder: string): void {
  refuseIncomplete(folder);
  const names = onDisk('read', folder, () => readdirSync(folder));
  if (names.every((name) => name.startsWith('lock.'))) return;
  throw new OperatorError(`${folder} is not an empty folder; name one that does not exist`);
}

/** Uses a folder that no other process uses. Rejects with OperatorError, and as `work` does. */
function alone<T>(folder: string, work: (lock: FolderLock) => Promise<T>): Promise<T> {
  return useFolder(folder, {
    withoutLock: null,
    withLock: work,
    async withServer(held) {
      throw new OperatorError(`${folder} is in use by ${describeHolder(held)}; stop it before a copy`);
    },
  });
}
