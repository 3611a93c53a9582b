/**
 * What clients see, byte for byte: the conversations of `testing/transcript/scenarios.ts`, as a server of version 0.1.0
 * answered them (`recorded.json`), but for what was changed on purpose since (`changes.json`, by the reason).
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import { recordGroup, type Record } from '../testing/transcript/record.ts';
import { groups } from '../testing/transcript/scenarios.ts';

type Records = { [group: string]: Record };

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`../testing/transcript/${name}`, import.meta.url), 'utf8'));
const recorded = read('recorded.json') as Records;
const changes = Object.values(read('changes.json') as { [reason: string]: Records });
const skip = process.platform === 'linux' ? false : 'the clients need loopback addresses beyond 127.0.0.1, which only Linux has by default';

for (const group of groups) {
  test(`the transcript of ${group.name} is as it was recorded`, { skip, timeout: 120_000 }, async () => {
    const record = await recordGroup(group);
    const expected: Record = Object.assign({}, recorded[group.name], ...changes.map((change) => change[group.name]));
    assert.deepEqual(Object.keys(record).sort(), Object.keys(expected).sort());
    for (const [name, exchanges] of Object.entries(record)) assert.deepEqual(exchanges, expected[name], name);
  });
}
