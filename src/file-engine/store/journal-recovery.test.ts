import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { OperatorError } from '../../domain/operator-error.ts';
import { bytesOf } from '../../domain/byte-text.ts';
import type { StoredPet } from '../../domain/pet.ts';
import { crc32, crcHex } from '../../domain/crc32.ts';
import { openSegments, recordingTable, recoverSegments, undisturbed } from '../../testing/journal.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import type { Journal } from './journal.ts';
import { setTornEndAside } from './journal-segment.ts';

type Files = Readonly<Record<string, Buffer>>;

function filesOf(folder: string): Files {
  return Object.fromEntries(readdirSync(folder).sort().map((name) => [name, readFileSync(join(folder, name))]));
}

function writeFiles(folder: string, files: Files): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
}

function petOf(id: number): string {
  return `{"id":${id},"name":"${'né"\\'.replace(/["\\]/g, '\\$&').repeat(id % 4)}","categoryId":${id},"status":"sold"}`;
}

const stored = (id: number): StoredPet => ({ id, line: bytesOf(petOf(id)), status: 'sold' });
const silent = { table: recordingTable(() => {}), log: assert.fail, ...undisturbed };

interface Recovered {
  readonly pets: string[];
  readonly logged: string[];
}

/** Does what a start does, up to where it writes to the segments. */
async function recover(folder: string, snapshotSequence = 0): Promise<Recovered> {
  const pets: string[] = [];
  const logged: string[] = [];
  const table = recordingTable((line) => pets.push(line));
  const log = (line: string): void => void logged.push(line);
  const { torn } = await recoverSegments({ folder, snapshotSequence, table, log, recorded: 0 });
  if (torn !== null) await setTornEndAside(torn, log, async () => {});
  return { pets, logged };
}

/** Returns the file and the line in the message of the refusal. The folder must be unchanged. */
async function refusal(folder: string, snapshotSequence = 0): Promise<{ name: string; line: number }> {
  const before = filesOf(folder);
  try {
    await recover(folder, snapshotSequence);
  } catch (error) {
    assert.deepEqual(filesOf(folder), before, 'a refusal changes nothing');
    assert(error instanceof OperatorError, String(error));
    assert(!error.message.includes('\n'));
    const place = /^(.*)\/(pets\.\d+\.journal), line (\d+): .*nothing was changed/.exec(error.message);
    assert.equal(place?.[1], folder);
    return { name: place[2]!, line: Number(place[3]) };
  }
  assert.fail('the start was not refused');
}

/**
 * Returns the files of a journal with records 1, 2, 3, … A positive step writes a group of that many records, 0 starts
 * a new segment, and -1 closes and opens the journal.
 */
async function written(folder: string, steps: readonly number[]): Promise<Files> {
  writeFiles(folder, {});
  const open = (): Promise<Journal> => openSegments({ folder, snapshotSequence: 0, ...silent });
  let journal = await open();
  let last = 0;
  for (const step of steps) {
    if (step === 0) await journal.rotate();
    else if (step === -1) {
      await journal.close();
      journal = await open();
    } else await Promise.all(Array.from({ length: step }, () => journal.append(stored(++last))));
    if (last % 3 === 0) await journal.idle(); // writes a marker, if one is due
  }
  await journal.close();
  const files = filesOf(folder);
  rmSync(folder, { recursive: true });
  return files;
}

interface Line {
  readonly start: number;
  /** The offset after its line feed. */
  readonly end: number;
  readonly seq: number;
  readonly durable: number;
  readonly isRecord: boolean;
}

function linesOf(bytes: Buffer): Line[] {
  let start = 0;
  return bytes.toString('latin1').split('\n').slice(0, -1).map((text) => {
    const { seq, durable, pet } = JSON.parse(text) as { seq: number; durable: number; pet?: unknown };
    const line = { start, end: start + text.length + 1, seq, durable, isRecord: pet !== undefined };
    start = line.end;
    return line;
  });
}

function withoutZeros(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.findLastIndex((byte) => byte !== 0) + 1);
}

const only = 'pets.1.journal';
const pets = (count: number): string[] => Array.from({ length: count }, (_, index) => petOf(index + 1));
const folderOf = (t: TestContext): string => join(temporaryFolder(t), 'store');

test('if the last group is cut off at any byte, its whole lines are kept and the rest is set aside', async (t) => {
  const folder = folderOf(t);
  const { [only]: good } = await written(folder, [3, -1, 3]);
  const lines = linesOf(good!);
  const lastGroup = lines.findLastIndex(({ isRecord, durable }) => isRecord && durable === 3) - 2;
  for (let length = lines[lastGroup]!.start; length <= good!.length; length++) {
    writeFiles(folder, { [only]: good!.subarray(0, length) });
    const whole = lines.filter(({ end }) => end <= length);
    const end = whole.at(-1)!.end;
    const expected = pets(whole.filter(({ isRecord }) => isRecord).length);
    const { pets: found, logged } = await recover(folder);
    assert.deepEqual(found, expected, `${length} bytes`);
    const { [only]: kept, ...others } = filesOf(folder);
    assert(kept!.equals(good!.subarray(0, end)));
    assert.deepEqual(others, length === end ? {} : { [`${only}.torn-1`]: good!.subarray(end, length) });
    assert.equal(logged.length, length === end ? 0 : 1);
    if (length !== end)
      assert.match(logged[0]!, new RegExp(`1\\.journal: .* line ${whole.length + 1} on, after record ${expected.length};.*-1$`));
    assert.deepEqual(await recover(folder), { pets: expected, logged: [] });
  }
});

test('if a segment is cut off at any byte, its whole records are kept, unless its first line is cut', async (t) => {
  const folder = folderOf(t);
  const { [only]: good } = await written(folder, [2]);
  const lines = linesOf(good!);
  for (let length = 0; length <= good!.length; length++) {
    writeFiles(folder, { [only]: good!.subarray(0, length) });
    if (length < lines[0]!.end) await assert.rejects(recover(folder), { message: /pets\.1\.journal, line 1: / });
    else
      assert.deepEqual(
        (await recover(folder)).pets,
        pets(lines.filter(({ end, isRecord }) => isRecord && end <= length).length),
      );
  }
});

test('a journal that ends before the record that usage.json recorded is refused, wherever it is cut off', async (t) => {
  const folder = folderOf(t);
  const good = await written(folder, [2, 0, 1, 2]);
  const last = 'pets.3.journal';
  const lines = linesOf(good[last]!);
  const recoverRecorded = async (recorded: number): Promise<number> => {
    const { last } = await recoverSegments({ folder, snapshotSequence: 0, ...silent, log: () => {}, recorded });
    return last;
  };
  mkdirSync(folder, { recursive: true });
  for (let length = 0; length <= good[last]!.length; length++) {
    const whole = lines.filter(({ end, isRecord }) => isRecord && end <= length).length;
    for (const recorded of [3, 4, 5]) {
      writeFiles(folder, { ...good, [last]: good[last]!.subarray(0, length) });
      if (length >= lines[0]!.end && 2 + whole >= recorded) assert.equal(await recoverRecorded(recorded), 2 + whole);
      else await assert.rejects(recoverRecorded(recorded), ({ message }: Error) => message.startsWith(join(folder, last)));
      if (2 + whole < recorded) assert.deepEqual(readdirSync(folder), [only, last]);
    }
  }
  writeFiles(folder, { [only]: good[only]! });
  assert.equal(await recoverRecorded(2), 2);
  const advice = 'restore the data folder from a backup, or remove usage.json to go on without these animals';
  const message = (path: string, end: number): string =>
    `${path}: record 3, which was on disk according to usage.json, is missing; the records end with ${end}, so the ` +
    `file is missing, cut off or an old copy, or pets.${end + 1}.journal is missing; nothing was changed; ${advice}`;
  await assert.rejects(recoverRecorded(3), { message: message(join(folder, only), 2) });
  writeFiles(folder, {});
  await assert.rejects(recoverRecorded(3), { message: message(join(folder, 'pets.json'), 0) });
});

test('damage to any byte of a synced line is refused, with the number of the line', async (t) => {
  const folder = folderOf(t);
  const { [only]: good } = await written(folder, [2, -1, 1, -1, 3]); // the marker at the end shows that all was synced
  const lines = linesOf(good!);
  const lastRecord = lines.findLast(({ isRecord }) => isRecord)!;
  mkdirSync(folder);
  for (let offset = 0; offset < lastRecord.end; offset++) {
    for (const now of new Set([good![offset]! ^ 1, good![offset]! ^ 0x80, 0x0a, 0])) {
      if (now === good![offset]) continue;
      const bad = Buffer.from(good!);
      bad[offset] = now;
      writeFileSync(join(folder, only), bad);
      await assert.rejects(recover(folder), (error: Error) => {
        assert(error instanceof OperatorError);
        const line = lines.findIndex(({ end }) => offset < end) + 1;
        assert(
          error.message.startsWith(`${join(folder, only)}, line ${line}: `),
          `byte ${offset} = ${now}: ${error.message}`,
        );
        return true;
      });
    }
  }
  const bad = Buffer.from(good!);
  bad[lines[0]!.end + 40]! ^= 1;
  writeFileSync(join(folder, only), bad);
  assert.deepEqual(await refusal(folder), { name: only, line: 2 });
});

test('a hole in a group is set aside with what follows it, or refused if the group had been synced', async (t) => {
  const folder = folderOf(t);
  const { [only]: good } = await written(folder, [3, -1, 5]);
  const lines = linesOf(good!);
  const group = lines.filter(({ isRecord, durable }) => isRecord && durable === 3);
  const groupEnd = group.at(-1)!.end;
  assert.equal(group.length, 5);
  const holes = [
    ...group.map(({ start, end }) => [start, end] as const),
    ...group.map(({ end }) => [end - 1, end] as const), // a line feed
    ...group.slice(1, -1).map(({ start, end }) => [start - 9, end + 9] as const),
    [group[0]!.start, groupEnd] as const,
  ];
  for (const [from, to] of holes) {
    const holed = Buffer.from(good!).fill(0, from, to);
    writeFiles(folder, { [only]: holed.subarray(0, groupEnd) });
    const kept = lines.filter(({ end }) => end <= from);
    const keptEnd = kept.at(-1)!.end;
    const torn = withoutZeros(holed.subarray(keptEnd, groupEnd));
    const { pets: found, logged } = await recover(folder);
    assert.deepEqual(found, pets(kept.filter(({ isRecord }) => isRecord).length));
    assert.equal(logged.length, torn.length > 0 ? 1 : 0);
    const expected =
      torn.length > 0
        ? { [only]: good!.subarray(0, keptEnd), [`${only}.torn-1`]: torn }
        : { [only]: holed.subarray(0, groupEnd) };
    assert.deepEqual(filesOf(folder), expected);
    writeFiles(folder, { [only]: holed }); // with the marker that shows the sync
    assert.deepEqual(await refusal(folder), { name: only, line: kept.length + 1 });
  }
});

test('zeros after the last line are ignored, and zeros after a torn line are not set aside', async (t) => {
  const folder = folderOf(t);
  const { [only]: good } = await written(folder, [2, 3]);
  const lines = linesOf(good!);
  const zeros = Buffer.alloc(2_000_000);
  for (const count of [1, 100, zeros.length]) {
    writeFiles(folder, { [only]: Buffer.concat([good!, zeros.subarray(0, count)]) });
    const { segments, last } = await recoverSegments({ folder, snapshotSequence: 0, ...silent });
    assert.deepEqual([segments.map(({ bytes }) => bytes), last], [[good!.length], 5]);
    assert.deepEqual(readdirSync(folder), [only]);
  }
  const record = lines.findLast(({ isRecord }) => isRecord)!;
  for (const length of [record.end - 1, record.end - 9, record.start + 1]) {
    writeFiles(folder, { [only]: Buffer.concat([good!.subarray(0, length), zeros]) });
    const { pets: found, logged } = await recover(folder);
    assert.deepEqual([found, logged.length], [pets(4), 1]);
    assert.deepEqual(filesOf(folder), {
      [only]: good!.subarray(0, record.start),
      [`${only}.torn-1`]: good!.subarray(record.start, length),
    });
  }
});

test('zeros in place of synced lines are damage', async (t) => {
  const folder = folderOf(t);
  const { [only]: good, ...others } = await written(folder, [2, 0, 1]);
  writeFiles(folder, { [only]: Buffer.alloc(good!.length), ...others });
  assert.deepEqual(await refusal(folder), { name: only, line: 1 });
  const second = linesOf(good!).filter(({ isRecord }) => isRecord)[1]!;
  writeFiles(folder, { [only]: Buffer.from(good!).fill(0, second.start), ...others });
  assert.deepEqual(await refusal(folder), { name: 'pets.3.journal', line: 1 }); // here it is noticed
});

test('a record after a damaged line feed still shows what had been synced', async (t) => {
  const folder = folderOf(t);
  const { [only]: good } = await written(folder, [1, -1, 1]);
  const lines = linesOf(good!);
  const last = lines.findLast(({ isRecord }) => isRecord)!;
  for (const { start, end } of lines.filter(({ isRecord }) => isRecord).slice(0, -1)) {
    const bad = Buffer.from(good!.subarray(0, last.end));
    bad[end - 1] = 0x20;
    // The damaged record and all lines up to the last record become one line.
    for (const line of lines) if (line.start > start && line.end < last.end) bad[line.end - 1] = 0x20;
    for (const file of [bad, Buffer.concat([bad.subarray(0, -1), Buffer.alloc(9)])]) {
      writeFiles(folder, { [only]: file });
      assert.equal((await refusal(folder)).line, lines.findIndex((line) => line.start === start) + 1);
    }
  }
});

test('damage to records that the snapshot contains is refused', async (t) => {
  const folder = folderOf(t);
  const { [only]: good } = await written(folder, [4]);
  const [, , second, third] = linesOf(good!);
  writeFiles(folder, { [only]: good!.subarray(0, third!.end - 5) }); // record 3 is torn
  assert.deepEqual(await refusal(folder, 3), { name: only, line: 4 });
  assert.deepEqual(await refusal(folder, 4), { name: only, line: 4 });
  assert.deepEqual(await recover(folder, 2), {
    pets: [],
    logged: [
      `${join(folder, only)}: the end was cut off, from line 4 on, after record 2; if that was a crash, ` +
        `no client had received a response to it; it is kept as ${join(folder, only)}.torn-1`,
    ],
  });
  assert.equal(filesOf(folder)[only]!.length, second!.end);
});

test('damage to a segment that is not the last is refused', async (t) => {
  const folder = folderOf(t);
  const good = await written(folder, [2, 0, 2]);
  assert.deepEqual(Object.keys(good), [only, 'pets.3.journal']);
  const end = good[only]!.length;
  const damages: [what: string, bytes: Buffer, line: number][] = [
    ['its last marker torn', good[only]!.subarray(0, end - 3), 4],
    ['something after it', Buffer.concat([good[only]!, Buffer.from('{"seq"')]), 5],
    ['a hole in its last marker', Buffer.from(good[only]!).fill(0, end - 9, end - 4), 4],
  ];
  for (const [what, bytes, line] of damages) {
    for (const next of [good['pets.3.journal']!, good['pets.3.journal']!.subarray(0, 7), Buffer.alloc(0)]) {
      writeFiles(folder, { ...good, [only]: bytes, 'pets.3.journal': next });
      assert.deepEqual(await refusal(folder), { name: only, line }, what);
    }
  }
});

test('missing, duplicate and misplaced records and segments are refused', async (t) => {
  const folder = folderOf(t);
  const good = await written(folder, [1, -1, 1, -1, 1, -1, 0, 1, -1, 1, -1, 0, 1, -1, 1]);
  assert.deepEqual(Object.keys(good), [only, 'pets.4.journal', 'pets.6.journal']);
  for (const [name, bytes] of Object.entries(good)) {
    const lines = linesOf(bytes);
    const lastRecord = lines.findLastIndex(({ isRecord }) => isRecord);
    for (const [index, { start, end, isRecord }] of lines.entries()) {
      // The last record may be missing, because a crash can remove it, and no line shows that it had been synced.
      if (!isRecord || (name === 'pets.6.journal' && index === lastRecord)) continue;
      writeFiles(folder, { ...good, [name]: Buffer.concat([bytes.subarray(0, start), bytes.subarray(end)]) });
      await refusal(folder);
      writeFiles(folder, { ...good, [name]: Buffer.concat([bytes.subarray(0, end), bytes.subarray(start)]) });
      await refusal(folder);
    }
  }
  for (const name of [only, 'pets.4.journal']) {
    const { [name]: _, ...others } = good;
    writeFiles(folder, others);
    await refusal(folder);
  }
  writeFiles(folder, {
    [only]: good[only]!,
    'pets.5.journal': good['pets.4.journal']!,
    'pets.6.journal': good['pets.6.journal']!,
  });
  assert.deepEqual(await refusal(folder), { name: 'pets.5.journal', line: 1 });
  // A segment without records whose number is too small.
  writeFiles(folder, {
    [only]: good[only]!,
    'pets.3.journal': linesOf(good[only]!).flatMap(({ seq, isRecord, start, end }) =>
      seq === 2 && !isRecord ? [good[only]!.subarray(start, end)] : [],
    )[0]!,
  });
  assert.deepEqual(await refusal(folder), { name: 'pets.3.journal', line: 1 });
  writeFiles(folder, { 'pets.4.journal': good['pets.4.journal']! });
  await refusal(folder, 2);
  await recover(folder, 3);
});

test('a record with a correct checksum but without an animal is refused', async (t) => {
  const folder = folderOf(t);
  const { [only]: good } = await written(folder, [1]);
  const withLine = (text: string): Buffer => {
    const line = Buffer.from(`${text},"crc":"${crcHex(crc32(Buffer.from(text)))}"}\n`);
    return Buffer.concat([good!, line]);
  };
  for (const notAnAnimal of ['{}', '', petOf(2).replace('sold', 'lost'), `${petOf(2)} `]) {
    writeFiles(folder, { [only]: withLine(`{"seq":2,"durable":1,"pet":${notAnAnimal}`) });
    assert.deepEqual(await refusal(folder), { name: only, line: 4 });
  }
  // Lines with correct checksums that are neither records nor markers, or have the wrong number.
  for (const text of [
    '{"seq":2,"durable":1,"pot":1',
    '{"seq":02.,"durable":1',
    '{"durable":1,"seq":2',
    '',
    '{"seq":3,"durable":1,"pet":{}',
    '{"seq":1,"durable":1,"pet":{}',
  ]) {
    writeFiles(folder, { [only]: withLine(text) });
    const { pets: found, logged } = await recover(folder);
    assert.deepEqual([found, logged.length], [pets(1), 1], text);
  }
});

test('segments that end before the snapshot are removed', async (t) => {
  const folder = folderOf(t);
  const good = await written(folder, [2, 0, 2]);
  writeFiles(folder, good);
  const open = async (): Promise<{ journal: Journal; found: string[] }> => {
    const found: string[] = [];
    const table = recordingTable((line) => found.push(line));
    const log = (line: string): void => void logged.push(line);
    return { journal: await openSegments({ folder, snapshotSequence: 9, ...silent, table, log }), found };
  };
  const logged: string[] = [];
  const note = 'no journal of later ones; if it was lost, the animals added since are lost too';
  for (const expected of [[], [petOf(10)], [petOf(10), petOf(11)]]) {
    const { journal, found } = await open();
    assert.deepEqual(logged, [`${folder} has a snapshot of the records up to 9, but ${note}`]);
    assert.deepEqual(found, expected);
    assert.deepEqual(readdirSync(folder), ['pets.10.journal']);
    await journal.append(stored(10 + expected.length));
    await journal.close();
  }
});

test('files with other names are ignored, and no file that was set aside is overwritten', async (t) => {
  const folder = folderOf(t);
  const { [only]: good } = await written(folder, [1]);
  const others = Object.fromEntries(
    [
      'pets.1.journal.torn-1',
      'pets.1.journal.torn-2',
      'pets.1.journal.tmp',
      'pets.01.journal',
      'pets.0.journal',
      'pets..journal',
      'xpets.7.journal',
      'pets.7.journalx',
      'pets.-1.journal',
    ].map((name) => [name, Buffer.from(name)]),
  );
  writeFiles(folder, { ...others, [only]: Buffer.concat([good!, Buffer.from('x')]) });
  assert.deepEqual((await recover(folder)).pets, pets(1));
  assert.deepEqual(
    filesOf(folder),
    Object.fromEntries(
      Object.entries({ ...others, [only]: good!, [`${only}.torn-3`]: Buffer.from('x') }).sort(([a], [b]) =>
        a < b ? -1 : 1,
      ),
    ),
  );
});

test('a journal continues however often its end is torn', async (t) => {
  const folder = folderOf(t);
  mkdirSync(folder);
  const expected: string[] = [];
  for (let round = 1; round <= 6; round++) {
    const found: string[] = [];
    const logged: string[] = [];
    const table = recordingTable((line) => found.push(line));
    const log = (line: string): void => void logged.push(line);
    const journal = await openSegments({ folder, snapshotSequence: 0, table, log, ...undisturbed });
    assert.deepEqual(found, expected);
    assert.equal(logged.length, round === 1 ? 0 : 1);
    for (const id of [2 * round - 1, 2 * round]) {
      await journal.append(stored(id));
      expected.push(petOf(id));
    }
    if (round % 2 === 0) await journal.rotate();
    const torn = journal.append(stored(99));
    await torn;
    await journal.close();
    const name = readdirSync(folder)
      .filter((name) => name.endsWith('.journal'))
      .sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1]))
      .at(-1)!;
    const bytes = readFileSync(join(folder, name));
    truncateSync(join(folder, name), linesOf(bytes).findLast(({ isRecord }) => isRecord)!.end - round);
  }
  assert.equal(readdirSync(folder).filter((name) => name.includes('.torn-')).length, 5);
});

test('after any damage, a start is refused and changes nothing, or finds all records known to be synced', async (t) => {
  const root = temporaryFolder(t);
  const folder = join(root, 'store');
  const stepLists = [
    [3, -1, 1, 2, -1, 4],
    [2, 0, 1, 2, 0, 3, -1, 1],
    [1],
    [],
    [5, 0],
    [1, -1, 1, -1, 1, -1, 1],
    [2, 3, 4, 0, 1],
    [1, 12],
    [2, 12],
    [2, -1, 1, 12],
  ];
  const journals: Files[] = [];
  for (const steps of stepLists) journals.push(await written(folder, steps));

  const edit = fc.record({
    segment: fc.nat(2),
    at: fc.nat(9_999).map((part) => part / 10_000), // not fc.double, which favours the smallest numbers
    /** The damage begins at the start of a line. */
    onLine: fc.boolean(),
    kind: fc.constantFrom(
      'flip' as const,
      'overwrite' as const,
      'zero' as const,
      'insert' as const,
      'delete' as const,
      'cut' as const,
    ),
    bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
    length: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 300 })),
  });
  const outcomes = { refused: 0, torn: 0, whole: 0 };
  await fc.assert(
    fc.asyncProperty(
      fc.nat(stepLists.length - 1),
      fc.boolean(),
      fc.array(edit, { minLength: 1, maxLength: 3 }),
      async (which, quiet, edits) => {
        const good = { ...journals[which]! };
        const names = Object.keys(good).sort((a, b) => Number(a.split('.')[1]) - Number(b.split('.')[1]));
        if (quiet) {
          // The last marker may not have reached the disk.
          const name = names.at(-1)!;
          const last = linesOf(good[name]!).at(-1)!;
          if (!last.isRecord) good[name] = good[name]!.subarray(0, last.start);
        }
        // At most one edit per segment, so that the lines it leaves unchanged are known.
        const bad: Record<string, Buffer> = { ...good };
        const survivors: Line[] = [];
        const records = names.flatMap((name) => linesOf(good[name]!)).filter(({ isRecord }) => isRecord).length;
        for (const [index, name] of names.entries()) {
          const bytes = good[name]!;
          const lines = linesOf(bytes);
          const mine = edits.find(({ segment }) => segment % names.length === index);
          if (mine === undefined || bytes.length === 0) {
            survivors.push(...lines);
            continue;
          }
          const anywhere = Math.min(bytes.length - 1, Math.floor(mine.at * bytes.length));
          const from = mine.onLine ? lines.findLast(({ start }) => start <= anywhere)!.start : anywhere;
          const gone = {
            flip: 1,
            overwrite: mine.bytes.length,
            zero: mine.length,
            insert: 0,
            delete: mine.length,
            cut: Infinity,
          }[mine.kind];
          const to = Math.min(bytes.length, from + gone);
          const come = {
            flip: Buffer.from([bytes[from]! ^ (1 << (mine.length % 8))]),
            overwrite: Buffer.from(mine.bytes.subarray(0, to - from)),
            zero: Buffer.alloc(to - from),
            insert: Buffer.from(mine.bytes),
            delete: Buffer.alloc(0),
            cut: Buffer.alloc(0),
          }[mine.kind];
          bad[name] = Buffer.concat([bytes.subarray(0, from), come, bytes.subarray(to)]);
          survivors.push(...lines.filter(({ start, end }) => end <= from || start >= to));
        }
        const changed = names.filter((name) => !bad[name]!.equals(good[name]!));
        fc.pre(changed.length > 0);
        // A segment shows that everything before it was synced.
        const before = Math.max(...names.map((name) => Number(name.split('.')[1]) - 1));
        const known = Math.max(before, ...survivors.map(({ durable }) => durable));
        writeFiles(folder, bad);

        let found: Recovered;
        try {
          found = await recover(folder);
        } catch {
          outcomes.refused++;
          const { name } = await refusal(folder);
          const first = names.indexOf(changed[0]!);
          assert(names.indexOf(name) >= first, 'the refusal names a segment before the first changed one');
          return;
        }
        assert.deepEqual(found.pets, pets(found.pets.length));
        assert(
          found.pets.length >= known && found.pets.length <= records,
          `${found.pets.length} records, ${known} were known`,
        );

        const after = filesOf(folder);
        const aside = Object.keys(after).filter((name) => !names.includes(name));
        assert.equal(found.logged.length, aside.length);
        if (aside.length === 0) {
          outcomes.whole++;
          assert.deepEqual(after, bad);
        } else {
          outcomes.torn++;
          const last = names.at(-1)!;
          assert.deepEqual(aside, [`${last}.torn-1`]);
          assert(
            Buffer.concat([after[last]!, after[aside[0]!]!]).equals(withoutZeros(bad[last]!)),
            'the segment is divided in two, without losing a byte',
          );
          assert.deepEqual({ ...after, [last]: null, [aside[0]!]: null }, { ...bad, [last]: null, [aside[0]!]: null });
        }
        assert.deepEqual(await recover(folder), { pets: found.pets, logged: [] }, 'a second recovery changes nothing');
        assert.deepEqual(filesOf(folder), after);

      const journal = await openSegments({ folder, snapshotSequence: 0, ...silent });
      const more = [found.pets.length + 1, found.pets.length + 2].map(stored);
      await Promise.all(more.map((pet) => journal.append(pet)));
      await journal.close();
      assert.deepEqual(await recover(folder), { pets: pets(found.pets.length + 2), logged: [] });
    }),
    { numRuns: 400 },
  );
  for (const [outcome, count] of Object.entries(outcomes)) assert(count > 10, `${outcome}: ${count}`);
});
