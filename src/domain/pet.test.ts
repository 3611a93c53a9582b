import assert from 'node:assert/strict';
import test from 'node:test';
import * as fc from 'fast-check';
import { readJson } from '../json/read.ts';
import {
  hasPetLine, InvalidPetError, petLine, petStatuses, readNewPet, statusOfLine, type NewPet,
} from './pet.ts';

const min = -(2n ** 63n);
const max = 2n ** 63n - 1n;

function read(json: string): NewPet {
  return readNewPet(readJson(Buffer.from(json)));
}

test('a NewPet is read with its default, and unknown fields are ignored', () => {
  assert.deepEqual(read('{"name":"Rex","categoryId":1}'), { name: 'Rex', categoryId: 1n, status: 'available' });
  for (const status of petStatuses) {
    assert.deepEqual(read(`{"status":"${status}","categoryId":-0.0,"name":""}`), { name: '', categoryId: 0n, status });
  }
  assert.deepEqual(
    read('{"id":7,"name":"\\u0000\\ud800","categoryId":1e2,"x":[{"name":1}],"__proto__":null,"constructor":1}'),
    {
      name: '\u0000\ud800',
      categoryId: 100n,
      status: 'available',
    },
  );
});

test('the smallest and the largest int64 are categories, the next integers are not', () => {
  for (const categoryId of [min, max])
    assert.equal(read(`{"name":"","categoryId":${categoryId}}`).categoryId, categoryId);
  for (const categoryId of [min - 1n, max + 1n])
    assert.throws(() => read(`{"name":"","categoryId":${categoryId}}`), InvalidPetError);
});

test('the error names every invalid field with its rule, and no other', () => {
  const rules = {
    name: { 'name is required': [undefined], 'name must be a string': ['null', '1', '{}', '[]', 'true'] },
    categoryId: {
      'categoryId is required': [undefined],
      'categoryId must be an integer from -9223372036854775808 to 9223372036854775807': [
        'null',
        '"1"',
        '1.5',
        '9223372036854775808',
        '[1]',
        '{}',
        'true',
      ],
    },
    status: {
      'status must be one of available, pending, sold': [
        'null',
        '"Sold"',
        '"sold "',
        '""',
        '0',
        '["sold"]',
        '{}',
        '"toString"',
      ],
    },
  };
  const good = { name: '"Rex"', categoryId: '1', status: '"sold"' };
  type Choice = readonly [value: string | undefined, error: string | null];
  const choices = (field: keyof typeof rules): Choice[] => [
    [good[field], null],
    ...Object.entries(rules[field]).flatMap(([error, values]) => values.map((value): Choice => [value, error])),
  ];
  for (const name of choices('name'))
    for (const categoryId of choices('categoryId'))
      for (const status of choices('status')) {
        const fields = Object.entries({ name, categoryId, status });
        const given = fields.filter(([, [value]]) => value !== undefined);
        const json = `{${given.map(([field, [value]]) => `"${field}":${value}`).join(',')}}`;
        const errors = fields.flatMap(([, [, error]]) => (error === null ? [] : [error]));
        if (errors.length === 0) assert.equal(read(json).name, 'Rex');
        else
          assert.throws(
            () => read(json),
            { message: `The body is not a NewPet: ${errors.join('; ')}.` },
            json,
          );
      }
});

test('a body that is not an object is refused', () => {
  for (const json of ['null', '[]', '"x"', '1', 'true', '[{"name":"Rex","categoryId":1}]']) {
    assert.throws(
      () => read(json),
      { message: 'The body must be a JSON object: a NewPet.' },
      json,
    );
  }
});

test('the line of an animal is one line of JSON that contains every field, and its status is found', () => {
  const anyUtf16 = fc
    .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 20 })
    .map((units) => String.fromCharCode(...units));
  fc.assert(
    fc.property(
      fc.nat(),
      anyUtf16,
      fc.bigInt({ min, max }),
      fc.constantFrom(...petStatuses),
      (id, name, categoryId, status) => {
        const text = petLine(id, { name, categoryId, status });
        const line = Buffer.from(text, 'latin1');
        assert(!text.includes('\n'));
        assert(text.startsWith(`{"id":${id},"name":`));
        assert(text.includes(`,"categoryId":${categoryId},"status":`));
        const parsed = JSON.parse(line.toString()) as Record<string, unknown>;
        assert.deepEqual({ id: parsed['id'], name: parsed['name'], status: parsed['status'] }, { id, name, status });
        assert.deepEqual(Object.keys(parsed), ['id', 'name', 'categoryId', 'status']);
        assert.deepEqual(readNewPet(readJson(line)), { name, categoryId, status });
        assert.equal(statusOfLine(line), status);
        assert.equal(statusOfLine(line.subarray(0, -1)), null);
        assert.equal(hasPetLine(line), id > 0);
      },
    ),
  );
});

test('a status is found only in the line of an animal', () => {
  const name = 'x","categoryId":1,"status":"sold"}'; // these quotes are escaped in the line
  assert.equal(statusOfLine(Buffer.from(petLine(1, { name, categoryId: 1n, status: 'pending' }))), 'pending');
  for (const text of [
    '',
    '}',
    '{}',
    '"status":"sold"}',
    ',"status":"lost"}',
    ',"status":"sold"} ',
    ',"status":"sold"},',
    ',"status":sold"}',
    'x'.repeat(99),
  ]) {
    assert.equal(statusOfLine(Buffer.from(text)), null, text);
  }
  assert.equal(statusOfLine(Buffer.from(',"status":"sold"}')), 'sold');
});

test('the only line of an animal is the one that `petLine` returns', () => {
  const escapes = [
    '\\"', '\\\\', '\\/', '\\b', '\\f', '\\n', '\\r', '\\t', '\\x', '\\', '\\u0000', '\\u0007', '\\u0008', '\\u000A',
    '\\u000b', '\\u000B', '\\u001f', '\\u0020', '\\u0041', '\\u007f', '\\u00e9', '\\ud7ff', '\\ud83d', '\\udc00',
    '\\ud83d\\ude00', '\\udbff', '\\udfff', '\\ue000', '\\uD83D', '\\u', '\\u12', '"', '\u0001', '\u001f', '\u007f',
    'é', '\u2028', '🦜',
  ];
  const numbers = [
    '0', '-0', '1', '-1', '01', '1.0', '1e2', '+1', '', 'null', '"1"', '99999999999999', '999999999999999',
    '1000000000000000', '9223372036854775807', '9223372036854775808', '-9223372036854775808', '-9223372036854775809',
    '12345678901234567890',
  ];
  const number = fc.constantFrom(...numbers);
  const name = fc.array(fc.constantFrom('a', 'u', '0', 'd', ...escapes), { maxLength: 5 }).map((all) => all.join(''));
  const form = fc.tuple(
    fc.constantFrom('{"id":', '{"id": ', ' {"id":', '{'), number, fc.constantFrom(',"name":"', ',"nam":"'), name,
    fc.constantFrom('","categoryId":', '",\n"categoryId":', '","x":1,"categoryId":'), number,
    fc.constantFrom(',"status":"sold"}', ',"status":"available"}', ',"status":"lost"}', '}', ',"status":"sold"} '),
  );
  let valid = 0;
  const isLine = (bytes: Buffer): boolean => {
    try {
      const id = /^\{"id":([1-9]\d{0,14}),/.exec(bytes.toString('latin1'))?.[1];
      return id !== undefined && petLine(Number(id), readNewPet(readJson(bytes))) === bytes.toString('latin1');
    } catch {
      return false;
    }
  };
  const usual = fc.tuple(
    fc.constant('{"id":'), number, fc.constant(',"name":"'), name, fc.constant('","categoryId":'), number,
    fc.constant(',"status":"pending"}'),
  );
  fc.assert(
    fc.property(fc.oneof(usual, form), fc.option(fc.nat(), { freq: 20 }), (parts, cut) => {
      const text = Buffer.from(parts.join(''));
      // Without one byte, it may be no UTF-8.
      const bytes = cut === null ? text : Buffer.from(text.filter((_, at) => at !== cut % text.length));
      const expected = isLine(bytes);
      if (expected) valid++;
      assert.equal(hasPetLine(bytes), expected, bytes.toString());
    }),
    { numRuns: 20_000 },
  );
  assert.ok(valid > 100, `${valid}`);
});
