import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { readJson, type JsonObject } from '../json/read.ts';
import { orderLine, orderStatuses, readOrder, type Order } from './order.ts';

const good = {
  id: '1',
  petId: '2',
  quantity: '3',
  shipDate: '"2026-01-02T03:04:05Z"',
  status: '"placed"',
  complete: 'false',
};
type Fields = Partial<Record<keyof typeof good, string | undefined>>;

function parse(line: string): JsonObject {
  return readJson(Buffer.from(line)) as JsonObject;
}

/** Returns the order, or the message of the error. */
function read(fields: Fields): Order | string {
  const members = Object.entries({ ...good, ...fields }).filter(([, value]) => value !== undefined);
  const object = parse(`{${members.map(([name, value]) => `"${name}":${value}`).join(',')}}`);
  try {
    return readOrder(object);
  } catch (error) {
    return (error as Error).message;
  }
}

function shipDateIsGood(text: string): boolean {
  const order = read({ shipDate: JSON.stringify(text) });
  if (typeof order === 'string') assert.equal(order, 'shipDate must be an RFC 3339 date-time, or left out');
  else assert.equal(order.shipDate, text);
  return typeof order !== 'string';
}

test('an order is read, and unknown fields are ignored', () => {
  assert.deepEqual(read({}), {
    id: 1n,
    petId: 2n,
    quantity: 3n,
    shipDate: '2026-01-02T03:04:05Z',
    status: 'placed',
    complete: false,
  });
  assert.deepEqual(read({ shipDate: undefined, complete: 'true', status: '"delivered","x":1' }), {
    id: 1n, petId: 2n, quantity: 3n, shipDate: undefined, status: 'delivered', complete: true,
  });
  for (const status of orderStatuses) assert.notEqual(typeof read({ status: `"${status}"` }), 'string');
});

test('the error names every invalid field with its rule, and no other', () => {
  const rules: Record<keyof typeof good, { rule: string; bad: (string | undefined)[] }> = {
    id: {
      rule: 'id must be an int64',
      bad: [undefined, 'null', '"1"', '1.5', '9223372036854775808', '-9223372036854775809'],
    },
    petId: { rule: 'petId must be an int64', bad: [undefined, 'null', '"1"', '0.1', '9223372036854775808'] },
    quantity: {
      rule: 'quantity must be an integer from 1 to 2147483647',
      bad: [undefined, 'null', '0', '-1', '2147483648', '1.5', '"1"'],
    },
    shipDate: { rule: 'shipDate must be an RFC 3339 date-time, or left out', bad: ['null', '1', '""', '"2026-01-02"'] },
    status: {
      rule: 'status must be one of placed, approved, delivered',
      bad: [undefined, 'null', '"sold"', '"Placed"', '1'],
    },
    complete: { rule: 'complete must be true or false', bad: [undefined, 'null', '0', '"true"'] },
  };
  const names = Object.keys(rules) as (keyof typeof good)[];
  for (const name of names)
    for (const bad of rules[name].bad) assert.equal(read({ [name]: bad }), rules[name].rule, `${name} ${bad}`);
  const invalid = fc.record(
    Object.fromEntries(
      names.map((name) => [name, fc.option(fc.constantFrom(...rules[name].bad.map((value) => ({ value }))))]),
    ),
  );
  fc.assert(
    fc.property(invalid, (chosen) => {
      const wrong = names.filter((name) => chosen[name] !== null);
      const order = read(Object.fromEntries(wrong.map((name) => [name, chosen[name]!.value])));
      if (wrong.length === 0) assert.notEqual(typeof order, 'string');
      else assert.equal(order, wrong.map((name) => rules[name].rule).join('; '));
    }),
  );
});

test('the smallest and the largest int64 and int32 are exact', () => {
  for (const id of ['9223372036854775807', '-9223372036854775808', '9007199254740993', '0']) {
    const order = read({ id, petId: id });
    assert(typeof order !== 'string');
    assert.equal(`${order.id} ${order.petId}`, `${id} ${id}`);
    assert(orderLine(order).startsWith(`{"id":${id},"petId":${id},"quantity":3,`));
  }
  for (const quantity of ['1', '2147483647']) assert.notEqual(typeof read({ quantity }), 'string', quantity);
  const order = read({ quantity: '10e-1' });
  assert(typeof order !== 'string' && order.quantity === 1n);
});

test('a date-time follows RFC 3339', () => {
  const accepted = [
    '2024-02-29T00:00:00Z',
    '2000-02-29T23:59:59Z',
    '1600-02-29T00:00:00Z',
    '0000-02-29T00:00:00Z',
    '9999-12-31T23:59:59.999999999Z',
    '2026-01-31T00:00:00+00:00',
    '2026-04-30T12:00:00-23:59',
    '2026-01-02t03:04:05z',
    '1990-12-31T23:59:60Z',
    '1937-01-01T12:00:27.87+00:20',
    '0099-12-31T00:00:00Z',
    '2026-01-02T03:04:05.0Z',
  ];
  const refused = [
    '2023-02-29T00:00:00Z',
    '1900-02-29T00:00:00Z',
    '2100-02-29T00:00:00Z',
    '2026-04-31T00:00:00Z',
    '2026-00-10T00:00:00Z',
    '2026-13-10T00:00:00Z',
    '2026-01-00T00:00:00Z',
    '2026-01-32T00:00:00Z',
    '2026-01-02T24:00:00Z',
    '2026-01-02T03:60:05Z',
    '2026-01-02T03:04:61Z',
    '2026-01-02T03:04:05',
    '2026-01-02 03:04:05Z',
    '2026-01-02T03:04Z',
    '2026-01-02T03:04:05.Z',
    '2026-01-02T03:04:05,5Z',
    '2026-01-02T03:04:05+0000',
    '2026-01-02T03:04:05+24:00',
    '2026-01-02T03:04:05+00:60',
    '2026-1-2T03:04:05Z',
    '+12026-01-02T03:04:05Z',
    '12026-01-02T03:04:05Z',
    '2026-01-02T03:04:05Z\n',
    ' 2026-01-02T03:04:05Z',
    '2026-01-02T03:04:05ZZ',
    '٢٠٢٦-01-02T03:04:05Z',
    '20260102T030405Z',
    'now',
  ];
  for (const text of accepted) assert(shipDateIsGood(text), text);
  for (const text of refused) assert(!shipDateIsGood(text), text);
});

test('the days of the calendar are accepted, and no others', () => {
  const two = (n: number): string => String(n).padStart(2, '0');
  for (const year of [
    '0000',
    '0001',
    '0004',
    '0100',
    '1582',
    '1900',
    '1999',
    '2000',
    '2023',
    '2024',
    '2100',
    '2400',
    '9999',
  ]) {
    for (let month = 0; month <= 13; month++)
      for (let day = 0; day <= 32; day++) {
        const date = `${year}-${two(month)}-${two(day)}`;
        const time = new Date(`${date}T00:00:00Z`);
        const real = !Number.isNaN(time.getTime()) && time.toISOString().startsWith(date);
        assert.equal(shipDateIsGood(`${date}T00:00:00Z`), real, date);
      }
  }
});

test('the line of an order contains every field', () => {
  const int64 = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n });
  const orders = fc.record({
    id: int64,
    petId: int64,
    quantity: fc.bigInt({ min: 1n, max: 2n ** 31n - 1n }),
    shipDate: fc.option(fc.constantFrom('2026-01-02T03:04:05Z', '2024-02-29t00:00:00.5-01:30'), { nil: undefined }),
    status: fc.constantFrom(...orderStatuses),
    complete: fc.boolean(),
  });
  fc.assert(
    fc.property(orders, (order) => {
      const line = orderLine(order);
      assert.deepEqual(readOrder(parse(line)), { ...order });
      assert.equal('shipDate' in (JSON.parse(line) as object), order.shipDate !== undefined);
    }),
  );
});
