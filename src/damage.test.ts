/** Files that are missing, old copies or of another store: the exact state, or a refusal by name. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { filled, find, names, outcomeOf } from './testing/damage.ts';

test('a missing file, an old copy, and a file of another store are noticed', async (t) => {
  const [site, other] = [await filled(t), await filled(t)];
  const { folder, good, old, exact } = site;
  for (const name of names) {
    assert.equal(await outcomeOf(site, { [name]: other.good.get(name)! }), 'refused', `${name} of another store`);
    if (name !== 'orders.json' && name !== 'usage.json') {
      assert.equal(await outcomeOf(site, { [name]: null }), 'refused', `no ${name}`);
      assert.equal(await outcomeOf(site, { [name]: old.get(name)! }), 'refused', `an old ${name}`);
    }
  }
  const journals = names.filter((name) => name.endsWith('.journal'));
  for (const removed of [journals, [...journals, 'pets.json']]) {
    for (const name of removed) rmSync(join(folder, name));
    const path = `${folder}/pets.json`;
    await assert.rejects(find(folder), ({ message }: Error) => message.startsWith(`${path}: record 6, which was on disk`));
    // The way for an operator who goes on nevertheless.
    rmSync(join(folder, 'usage.json'));
    assert.equal((await find(folder)).lines.length, removed.length === 3 ? 2 : 4);
    for (const [name, content] of good) writeFileSync(join(folder, name), content);
  }
  // The operator may write these two, or remove them.
  writeFileSync(join(folder, 'usage.json'), old.get('usage.json')!);
  assert.deepEqual(await find(folder), { ...exact, used: 1 });
  rmSync(join(folder, 'usage.json'));
  assert.deepEqual(await find(folder), { ...exact, used: 0 });
  rmSync(join(folder, 'orders.json'));
  assert.deepEqual((await find(folder)).lines, exact.lines.slice(2));
});

test('swapped files, copies under another name, and repeated content are noticed', async (t) => {
  const site = await filled(t);
  const content = (name: string): Buffer => site.good.get(name)!;
  const counts: Record<string, Record<string, number>> = {};
  const run = async (what: string, contents: Record<string, Buffer>): Promise<void> => {
    const outcome = await outcomeOf(site, contents);
    const count = (counts[what] ??= {});
    count[outcome] = (count[outcome] ?? 0) + 1;
  };
  for (const name of names) {
    await run('twice', { [name]: Buffer.concat([content(name), content(name)]) });
    for (const added of [1, 4, 7, 8]) await run('added', { [`pets.${added}.journal`]: content(name) });
    for (const other of names) {
      if (name !== other) await run(other === 'usage.json' ? 'over usage.json' : 'over', { [other]: content(name) });
      if (name < other) await run('swapped', { [name]: content(other), [other]: content(name) });
    }
  }
  assert.deepEqual(counts, {
    swapped: { refused: 15 },
    over: { refused: 25 },
    'over usage.json': { 'set aside': 5 },
    added: { refused: 24 },
    twice: { refused: 4, 'set aside': 2 },
  });
});

test('an edited keys.json or orders.json is accepted without its checksum', async (t) => {
  const { folder, good, exact } = await filled(t);
  for (const name of ['keys.json', 'orders.json']) {
    const edited = good.get(name)!.toString().replace('"é"', '"e"').replace('"quantity":1', '"quantity":2');
    writeFileSync(join(folder, name), edited);
    await assert.rejects(find(folder), { message: /on purpose, remove that member/ });
    writeFileSync(join(folder, name), edited.replace(/,"crc32":"\w+"/, ''));
    await find(folder);
  }
  const { keys, lines } = await find(folder);
  assert.equal(keys[1]!.name, 'e');
  assert.deepEqual(lines, [lines[0]!, ...exact.lines.slice(1)]);
  assert.match(lines[0]!, /"quantity":2/);
});
