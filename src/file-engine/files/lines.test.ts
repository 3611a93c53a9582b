import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import * as fc from 'fast-check';
import { temporaryFolder } from '../../../harness/owner.ts';
import { failReads, pageBytes, shortenReads } from '../../testing/file-handle.ts';
import { readLines, type Line, type ReadOptions } from './lines.ts';
import { OpenFile } from './open-file.ts';

const chunkBytes = 256 * 1024; // as in lines.ts

interface Expected {
  readonly text: string;
  readonly number: number;
  readonly offset: number;
  readonly complete: boolean;
}

/** Returns the same lines, made by `split`. */
function linesOf(content: string): Expected[] {
  let offset = 0;
  const parts = content.split('\n');
  return parts.flatMap((text, index) => {
    const complete = index < parts.length - 1;
    const line = { text, number: index + 1, offset, complete };
    offset += text.length + 1;
    return complete || text !== '' ? [line] : [];
  });
}

async function readPath(path: string, visit: (line: Line) => void, options?: ReadOptions): Promise<void> {
  const file = await OpenFile.open(path);
  await readLines(file, visit, options).finally(() => file.close());
}

async function read(path: string, onRead?: (bytes: number) => void): Promise<Expected[]> {
  const lines: Expected[] = [];
  await readPath(path, ({ bytes, start, end, number, offset, complete }) => {
    lines.push({ text: bytes.toString('latin1', start, end), number, offset, complete });
  }, { onRead });
  return lines;
}

function isSame(one: Expected, other: Expected): boolean {
  return one.text === other.text && one.number === other.number && one.offset === other.offset
    && one.complete === other.complete;
}

test('lines are those that `split` returns', async (t) => {
  const path = join(temporaryFolder(t), 'f');
  const check = async (content: string): Promise<void> => {
    writeFileSync(path, content, 'latin1');
    assert.deepEqual(await read(path), linesOf(content), JSON.stringify(content.slice(0, 40)));
  };
  for (const content of ['', '\n', '\n\n', 'a', 'a\n', '\na', 'a\r\nb\n', '\u00ff\u0000\n\u0080']) await check(content);
  const lines = fc.array(fc.constantFrom('', 'a', 'bc', '\u0000', '\u00ff\r', 'x'.repeat(500)), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(lines, fc.boolean(), (parts, ended) => check(parts.join('\n') + (ended ? '\n' : ''))),
  );
});

test('lines may cross the ends of chunks, and be longer than a chunk', async (t) => {
  const path = join(temporaryFolder(t), 'f');
  const around = [-2, -1, 0, 1, 2];
  const contents = [
    ...around.map((off) => `${'a'.repeat(chunkBytes + off)}\nb\n`), // the line feed is near the end of a chunk
    ...around.map((off) => `${'a\n'.repeat(chunkBytes / 2 - 2)}${'b'.repeat(4 + off)}\ncd`),
    `a\n${'b'.repeat(5 * chunkBytes)}\nc\n${'d'.repeat(chunkBytes)}`,
    'x'.repeat(chunkBytes),
    'x'.repeat(2 * chunkBytes),
    `${'y'.repeat(2 * chunkBytes - 1)}\n`,
  ];
  for (const content of contents) {
    writeFileSync(path, content, 'latin1');
    const got = await read(path);
    const expected = linesOf(content);
    assert.equal(got.length, expected.length);
    const wrong = got.findIndex((line, index) => !isSame(line, expected[index]!));
    assert.equal(wrong, -1, 'the index of a wrong line');
  }
});

test('the event loop turns after each chunk, however long the lines are, and the chunk is reported', async (t) => {
  const path = join(temporaryFolder(t), 'f');
  let turns = 0;
  let turning = true;
  const turn = (): void => {
    turns++;
    if (turning) setImmediate(turn);
  };
  for (const content of ['a\n'.repeat(500_000), `${'a'.repeat(2_000_000)}\n${'b\n'.repeat(500_000)}`]) {
    writeFileSync(path, content);
    const reads: { bytes: number; turns: number }[] = [];
    turning = true;
    turn();
    await read(path, (bytes) => reads.push({ bytes, turns }));
    turning = false;
    assert.equal(reads.reduce((sum, { bytes }) => sum + bytes, 0), content.length);
    assert(reads.every(({ bytes }) => bytes <= chunkBytes));
    const chunks = reads.filter(({ bytes }) => bytes > 0);
    assert.equal(new Set(chunks.map(({ turns }) => turns)).size, chunks.length, 'a turn for each chunk');
  }
});

test(
  'what a visitor or a listener throws ends the reading and closes the file, and a missing file is an error',
  { skip: process.platform !== 'linux' },
  async (t) => {
    const path = join(temporaryFolder(t), 'f');
    writeFileSync(path, 'a\nb\nc\n');
    const open = (): number => readdirSync('/proc/self/fd').length;
    const before = open();
    const end = (): never => {
      throw new TypeError('end');
    };
    await assert.rejects(readPath(path, end), new TypeError('end'));
    await assert.rejects(readPath(path, () => assert.fail(), { onRead: end }), new TypeError('end'));
    await read(path);
    assert.equal(open(), before);
    await assert.rejects(read(`${path}x`), { message: new RegExp(`^cannot read ${path}x: ENOENT`) });
  },
);

test('pages that cannot be read are zero bytes, and are reported; all others are as they were', async (t) => {
  const path = join(temporaryFolder(t), 'f');
  const content = Buffer.from('a line\n'.repeat(90_000)); // 154 pages
  writeFileSync(path, content);
  const last = Math.floor(content.length / pageBytes);
  const pages = [0, 63, 64, 100, last];
  await failReads(t, path, pages);
  await assert.rejects(read(path), { message: /^cannot read \S+: EIO: i\/o error; / });

  const found: Buffer[] = [];
  const reported: [number, number][] = [];
  await readPath(path, ({ bytes, start, end, complete }) => {
    found.push(Buffer.from(bytes.subarray(start, end)), Buffer.from(complete ? '\n' : ''));
  }, { onUnreadable: (from, to) => reported.push([from, to]) });
  const endOf = (page: number): number => Math.min((page + 1) * pageBytes, content.length);
  for (const page of pages) content.fill(0, page * pageBytes, endOf(page));
  assert.deepEqual(reported, pages.map((page) => [page * pageBytes, endOf(page)]));
  assert.ok(Buffer.concat(found).equals(content));
});

test('with keepsBytes, the bytes of all lines stay as they are, also after short reads', async (t) => {
  const path = join(temporaryFolder(t), 'file');
  const lines = Array.from({ length: 40_000 }, (_, i) => `${i} ${'x'.repeat(i % 150)}`);
  lines.splice(20_000, 0, 'y'.repeat(3e6)); // longer than a buffer
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''));
  for (const maxBytes of [Infinity, 100_000]) {
    await shortenReads(t, maxBytes);
    const kept: [bytes: Buffer, start: number, end: number][] = [];
    await readPath(path, ({ bytes, start, end }) => kept.push([bytes, start, end]), { keepsBytes: true });
    assert.deepEqual(kept.map(([bytes, start, end]) => bytes.toString('latin1', start, end)), lines);
    const total = [...new Set(kept.map(([bytes]) => bytes))].reduce((sum, { length }) => sum + length, 0);
    assert(total < 20e6, `${total} bytes are kept`);
  }
});

test('a line without an end is refused before it fills the memory, or visited in parts', async (t) => {
  const path = join(temporaryFolder(t), 'file');
  writeFileSync(path, 'first\n');
  truncateSync(path, 2 ** 40);
  await assert.rejects(read(path), {
    message: `${path}, line 2: the line has more than 16777216 bytes; nothing was changed; restore the data folder ` +
      'from a backup',
  });
  truncateSync(path, 40e6);
  appendFileSync(path, '\nlast\n');
  const lengths: [number: number, length: number, complete: boolean][] = [];
  await readPath(path, ({ start, end, number, complete }) => {
    lengths.push([number, end - start, complete]);
  }, { onUnreadable: () => assert.fail('every page can be read') });
  assert.equal(lengths.slice(1, -1).reduce((sum, [, length]) => sum + length, 0), 40e6 - 6);
  assert.ok(lengths.every(([, length]) => length < 17e6 + 256 * 1024));
  const [first, second] = lengths;
  assert.deepEqual([first, second![0], second![2], lengths.at(-1)], [[1, 5, true], 2, false, [3, 4, true]]);
});
