/**
 * `petstore backup` and `petstore restore`.
 *
 * A backup is a data folder with one more file, `backup.json`, which states the length and the SHA-256 of each of the
 * others. A running server sends what it holds in memory at one moment, and `petstore` writes the files: so the backup
 * is consistent, and a slow disk under it does not slow the server down.
 */
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf, OperatorError } from '../domain/operator-error.ts';
import { crc32, crcHex } from '../files/crc32.ts';
import { readChunks } from '../files/chunks.ts';
import { diskError } from '../files/errors.ts';
import { sizeOf } from '../files/lines.ts';
import { createFolder, type Made } from '../files/new-folder.ts';
import { replaceFile } from '../files/replace.ts';
import { writeRecords } from '../files/record-file.ts';
import { Spool } from '../files/spool.ts';
import { keysFormat, keysName } from '../keys/key-ring.ts';
import { usageFormat, usageName } from '../limits/usage-file.ts';
import { encodeMarker } from '../store/journal-format.ts';
import { segmentPath } from '../store/journal-segment.ts';
import { writeOrders } from '../store/orders.ts';
import { writeSnapshot } from '../store/snapshot.ts';
import { readContents } from './contents.ts';
import type { Progress } from './progress.ts';

export const manifestName = 'backup.json';
const format = 'petstore-backup';
const version = 1;

/** What `backup.json` states. */
interface Manifest {
  /** The id of the store. */
  readonly store: string;
  /** The number of the last journal record that the backup contains. */
  readonly sequence: number;
  readonly createdAt: string;
  readonly files: readonly FileRecord[];
}

interface FileRecord {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Writes a backup of a data folder to a new folder. Returns what it contains. Rejects with OperatorError. */
export function backUp(folder: string, to: string, log: (line: string) => void, progress: Progress) {
  return createFolder(to, async (made) => {
    const createdAt = new Date().toISOString();
    const spool = new Spool(join(made, 'pets.lines'));
    const table = progress.counting(spool);
    const { store, sequence, lastId, keys, usage, orders } =
      await readContents(folder, table, log, progress.forRead(log));
    const { count: animals } = spool;
    await writeSnapshot(join(made, 'pets.json'), spool, { store, sequence, lastId });
    spool.close();
    await replaceFile(segmentPath(made, sequence + 1), [encodeMarker(sequence, store)]);
    await writeRecords(join(made, keysName), keysFormat, keys.head, keys.lines);
    await writeRecords(join(made, usageName), usageFormat, usage.head, usage.lines);
    await writeOrders(made, store, orders);
    const files = readdirSync(made).sort().map((name) => describeFile(made, name));
    await writeManifest(made, { store, sequence, createdAt, files });
    return { createdAt, animals, lastRecord: sequence };
  });
}

/** Copies a backup to a new data folder. Returns its manifest. Rejects with OperatorError; there is no folder then. */
export async function restore(from: string, folder: string): Promise<Made<Manifest>> {
  const manifest = readManifest(from);
  return createFolder(folder, async (made) => {
    for (const expected of manifest.files) {
      const { name } = expected;
      if (sizeOf(join(from, name)) === undefined) throw broken(join(from, name), 'it is missing');
      await replaceFile(join(made, name), readChunks(join(from, name)));
      compare(made, expected, join(from, name));
    }
    return manifest;
  });
}

/** Compares the files of a backup with its manifest, and returns their number. Throws OperatorError. */
export function checkBackup(folder: string): number {
  const { files } = readManifest(folder);
  for (const expected of files) compare(folder, expected, join(folder, expected.name));
  return files.length;
}

/** Throws an OperatorError that names `path` if a file in `folder` is not as the manifest says. */
function compare(folder: string, expected: FileRecord, path: string): void {
  if (sizeOf(path) === undefined) throw broken(path, 'it is missing');
  const { bytes, sha256 } = describeFile(folder, expected.name);
  if (bytes !== expected.bytes) throw broken(path, `it has ${bytes} bytes, but should have ${expected.bytes}`);
  if (sha256 !== expected.sha256) throw broken(path, `its SHA-256 is not the one in ${manifestName}`);
}

function broken(path: string, why: string): OperatorError {
  return new OperatorError(`${path} is damaged: ${why}; use another backup`);
}

function describeFile(folder: string, name: string): FileRecord {
  const hash = createHash('sha256');
  let bytes = 0;
  for (const chunk of readChunks(join(folder, name))) {
    hash.update(chunk);
    bytes += chunk.length;
  }
  return { name, bytes, sha256: hash.digest('hex') };
}

/** The checksum covers everything before its comma. */
function writeManifest(folder: string, { files, ...rest }: Manifest): Promise<void> {
  const head = { format, version, ...rest };
  const lines = files.map((file) => JSON.stringify(file)).join(',\n');
  const text = `${JSON.stringify(head).slice(0, -1)},"files":[\n${lines}\n]`;
  return replaceFile(join(folder, manifestName), [text, checksumPart(text)]);
}

function readManifest(folder: string): Manifest {
  const path = join(folder, manifestName);
  let text;
  sizeOf(path);
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw diskError('read', path, error);
    throw new OperatorError(`${folder} is not a backup: there is no ${manifestName}; petstore backup makes one`);
  }
  let manifest: Partial<Manifest & { format: string; version: number }> | null;
  try {
    manifest = JSON.parse(text) as typeof manifest;
  } catch (error) {
    throw broken(path, messageOf(error));
  }
  if (manifest?.format === format && Number(manifest.version) > version) {
    const supported = `this program supports version ${version}`;
    throw new OperatorError(`${path} has version ${manifest.version}, but ${supported}; use a newer program`);
  }
  const end = text.length - checksumPart('').length;
  if (text.slice(end) !== checksumPart(text.slice(0, end))) throw broken(path, 'it does not match its checksum');
  // Otherwise a forged manifest could have any file of the machine replaced.
  const isName = (file: FileRecord | null): boolean => /^[a-z][a-z0-9.]*$/.test(String(file?.name ?? ''));
  if (manifest?.format !== format || !Array.isArray(manifest.files) || !manifest.files.every(isName)) {
    throw broken(path, 'it is not the manifest of a backup');
  }
  return manifest as Manifest;
}

function checksumPart(text: string): string {
  return `,"crc32":"${crcHex(crc32(Buffer.from(text)))}"}\n`;
}
