import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import * as fc from 'fast-check';
import { OperatorError } from '../../domain/operator-error.ts';
import { temporaryFolder } from '../../../harness/owner.ts';
import { bytesOfBody } from '../../testing/bytes.ts';
import { LineTable } from './line-table.ts';
import { ordersName, readOrders } from './orders.ts';

const all = { limit: 100, after: undefined, status: undefined };

function read(folder: string): LineTable {
  const table = new LineTable();
  readOrders(folder, table);
  return table;
}

function order(id: bigint | number | string, status = 'placed', more = ''): string {
  return `{"id":${id},"petId":${id},"quantity":1,${more}"status":"${status}","complete":false}`;
}

test('without a file, or with an empty array, there are no orders', (t) => {
  const folder = temporaryFolder(t);
  assert.equal(bytesOfBody(read(folder).page(all).body).toString(), '[]');
  writeFileSync(join(folder, ordersName), ' [ ] ');
  assert.equal(bytesOfBody(read(folder).page(all).body).toString(), '[]');
});

test('orders are listed in ascending order of id, by page and by status, with all digits', (t) => {
  const folder = temporaryFolder(t);
  const ids = ['9223372036854775807', '5', '-9223372036854775808', '9007199254740993', '0', '-1', '9007199254740992'];
  const sorted = [
    '-9223372036854775808',
    '-1',
    '0',
    '5',
    '9007199254740992',
    '9007199254740993',
    '9223372036854775807',
  ];
  const status = (id: string): string => (id.endsWith('7') ? 'delivered' : 'placed');
  writeFileSync(join(folder, ordersName), `[${ids.map((id) => order(id, status(id))).join(',\n')}]`);
  const store = read(folder);
  assert.equal(
    bytesOfBody(store.page(all).body).toString(),
    `[${sorted.map((id) => order(id, status(id))).join(',\n')}]`,
  );
  for (const [index, id] of sorted.entries()) {
    const page = store.page({ ...all, limit: 1, after: index === 0 ? undefined : sorted[index - 1]! });
    assert.equal(bytesOfBody(page.body).toString(), `[${order(id, status(id))}]`);
    assert.equal(page.next, id === sorted.at(-1) ? null : id);
  }
  assert.equal(
    bytesOfBody(store.page({ ...all, status: 'delivered' }).body).toString(),
    `[${order('9223372036854775807', 'delivered')}]`,
  );
  assert.equal(bytesOfBody(store.page({ ...all, status: 'approved' }).body).toString(), '[]');
});

test('the file may be in any order', (t) => {
  const folder = temporaryFolder(t);
  const lists = fc.uniqueArray(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), { maxLength: 20 });
  fc.assert(
    fc.property(lists, (ids) => {
      writeFileSync(join(folder, ordersName), `[${ids.map((id) => order(id)).join(',')}]`);
      const expected = [...ids].sort((a, b) => (a < b ? -1 : 1)).map((id) => order(id));
      assert.equal(bytesOfBody(read(folder).page(all).body).toString(), `[${expected.join(',\n')}]`);
    }),
    { numRuns: 50 },
  );
});

test('an invalid order is refused with the file, the line and the reason', (t) => {
  const folder = temporaryFolder(t);
  const path = join(folder, ordersName);
  const cases: [text: string, line: number, why: string][] = [
    [`[\n${order(1)},\n${order(2)},\n${order('1.5')}\n]`, 4, 'id must be an int64; petId must be an int64'],
    [`[\n${order(1)},\n\n\n${order(1)}]`, 5, 'line 2 has the same id, 1'],
    [`[${order(3)},${order('3.0')}]`, 1, 'line 1 has the same id, 3'],
    [`[\n${order(1, 'sold')},\n${order(2, 'lost')}]`, 2, 'status must be one of placed, approved, delivered'],
    [
      `[\n${order(1)},\n${order(2, 'placed', '"shipDate":"2023-02-29T00:00:00Z",')}]`,
      3,
      'shipDate must be an RFC 3339 date-time, or left out',
    ],
    [`[\n${order(1)},\n{"id":2,\n"id":3}]`, 4, ''],
    [`[\n${order(1)},\n`, 3, ''],
    ['[7]', 1, 'the next record is not a JSON object'],
    ['[null]', 1, 'the next record is not a JSON object'],
    [`[\n${order(1)},\n7]`, 2, 'the next record is not a JSON object'],
    ['{"orders":[]}', 1, 'the records must be a JSON array'],
    ['null', 1, ''],
    ['', 1, ''],
  ];
  for (const [text, line, why] of cases) {
    writeFileSync(path, text);
    assert.throws(
      () => read(folder),
      (error) =>
        error instanceof OperatorError &&
        error.message.startsWith(`${path}, line ${line}: ${why}`) &&
        !error.message.includes('\n'),
      text,
    );
  }
});

test('an invalid file adds nothing to the table', (t) => {
  const folder = temporaryFolder(t);
  const table = new LineTable();
  writeFileSync(join(folder, ordersName), `[${order(2)},${order(2)}]`);
  assert.throws(() => readOrders(folder, table), OperatorError);
  assert.equal(table.count, 0);
});
