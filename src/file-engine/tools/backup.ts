/**
 * `petstore backup` and `petstore restore`.
 *
 * A backup is a data folder with one more file, the manifest (manifest.ts). `petstore` reads the files of the data
 * folder and writes those of the backup, so a server that uses the folder is not involved (contents.ts).
 */
import { join } from 'node:path';
import { OperatorError } from '../../domain/operator-error.ts';
import { readChunks } from '../files/chunks.ts';
import { createFolder, type Made } from '../files/new-folder.ts';
import { replaceFile } from '../files/replace.ts';
import { Spool } from '../files/spool.ts';
import { readContents, writeContents } from './contents.ts';
import { compareFile, readManifest, writeManifest, type Manifest } from './manifest.ts';
import { Progress } from '../../program/progress.ts';
import { verifyFiles } from './verify.ts';

/** Writes a backup of a data folder to a new folder. Returns what it contains. Rejects with OperatorError. */
export function backUp(folder: string, to: string, log: (line: string) => void, progress: Progress) {
  return createFolder(to, async (made) => {
    const createdAt = new Date().toISOString();
    const spool = new Spool(join(made, 'pets.lines'));
    const contents = await readContents(folder, spool, log, progress);
    await writeContents(made, contents, spool);
    const { store, sequence } = contents;
    await writeManifest(made, { store, sequence, createdAt });
    return { createdAt, animals: spool.count, lastRecord: sequence };
  });
}

/**
 * Copies a backup to a new data folder. Returns its manifest. Rejects with OperatorError if the files are not as it
 * says, or would be refused at a start; there is no folder then.
 */
export async function restore(
  from: string, folder: string, progress = new Progress('restore'),
): Promise<Made<Manifest>> {
  const manifest = readManifest(from);
  return createFolder(folder, async (made) => {
    // First, because it ends at the first line that is wrong, while a file to copy can have any length.
    const { damage, unreadable } = await verifyFiles(from, manifest, progress);
    const [problem, ...more] = [...unreadable, ...damage];
    if (problem !== undefined) {
      const others = more.length === 0 ? '' : `; "petstore verify --data ${from}" names ${more.length} more`;
      throw new OperatorError(`cannot restore ${from}, use another backup: ${problem}${others}`);
    }
    for (const expected of manifest.files) {
      const source = join(from, expected.name);
      await replaceFile(join(made, expected.name), readChunks(source, 0, expected.bytes));
      compareFile(made, expected, source);
    }
    return manifest;
  });
}
