/**
 * What clients see, byte for byte: the conversations of `testing/transcript/scenarios.ts`, as a server of version 0.1.0
 * answered them (`recorded.json`). Node 20, 22, 24 and 26 gave the same bytes.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { recordGroup, type Record } from '../testing/transcript/record.ts';
import { groups } from '../testing/transcript/scenarios.ts';

const recorded = JSON.parse(readFileSync(new URL('../testing/transcript/recorded.json', import.meta.url), 'utf8')) as { [group: string]: Record };
const skip = process.platform === 'linux' ? false : 'the clients need loopback addresses beyond 127.0.0.1, which only Linux has by default';

for (const group of groups) {
  test(`the transcript of ${group.name} is as it was recorded`, { skip }, async () => {
    const record = await recordGroup(group);
    const expected = recorded[group.name]!;
    assert.deepEqual(Object.keys(record).sort(), Object.keys(expected).sort());
    for (const [name, exchanges] of Object.entries(record)) assert.deepEqual(exchanges, expected[name], name);
  });
}
