import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { AppendFile } from '../files/append-file.ts';
import { temporaryFolder } from '../testing/programs.ts';
import { Journal } from './journal.ts';

interface Opened {
  readonly journal: Journal;
  /** The records that `apply` was given, by their ids. */
  readonly applied: number[];
  readonly logged: string[];
}

async function openJournal(folder: string, snapshotSequence = 0): Promise<Opened> {
  const applied: number[] = [];
  const logged: string[] = [];
  const apply = (pet: Buffer): boolean => applied.push((JSON.parse(pet.toString()) as { id: number }).id) > 0;
  return { journal: await Journal.open({ folder, snapshotSequence, apply, log: (line) => logged.push(line) }), applied, logged };
}

function pet(id: number, name = 'Rex'): Buffer {
  return Buffer.from(`{"id":${id},"name":"${name}","categoryId":9223372036854775807,"status":"sold"}`);
}

interface Line {
  readonly seq: number;
  readonly durable: number;
  readonly pet?: { readonly id: number };
}

/** What stands in a segment before the zeros into which it grows. */
function contentOf(path: string): Buffer {
  const bytes = readFileSync(path);
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
}

/** The lines of a segment, each parsed as the JSON it must be. */
function linesOf(path: string): Line[] {
  const text = contentOf(path).toString();
  assert(text === '' || text.endsWith('\n'));
  return text.split('\n').slice(0, -1).map((line) => JSON.parse(line) as Line);
}

function crcByDefinition(text: string): string {
  let crc = 0xffffffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (~crc >>> 0).toString(16).padStart(8, '0');
}

const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, index) => from + index);
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

test('every line is JSON with a sequence number, what is durable, and a checksum', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'pets.1.journal');
  const { journal, applied } = await openJournal(folder);
  assert.equal(statSync(path).mode & 0o777, 0o600);
  await journal.append(pet(1));
  await turns(2); // nothing waits: a marker
  await Promise.all([journal.append(pet(2, 'é\\n\\ud800')), journal.append(pet(5))]);
  await journal.close();
  assert.equal(journal.durable, 3);
  assert.deepEqual(applied, [1, 2, 5]);
  assert.deepEqual(linesOf(path).map(({ seq, durable, pet }) => [seq, durable, pet?.id ?? null]), [
    [0, 0, null],
    [1, 0, 1],
    [1, 1, null],
    [2, 1, 2],
    [3, 1, 5],
    [3, 3, null],
  ]);
  for (const line of readFileSync(path, 'utf8').split('\n').slice(0, -1)) {
    const [, before, crc] = /^(.*),"crc":"([0-9a-f]{8})"\}$/.exec(line) ?? [];
    assert.equal(crc, crcByDefinition(before!));
  }
  assert(readFileSync(path, 'utf8').includes(`"pet":${pet(2, 'é\\n\\ud800').toString()},"crc"`), 'the animal stands in it byte for byte');
});

test('while it runs, zeros stand behind the last line; a close and a rotation cut them off, and a killed process leaves no tear', async (t) => {
  const root = temporaryFolder(t);
  const [folder, killed] = [join(root, 'store'), join(root, 'killed')];
  mkdirSync(folder);
  const path = join(folder, 'pets.1.journal');
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await journal.append(pet(2));
  const length = statSync(path).size;
  assert(length > contentOf(path).length + 100_000);
  for (const id of numbers(3, 20)) await journal.append(pet(id));
  assert.equal(statSync(path).size, length, 'the file does not grow with each record');
  cpSync(folder, killed, { recursive: true });

  const again = await openJournal(killed);
  assert.deepEqual([again.applied, again.logged], [numbers(1, 20), []]);
  await again.journal.append(pet(21));
  await again.journal.close();
  assert.deepEqual(readdirSync(killed), ['pets.1.journal'], 'nothing is set aside');
  assert.deepEqual(linesOf(join(killed, 'pets.1.journal')).flatMap(({ pet }) => pet?.id ?? []), numbers(1, 21));

  await journal.rotate();
  await journal.append(pet(21));
  await journal.close();
  for (const name of readdirSync(folder)) assert.equal(readFileSync(join(folder, name)).indexOf(0), -1, name);
});

test('a promise resolves after the sync of its line, and nothing is applied before', async (t) => {
  const folder = temporaryFolder(t);
  const { journal, applied } = await openJournal(folder);
  const events: string[] = [];
  let letGo = (): void => {};
  const sync = AppendFile.prototype.sync;
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    const records = linesOf(join(folder, 'pets.1.journal')).filter(({ pet }) => pet !== undefined);
    events.push(`sync of ${records.length}`);
    await new Promise<void>((resolve) => (letGo = resolve));
    await sync.call(this);
    events.push('synced');
  });
  const append = (id: number): Promise<void> => journal.append(pet(id)).then(() => void events.push(`${id} done`));
  const first = append(1);
  await turns(5);
  const second = append(2); // while the disk is busy: it waits for the next sync
  const third = append(3);
  await turns(5);
  assert.deepEqual(events, ['sync of 1']);
  assert.deepEqual(applied, []);
  letGo();
  await first;
  await turns(5);
  assert.deepEqual(applied, [1]);
  assert.deepEqual(events, ['sync of 1', 'synced', '1 done', 'sync of 3']);
  letGo();
  await Promise.all([second, third]);
  assert.deepEqual(events, ['sync of 1', 'synced', '1 done', 'sync of 3', 'synced', '2 done', '3 done']);
  t.mock.restoreAll();
  await journal.close();
});

test('a hundred concurrent appends share a sync', async (t) => {
  const folder = temporaryFolder(t);
  const { journal, applied } = await openJournal(folder);
  const sync = t.mock.method(AppendFile.prototype, 'sync');
  await Promise.all(numbers(1, 100).map((id) => journal.append(pet(id))));
  assert(sync.mock.callCount() <= 2, `${sync.mock.callCount()} syncs`);
  assert.deepEqual(applied, numbers(1, 100));
  await Promise.all(numbers(101, 200).map(async (id) => {
    await turns(id % 3); // at different times
    await journal.append(pet(id));
  }));
  assert(sync.mock.callCount() <= 10, `${sync.mock.callCount()} syncs`);
  await journal.close();
  const records = linesOf(join(folder, 'pets.1.journal')).filter(({ pet }) => pet !== undefined);
  assert.deepEqual(records.map(({ seq }) => seq), numbers(1, 200));
  assert(new Set(records.map(({ durable }) => durable)).size <= 10);
});

test('what comes from different callbacks in one turn of the event loop shares a sync', async (t) => {
  const { journal } = await openJournal(temporaryFolder(t));
  const sync = t.mock.method(AppendFile.prototype, 'sync');
  await Promise.all(numbers(1, 10).map((id) => new Promise((resolve) => setImmediate(resolve)).then(() => journal.append(pet(id)))));
  assert.equal(sync.mock.callCount(), 1);
  await journal.close();
});

test('a marker that could be written in part only is cut off', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  const { append } = AppendFile.prototype;
  t.mock.method(AppendFile.prototype, 'append', function (this: AppendFile, bytes: Buffer) {
    const isMarker = !bytes.includes('"pet"');
    append.call(this, isMarker ? bytes.subarray(0, 9) : bytes);
    if (isMarker) throw new Error('ENOSPC');
  });
  for (const id of [1, 2, 3]) {
    await journal.append(pet(id));
    await turns(2);
  }
  t.mock.restoreAll();
  await journal.append(pet(4));
  await journal.close();
  const again = await openJournal(folder);
  assert.deepEqual([again.applied, again.logged], [[1, 2, 3, 4], []]);
  await again.journal.close();
});

test('an append that comes in the very moment when a group ends is not forgotten', async (t) => {
  const { journal, applied } = await openJournal(temporaryFolder(t));
  // So many promises lie between the group's end and the caller. A forgotten one would never resolve.
  for (let distance = 0; distance < 12; distance++) {
    const wrapped = async (depth: number): Promise<void> => (depth === 0 ? journal.append(pet(2 * distance + 1)) : await wrapped(depth - 1));
    await wrapped(distance);
    await journal.append(pet(2 * distance + 2));
  }
  for (let distance = 0; distance < 12; distance++) {
    let after = journal.append(pet(25 + distance));
    for (let hop = 0; hop < distance; hop++) after = after.then(() => {});
    await after.then(() => journal.rotate());
  }
  assert.deepEqual(applied, numbers(1, 36));
  await journal.close();
});

test('a rotation begins a segment once all before it is on the disk, and its name is on the disk before a record in it', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await turns(2);
  const events: string[] = [];
  const note = (what: string): void => {
    const names = readdirSync(folder).sort().map((name) => `${name} ${linesOf(join(folder, name)).length}`);
    events.push(`${what}: ${names.join(', ')}`);
  };
  const sync = AppendFile.prototype.sync;
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    await sync.call(this);
    note('file');
  });
  await onFolderSync(t, () => note('folder'));
  await Promise.all([journal.rotate(), journal.append(pet(2))]);
  assert.deepEqual(events.filter((event, index) => event !== events[index - 1]), [
    'file: pets.1.journal 3', // with its last marker
    'file: pets.1.journal 3, pets.2.journal.tmp 1',
    'folder: pets.1.journal 3, pets.2.journal 1',
    'file: pets.1.journal 3, pets.2.journal 1',
    'file: pets.1.journal 3, pets.2.journal 2',
  ]);
  await journal.close();
});

/** Lets `watch` see each sync of a folder, before it happens: it may throw in its place. */
async function onFolderSync(t: TestContext, watch: () => void): Promise<void> {
  const handle = await open('.', 'r');
  const prototype = Object.getPrototypeOf(handle) as FileHandle;
  await handle.close();
  const { sync } = prototype;
  t.mock.method(prototype, 'sync', async function (this: FileHandle) {
    if ((await this.stat()).isDirectory()) watch();
    await sync.call(this);
  });
}

test('segments: a new one only where the old holds records, and the old go only when a snapshot holds them', async (t) => {
  const folder = temporaryFolder(t);
  const names = (): string[] => readdirSync(folder).sort();
  const { journal } = await openJournal(folder);
  await journal.rotate();
  assert.deepEqual(names(), ['pets.1.journal']);
  for (const id of numbers(1, 5)) {
    await journal.append(pet(id));
    if (id % 2 === 0) await journal.rotate();
    if (id === 4) await journal.rotate();
  }
  assert.deepEqual(names(), ['pets.1.journal', 'pets.3.journal', 'pets.5.journal']);
  assert.deepEqual(linesOf(join(folder, 'pets.3.journal')).map(({ seq, durable }) => [seq, durable]).slice(0, 2), [[2, 2], [3, 2]]);
  const size = (): number => names().reduce((sum, name) => sum + contentOf(join(folder, name)).length, 0);
  await turns(2);
  assert.equal(journal.bytes, size());
  await journal.removeClosed(1);
  assert.equal(names().length, 3, 'record 2 is in no snapshot');
  await journal.removeClosed(2);
  assert.deepEqual(names(), ['pets.3.journal', 'pets.5.journal']);
  assert.equal(journal.bytes, size());
  await journal.removeClosed(99);
  assert.deepEqual(names(), ['pets.5.journal'], 'the one that grows stays');
  await journal.close();
  const again = await openJournal(folder, 4);
  assert.deepEqual(again.applied, [5]);
  await again.journal.close();
});

test('segments go one by one, the oldest first, each for good before the next', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  for (const id of [1, 2, 3]) {
    await journal.append(pet(id));
    await journal.rotate();
  }
  const seen: string[] = [];
  await onFolderSync(t, () => seen.push(readdirSync(folder).sort().join(' ')));
  await journal.removeClosed(3);
  assert.deepEqual(seen, ['pets.2.journal pets.3.journal pets.4.journal', 'pets.3.journal pets.4.journal', 'pets.4.journal']);
  await journal.close();
});

test('a rotation leaves no file open behind it', { skip: process.platform !== 'linux' }, async (t) => {
  const { journal } = await openJournal(temporaryFolder(t));
  const open = (): number => readdirSync('/proc/self/fd').length;
  const before = open();
  for (const id of numbers(1, 5)) {
    await journal.append(pet(id));
    await journal.rotate();
  }
  assert.equal(open(), before);
  await journal.close();
  assert.equal(open(), before - 1);
});

test('opened again, it goes on where it ended, and removes what the snapshot holds', async (t) => {
  const folder = temporaryFolder(t);
  for (const round of numbers(0, 4)) {
    const { journal, applied, logged } = await openJournal(folder);
    assert.deepEqual(applied, numbers(1, 2 * round));
    assert.equal(journal.durable, 2 * round);
    await Promise.all([journal.append(pet(2 * round + 1)), journal.append(pet(2 * round + 2))]);
    if (round === 2) await journal.rotate();
    await journal.close();
    assert.deepEqual(logged, []);
  }
  const { journal, applied } = await openJournal(folder, 7);
  assert.deepEqual(applied, numbers(8, 10));
  assert.deepEqual(readdirSync(folder), ['pets.7.journal']);
  await journal.close();
});

test('numbers of fifteen digits', async (t) => {
  const folder = temporaryFolder(t);
  const before = 99_999_999_999_998;
  for (const expected of [[], [1, 2, 3], [1, 2, 3, 1, 2, 3]]) {
    const { journal, applied, logged } = await openJournal(folder, before);
    assert.deepEqual(applied, expected);
    assert.equal(journal.durable, before + expected.length);
    await Promise.all([1, 2, 3].map((id) => journal.append(pet(id))));
    await journal.close();
    assert.equal(logged.length, expected.length === 0 ? 1 : 0); // at first there is a snapshot, and no journal
  }
});

test('what a killed process had written is synced, with its name, before anything is built on it', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await journal.close();
  const events: string[] = [];
  const sync = AppendFile.prototype.sync;
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    await sync.call(this);
    events.push('file');
  });
  await onFolderSync(t, () => events.push('folder'));
  const again = await openJournal(folder);
  assert.deepEqual(events.sort(), ['file', 'folder']);
  await again.journal.close();
});

test('close makes the last marker durable, waits for what is under way, and reports a failure', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  const appends = [journal.append(pet(1)), journal.append(pet(2))];
  await journal.close();
  await Promise.all(appends);
  assert.deepEqual(linesOf(join(folder, 'pets.1.journal')).map(({ durable }) => durable), [0, 0, 0, 2]);

  const other = await openJournal(folder);
  t.mock.method(AppendFile.prototype, 'sync', () => Promise.reject(new Error('EIO')));
  await assert.rejects(other.journal.close(), { message: 'EIO' });
});

test('a failed write rejects its group alone; what it left is cut off', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'pets.1.journal');
  const { journal, applied } = await openJournal(folder);
  await journal.append(pet(1));
  await turns(2);
  const before = contentOf(path);
  const marker = before.subarray(0, -1).lastIndexOf('\n') + 1;

  const faults: Record<string, () => void> = {
    'half a write': () => {
      const append = AppendFile.prototype.append;
      t.mock.method(AppendFile.prototype, 'append', function (this: AppendFile, bytes: Uint8Array) {
        append.call(this, bytes.subarray(0, bytes.length / 2));
        throw new Error('ENOSPC');
      });
    },
    'no sync': () => void t.mock.method(AppendFile.prototype, 'sync', () => Promise.reject(new Error('EIO'))),
  };
  for (const [name, begin] of Object.entries(faults)) {
    begin();
    const results = await Promise.allSettled([journal.append(pet(8)), journal.append(pet(9)), journal.probe()]);
    assert(results.every(({ status }) => status === 'rejected'), name);
    await assert.rejects(journal.probe(), name);
    assert.deepEqual(applied, [1]);
    // After a failed sync even the marker counts as unwritten, for no sync has reached it.
    assert(readFileSync(path).equals(before.subarray(0, marker)), name);
    t.mock.restoreAll();
    await journal.probe();
  }
  await Promise.all([journal.append(pet(2)), journal.append(pet(3))]);
  await journal.close();
  const again = await openJournal(folder);
  assert.deepEqual(again.applied, [1, 2, 3]);
  assert.deepEqual(again.logged, []);
  await again.journal.close();
});

test('what a failed write left never stands before a new segment', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  const { append } = AppendFile.prototype;
  t.mock.method(AppendFile.prototype, 'append', function (this: AppendFile, bytes: Uint8Array) {
    append.call(this, bytes.subarray(0, 20));
    throw new Error('ENOSPC');
  });
  const truncate = t.mock.method(AppendFile.prototype, 'truncate', () => {
    throw new Error('EIO');
  });
  await assert.rejects(journal.append(pet(2)), { message: 'ENOSPC' });
  await assert.rejects(journal.rotate(), { message: 'EIO' });
  assert.deepEqual(readdirSync(folder), ['pets.1.journal']);
  truncate.mock.restore();
  t.mock.restoreAll();
  await journal.rotate();
  assert.deepEqual(linesOf(join(folder, 'pets.1.journal')).map(({ seq }) => seq), [0, 1]);
  await journal.append(pet(3));
  await journal.close();
  const again = await openJournal(folder);
  assert.deepEqual([again.applied, again.logged], [[1, 3], []]);
  await again.journal.close();
});

test('a marker whose sync failed in a rotation is cut off before anything else is written', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await turns(2);
  t.mock.method(AppendFile.prototype, 'sync', () => Promise.reject(new Error('EIO')));
  await assert.rejects(journal.rotate(), { message: 'EIO' });
  t.mock.restoreAll();
  await journal.append(pet(2));
  assert.deepEqual(linesOf(join(folder, 'pets.1.journal')).map(({ seq, durable }) => [seq, durable]), [[0, 0], [1, 0], [2, 1]]);
  await journal.close();
});

test('close cuts off what was refused, if that could not be done before', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  for (const method of ['sync', 'truncate'] as const) {
    t.mock.method(AppendFile.prototype, method, () => {
      throw new Error('EIO');
    });
  }
  await assert.rejects(journal.append(pet(2)), { message: 'EIO' });
  t.mock.restoreAll();
  await journal.close();
  assert.deepEqual(linesOf(join(folder, 'pets.1.journal')).flatMap(({ pet }) => pet?.id ?? []), [1]);
});

test('a start writes again, and syncs, all of which no line shows that it had been synced', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'pets.1.journal');
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await Promise.all([journal.append(pet(2)), journal.append(pet(3))]);
  const whole = contentOf(path);
  await journal.close();
  const group = whole.indexOf('{"seq":2,"durable":1,');
  for (const [content, from] of [[whole, group], [readFileSync(path), whole.length], [whole.subarray(0, group), 0]] as const) {
    writeFileSync(path, content);
    const calls: unknown[] = [];
    const { rewrite, sync } = AppendFile.prototype;
    t.mock.method(AppendFile.prototype, 'rewrite', function (this: AppendFile, offset: number) {
      calls.push(offset);
      rewrite.call(this, offset);
    });
    t.mock.method(AppendFile.prototype, 'sync', function (this: AppendFile) {
      calls.push('sync');
      return sync.call(this);
    });
    const again = await openJournal(folder);
    t.mock.restoreAll();
    assert.deepEqual(calls, [from, 'sync']);
    await again.journal.close();
  }
});

test('a probe writes more than any record and leaves nothing', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  let largest = 0;
  const sync = AppendFile.prototype.sync;
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    largest = Math.max(largest, statSync(join(folder, 'pets.1.journal')).size);
    await sync.call(this);
  });
  await journal.probe();
  assert(largest > 66_000);
  assert.equal(readFileSync(join(folder, 'pets.1.journal')).indexOf(0), -1);
  await journal.append(pet(2));
  await journal.close();
  assert.deepEqual(linesOf(join(folder, 'pets.1.journal')).flatMap(({ pet }) => pet?.id ?? []), [1, 2]);
});

type Step = readonly ['append', number] | readonly ['probe' | 'rotate' | 'fold' | 'crash' | 'reopen'];

test('whatever fails, and whenever it is killed: what was acknowledged is there, and it starts again', async (t) => {
  const plans = fc.array(
    fc.oneof(
      fc.tuple(fc.constant('append' as const), fc.integer({ min: 1, max: 3 })),
      fc.tuple(fc.constantFrom('probe' as const, 'rotate' as const, 'fold' as const, 'crash' as const, 'reopen' as const)),
    ),
    { minLength: 3, maxLength: 10 },
  );
  /** From which of the calls that can fail, how many do, and how much of a write is done then. */
  const faults = fc.array(fc.record({ first: fc.nat(40), count: fc.integer({ min: 1, max: 6 }), part: fc.nat(150) }), { maxLength: 4 });
  let injecting: { first: number; count: number; part: number }[] | null = null;
  let calls = 0;
  let failed = 0;
  /** Counts a call, and gives how much of it is done before it fails; null if it does not. */
  const failure = (): number | null => {
    if (injecting === null) return null;
    const call = calls++;
    const found = injecting.find(({ first, count }) => call >= first && call < first + count);
    if (found === undefined) return null;
    failed++;
    return found.part;
  };
  const fail = (part: number | null): void => {
    if (part !== null) throw new Error('EIO');
  };
  const { append, sync, truncate } = AppendFile.prototype;
  t.mock.method(AppendFile.prototype, 'append', function (this: AppendFile, bytes: Uint8Array) {
    const part = failure();
    append.call(this, bytes.subarray(0, part ?? bytes.length));
    fail(part);
  });
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    fail(failure());
    await sync.call(this);
  });
  t.mock.method(AppendFile.prototype, 'truncate', function (this: AppendFile, size: number) {
    fail(failure());
    truncate.call(this, size);
  });
  await onFolderSync(t, () => fail(failure()));
  const expected = (error: unknown): undefined => void assert.match(String(error), /EIO/);
  const root = temporaryFolder(t);

  await fc.assert(
    fc.asyncProperty(plans, faults, async (plan: Step[], faults) => {
      const folder = mkdtempSync(join(root, 'store-'));
      const killed = `${folder}-killed`;
      let lastId = 0;
      let snapshot = 0;
      const inSnapshot = new Set<number>();
      const acknowledged: number[] = [];
      const start = (): Promise<Opened | undefined> => openJournal(folder, snapshot).catch(expected);
      const end = async (opened: Opened | undefined): Promise<void> => {
        injecting = null;
        await opened?.journal.close();
        injecting = faults;
      };
      /** What a start finds in a copy of the folder, as kill -9 would leave it; the copy stays. */
      const hold = async (): Promise<void> => {
        injecting = null;
        rmSync(killed, { recursive: true, force: true });
        cpSync(folder, killed, { recursive: true });
        const copy = `${killed}-opened`;
        cpSync(folder, copy, { recursive: true });
        const { journal, applied } = await openJournal(copy, snapshot);
        for (const id of acknowledged) assert(inSnapshot.has(id) || applied.includes(id), `${id} was acknowledged`);
        assert(applied.every((id, index) => !inSnapshot.has(id) && (index === 0 || id > applied[index - 1]!)));
        assert(readdirSync(copy).every((name) => /^pets\.\d+\.journal(\.torn-\d+|\.tmp)?$/.test(name)));
        await journal.append(pet(lastId + 1000)); // which is then in `applied` too
        await journal.close();
        const again = await openJournal(copy, snapshot);
        assert.deepEqual([again.applied, again.logged], [applied, []]);
        await again.journal.close();
        rmSync(copy, { recursive: true });
        injecting = faults;
      };

      calls = 0;
      injecting = faults;
      let opened = await start();
      await hold();
      for (const [what, count = 0] of plan) {
        if (opened === undefined) opened = await start();
        else if (what === 'append') {
          const ids = numbers(lastId + 1, (lastId += count));
          const results = await Promise.allSettled(ids.map((id) => opened!.journal.append(pet(id))));
          for (const [index, result] of results.entries()) {
            if (result.status === 'fulfilled') acknowledged.push(ids[index]!);
            else expected(result.reason);
          }
        } else if (what === 'probe') await opened.journal.probe().catch(expected);
        else if (what === 'rotate') await opened.journal.rotate().catch(expected);
        else if (what === 'fold') {
          if (await opened.journal.rotate().then(() => true, expected)) {
            snapshot = opened.journal.durable;
            for (const id of opened.applied) inSnapshot.add(id);
            await opened.journal.removeClosed(snapshot).catch(expected);
          }
        } else {
          if (what === 'reopen') await opened.journal.close().catch(expected);
          else {
            await end(opened);
            rmSync(folder, { recursive: true });
            cpSync(killed, folder, { recursive: true });
          }
          opened = await start();
        }
        await hold();
      }
      await end(opened);
      await hold();
      rmSync(folder, { recursive: true });
    }),
    { numRuns: 40 },
  );
  assert(failed > 20, `faults must be among what is tried: ${failed}`);
});

test('a disk that takes no more: a real failure in the middle of a write', { skip: process.platform === 'win32' }, async (t) => {
  const folder = temporaryFolder(t);
  const script = `
    import { Journal } from ${JSON.stringify(new URL('journal.ts', import.meta.url).href)};
    const journal = await Journal.open({ folder: process.argv[1], snapshotSequence: 0, apply: () => true, log: console.error });
    const pet = (id, bytes) => Buffer.from(\`{"id":\${id},"name":"\${'x'.repeat(bytes)}","status":"sold"}\`);
    const said = [];
    const settle = async (...promises) => said.push((await Promise.allSettled(promises)).map(({ reason }) => reason?.code ?? 'ok'));
    await settle(journal.append(pet(1, 100)), journal.append(pet(2, 40_000)));
    await settle(journal.append(pet(3, 10)), journal.append(pet(4, 40_000)), journal.append(pet(5, 10)));
    await settle(journal.probe());
    await settle(journal.append(pet(6, 10)));
    await settle(journal.append(pet(7, 40_000)));
    process.stdout.write(JSON.stringify(said), () => process.kill(process.pid, 'SIGKILL'));
  `;
  const node = [process.execPath, '--import', 'tsx', '--input-type=module', '-e', script, folder];
  const limited = promisify(execFile)('bash', ['-c', 'ulimit -f 64; exec "$@"', 'bash', ...node], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    env: { ...process.env, TSX_DISABLE_CACHE: '1' },
  });
  const { stdout, stderr } = await limited.catch((error: { stdout: string; stderr: string }) => error);
  assert.equal(stdout, JSON.stringify([['ok', 'ok'], ['EFBIG', 'EFBIG', 'EFBIG'], ['EFBIG'], ['ok'], ['EFBIG']]), stderr);
  const { journal, applied, logged } = await openJournal(folder);
  assert.deepEqual([applied, logged], [[1, 2, 6], []]);
  await journal.close();
});
