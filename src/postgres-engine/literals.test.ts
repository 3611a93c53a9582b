import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { noPostgres, testDatabase } from '../../harness/postgres.ts';
import { connectTo } from '../testing/database.ts';
import { textArray, textLiteral, wordArray } from './literals.ts';

const special = ["'", '\\', '"', '{', '}', ',', '$', ';', '-', '/', '*', '\r', '\t', 'n', 'x', 'u', '0', '7', '🐕', 'ł'];
const unit = fc.oneof(
  fc.constantFrom(...special), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
).filter((character) => character !== '\0' && character !== '\n');
const texts = fc.tuple(fc.string({ unit, minLength: 1 }), fc.array(fc.string({ unit }), { maxLength: 5 }))
  .map(([first, rest]) => [first, ...rest]);

test('the database reads each literal as the value from which it was made', async (t) => {
  const url = await testDatabase(t);
  if (url === null) return t.skip(noPostgres);
  const connection = await connectTo(t, url);
  for (const setting of ['on', 'off']) {
    await connection.query(`set standard_conforming_strings = ${setting}`);
    await connection.query('set escape_string_warning = off');
    await fc.assert(fc.asyncProperty(texts, async (values) => {
      const [row] = await connection.query(`select ${textLiteral(values.at(-1)!)}, ${textArray(values)}`);
      assert.deepEqual(row, [values.at(-1), values]);
    }));
  }
  const words = `select ${wordArray([-1, 9_007_199_254_740_991, null])}::bigint[], ${wordArray([true])}::boolean[]`;
  assert.deepEqual(await connection.query(words), [[['-1', '9007199254740991', null], [true]]]);
});

test('wordArray rejects a value that would need escaping', () => {
  for (const value of ["a'b", 'a\\b', 'a"b', 'a b', '{', '}', 'ł', '\n', ';', '1.5', '', 'a,b', 'null', 'NULL']) {
    assert.throws(() => wordArray(['1', value]), TypeError, value);
  }
});
