/** Helpers for tests that damage the files of a data folder. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryFolder } from '../../harness/owner.ts';
import { OperatorError } from '../domain/operator-error.ts';
import { FileEngine } from '../file-engine/file-engine.ts';
import { storeIdOf } from '../file-engine/files/store-id.ts';
import { KeyRing } from '../file-engine/accounts/key-ring.ts';
import { limitsOf } from '../limits/plans.ts';
import { UsageFile } from '../file-engine/accounts/usage-file.ts';
import { withAnimalFiles } from '../file-engine/store/animal-files.ts';
import { recoverJournal } from '../file-engine/store/journal-recovery.ts';
import { setTornEndAside } from '../file-engine/store/journal-segment.ts';
import { readOrders, writeOrders } from '../file-engine/store/orders.ts';
import { readSnapshot } from '../file-engine/store/snapshot.ts';
import { recordingTable } from './journal.ts';

export const now = Date.UTC(2026, 10, 21, 12);
const free = limitsOf({ name: 'free' });
export const rex = { name: 'Rex', categoryId: -9223372036854775808n, status: 'sold' } as const;
const orders = [1, 2].map((id) => `{"id":${id},"petId":1,"quantity":1,"status":"placed","complete":false}`);

/** The parts of a server that read or write files, as `server.ts` opens them. */
export async function open(folder: string, log: (line: string) => void) {
  const engine = new FileEngine(folder, log, { now: () => now });
  await engine.load();
  const { store, keys, usage, pets } = engine;
  return { store, keys, usage, pets, close: () => usage.close().then(() => pets.close()) };
}

/**
 * Fills a folder: two keys, one of them revoked, two orders, and six animals: two in the snapshot and two in each of
 * two segments. Calls `keep` after each change.
 */
async function fill(folder: string, keep = (): void => {}): Promise<void> {
  mkdirSync(folder);
  const { store, keys, usage, pets, close } = await open(folder, () => {});
  const create = async (): Promise<void> => {
    usage.limiter.admitKey('k1', free, now, 0);
    await pets.create(rex);
    await usage.save();
    keep();
  };
  await writeOrders(folder, store, orders);
  await keys.create('a', { name: 'pro' }, null, now);
  await keys.create('é', { name: 'enterprise', perMinute: 7, perDay: 70 }, now + 1, now);
  await create();
  await pets.snapshot();
  keep();
  await keys.revoke('k2', now);
  await create();
  await pets.snapshot();
  for (const _ of orders) await create();
  mkdirSync(join(folder, 'pets.json.tmp', 'full'), { recursive: true }); // the snapshot fails, but a segment is started
  await pets.snapshot();
  rmSync(join(folder, 'pets.json.tmp'), { recursive: true });
  for (const _ of orders) await create();
  await close();
}

/** What a start finds. It writes nothing to the folder, except that it sets a torn end aside. */
export async function find(folder: string) {
  const logged: string[] = [];
  const log = (line: string): void => void logged.push(line);
  const store = storeIdOf(folder);
  const ring = new KeyRing(folder, undefined, store);
  const lines: string[] = [];
  const table = recordingTable((line) => lines.push(line));
  readOrders(folder, table);
  const usage = new UsageFile(folder, () => now, log, undefined, store);
  ring.checkChanges(usage.recorded.keyChanges);
  const recorded = usage.recorded.durable;
  const { torn } = await withAnimalFiles(folder, async ({ snapshot, segments }) => {
    const { sequence: snapshotSequence } = await readSnapshot(snapshot, table);
    return recoverJournal({ folder, segments, snapshotSequence, recorded, table, log });
  });
  if (torn !== null) await setTornEndAside(torn, log, async () => {});
  return { lines, keys: ring.keys, used: usage.limiter.usageOf('k1', now).minute.used, logged };
}

type Found = Awaited<ReturnType<typeof find>>;
/** Contents by name. */
export type Files = ReadonlyMap<string, Buffer>;

/** The files in a folder with their contents. */
export function filesIn(folder: string): Files {
  return new Map(readdirSync(folder).sort().map((name) => [name, readFileSync(join(folder, name))]));
}

/** The files, in the order of their names. */
export const names = ['keys.json', 'orders.json', 'pets.3.journal', 'pets.5.journal', 'pets.json', 'usage.json'];

/** A folder that has been filled. */
export interface Filled {
  readonly folder: string;
  readonly good: Files;
  /** The first content of each file, unless it never changed. */
  readonly old: Files;
  /** What a start finds in the folder. */
  readonly exact: Found;
}

/** Fills a temporary folder. */
export async function filled(t: TestContext): Promise<Filled> {
  const folder = join(temporaryFolder(t), 'store');
  const old = new Map<string, Buffer>();
  await fill(folder, () => {
    for (const [name, content] of filesIn(folder)) if (!old.has(name)) old.set(name, content);
  });
  const good = filesIn(folder);
  const exact = await find(folder);
  assert.deepEqual([[...good.keys()], exact.lines.length, exact.used, exact.logged], [names, 8, 6, []]);
  for (const [name, content] of old) if (good.get(name)?.equals(content) !== false) old.delete(name);
  return { folder, good, old, exact };
}

/**
 * The outcome of a start with other contents of files, by name (null: without the file). Puts the good contents back.
 * `set aside` means that usage.json, or what follows the last record of the journal, is damaged, and nothing else is
 * lost. A refusal, or the line of the log, must name one of these files.
 */
export async function outcomeOf({ folder, good, exact }: Filled, contents: Readonly<Record<string, Buffer | null>>) {
  const changed = Object.keys(contents);
  for (const [name, content] of Object.entries(contents)) {
    if (content === null) rmSync(join(folder, name));
    else writeFileSync(join(folder, name), content);
  }
  const before = filesIn(folder);
  try {
    const { logged, ...found } = await find(folder);
    const { logged: _, ...expected } = exact;
    if (logged.length === 0) assert.deepEqual(found, expected);
    else {
      assert.equal(logged.length, 1, logged.join('\n'));
      const name = changed.find((one) => logged[0]!.startsWith(join(folder, one)));
      assert(name !== undefined, logged[0]);
      assert.deepEqual(found, name === 'usage.json' ? { ...expected, used: 0 } : expected);
      // A server sets usage.json aside before it next writes it.
      const asides = readdirSync(folder).filter((other) => !before.has(other));
      assert.equal(asides.length, name === 'usage.json' ? 0 : 1);
    }
    return logged.length === 0 ? 'exact' : 'set aside';
  } catch (error) {
    assert(error instanceof OperatorError, String(error));
    const { message } = error;
    assert(changed.some((name) => message.includes(name)) && !message.includes('\n'), `${changed.join()}: ${message}`);
    assert.deepEqual(filesIn(folder), before, 'a refusal changes nothing');
    return 'refused';
  } finally {
    for (const other of readdirSync(folder)) if (!good.has(other)) rmSync(join(folder, other));
    for (const name of changed) if (good.has(name)) writeFileSync(join(folder, name), good.get(name)!);
  }
}
