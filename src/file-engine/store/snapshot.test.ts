import assert from 'node:assert/strict';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import test from 'node:test';
import * as fc from 'fast-check';
import { bytesOf } from '../../domain/byte-text.ts';
import { OperatorError } from '../../domain/operator-error.ts';
import { petLine, petStatuses, type NewPet } from '../../domain/pet.ts';
import { crc32, crcHex } from '../../domain/crc32.ts';
import { onSync } from '../../testing/file-handle.ts';
import { recordingTable, testStore } from '../../testing/journal.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { OpenFile } from '../files/open-file.ts';
import { LineTable } from './line-table.ts';
import { readSnapshot, writeSnapshot, type Snapshot } from './snapshot.ts';

interface Document {
  readonly format: string;
  readonly version: number;
  readonly sequence: number;
  readonly lastId: number;
  readonly count: number;
  readonly pets: { readonly id: number; readonly name: string }[];
  readonly crc32: string[];
}

function pets(count: number): NewPet[] {
  return Array.from({ length: count }, (_, index) => ({
    name: `n${index}`,
    categoryId: BigInt(index),
    status: petStatuses[index % 3]!,
  }));
}

function tableOf(list: readonly NewPet[]): LineTable {
  const table = new LineTable();
  for (const [index, pet] of list.entries()) table.append(Buffer.from(petLine(index + 1, pet), 'latin1'), pet.status);
  return table;
}

async function write(path: string, list: readonly NewPet[]): Promise<Snapshot> {
  return writeSnapshot(path, tableOf(list), { store: testStore, sequence: list.length + 3, lastId: list.length + 7 });
}

async function read(path: string): Promise<{ snapshot: Snapshot; lines: string[] }> {
  const lines: string[] = [];
  const file = await OpenFile.open(path);
  const snapshot = await readSnapshot(file, recordingTable((line) => lines.push(bytesOf(line)))).finally(() => file.close());
  return { snapshot, lines };
}

/** Returns the line in the message of the refusal, and the message. */
async function refusal(path: string): Promise<{ line: number; message: string }> {
  try {
    await read(path);
  } catch (error) {
    assert(error instanceof OperatorError, String(error));
    const line = /^(.*), line (\d+): /.exec(error.message);
    assert.equal(line?.[1], path);
    assert(error.message.includes('nothing was changed') && !error.message.includes('\n'));
    return { line: Number(line[2]), message: error.message };
  }
  assert.fail('the snapshot was read');
}

test('a snapshot is one JSON document with one animal per line and mode 0600, and is read back equal', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  for (const count of [0, 1, 2, 62, 63, 64, 65, 127, 128, 129, 1000, 4095, 4096]) {
    const list = pets(count);
    const snapshot = await write(path, list);
    const text = readFileSync(path, 'utf8');
    assert.deepEqual(snapshot, { sequence: count + 3, lastId: count + 7, bytes: Buffer.byteLength(text) });
    assert.equal(statSync(path).mode & 0o777, 0o600);

    const expected = list.map((pet, index) => petLine(index + 1, pet));
    const document = JSON.parse(text) as Document;
    assert.deepEqual(
      { ...document, pets: [], crc32: [] },
      { format: 'petstore', version: 2, store: testStore, sequence: count + 3, lastId: count + 7, count, pets: [], crc32: [] },
    );
    assert.deepEqual(
      document.pets.map(({ id, name }) => [id, name]),
      list.map(({ name }, index) => [index + 1, name]),
    );

    const lines = text.split('\n');
    assert.deepEqual(lines.slice(1, count + 1), expected.map((line, index) => line + (index + 1 < count ? ',' : '')));
    const sums = [lines[0]!, ...expected].map((line) => crcHex(crc32(Buffer.from(line))));
    assert.equal(document.crc32.join(''), sums.join(''));
    assert(document.crc32.slice(0, -1).every((sum) => sum.length === 8 * 64));

    assert.deepEqual(await read(path), { snapshot, lines: expected });
  }
});

test('without a file the snapshot is empty', async (t) => {
  assert.deepEqual(await read(join(temporaryFolder(t), 'pets.json')), {
    snapshot: { sequence: 0, lastId: 0, bytes: 0 },
    lines: [],
  });
});

test('a snapshot contains only the animals that were in the table when it was begun', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  const list = pets(100);
  for (const count of [0, 1, 70, 99]) {
    const table = tableOf(list.slice(0, count));
    const writing = writeSnapshot(path, table, { store: testStore, sequence: count, lastId: count });
    for (const [index, pet] of list.entries()) {
      if (index >= count) table.append(Buffer.from(petLine(index + 1, pet), 'latin1'), pet.status);
    }
    await writing;
    assert.deepEqual((await read(path)).lines, list.slice(0, count).map((pet, index) => petLine(index + 1, pet)));
  }
});

test('any name and category is read back equal, in one piece or several', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  const unit = fc.oneof(
    fc.integer({ min: 0, max: 0xffff }),
    fc.constantFrom(0, 0x0a, 0x22, 0x2c, 0x5c, 0x5d, 0x7d, 0x2028, 0xd800, 0xdfff),
  );
  const name = fc
    .array(unit, { maxLength: 12 })
    .chain((units) => fc.constantFrom(1, 1, 1, 3000).map((times) => String.fromCharCode(...units).repeat(times)));
  const list = fc.array(
    fc.record({
      name,
      categoryId: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
      status: fc.constantFrom(...petStatuses),
    }),
    { maxLength: 80 },
  );
  await fc.assert(
    fc.asyncProperty(list, async (list) => {
      await write(path, list);
      assert.deepEqual((await read(path)).lines, list.map((pet, index) => petLine(index + 1, pet)));
      const { pets } = JSON.parse(readFileSync(path, 'utf8')) as Document;
      assert.deepEqual(pets.map(({ name }) => name), list.map(({ name }) => name));
    }),
    { numRuns: 30 },
  );
});

test('a snapshot may have many pieces, and names that are longer than a piece', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  const list = pets(9000).map((pet, index) => (index % 3000 === 5 ? { ...pet, name: 'é'.repeat(200_000) } : pet));
  await write(path, list);
  assert.equal((JSON.parse(readFileSync(path, 'utf8')) as Document).pets.length, 9000);
  const { lines } = await read(path);
  assert.equal(lines.length, 9000);
  assert(lines.every((line, index) => line === petLine(index + 1, list[index]!)));
});

test('a snapshot is synced after each MiB', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  const synced = [0];
  for (const name of ['datasync', 'sync'] as const)
    await onSync(t, async (handle) => {
      const stat = await handle.stat();
      if (stat.isFile()) synced.push(stat.size);
    }, name);
  const { bytes: size } = await write(path, pets(50_000));
  assert(size > 3e6);
  assert.equal(synced.pop(), size);
  const mebibytes = synced.slice(1).map((bytes, i) => Math.floor(((bytes - synced[i]!) / 1024 / 1024) * 10) / 10);
  assert.deepEqual(mebibytes, [1, 1, 1]);
});

test('a change of any byte is refused with the number of its line', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  for (const count of [0, 3, 66]) {
    await write(path, pets(count));
    const good = readFileSync(path);
    const lineOf = (offset: number): number => good.subarray(0, offset).toString('latin1').split('\n').length;
    const firstSum = good.indexOf('],"crc32":[') + '],"crc32":[\n'.length;
    for (let offset = 0; offset < good.length; offset += count > 3 && offset < firstSum ? 7 : 1) {
      const old = good[offset]!;
      for (const now of new Set([old ^ 1, old ^ 0x80, old ^ (1 << offset % 7), 0, 0x0a, old === 0x39 ? 0x31 : 0x39])) {
        if (now === old || (count > 3 && now !== (old ^ 1) && now !== 0x0a)) continue;
        const bad = Buffer.from(good);
        bad[offset] = now;
        writeFileSync(path, bad);
        const { line, message } = await refusal(path);
        // If a line does not match its checksum, either of them may be damaged, so the message names both.
        if (offset >= firstSum && line !== lineOf(offset))
          assert(message.includes(`(in line ${lineOf(offset)})`), `byte ${offset} = ${now}: ${message}`);
        else assert.equal(line, lineOf(offset), `byte ${offset} = ${now}: ${message}`);
      }
    }
  }
});

test('a snapshot that is too short or too long is refused', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  for (const count of [0, 3]) {
    await write(path, pets(count));
    const good = readFileSync(path);
    for (let length = 0; length < good.length; length++) {
      writeFileSync(path, good.subarray(0, length));
      const lines = good.subarray(0, length).toString('latin1').split('\n').length;
      assert.equal((await refusal(path)).line, lines, `${length} bytes`);
    }
    for (const more of ['\n', ' ', 'x', '{}\n', '\u0000']) {
      writeFileSync(path, Buffer.concat([good, Buffer.from(more)]));
      assert.equal((await refusal(path)).line, good.toString('latin1').split('\n').length);
    }
  }
});

test('a count that is too large for the file is refused before memory is allocated for it', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  await write(path, pets(3));
  const good = readFileSync(path, 'utf8');
  for (const count of ['999999999999999', '9999999999', '400000000', '1000']) {
    writeFileSync(path, good.replace('"count":3', `"count":${count}`));
    assert.equal((await refusal(path)).line, 1, count);
  }
});

test('missing, duplicate, additional and misplaced lines are refused', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  await write(path, pets(130));
  const lines = readFileSync(path, 'utf8').slice(0, -1).split('\n');
  const refuse = async (changed: readonly string[], what: string): Promise<void> => {
    writeFileSync(path, changed.map((line) => `${line}\n`).join(''));
    const { line } = await refusal(path);
    assert(line >= 1 && line <= changed.length + 1, what);
  };
  for (const index of lines.keys()) {
    const others = lines.toSpliced(index, 1);
    await refuse(others, `without line ${index + 1}`);
    await refuse(lines.toSpliced(index, 0, lines[index]!), `line ${index + 1} twice`);
    await refuse(lines.toSpliced(index, 0, ''), `an empty line before line ${index + 1}`);
    await refuse(lines.toSpliced(index, 0, `${petLine(500, pets(1)[0]!)},`), `a new line before line ${index + 1}`);
    if (index > 0)
      await refuse(
        lines.with(index, lines[index - 1]!).with(index - 1, lines[index]!),
        `lines ${index} and ${index + 1} in each other's place`,
      );
  }
});

test('any damage is refused', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  await write(path, pets(20));
  const good = readFileSync(path);
  const damage = fc.record({
    at: fc.oneof(fc.nat(good.length), fc.nat(80)),
    gone: fc.nat(40),
    come: fc.oneof(
      fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
      fc.stringMatching(/^[0-9,"\n]{1,15}$/).map((text) => Buffer.from(text)),
    ),
  });
  await fc.assert(
    fc.asyncProperty(damage, async ({ at, gone, come }) => {
      const bad = Buffer.concat([good.subarray(0, at), come, good.subarray(at + gone)]);
      fc.pre(!bad.equals(good));
      writeFileSync(path, bad);
      await refusal(path);
    }),
    { numRuns: 500 },
  );
});

test('if a snapshot cannot be written, the old one is unchanged', async (t) => {
  const path = join(temporaryFolder(t), 'pets.json');
  await write(path, pets(3));
  const table = tableOf(pets(5));
  t.mock.method(table, 'pieces', () => {
    throw new Error('EIO');
  });
  const refused = { message: new RegExp(`^cannot write ${path}: EIO;`) };
  await assert.rejects(writeSnapshot(path, table, { store: testStore, sequence: 1, lastId: 5 }), refused);
  await onSync(t, () => Promise.reject(new Error('EIO')), 'datasync');
  await assert.rejects(write(path, pets(20_000)), refused);
  assert.equal((await read(path)).lines.length, 3);
  assert.deepEqual(readdirSync(dirname(path)), ['pets.json']);
});
