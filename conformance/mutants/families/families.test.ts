/** Each fault leaves a server that can be used, and draws are deterministic. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { base } from '../server/hooks.ts';
import { startSmallServer } from '../server/small-server.ts';
import { faultFamilies, faultOf } from './families.ts';
import { faultsOf } from './family.ts';
import { familiesOf, groupNames } from './split.ts';

const draws = 3;
const key = 'test_Qm7rT2xVb9KdLw4sHc8NpZa3';
const clock = { now: () => Date.UTC(2026, 10, 21, 12, 0, 5), sleep: () => Promise.resolve() };
const all = faultFamilies.flatMap((family) => faultsOf(family, draws));

describe('the families of faults', () => {
  test('there are at least 36, with as many different faults as are wanted', () => {
    assert.ok(faultFamilies.length >= 36);
    assert.equal(new Set(faultFamilies.map(({ name }) => name)).size, faultFamilies.length);
    for (const family of faultFamilies) {
      assert.match(family.name, /^[^×#]+ × [^×#]+ × [^×#]+$/);
      assert.equal(new Set(faultsOf(family, 8).map(({ text }) => text)).size, 8, family.name);
    }
  });

  test('each is in one group, and later ones do not change the halves', () => {
    assert.equal(groupNames.flatMap(familiesOf).length, faultFamilies.length);
    assert.deepEqual(new Set(groupNames.flatMap(familiesOf)), new Set(faultFamilies));
    const halves = [familiesOf('seen'), familiesOf('unseen')];
    assert.deepEqual(halves.map(({ length }) => length), [32, 31]);
  });

  test('a draw depends only on the family and its number', () => {
    for (const fault of all) {
      assert.equal(faultOf(fault.id)?.text, fault.text);
      assert.match(fault.text, /^\S.*\.$/, fault.id);
    }
    assert.equal(faultOf('no family #1'), undefined);
  });

  test('each fault replaces hooks of the small server', () => {
    for (const { id, hooks, sections } of all) {
      assert.ok(sections.length > 0 && Object.keys(hooks).length > 0, id);
      for (const name of Object.keys(hooks)) assert.ok(name in base, `${id}: ${name}`);
    }
  });

  test('each fault answers the first plain list with a valid key', async () => {
    for (const { id, hooks } of all) {
      const { baseUrl, close } = await startSmallServer({ clock, keys: [{ secret: key, plan: 'business' }], hooks });
      const response = await fetch(`${baseUrl}/pets`, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(response.status, 200, id);
      assert.ok(Array.isArray(await response.json()), id);
      await close();
    }
  });
});
