import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import {
  cpSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { promisify } from 'node:util';
import * as fc from 'fast-check';
import { AppendFile } from '../files/append-file.ts';
import { LockLostError } from '../../files/errors.ts';
import {
  contentOf, linesOf, numbers, onFolderSync, openJournal, pet, testStore, undisturbed, type Opened,
} from '../../testing/journal.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { segmentPath, startSegment } from './journal-segment.ts';
import type { Journal } from './journal.ts';

test('a marker of which only a part could be written is removed', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  const { append } = AppendFile.prototype;
  t.mock.method(AppendFile.prototype, 'append', async function (this: AppendFile, bytes: Buffer) {
    const isMarker = !bytes.includes('"pet"');
    await append.call(this, isMarker ? bytes.subarray(0, 9) : bytes);
    if (isMarker) throw new Error('ENOSPC');
  });
  for (const id of [1, 2, 3]) {
    await journal.append(pet(id));
    await journal.idle();
  }
  t.mock.restoreAll();
  await journal.append(pet(4));
  await journal.close();
  const again = await openJournal(folder);
  assert.deepEqual([again.applied, again.logged], [[1, 2, 3, 4], []]);
  await again.journal.close();
});

test('a failed write rejects only its group, and what it wrote is removed', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'pets.1.journal');
  const { journal, applied } = await openJournal(folder);
  await journal.append(pet(1));
  await journal.idle();
  const before = contentOf(path);
  const marker = before.subarray(0, -1).lastIndexOf('\n') + 1;

  const failures: Record<string, () => void> = {
    'half a write': () => {
      const append = AppendFile.prototype.append;
      t.mock.method(AppendFile.prototype, 'append', async function (this: AppendFile, bytes: Uint8Array) {
        await append.call(this, bytes.subarray(0, bytes.length / 2));
        throw new Error('ENOSPC');
      });
      t.mock.method(AppendFile.prototype, 'reserve', () => Promise.reject(new Error('ENOSPC')));
    },
    'no sync': () => void t.mock.method(AppendFile.prototype, 'sync', () => Promise.reject(new Error('EIO'))),
  };
  for (const [name, begin] of Object.entries(failures)) {
    begin();
    const results = await Promise.allSettled([journal.append(pet(8)), journal.append(pet(9)), journal.probe()]);
    assert(results.every(({ status }) => status === 'rejected'), name);
    await assert.rejects(journal.probe(), name);
    assert.deepEqual(applied, [1]);
    // The marker is removed as well, because it was not synced.
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

test('no new segment is started while a failed write is not removed', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  const { append } = AppendFile.prototype;
  t.mock.method(AppendFile.prototype, 'append', async function (this: AppendFile, bytes: Uint8Array) {
    await append.call(this, bytes.subarray(0, 20));
    throw new Error('ENOSPC');
  });
  const truncate = t.mock.method(AppendFile.prototype, 'truncate', () => Promise.reject(new Error('EIO')));
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

test('a marker whose sync failed in a rotation is removed before anything else is written', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await journal.idle();
  t.mock.method(AppendFile.prototype, 'sync', () => Promise.reject(new Error('EIO')));
  await assert.rejects(journal.rotate(), { message: 'EIO' });
  t.mock.restoreAll();
  await journal.append(pet(2));
  assert.deepEqual(
    linesOf(join(folder, 'pets.1.journal')).map(({ seq, durable }) => [seq, durable]),
    [
      [0, 0],
      [1, 0],
      [2, 1],
    ],
  );
  await journal.close();
});

test('close removes rejected records if that was impossible before', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  for (const method of ['sync', 'truncate'] as const) {
    t.mock.method(AppendFile.prototype, method, () => Promise.reject(new Error('EIO')));
  }
  await assert.rejects(journal.append(pet(2)), { message: 'EIO' });
  t.mock.restoreAll();
  await journal.close();
  assert.deepEqual(linesOf(join(folder, 'pets.1.journal')).flatMap(({ pet }) => pet?.id ?? []), [1]);
});

test('a start writes and syncs again everything that no line shows to have been synced', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'pets.1.journal');
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await Promise.all([journal.append(pet(2)), journal.append(pet(3))]);
  const whole = contentOf(path);
  await journal.close();
  const group = whole.indexOf('{"seq":2,"durable":1,');
  for (const [content, from] of [
    [whole, group],
    [readFileSync(path), whole.length],
    [whole.subarray(0, group), 0],
  ] as const) {
    writeFileSync(path, content);
    const calls: unknown[] = [];
    const { rewrite, sync } = AppendFile.prototype;
    t.mock.method(AppendFile.prototype, 'rewrite', function (this: AppendFile, offset: number) {
      calls.push(offset);
      return rewrite.call(this, offset);
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

test('a probe reserves and syncs more than any record takes, and changes no line', async (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, 'pets.1.journal');
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await journal.idle();
  const content = contentOf(path);
  const sync = t.mock.method(AppendFile.prototype, 'sync');
  for (const _ of [1, 2]) await journal.probe();
  assert.equal(sync.mock.callCount(), 2);
  assert(statSync(path).size > content.length + 66_000);
  assert(contentOf(path).equals(content));
  await journal.append(pet(2));
  await journal.close();
  assert.deepEqual(linesOf(path).flatMap(({ pet }) => pet?.id ?? []), [1, 2]);
});

test('after a failed write, a probe writes the marker again that was removed', async (t) => {
  const folder = temporaryFolder(t);
  const { journal } = await openJournal(folder);
  await journal.append(pet(1));
  await journal.idle();
  const lines = linesOf(join(folder, 'pets.1.journal'));
  t.mock.method(AppendFile.prototype, 'sync', () => Promise.reject(new Error('EIO')));
  await assert.rejects(journal.append(pet(2)), { message: 'EIO' });
  t.mock.restoreAll();
  await journal.probe();
  await journal.idle();
  assert.deepEqual(lines.map(({ seq, durable }) => [seq, durable]), [[0, 0], [1, 0], [1, 1]]);
  assert.deepEqual(linesOf(join(folder, 'pets.1.journal')), lines);
  await journal.close();
});

test('a removed segment is noticed before a record is confirmed, and replaced if a snapshot succeeds', async (t) => {
  const folder = temporaryFolder(t);
  const events: string[] = [];
  let fails = false;
  const opened = await openJournal(folder, 0, {
    ...undisturbed,
    async saveSnapshot() {
      events.push(`snapshot ${opened.applied}`);
      if (fails) throw new Error('ENOSPC');
    },
  });
  const { journal } = opened;
  await journal.append(pet(1));
  await journal.rotate();
  await journal.append(pet(2));
  rmSync(join(folder, 'pets.1.journal')); // an older segment, which no snapshot contains yet
  fails = true;
  await assert.rejects(journal.append(pet(3)), { message: 'ENOSPC' });
  await assert.rejects(journal.rotate(), { message: 'ENOSPC' });
  assert.deepEqual([opened.applied, readdirSync(folder)], [[1, 2], ['pets.2.journal']]);
  fails = false;
  await journal.append(pet(4));
  assert.deepEqual(readdirSync(folder), ['pets.3.journal']);
  writeFileSync(join(folder, 'other'), 'not a journal');
  renameSync(join(folder, 'other'), join(folder, 'pets.3.journal'));
  await journal.rotate();
  await journal.append(pet(5));
  assert.deepEqual(events, ['snapshot 1,2', 'snapshot 1,2', 'snapshot 1,2', 'snapshot 1,2,4']);
  assert.equal(opened.logged.length, 2);
  assert.equal(readFileSync(join(folder, 'pets.3.journal.replaced-1'), 'utf8'), 'not a journal');
  await journal.close();
  assert.deepEqual((await openJournal(folder, 3)).applied, [5]);
});

test('a segment that is begun when the lock is lost removes no file of the next holder', async (t) => {
  const folder = temporaryFolder(t);
  const temporary = `${segmentPath(folder, 1)}.tmp`;
  let checks = 0;
  const starting = startSegment(folder, testStore, 1, () => {
    if (++checks === 1) return;
    writeFileSync(temporary, 'of another process');
    throw new LockLostError('lost');
  });
  await assert.rejects(starting, LockLostError);
  assert.equal(readFileSync(temporary, 'utf8'), 'of another process');
});

test('without the lock nothing is written', async (t) => {
  const folder = temporaryFolder(t);
  let isHeld = true;
  const guards = {
    ...undisturbed,
    checkLock() {
      if (!isHeld) throw new Error('the lock is lost');
    },
  };
  const { journal, applied } = await openJournal(folder, 0, guards);
  await journal.append(pet(1));
  await journal.rotate();
  await journal.append(pet(2));
  isHeld = false; // before the marker is written
  const files = (): unknown[] =>
    readdirSync(folder).map((name) => [name, statSync(join(folder, name)).ctimeMs, contentOf(join(folder, name))]);
  const before = files();
  const lost = { message: 'the lock is lost' };
  await journal.idle();
  await assert.rejects(journal.append(pet(3)), lost);
  await assert.rejects(journal.probe(), lost);
  await assert.rejects(journal.rotate(), lost);
  await assert.rejects(journal.removeSegments(1), lost);
  await assert.rejects(journal.close(), lost);
  assert.deepEqual([files(), applied], [before, [1, 2]]);

  const attempts = [(idle: Journal) => idle.append(pet(9)), (idle: Journal) => idle.close()];
  for (const [index, attempt] of attempts.entries()) {
    isHeld = true;
    const idle = await openJournal(folder, 0, guards);
    await idle.journal.append(pet(3 + index));
    await idle.journal.idle();
    const reserved = files();
    isHeld = false;
    await assert.rejects(attempt(idle.journal), lost);
    assert.deepEqual(files(), reserved);
  }
});

test('a record is not confirmed if the lock is lost while it is written, and nothing is repaired', async (t) => {
  const folder = temporaryFolder(t);
  let isHeld = true;
  const { journal, applied } = await openJournal(folder, 0, {
    ...undisturbed,
    checkLock() {
      if (!isHeld) throw new LockLostError('lost');
    },
  });
  const { sync } = AppendFile.prototype;
  t.mock.method(AppendFile.prototype, 'sync', function (this: AppendFile) {
    isHeld = false;
    return sync.call(this);
  });
  await assert.rejects(journal.append(pet(1)), LockLostError);
  assert.deepEqual(applied, []);
  // Another process may have written the same bytes. This one must not truncate them.
  assert.deepEqual(linesOf(join(folder, 'pets.1.journal')).map(({ seq }) => seq), [0, 1]);
  await assert.rejects(journal.close(), LockLostError);
});

type Step = readonly ['append', number] | readonly ['probe' | 'rotate' | 'snapshot' | 'crash' | 'reopen'];

test('no confirmed record is lost, and the journal opens again, after any failures and kills', async (t) => {
  const stepLists = fc.array(
    fc.oneof(
      fc.tuple(fc.constant('append' as const), fc.integer({ min: 1, max: 3 })),
      fc.tuple(
        fc.constantFrom('probe' as const, 'rotate' as const, 'snapshot' as const, 'crash' as const, 'reopen' as const),
      ),
    ),
    { minLength: 3, maxLength: 10 },
  );
  /** Which calls fail: `count` of them from the `first` on. A failing write writes `part` bytes. */
  const failures = fc.array(
    fc.record({ first: fc.nat(40), count: fc.integer({ min: 1, max: 6 }), part: fc.nat(150) }),
    { maxLength: 4 },
  );
  let injecting: { first: number; count: number; part: number }[] | null = null;
  let calls = 0;
  let failed = 0;
  /** Counts a call. Returns how many bytes it writes before it fails, or null if it does not fail. */
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
  const { append, reserve, sync, truncate } = AppendFile.prototype;
  t.mock.method(AppendFile.prototype, 'append', async function (this: AppendFile, bytes: Uint8Array) {
    const part = failure();
    await append.call(this, bytes.subarray(0, part ?? bytes.length));
    fail(part);
  });
  t.mock.method(AppendFile.prototype, 'reserve', async function (this: AppendFile) {
    fail(failure());
    await reserve.call(this);
  });
  t.mock.method(AppendFile.prototype, 'sync', async function (this: AppendFile) {
    fail(failure());
    await sync.call(this);
  });
  t.mock.method(AppendFile.prototype, 'truncate', async function (this: AppendFile, size: number) {
    fail(failure());
    await truncate.call(this, size);
  });
  await onFolderSync(t, () => fail(failure()));
  const expected = (error: unknown): undefined => void assert.match(String(error), /EIO/);
  const root = temporaryFolder(t);

  await fc.assert(
    fc.asyncProperty(stepLists, failures, async (steps: Step[], failures) => {
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
        injecting = failures;
      };
      /** Opens a copy of the folder, as kill -9 would leave it, and checks what it finds. Another copy is kept. */
      const checkCopy = async (): Promise<void> => {
        injecting = null;
        rmSync(killed, { recursive: true, force: true });
        cpSync(folder, killed, { recursive: true });
        const copy = `${killed}-opened`;
        cpSync(folder, copy, { recursive: true });
        const { journal, applied } = await openJournal(copy, snapshot);
        for (const id of acknowledged) assert(inSnapshot.has(id) || applied.includes(id), `${id} was acknowledged`);
        assert(applied.every((id, index) => !inSnapshot.has(id) && (index === 0 || id > applied[index - 1]!)));
        assert(readdirSync(copy).every((name) => /^pets\.\d+\.journal(\.torn-\d+|\.tmp)?$/.test(name)));
        await journal.append(pet(lastId + 1000)); // this adds it to `applied`
        await journal.close();
        const again = await openJournal(copy, snapshot);
        assert.deepEqual([again.applied, again.logged], [applied, []]);
        await again.journal.close();
        rmSync(copy, { recursive: true });
        injecting = failures;
      };

      calls = 0;
      injecting = failures;
      let opened = await start();
      await checkCopy();
      for (const [what, count = 0] of steps) {
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
        else if (what === 'snapshot') {
          if (await opened.journal.rotate().then(() => true, expected)) {
            snapshot = opened.journal.durable;
            for (const id of opened.applied) inSnapshot.add(id);
            await opened.journal.removeSegments(snapshot).catch(expected);
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
        await checkCopy();
      }
      await end(opened);
      await checkCopy();
      rmSync(folder, { recursive: true });
    }),
    { numRuns: 40 },
  );
  assert(failed > 20, `too few calls failed: ${failed}`);
});

test(
  'a real failure in the middle of a write: the file size limit',
  { skip: process.platform === 'win32' },
  async (t) => {
    const folder = temporaryFolder(t);
    const script = `
    import { Journal } from ${JSON.stringify(new URL('../../../dist/file-engine/store/journal.js', import.meta.url).href)};
    const table = { append() {} };
    const [folder, log, checkLock] = [process.argv[1], console.error, () => {}];
    const journal = await Journal.open({ folder, segments: [], snapshotSequence: 0, table, log, checkLock });
    const line = (id, bytes) => \`{"id":\${id},"name":"\${'x'.repeat(bytes)}","status":"sold"}\`;
    const pet = (id, bytes) => ({ id, line: line(id, bytes), status: 'sold' });
    const results = [];
    const settle = async (...promises) => {
      results.push((await Promise.allSettled(promises)).map(({ reason }) => reason?.code ?? 'ok'));
    };
    await settle(journal.append(pet(1, 100)), journal.append(pet(2, 40_000)));
    await settle(journal.append(pet(3, 10)), journal.append(pet(4, 40_000)), journal.append(pet(5, 10)));
    await settle(journal.probe());
    await settle(journal.append(pet(6, 10)));
    await settle(journal.append(pet(7, 40_000)));
    process.stdout.write(JSON.stringify(results), () => process.kill(process.pid, 'SIGKILL'));
  `;
    const node = [process.execPath, '--input-type=module', '-e', script, folder];
    const limited = promisify(execFile)('bash', ['-c', 'ulimit -f 64; exec "$@"', 'bash', ...node]);
    const { stdout, stderr } = await limited.catch((error: { stdout: string; stderr: string }) => error);
    assert.equal(
      stdout,
      JSON.stringify([['ok', 'ok'], ['EFBIG', 'EFBIG', 'EFBIG'], ['EFBIG'], ['ok'], ['EFBIG']]),
      stderr,
    );
    const { journal, applied, logged } = await openJournal(folder);
    assert.deepEqual([applied, logged], [[1, 2, 6], []]);
    await journal.close();
  },
);
