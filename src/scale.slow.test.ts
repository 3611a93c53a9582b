/** A few rounds of `npm run test:scale`, and proof that they find a fault. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { noPostgres } from '../harness/postgres.ts';
import { queryOn } from './testing/database.ts';
import { faults, ScaleRun } from './testing/scale.ts';

test('limits are exact and no animal is lost, whatever fails', async (t) => {
  const run = new ScaleRun(t, 1, (line) => t.diagnostic(line));
  if (!await run.start()) return t.skip(noPostgres);
  await run.run(faults.length);
});

/** Replaces a part of a function in the database. */
async function change(url: string, name: string, part: string, by: string): Promise<void> {
  const [[definition] = []] = await queryOn(url, 'select pg_get_functiondef($1::regproc)', [`petstore.${name}`]);
  const changed = (definition as string).replace(part, by);
  assert.notEqual(changed, definition);
  await queryOn(url, changed);
}

test('counts that are lost are found', async (t) => {
  const run = new ScaleRun(t, 2);
  if (!await run.start()) return t.skip(noPostgres);
  await change(run.url, 'save_usage', 'where not t.fresh and', 'where not t.fresh and random() < 0.5 and');
  const violation = /^round 1, none: (?:\d+ of \d+ requests admitted|\d+ values of .* repeated|petstore usage)/;
  await assert.rejects(run.run(1, ['none']), ({ message }: Error) => violation.test(message));
});

test('animals that are confirmed before they are on disk are found', async (t) => {
  const run = new ScaleRun(t, 3);
  if (!await run.start()) return t.skip(noPostgres);
  await change(run.url, 'add_pets', "'on', true) where", "'off', true) where not");
  const violation = /^(?:round \d, database killed|all animals): .*(?:not in the list|has the id of|there twice)/;
  await assert.rejects(run.run(4, ['database killed']), ({ message }: Error) => violation.test(message));
});
