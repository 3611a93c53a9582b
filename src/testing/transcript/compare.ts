/**
 * What clients receive, byte for byte. Each scenario is compared with its record of version 0.1.0 (`recorded.json`) or,
 * if its responses have been changed on purpose since, with its record in `changes.json`, which is grouped by the
 * reason for the change.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import type { TestCertificate } from '../../../harness/certificates.ts';
import { recordGroup, type Record } from './record.ts';
import { groups } from './scenarios.ts';

type Records = { [group: string]: Record };

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
const recorded = read('recorded.json') as Records;
const changes = Object.values(read('changes.json') as { [reason: string]: Records });
const skip = process.platform !== 'linux'
  && 'the clients connect from 127.0.1.1 and other loopback addresses, which only Linux has by default';

/**
 * The server has 30 s for a request, also on a busy machine, where a client that sends single bytes may take longer. A
 * group with more 408 than expected is therefore recorded again.
 */
const attempts = 3;
const timeoutsIn = (record: Record): number => JSON.stringify(record).split('HTTP/1.1 408').length - 1;

/** Defines a test for each group, over TLS if there is a certificate. `except` names scenarios not to compare. */
export function testGroups(certificate?: TestCertificate, except: readonly string[] = []): void {
  for (const group of groups) {
    test(`responds as recorded: ${group.name}`, { skip, timeout: attempts * 120_000 }, async (t) => {
      const expected: Record = Object.assign({}, recorded[group.name], ...changes.map((change) => change[group.name]));
      let record: Record = {};
      for (let attempt = 1; attempt <= attempts; attempt++) {
        record = await recordGroup(t, group, undefined, undefined, certificate);
        if (timeoutsIn(record) <= timeoutsIn(expected)) break;
      }
      assert.deepEqual(Object.keys(record).sort(), Object.keys(expected).sort());
      for (const [name, exchanges] of Object.entries(record)) {
        if (!except.includes(name)) assert.deepEqual(exchanges, expected[name], name);
      }
    });
  }
}
