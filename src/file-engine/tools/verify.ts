/**
 * `petstore verify`: checks all files of a data folder, or of a backup, and changes nothing.
 *
 * It uses those parts of the code of a start that only read. The lock is not taken: a server may change the files
 * meanwhile. The order matters: what usage.json records is in the files read after it.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { counted } from '../../domain/counted.ts';
import { messageOf, OperatorError } from '../../domain/operator-error.ts';
import { hasPetLine, idWarning } from '../../domain/pet.ts';
import { DiskError, onDisk } from '../../files/errors.ts';
import { readRecords } from '../files/record-file.ts';
import { refuseNewerFormats, storeIdOf } from '../files/store-id.ts';
import { KeyRing, keysName } from '../accounts/key-ring.ts';
import { decodeUsage, usageFormat, usageName } from '../accounts/usage-file.ts';
import { withAnimalFiles } from '../store/animal-files.ts';
import { recoverJournal } from '../store/journal-recovery.ts';
import { ordersName } from '../store/orders.ts';
import { readSnapshot } from '../store/snapshot.ts';
import { idOf, orderLines, type PetSink } from './contents.ts';
import { checkContent, checkLength, compareFile, manifestName, readManifest, type Manifest } from './manifest.ts';
import type { Progress } from '../../program/progress.ts';

/** What was found. Each string in a list is one line. */
export interface Findings {
  /** What each file contains. */
  readonly content: string[];
  /** How many there are, and the number of the last record; null if damage hides that. */
  readonly counts: Record<'counters' | 'keys' | 'orders' | 'animals' | 'segments' | 'lastRecord', number | null>;
  /** What is unusual but harmless. */
  readonly notes: string[];
  /** Why a start would be refused, or what would be lost. */
  readonly damage: string[];
  /** Files that could not be read. */
  readonly unreadable: string[];
}

/** How many wrong lines are listed, and how much of each. All lines of a file can be wrong. */
const maxDamage = 1000;
const shownLength = 1000;
const known = /^(lock\.|(keys|orders|pets|usage)\.json$|pets\.[1-9][0-9]{0,14}\.journal$|backup\.json$)/;
const kept = /\.(torn|replaced|broken)-[0-9]+$/;

/** Returns the names of all files, sorted. Throws OperatorError. */
function namesIn(folder: string): string[] {
  return onDisk('read', folder, () => readdirSync(folder).sort());
}

/** Verifies a folder. Rejects with OperatorError only if the folder itself cannot be read. */
export async function verify(folder: string, progress: Progress): Promise<Findings> {
  const names = namesIn(folder);
  const findings = newFindings();
  const manifest = (names.includes(manifestName) && (await tryIn(findings, () => readManifest(folder)))) || null;
  await addFindings(findings, folder, names, manifest, progress);
  // A forged manifest can be right about files that have any length, so they are read only if they are sound.
  if (manifest !== null && findings.damage.length + findings.unreadable.length === 0) {
    await tryIn(findings, () => {
      for (const expected of manifest.files) compareFile(folder, expected);
      const files = counted(manifest.files.length, 'file is', 'files are');
      findings.content.push(`${manifestName}: all ${files} as it says`);
    });
  }
  for (const name of names) {
    if (kept.test(name)) findings.notes.push(`${name} was set aside`);
    else if (name.endsWith('.tmp')) {
      findings.notes.push(`${name} is being written, or was left by a process that was killed`);
    } else if (!known.test(name)) findings.notes.push(`${name} is not a file of the store`);
  }
  return findings;
}

/** Verifies the files of a backup, except for their checksums in the manifest. */
export async function verifyFiles(folder: string, manifest: Manifest, progress: Progress): Promise<Findings> {
  const findings = newFindings();
  await addFindings(findings, folder, namesIn(folder), manifest, progress);
  return findings;
}

function newFindings(): Findings {
  const counts = { counters: null, keys: null, orders: null, animals: null, segments: null, lastRecord: null };
  return { content: [], counts, notes: [], damage: [], unreadable: [] };
}

/** Returns the result of `work`; if that throws an OperatorError, adds it to the findings, and returns undefined. */
async function tryIn<T>({ damage, unreadable }: Findings, work: () => T | Promise<T>): Promise<T | undefined> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    (error instanceof DiskError ? unreadable : damage).push(messageOf(error));
    return undefined;
  }
}

/** Adds what is found in the files. `manifest` is that of a backup; null for a data folder. */
async function addFindings(
  findings: Findings, folder: string, names: readonly string[], manifest: Manifest | null, progress: Progress,
): Promise<void> {
  const { content, counts, notes, damage } = findings;
  const check = <T>(work: () => T | Promise<T>): Promise<T | undefined> => tryIn(findings, work);
  const add = (name: string, count: number, what: string, more = ''): void => {
    const found = names.includes(name);
    content.push(found ? `${name}: ${counted(count, what)}${more}` : `${name} does not exist: no ${what}s`);
  };
  const list = (name: string, count: number, what: 'counter' | 'key' | 'order'): void => {
    counts[`${what}s`] = count;
    add(name, count, what);
  };

  for (const expected of manifest?.files ?? []) await check(() => checkLength(folder, expected));
  const isSupported = await check(() => {
    refuseNewerFormats(folder);
    return true;
  });
  if (isSupported === undefined) return; // this program cannot tell what is wrong with a newer file
  const store = await check(() => storeIdOf(folder));
  const usage = await check(() => readRecords(join(folder, usageName), usageFormat, decodeUsage));
  if (usage !== undefined) list(usageName, usage.records.length, 'counter');
  await check(() => {
    const keys = new KeyRing(folder, undefined, '');
    list(keysName, keys.keys.length, 'key');
    keys.checkChanges(usage?.keyChanges ?? 0);
  });
  await check(() => list(ordersName, orderLines(folder).length, 'order'));

  let previous = 0;
  let count = 0;
  const report = (problem: string): void => {
    if (damage.length >= maxDamage) throw new OperatorError(`${folder} has more damage, which is not listed`);
    damage.push(problem);
  };
  const table: PetSink = {
    append(bytes, _status, start = 0, end = bytes.length) {
      const id = idOf(bytes, start);
      if (!hasPetLine(bytes, start, end)) {
        report(`animal ${id}: this is not its line: ${bytes.toString('utf8', start, end).slice(0, shownLength)}`);
      }
      if (id <= previous) report(`animal ${id}: its id is not greater than ${previous}, the one before`);
      previous = id;
      count++;
    },
  };
  await withAnimalFiles(folder, async (files) => {
    progress.expect(files.bytes);
    const onRead = (bytes: number): void => progress.add(bytes);
    const snapshot = await check(() => readSnapshot(files.snapshot, table, onRead));
    if (snapshot !== undefined) {
      add('pets.json', count, 'animal', `, up to record ${snapshot.sequence}`);
      if (snapshot.bytes > 0 && snapshot.lastId < previous) {
        damage.push(`pets.json: lastId is ${snapshot.lastId}, but there is an animal ${previous}`);
      }
    }
    await check(async () => {
      const { segments } = files;
      // Without a snapshot, the journal is checked from its own beginning.
      const snapshotSequence = snapshot?.sequence ?? (segments[0]?.first ?? 1) - 1;
      const inSnapshot = count;
      const recorded = usage?.durable ?? 0;
      const log = (line: string): void => void notes.push(line);
      counts.segments = segments.length;
      const { torn, last } = await recoverJournal({ folder, segments, snapshotSequence, recorded, table, log, onRead });
      const animals = counted(count - inSnapshot, 'animal');
      content.push(`journal: ${counted(segments.length, 'segment')}, ${animals}, up to record ${last}`);
      counts.lastRecord = last;
      const warning = idWarning(Math.max(snapshot?.lastId ?? 0, previous));
      if (warning !== null) notes.push(warning);
      counts.animals = snapshot === undefined ? null : count;
      if (torn === null) return;
      const cause = 'a crash cut it off, or a server is writing it';
      const name = `pets.${segments.at(-1)!.first}.journal`;
      notes.push(`the end of ${name} is incomplete: ${cause}; the next start sets it aside`);
    });
  });
  if (manifest !== null && store !== undefined) {
    await check(() => checkContent(folder, manifest, store, counts.lastRecord));
  }
}
