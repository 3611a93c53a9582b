/**
 * What clients receive, byte for byte. Each scenario is compared with its record of version 0.1.0 (`recorded.json`) or,
 * if its responses have been changed on purpose since, with its record in `changes.json`, which is grouped by the
 * reason for the change.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import test from 'node:test';
import type { TestCertificate } from '../../../harness/certificates.ts';
import { TooSlow } from './client.ts';
import { recordGroup, type Record } from './record.ts';
import { groups } from './scenarios.ts';

type Records = { [group: string]: Record };

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, import.meta.url), 'utf8'));
const recorded = read('recorded.json') as Records;
const changes = Object.values(read('changes.json') as { [reason: string]: Records });
const skip = process.platform !== 'linux'
  && 'the clients connect from 127.0.1.1 and other loopback addresses, which only Linux has by default';

/** Defines a test for each group, over TLS if there is a certificate. `except` names scenarios not to compare. */
export function testGroups(certificate?: TestCertificate, except: readonly string[] = []): void {
  for (const group of groups) {
    test(`responds as recorded: ${group.name}`, { skip, timeout: 600_000 }, async (t) => {
      const expected: Record = Object.assign({}, recorded[group.name], ...changes.map((change) => change[group.name]));
      let record: Record | null = null;
      while (record === null) {
        record = await recordGroup(t, group, undefined, undefined, certificate).catch((error: unknown) => {
          if (error instanceof TooSlow) return null;
          throw error;
        });
      }
      assert.deepEqual(Object.keys(record).sort(), Object.keys(expected).sort());
      for (const [name, exchanges] of Object.entries(record)) {
        if (!except.includes(name)) assert.deepEqual(exchanges, expected[name], name);
      }
    });
  }
}
