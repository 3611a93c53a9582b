/** Each bit of each file inverted, and each truncation: the exact state, or a refusal by name. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { filled, outcomeOf, type Filled } from './testing/damage.ts';

/** How many starts had each outcome. */
async function count(site: Filled, name: string, contents: Iterable<Buffer>): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const content of contents) {
    const outcome = await outcomeOf(site, { [name]: content });
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

test('after any bit of any file was inverted, a start is refused, or nothing is lost', async (t) => {
  const site = await filled(t);
  for (const [name, good] of site.good) {
    const contents = Array.from(good.keys(), (at) => Array.from({ length: 8 }, (_, bit) => {
      const bad = Buffer.from(good);
      bad[at]! ^= 1 << bit;
      return bad;
    })).flat();
    const counts = await count(site, name, contents);
    t.diagnostic(`${name}: ${JSON.stringify(counts)}`);
    const marker = name === 'pets.5.journal' ? lastLine(good).length * 8 : 0;
    if (name === 'usage.json') assert.equal(counts['exact'], undefined);
    else if (marker === 0) assert.deepEqual(counts, { refused: contents.length }, name);
    else assert.deepEqual(counts, { refused: contents.length - marker, 'set aside': marker });
  }
});

test('after any truncation of any file, a start is refused, or nothing is lost', async (t) => {
  const site = await filled(t);
  for (const [name, good] of site.good) {
    const counts = await count(site, name, Array.from(good.keys(), (length) => good.subarray(0, length)));
    t.diagnostic(`${name}: ${JSON.stringify(counts)}`);
    const marker = lastLine(good).length;
    const expected: Record<string, number> =
      name === 'usage.json' ? { 'set aside': good.length } :
      name === 'pets.3.journal' ? { refused: good.length - 1, exact: 1 } :
      name === 'pets.5.journal' ? { refused: good.length - marker, exact: 1, 'set aside': marker - 1 } :
      { refused: good.length };
    assert.deepEqual(counts, expected, name);
  }
});

function lastLine(content: Buffer): Buffer {
  return content.subarray(content.lastIndexOf(0x0a, -2) + 1);
}
