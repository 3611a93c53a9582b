/**
 * `backup.json`: the manifest of a backup, which states the length and the SHA-256 of each of its files.
 *
 * A backup may come from a stranger, who can give a forged manifest a correct checksum. So nothing in it is relied on
 * that was not checked: it has a maximum length, every member has one type and one range, and the files are exactly
 * those that a backup has.
 */
import { createHash } from 'node:crypto';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../../domain/counted.ts';
import { messageOf, OperatorError } from '../../domain/operator-error.ts';
import { readChunks } from '../files/chunks.ts';
import { crc32 } from '../../domain/crc32.ts';
import { onDisk } from '../../files/errors.ts';
import { checksumPart, checksumPartBytes } from '../files/record-file.ts';
import { replaceFile } from '../files/replace.ts';
import { readWhole } from '../files/whole.ts';
import { arrayMember, countMember, optionalNumberMember, stringMember, timeMember } from '../files/members.ts';
import { JsonObject, readJson, type JsonValue } from '../../json/read.ts';
import { quoted } from '../../json/source.ts';
import { keysName } from '../accounts/key-ring.ts';
import { usageName } from '../accounts/usage-file.ts';
import { maxSequence } from '../store/journal-format.ts';
import { segmentPath } from '../store/journal-segment.ts';
import { ordersName } from '../store/orders.ts';

export const manifestName = 'backup.json';
const format = 'petstore-backup';
const version = 1;
/** A manifest has about 800 bytes. */
const maxBytes = 64 * 1024;

/** What `backup.json` states. */
export interface Manifest {
  /** The id of the store. */
  readonly store: string;
  /** The number of the last journal record that the backup contains. */
  readonly sequence: number;
  /** RFC 3339. */
  readonly createdAt: string;
  /** All other files of the backup. */
  readonly files: readonly FileRecord[];
}

interface FileRecord {
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** The names of the files besides the manifest, in order. */
function fileNames(sequence: number): string[] {
  return [keysName, usageName, ordersName, 'pets.json', segmentPath('', sequence + 1).slice(1)].sort();
}

/**
 * Writes the manifest of the files in a folder. The checksum covers everything before its comma. Rejects as
 * `replaceFile` does.
 */
export function writeManifest(folder: string, head: Omit<Manifest, 'files'>): Promise<void> {
  const lines = fileNames(head.sequence).map((name) => JSON.stringify(describeFile(folder, name))).join(',\n');
  const text = `${JSON.stringify({ format, version, ...head }).slice(0, -1)},"files":[\n${lines}\n]`;
  return replaceFile(join(folder, manifestName), [text, checksumPart(crc32(Buffer.from(text)))]);
}

/** Reads the manifest of a backup. Throws OperatorError if there is none, or if it is not valid. */
export function readManifest(folder: string): Manifest {
  const path = join(folder, manifestName);
  const file = onDisk('read', path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (file?.isSymbolicLink()) throw broken(path, 'it is a link, or not a regular file');
  const bytes = readWhole(path, maxBytes);
  if (bytes === undefined) {
    throw new OperatorError(`${folder} is not a backup: there is no ${manifestName}; petstore backup makes one`);
  }
  let document: JsonValue;
  try {
    document = readJson(bytes);
  } catch (error) {
    throw broken(path, messageOf(error));
  }
  const given = document instanceof JsonObject && document.get('format') === format ? document : null;
  const found = given === null ? undefined : optionalNumberMember(given, 'version');
  if (Number.isSafeInteger(found) && found! > version) {
    const supported = `this program supports version ${version}`;
    throw new OperatorError(`${path} has version ${found}, but ${supported}; use a newer program`);
  }
  const end = Math.max(0, bytes.length - checksumPartBytes);
  if (bytes.toString('latin1', end) !== checksumPart(crc32(bytes, 0, end))) {
    throw broken(path, 'it does not match its checksum');
  }
  try {
    if (given === null || found !== version) throw new Error(`"format" or "version" is wrong`);
    return decode(given);
  } catch (error) {
    throw broken(path, `it is not the manifest of a backup: ${messageOf(error)}`);
  }
}

/** Throws an Error that says what is wrong. */
function decode(document: JsonObject): Manifest {
  const store = stringMember(document, 'store');
  check(/^[0-9a-f]{32}$/.test(store), '"store" must be 32 hexadecimal digits');
  const sequence = countMember(document, 'sequence');
  check(sequence <= maxSequence, `"sequence" may be ${maxSequence} at most`);
  const createdAt = new Date(timeMember(document, 'createdAt')).toISOString();
  const files = new Map<string, FileRecord>();
  const expected = fileNames(sequence);
  for (const file of arrayMember(document, 'files').each()) {
    if (!(file instanceof JsonObject)) throw new Error('"files" must contain objects');
    const name = stringMember(file, 'name');
    check(expected.includes(name), `${quoted(name)} is not a file of this backup`);
    check(!files.has(name), `${name} is listed twice`);
    const sha256 = stringMember(file, 'sha256');
    check(/^[0-9a-f]{64}$/.test(sha256), '"sha256" must be 64 hexadecimal digits');
    files.set(name, { name, bytes: countMember(file, 'bytes'), sha256 });
  }
  for (const name of expected) check(files.has(name), `${name} is not listed`);
  return { store, sequence, createdAt, files: [...files.values()] };
}

function check(isValid: boolean, rule: string): void {
  if (!isValid) throw new Error(rule);
}

/** Throws OperatorError if a file of a backup is missing or no regular file, or does not have the expected length. */
export function checkLength(folder: string, { name, bytes }: FileRecord): void {
  const path = join(folder, name);
  const found = onDisk('read', path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (found === undefined) throw broken(path, 'it is missing');
  if (!found.isFile()) throw broken(path, 'it is a link, or not a regular file');
  if (found.size !== bytes) throw broken(path, `it has ${counted(found.size, 'byte')}, but should have ${bytes}`);
}

/** Throws an OperatorError that names `path` if a file in `folder` is not as the manifest says. */
export function compareFile(folder: string, expected: FileRecord, path = join(folder, expected.name)): void {
  const { bytes, sha256 } = describeFile(folder, expected.name);
  if (bytes !== expected.bytes) {
    throw broken(path, `it has ${counted(bytes, 'byte')}, but should have ${expected.bytes}`);
  }
  if (sha256 !== expected.sha256) throw broken(path, `its SHA-256 is not the one in ${manifestName}`);
}

/** Throws OperatorError if the content of the files is not that of the manifest. `null`: that is not known. */
export function checkContent(folder: string, manifest: Manifest, store: string, lastRecord: number | null): void {
  const path = join(folder, manifestName);
  if (store !== manifest.store) throw broken(path, 'its files are those of another store');
  if (lastRecord !== null && lastRecord !== manifest.sequence) {
    throw broken(path, `its files end with record ${lastRecord}, but should end with ${manifest.sequence}`);
  }
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
