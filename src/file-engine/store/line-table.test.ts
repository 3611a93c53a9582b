import assert from 'node:assert/strict';
import test, { type TestContext } from 'node:test';
import * as fc from 'fast-check';
import { Uint32Column } from './column.ts';
import { LineTable } from './line-table.ts';
import { bytesOf } from '../../domain/byte-text.ts';
import type { PageQuery } from '../../engine.ts';
import { bytesOfBody } from '../../testing/bytes.ts';

const min = -(2n ** 63n);
const max = 2n ** 63n - 1n;
const statuses = ['a', 'b', 'c'] as const;
const blockBytes = 1024 * 1024; // as in line-table.ts

interface Row {
  readonly id: bigint;
  readonly status: string;
  readonly line: string;
}

function row(id: bigint, status: string, bytes = 0): Row {
  const line = `{"id":${id},"name":"","status":"${status}"}`;
  return { id, status, line: line.replace('""', `"${'é'.repeat(Math.max(0, bytes - line.length) / 2)}"`) };
}

function tableOf(rows: readonly Row[]): LineTable {
  const table = new LineTable();
  for (const { line, status } of rows) table.append(Buffer.from(line), status);
  return table;
}

/** Returns the same page, made from a plain array. */
function pageOf(rows: readonly Row[], { limit, after, status }: PageQuery): { body: string; next: string | null } {
  const all = rows.filter(
    (row) => (after === undefined || row.id > BigInt(after)) && (status === undefined || row.status === status),
  );
  const page = all.slice(0, limit);
  return {
    body: `[${page.map(({ line }) => line).join(',\n')}]`,
    next: all.length > page.length ? String(page.at(-1)!.id) : null,
  };
}

function checkPage(rows: readonly Row[], table: LineTable, query: PageQuery): void {
  const { body, next } = table.page(query);
  const expected = pageOf(rows, query);
  assert.equal(next, expected.next);
  assert(bytesOfBody(body).equals(Buffer.from(expected.body)), 'the body of the page');
}

/** Ascending ids: from 1 without gaps, around 0 with small gaps, or any int64. */
const ids = fc
  .oneof(
    fc.nat(40).map((count) => Array.from({ length: count }, (_, index) => BigInt(index + 1))),
    fc.uniqueArray(fc.bigInt({ min: -20n, max: 30n }), { maxLength: 30 }),
    fc.uniqueArray(fc.oneof(fc.bigInt({ min, max }), fc.constantFrom(min, min + 1n, -1n, 0n, 1n, max - 1n, max)), {
      maxLength: 20,
    }),
  )
  .map((list) => list.sort((a, b) => (a < b ? -1 : 1)));

const rowsOf = (bytes: fc.Arbitrary<number>): fc.Arbitrary<Row[]> =>
  ids.chain((list) =>
    fc.tuple(
      ...list.map((id) => fc.tuple(fc.constantFrom(...statuses), bytes).map(([status, size]) => row(id, status, size))),
    ),
  );

/** An id of a row, the id before or after it, or another one. */
const near = (rows: readonly Row[]): fc.Arbitrary<bigint> =>
  fc.constantFrom(min, -3n, 0n, 3n, max, ...rows.flatMap(({ id }) => [id - 1n, id, id + 1n]));

test('pages and single records are those of a plain array', () => {
  const cases = rowsOf(fc.constant(0)).chain((rows) =>
    fc.record({
      rows: fc.constant(rows),
      limit: fc.constantFrom(1, 2, 3, 5, 8, 20, 45),
      after: fc.option(near(rows).map(String), { nil: undefined }),
      status: fc.constantFrom(undefined, ...statuses, 'none'),
      id: near(rows),
    }),
  );
  let followed = 0;
  fc.assert(
    fc.property(cases, ({ rows, limit, after, status, id }) => {
      const table = tableOf(rows);
      checkPage(rows, table, { limit, after, status });
      if (table.page({ limit, after, status }).next !== null) followed++;
      assert.equal(table.get(String(id))?.toString() ?? null, rows.find((row) => row.id === id)?.line ?? null);
      assert.equal(table.count, rows.length);
      assert.equal(table.lastId, rows.at(-1)?.id ?? null);
    }),
    { numRuns: 500 },
  );
  assert(followed > 20, `pages with a next must be among those tried: ${followed}`);
});

test('following `next` returns every record once, in order', () => {
  fc.assert(
    fc.property(
      rowsOf(fc.constant(0)),
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom(undefined, ...statuses),
      (rows, limit, status) => {
        const table = tableOf(rows);
        const seen: bigint[] = [];
        for (let after: string | null | undefined; after !== null;) {
          const page = table.page({ limit, after, status });
          const records = JSON.parse(
            bytesOfBody(page.body)
              .toString('latin1')
              .replace(/"id":(-?\d+)/g, '"id":"$1"'),
          ) as { id: string }[];
          seen.push(...records.map(({ id }) => BigInt(id)));
          after = page.next;
        }
        assert.deepEqual(
          seen,
          rows.filter((row) => status === undefined || row.status === status).map(({ id }) => id),
        );
      },
    ),
    { numRuns: 100 },
  );
});

test('records may be at the ends of blocks, and longer than a block', () => {
  const sizes = fc.constantFrom(
    0,
    0,
    100,
    blockBytes / 4,
    blockBytes / 2 - 2,
    blockBytes - 4,
    blockBytes - 2,
    blockBytes,
    blockBytes + 8,
    2 * blockBytes,
  );
  const cases = fc
    .array(sizes, { minLength: 1, maxLength: 7 })
    .chain((list) =>
      fc.tuple(
        ...list.map((size, index) =>
          fc.constantFrom(...statuses).map((status) => row(BigInt(3 * index - 5), status, size)),
        ),
      ),
    );
  fc.assert(
    fc.property(
      cases,
      fc.integer({ min: 1, max: 8 }),
      fc.nat(7),
      fc.constantFrom(100, blockBytes / 2, 3 * blockBytes),
      (rows, limit, count, enoughBytes) => {
        const table = tableOf(rows);
        checkPage(rows, table, { limit, after: undefined, status: undefined });
        checkPage(rows, table, { limit, after: String(3 * count - 5), status: undefined });
        for (const status of statuses) checkPage(rows, table, { limit, after: undefined, status });
        for (const { id, line } of rows) assert.equal(table.get(String(id)), bytesOf(line));
        checkPieces(rows, table, Math.min(count, rows.length), enoughBytes);
      },
    ),
    { numRuns: 25 },
  );
});

test('records in buffers that the table keeps are the same', () => {
  const separate = fc.record({ isKept: fc.constant(false), prefix: fc.constant('') });
  const inBuffer = fc.record({ isKept: fc.constant(true), prefix: fc.constantFrom(null, null, '', 'another line\n') });
  const places = fc.array(fc.oneof(inBuffer, inBuffer, separate), { minLength: 40, maxLength: 40 });
  let kept = 0;
  fc.assert(
    fc.property(rowsOf(fc.constantFrom(0, 300)), places, fc.constantFrom(1, 3, 40), (rows, places, limit) => {
      // Consecutive kept records are in one buffer, until one has a prefix: then another buffer begins with it.
      const buffers: string[] = [];
      rows.forEach(({ line }, i) => {
        const { isKept, prefix } = places[i]!;
        if (!isKept) return;
        if (buffers.length === 0 || prefix !== null) buffers.push(prefix ?? '');
        buffers[buffers.length - 1] += `${line},\n`;
      });
      const bytes = buffers.map((text) => Buffer.from(text));
      const table = new LineTable();
      for (const [i, { line, status }] of rows.entries()) {
        const own = Buffer.from(line);
        const buffer = places[i]!.isKept ? bytes.find((one) => one.includes(`${line},`)) : undefined;
        const start = buffer?.indexOf(own) ?? 0;
        table.append(buffer ?? own, status, start, start + own.length, buffer !== undefined);
        if (buffer === undefined) own.fill(0);
        else kept++;
      }
      for (const status of [undefined, ...statuses]) checkPage(rows, table, { limit, after: undefined, status });
      for (const { id, line } of rows) assert.equal(table.get(String(id)), bytesOf(line));
      checkPieces(rows, table, rows.length, 100);
    }),
    { numRuns: 200 },
  );
  assert(kept > 100, String(kept));
});

test('a record that fits into a block with its separator is added to it, and any other to a new block', () => {
  for (let off = -4; off <= 4; off++) {
    const rows = [blockBytes / 2, blockBytes / 2 - 4 + off, 100].map((bytes, index): Row => {
      const { id, status, line } = row(BigInt(index + 1), 'a');
      return { id, status, line: line.replace('""', `"${'x'.repeat(bytes - line.length)}"`) };
    });
    const table = tableOf(rows);
    checkPage(rows, table, { limit: 9, after: undefined, status: 'a' });
    for (const count of [1, 2, 3]) checkPieces(rows, table, count, 3 * blockBytes);
  }
});

test('pieces are the first records, each followed by a comma and a line feed, and end at a given length', () => {
  const rows = Array.from({ length: 12 }, (_, index) => row(BigInt(index + 1), 'a', 60));
  for (let enoughBytes = 1; enoughBytes < 400; enoughBytes++) checkPieces(rows, tableOf(rows), 12, enoughBytes);
  fc.assert(
    fc.property(
      rowsOf(fc.constantFrom(0, 60, 500)),
      fc.nat(40),
      fc.integer({ min: 1, max: 2000 }),
      (rows, count, enoughBytes) => {
        checkPieces(rows, tableOf(rows), Math.min(count, rows.length), enoughBytes);
      },
    ),
  );
});

function checkPieces(rows: readonly Row[], table: LineTable, count: number, enoughBytes: number): void {
  const pieces = [...table.pieces(count, enoughBytes)];
  const expected = Buffer.from(
    rows
      .slice(0, count)
      .map(({ line }) => `${line},\n`)
      .join(''),
  );
  assert(Buffer.concat(pieces).equals(expected), 'the bytes of the pieces');
  for (const piece of pieces) {
    assert(piece.subarray(-2).equals(Buffer.from(',\n')));
    const lastRecord = piece.subarray(0, -2).lastIndexOf(',\n') + 2; // 1 if it has only one record
    assert(lastRecord === 1 || lastRecord < enoughBytes);
  }
}

test('a page does not change when records are added', () => {
  const rows = Array.from({ length: 50 }, (_, index) => row(BigInt(index + 1), 'a', blockBytes / 10));
  const table = tableOf(rows.slice(0, 5));
  const { body } = table.page({ limit: 9, after: undefined, status: undefined });
  const copy = bytesOfBody(body);
  for (const { line, status } of rows.slice(5)) table.append(Buffer.from(line), status);
  assert(bytesOfBody(body).equals(copy));
  checkPage(rows, table, { limit: 9, after: undefined, status: undefined });
});

/** Returns how many offsets are read and numbers decoded while `work` runs. */
function steps(t: TestContext, work: () => unknown): number {
  const at = t.mock.method(Uint32Column.prototype, 'at');
  const decode = t.mock.method(Buffer.prototype, 'toString');
  work();
  const count = at.mock.callCount() + decode.mock.callCount();
  at.mock.restore();
  decode.mock.restore();
  return count;
}

test('a page costs the same work in a table 64 times as large, except for a few steps of a search', (t) => {
  const [small, large] = [1_000, 64_000].map((count) => ({
    dense: tableOf(Array.from({ length: count }, (_, index) => row(BigInt(index + 1), statuses[index % 3]!))),
    sparse: tableOf(
      Array.from({ length: count }, (_, index) => row(BigInt(7 * index - 999), statuses[index % 10 === 0 ? 1 : 0]!)),
    ),
    count: BigInt(count),
  })) as [
    { dense: LineTable; sparse: LineTable; count: bigint },
    { dense: LineTable; sparse: LineTable; count: bigint },
  ];
  const stepsOfDoubling = 6; // 64 is 2 to the power of 6
  for (const status of [undefined, 'a', 'b']) {
    for (const where of [0n, 1n, 2n, 3n]) {
      for (const kind of ['dense', 'sparse'] as const) {
        const work = ({ [kind]: table, count }: typeof small): number => {
          const row = (count * where) / 4n;
          const after = where === 0n ? undefined : String(kind === 'dense' ? row : 7n * row - 999n);
          return steps(t, () => table.page({ limit: 20, after, status }));
        };
        const [before, now] = [work(small), work(large)];
        // A step of a search by id reads one offset and decodes one id; a step of a search by row reads one number.
        assert(now - before <= 3 * stepsOfDoubling + 4, `${kind} ${status} ${where}: ${before} steps, then ${now}`);
        assert(now < 160, `${now} steps`);
      }
    }
  }
  assert(steps(t, () => large.dense.get('32000')) < 10, 'without gaps there is no search');
});
